"""What types cannot tell: whether the content of a loaded model leads compiled code or a loop astray.

Compiled code reads where indices point, without looking, and a loop goes on as long as its numbers say. skops sets
attributes without calling constructors, so even numbers that a constructor refuses can be in a file. Each type that is
trusted, and for which this matters, has a check in the table `_CHECKS`; all others compute with NumPy, which checks
every index.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import joblib  # comes with scikit-learn
import numpy as np
from scipy.sparse import issparse

from properly.persistence.archive import check_array
from properly.persistence.lightgbm_text import check_text
from properly.persistence.schema import nodes_of

_TREE = "sklearn.tree._tree.Tree"
_TOKEN_PATTERNS = (None, r"(?u)\b\w\w+\b")  # scikit-learn's default; another may take for ever
_LARGEST_DEGREE, _MOST_COLUMNS = 100, 100_000  # that PolynomialFeatures may have
_MERSENNE_TWISTER = 624  # numbers in its state


def check_structure(model: Any, trusted: Collection[str] = ()) -> None:
    """Refuse a model that would crash or hang; types that the user trusts are not looked at.

    It also lowers every `n_jobs` to the number of processors, since a file could ask for any number of processes.

    Raises
    ------
    ValueError
        Says what is wrong.
    """
    found = [each for each in _objects_in(model) if _name(each) not in trusted]
    _check_trees_are_owned(found)
    processors = joblib.cpu_count()
    for each in reversed(found):  # inner ones first
        check = _CHECKS.get(_name(each))
        if check is not None:
            check(each)
        elif issparse(each):  # its file says which format it has, whatever its type is called
            raise ValueError(f"a sparse matrix has the format {each.format}, only csr and csc are checked")
        elif _name(each).startswith(("properly.links.", "properly.losses.")) and hasattr(each, "__post_init__"):
            each.__post_init__()  # what the constructor checks
        _check_counts(getattr(each, "__dict__", {}))
        jobs = getattr(each, "__dict__", {}).get("n_jobs")
        if isinstance(jobs, int | np.integer) and jobs > processors:
            each.n_jobs = processors


def _name(each: Any) -> str:
    return f"{type(each).__module__}.{type(each).__name__}"


def _objects_in(model: Any) -> list[Any]:
    """Everything in a model but plain values and containers, from the outside in."""
    waiting, seen, found = [model], set(), []
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, str | bytes | int | float | type | None):
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set):
            waiting.extend(each)
        elif isinstance(each, np.ndarray):
            if each.dtype == object:
                waiting.extend(each.ravel().tolist())
        else:
            found.append(each)
            waiting.extend(getattr(each, "__dict__", {}).values())
    return found


def _require(fine: bool | np.bool_, what: str) -> None:
    if not fine:
        raise ValueError(what)


def _check_counts(attributes: Mapping[str, Any]) -> None:
    """Predictions are as wide as these numbers say, whatever the classes are."""
    if not {"classes_", "n_classes_"} <= attributes.keys():
        return
    classes = attributes["classes_"]
    each = [classes] if isinstance(classes, np.ndarray) else classes
    _require(
        np.array_equal(np.atleast_1d(attributes["n_classes_"]), [*map(len, each)]), "classes are not as many as stated"
    )
    _require(attributes.get("n_outputs_", len(each)) == len(each), "outputs are not as many as stated")


# --- scikit-learn's trees ------------------------------------------------------------


def check_tree_nodes(schema: Any, members: Mapping[str, bytes]) -> None:
    """Refuse arrays that are not those of a tree of scikit-learn: it copies them without looking while it is made."""
    for node in nodes_of(schema):
        if node["__loader__"] == "TreeNode":
            n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
            _whole(n_features)
            parts = node["content"]["content"]
            _whole(parts["max_depth"])
            classes, nodes, values = (_shape(part, members) for part in (n_classes, parts["nodes"], parts["values"]))
            fine = classes == (_whole(n_outputs),) and nodes == (_whole(parts["node_count"]),)
            _require(fine and values[:2] == nodes + classes and len(values) == 3, "a tree has arrays of other shapes")


def _whole(node: Mapping[str, Any]) -> int:
    value: Any = json.loads(node["content"]) if node["__loader__"] == "JsonNode" else None
    _require(type(value) is int and 0 <= value < 2**40, "a tree has no numbers")
    return int(value)


def _shape(node: Mapping[str, Any], members: Mapping[str, bytes]) -> tuple[int, ...]:
    plain = (node["__loader__"], node["__module__"], node["__class__"], node["type"])
    _require(plain == ("NdArrayNode", "numpy", "ndarray", "numpy"), "a tree has no arrays")
    return check_array(members[node["file"]])[0]


def _check_trees_are_owned(found: list[Any]) -> None:
    """A tree knows how many columns it reads, its estimator how many there are."""
    owned = set()
    for each in found:
        tree: Any = getattr(each, "__dict__", {}).get("tree_")
        if _name(tree) == _TREE:
            _require(tree.n_features == each.n_features_in_, "a tree has another number of features than its estimator")
            owned.add(id(tree))
    _require(all(id(each) in owned for each in found if _name(each) == _TREE), "a tree belongs to no estimator")


def _check_tree(tree: Any) -> None:
    _require(1 <= tree.node_count <= tree.capacity, "a tree has no nodes")
    _require(tree.n_outputs >= 1 and tree.max_n_classes >= 1, "a tree has no values")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    number = np.arange(tree.node_count)
    inner = left != -1
    later = (left > number) & (right > number) & (left < tree.node_count) & (right < tree.node_count)
    fine = np.all(later[inner]) and np.all((feature[inner] >= 0) & (feature[inner] < tree.n_features))
    _require(fine, "a tree points outside its own nodes or features")


def _check_boosted_trees(model: Any) -> None:
    """All trees are applied to rows that only the first has checked, and each of an iteration writes to a column."""
    trees = getattr(model, "estimators_", None)
    if trees is None:
        return
    grid = isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.size > 0
    _require(grid and all(_name(each.tree_) == _TREE for each in trees.flat), "boosted trees are missing")
    n_features = trees[0, 0].n_features_in_
    same = all(each.n_features_in_ == n_features == each.tree_.n_features for each in trees.flat)
    _require(same, "boosted trees have different numbers of features")
    _require(
        all(each.tree_.value.shape[1:] == (1, 1) for each in trees.flat), "boosted trees have several values a leaf"
    )
    for rows in (1, 2):
        start = model._raw_predict_init(np.zeros((rows, n_features)))
        _require(start.shape == (rows, trees.shape[1]), "boosted trees are not as many as their classes")


# --- scikit-learn's transformers that make sparse matrices, and other things ---------


def _check_one_hot(encoder: Any) -> None:
    """Each column of codes must stay within its own columns of the result, a matrix that nothing checks."""
    if not hasattr(encoder, "categories_"):
        return
    _require(encoder._n_features_outs == encoder._compute_n_features_outs(), "columns of categories do not add up")
    none = [None] * len(encoder.categories_)
    drops = none if encoder._drop_idx_after_grouping is None else encoder._drop_idx_after_grouping
    rare, mappings = none, none
    if encoder._infrequent_enabled:
        rare, mappings = encoder._infrequent_indices, encoder._default_to_infrequent_mappings
    parts = encoder.categories_, rare, mappings, drops, encoder._n_features_outs
    for values, infrequent, mapping, drop, width in zip(*parts, strict=True):
        if values.dtype.kind not in "OUS":  # these are looked up, numbers are searched for
            _require(np.array_equal(values, np.sort(values), equal_nan=True), "categories are not sorted")
        _require((infrequent is None) == (mapping is None), "rare categories have no code")
        codes = np.arange(len(values)) if mapping is None else mapping
        _require(len(codes) == len(values) and codes.dtype.kind in "iu", "categories have other codes")
        _require(np.all((codes >= 0) & (codes < width + (drop is not None))), "categories have codes out of range")
        _require(drop is None or 0 <= drop <= width, "the category to drop is out of range")


def _check_words(vectorizer: Any) -> None:
    """A word's number is a column of a sparse matrix that nothing checks."""
    _check_ways_to_words(vectorizer)
    numbers = getattr(vectorizer, "vocabulary_", {}).values()
    _require(all(type(number) in (int, np.int64, np.int32) for number in numbers), "words have no numbers")
    _require(sorted(numbers) == list(range(len(numbers))), "words are not numbered one after the other")


def _check_ways_to_words(vectorizer: Any) -> None:
    pattern = getattr(vectorizer, "token_pattern", None)
    _require(pattern in _TOKEN_PATTERNS, "words are found by a pattern that may take for ever")
    shortest, longest = getattr(vectorizer, "ngram_range", (1, 1))
    _require(1 <= shortest <= longest, "groups of words have a length below 1")


def _check_hashing(hasher: Any) -> None:
    _check_ways_to_words(hasher)
    columns = hasher.n_features
    _require(isinstance(columns, int) and 1 <= columns < 2**31, "words are hashed to no number of columns")


def _check_polynomials(features: Any) -> None:
    """The columns are counted when it is fitted, and made when it is used."""
    if not hasattr(features, "n_output_features_"):
        return
    low, high = (0, features.degree) if isinstance(features.degree, int) else features.degree
    _require(0 <= low <= high <= _LARGEST_DEGREE, f"polynomials have a degree that is not in 0, ..., {_LARGEST_DEGREE}")
    for least, stated in ((low, features.n_output_features_), (0, features._n_out_full)):
        columns = features._num_combinations(
            features.n_features_in_, least, high, features.interaction_only, features.include_bias
        )
        _require(columns == stated <= _MOST_COLUMNS, f"polynomials have {stated} columns")
    _require((low, high) == (features._min_degree, features._max_degree), "polynomials have two degrees")


def _check_sparse(matrix: Any) -> None:
    matrix.check_format(full_check=True)


def _check_random_state(state: Any) -> None:
    place = state.get_state(legacy=False)["state"]["pos"]
    _require(0 <= place <= _MERSENNE_TWISTER, "a random state points outside itself")


def _check_generator(generator: Any) -> None:
    kind = type(generator.bit_generator).__name__
    _require(kind in ("PCG64", "PCG64DXSM"), f"random numbers come from {kind}, which may point outside itself")


# --- ours ----------------------------------------------------------------------------


def _check_boosting(model: Any) -> None:
    texts = getattr(model, "models_", [])
    if texts:
        width = len(model.starts_) // len(texts)
        _require(
            width * len(texts) == len(model.starts_) and width in (1, len(model.classes_)),
            "boosted trees have other scores",
        )
        trees = [check_text(text, model.n_features_in_, width) if text else 0 for text in texts]
        stated = np.array_equal(np.repeat(trees, width), model.best_iteration_)
        _require(stated, "boosted trees are not as many as stated")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "properly.boosting.classifier.ProperBoostingClassifier": _check_boosting,
    "properly.tree.structure.Tree": lambda tree: tree.check(),
    _TREE: _check_tree,
    "sklearn.ensemble._gb.GradientBoostingClassifier": _check_boosted_trees,
    "sklearn.ensemble._gb.GradientBoostingRegressor": _check_boosted_trees,
    "sklearn.feature_extraction._hash.FeatureHasher": _check_hashing,
    "sklearn.feature_extraction.text.CountVectorizer": _check_words,
    "sklearn.feature_extraction.text.HashingVectorizer": _check_hashing,
    "sklearn.feature_extraction.text.TfidfVectorizer": _check_words,
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_one_hot,
    "sklearn.preprocessing._polynomial.PolynomialFeatures": _check_polynomials,
    "numpy.random._generator.Generator": _check_generator,
    "numpy.random.mtrand.RandomState": _check_random_state,
    **{f"scipy.sparse._{form}.{form}_{kind}": _check_sparse for form in ("csc", "csr") for kind in ("array", "matrix")},
}
