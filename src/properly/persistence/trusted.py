"""Which types a model file may hold, so that loading it runs no code but that of harmless constructors.

A file names the types of its objects, and loading calls them with arguments from the file. So only classes that do
nothing but keep their arguments are trusted: this library's estimators, dataclasses, named tuples and enumerations in
the packages below, scikit-learn's splitters, scorers and plain containers, and what skops trusts by itself
(scikit-learn's estimators, arrays and plain Python values). Of functions only those are trusted that scorers use: they
make a number of arrays, and do nothing else; a file may name them, but not have them called while it is loaded. A class
that calls a function while it is made is not trusted.

What skops trusts is too much where compiled code reads wherever an array points, or a number says how long to go on.
So of scikit-learn's estimators only those are trusted whose predictions NumPy computes, which checks every index, and
those whose content `structure` checks: no kernel support vector machines, nearest neighbours, clusters and others.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module

from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

_OPEN = (
    "boosting calibration comparison inputs linear links losses maxent metrics numeric prevalence solvers tables tree"
)
PACKAGES = frozenset(f"properly.{name}" for name in _OPEN.split())
"""The packages whose classes, and of metrics the functions that scorers call, a file may hold."""

NAMED = PACKAGES | {"properly.engines"}  # of the latter only the folds are trusted
_SPLITTERS = "sklearn.model_selection._split"
_PLAIN = frozenset(
    {
        "collections.OrderedDict",
        "numpy.dtype",
        "properly.engines.folds.KeyedFolds",
        "scipy.sparse._csc.csc_array",  # this and the next four: `structure` looks inside, which skops does not
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.tree._tree.Tree",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
    }
)
_WITH_METRICS = ("properly.metrics.", "sklearn.metrics.")
_CALLS_ITS_ARGUMENT = frozenset(
    {"properly.losses.from_partial.LossFromPartial", "properly.losses.from_weight.LossFromWeight"}
)

# What scikit-learn has that may be in a file: all of a package or module, or some of its classes.
_OF_SCIKIT_LEARN = {
    "_loss calibration compose covariance cross_decomposition discriminant_analysis dummy feature_selection frozen "
    "isotonic linear_model metrics mixture model_selection multiclass multioutput naive_bayes neural_network pipeline "
    "random_projection tree utils": None,
    "preprocessing._data preprocessing._discretization preprocessing._encoders preprocessing._function_transformer "
    "preprocessing._label preprocessing._target_encoder impute._base": None,
    "decomposition": "FactorAnalysis FastICA IncrementalPCA PCA TruncatedSVD",
    "ensemble._bagging ensemble._forest ensemble._gb ensemble._iforest ensemble._stacking ensemble._voting "
    "ensemble._weight_boosting": None,
    "ensemble._hist_gradient_boosting": None,  # nothing without its trees, which skops refuses
    "feature_extraction": "CountVectorizer FeatureHasher HashingVectorizer TfidfTransformer TfidfVectorizer",
    "kernel_approximation": "Nystroem RBFSampler",
    "preprocessing._polynomial": "PolynomialFeatures",
    "semi_supervised": "SelfTrainingClassifier",
    "svm": "LinearSVC LinearSVR",
}
_REFUSED = frozenset({"numpy.void"})  # of other libraries

# How skops makes an object is stated beside its type. Of these ways, most call whatever has the stated name, or make
# something else than the type that is stated; so each may be stated with names that begin with one of these only.
_MADE_AS = {
    "ConstructorFromReduceNode": ("properly.",),
    "DTypeNode": ("numpy.dtype",),
    "DictNode": ("builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"),
    "ListNode": ("builtins.list",),
    "LossNode": ("sklearn._loss._loss.",),
    "MaskedArrayNode": ("numpy.ma.",),
    "NdArrayNode": ("numpy.",),
    "PartialNode": ("functools.partial",),
    "RandomGeneratorNode": ("numpy.random.",),
    "RandomStateNode": ("numpy.random.",),
    "SetNode": ("builtins.set",),
    "SparseMatrixNode": ("scipy.sparse.",),
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "TupleNode": ("builtins.tuple", "properly."),
}


def is_refused(name: str) -> bool:
    """Whether the type of this full name is one that skops trusts and we do not.

    >>> [is_refused(f"sklearn.svm._classes.{name}") for name in ("SVC", "LinearSVC")]
    [True, False]
    """
    if not name.startswith("sklearn."):
        return name in _REFUSED
    for modules, classes in _OF_SCIKIT_LEARN.items():
        if name.startswith(tuple(f"sklearn.{module}." for module in modules.split())):
            return classes is not None and name.rpartition(".")[2] not in classes.split()
    return True


def is_made_otherwise(name: str, loader: str) -> bool:
    """Whether skops does not make objects of this full name in the stated way, which then runs or hides something.

    >>> is_made_otherwise("numpy.ndarray", "NdArrayNode")
    False
    >>> is_made_otherwise("sklearn.metrics._ranking.roc_auc_score", "NdArrayNode")  # would be called
    True
    """
    if loader != "FunctionNode" and name in _scoring_functions():
        return True
    return not name.startswith(_MADE_AS.get(loader, ""))


def is_trusted(name: str) -> bool:
    """Whether the type of this full name is one that any file may hold, though skops does not trust it.

    >>> is_trusted("properly.links.symmetric.Logit"), is_trusted("os.system"), is_trusted("properly.files.atomic_path")
    (True, False, False)
    """
    if name in _PLAIN:
        return True
    if name.startswith(_WITH_METRICS):
        return name in _scoring_functions()
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    if parts[0] == "properly":
        if ".".join(parts[:2]) not in PACKAGES or name in _CALLS_ITS_ARGUMENT:
            return False
        kinds: tuple[type, ...] = (BaseEstimator, tuple, Enum)
    elif module == _SPLITTERS:
        kinds = (BaseCrossValidator, BaseShuffleSplit)
    else:
        return False
    try:  # these modules may be imported without harm
        found = getattr(import_module(module), attribute, None)
    except (ModuleNotFoundError, ValueError):
        return False
    if not (isinstance(found, type) and found.__module__ == module and found.__name__ == attribute):
        return False
    return issubclass(found, kinds) or (parts[0] == "properly" and is_dataclass(found))


@cache
def _scoring_functions() -> frozenset[str]:
    """Full names of the functions that this library's and scikit-learn's scorers call."""
    from properly.metrics import SCORERS, proper_scorer

    scorers = [*SCORERS.values(), proper_scorer(), *map(get_scorer, get_scorer_names())]
    functions = [scorer._score_func for scorer in scorers]
    return frozenset(f"{function.__module__}.{function.__name__}" for function in functions)
