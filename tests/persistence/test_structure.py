"""Checks of what types cannot tell: models as they are pass, and each alteration is named."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures

from properly.boosting import ProperBoostingClassifier
from properly.losses import BetaLoss
from properly.persistence.lightgbm_text import check_text
from properly.persistence.structure import check_structure
from properly.tree import ProperTreeClassifier

pytest.importorskip("lightgbm", reason="needs the extra boosting")

X, Y = make_classification(600, 4, n_informative=3, n_redundant=0, random_state=0)
CODES = np.column_stack([X[:, :2], np.arange(600) % 5])
WITH_CATEGORIES = Y ^ (CODES[:, 2] == 1)


def boosted(**options):
    model = ProperBoostingClassifier(early_stopping=False, random_state=0, n_jobs=1, **options)
    return model.fit(CODES, WITH_CATEGORIES)


@pytest.mark.parametrize("options", [{}, {"n_estimators": 3, "num_leaves": 60}, {"num_leaves": 2}])
@pytest.mark.parametrize("categories", [None, [2]])
def test_texts_of_lightgbm_are_accepted(options, categories):
    model = boosted(**{"n_estimators": 20, "min_samples_leaf": 2, **options}, categorical_features=categories)
    assert check_text(model.models_[0], 3) == model.best_iteration_[0]
    check_structure(model)


def test_texts_of_several_scores():
    labels = np.where(np.arange(600) < 50, 2, Y)
    model = ProperBoostingClassifier(n_estimators=5, early_stopping=False, random_state=0, n_jobs=1)
    model.fit(X, labels, labels < 2)  # trees of the third class have one leaf
    (text,) = model.models_
    assert "num_leaves=1\n" in text
    assert check_text(text, 4, 3) == 5
    check_structure(model)
    for n_scores in (1, 5):
        with pytest.raises(ValueError, match="its number of scores"):
            check_text(text, 4, n_scores)
    model.best_iteration_[0] = 4
    with pytest.raises(ValueError, match="not as many as stated"):
        check_structure(model)


@pytest.mark.parametrize(
    ("pattern", "new", "message"),
    [
        (r"(split_feature=)\d", r"\g<1>3", "a feature that there is not"),
        (r"(left_child=)-?\d+", r"\g<1>0", "a child that is no later node"),
        (r"(right_child=)-?\d+", r"\g<1>-99", "a child that is no later node"),
        (r"(right_child=.*) -?\d+\n", r"\g<1> -1\n", "a child of two nodes or none"),
        (r"(threshold=\S+) ", r"\g<1>  ", "the length of threshold|the numbers of threshold"),
        (r"(leaf_value=)\S+ ", r"\g<1>", "the length of leaf_value"),
        (r"(leaf_value=)", r"\g<1>x", "the numbers of leaf_value"),
        (r"num_leaves=\d+", "num_leaves=0", "the size of a tree"),
        (r"num_leaves=\d+", "num_leaves=1", "the size of a tree|the length of"),
        (r"num_class=1", "num_class=2", "its number of scores"),
        (r"num_cat=\d+", "num_cat=9", "the size of a tree|the length of cat_boundaries|the number"),
        (r"(cat_threshold=\d+)", r"\g<1> 1", "the length of cat_threshold"),
        (r"cat_boundaries=0", "cat_boundaries=1", "the bounds of sets"),
        (r"(decision_type=)\d+", r"\g<1>99", "a kind of split"),
        (r"shrinkage=", "shrink=", "the entries of a tree"),
        (r"Tree=1\n", "Tree=2\n", "where a tree begins or ends"),
        (r"version=v4", "version=v5", "its header"),
        (r"max_feature_idx=2", "max_feature_idx=3", "its number of features"),
        (r"feature_importances", "importances", "what follows its trees"),
        (r"pandas_categorical:null", "pandas_categorical:[[1]]", "what follows its trees"),
    ],
)
def test_altered_texts_are_refused(pattern, new, message):
    """Also when the stated sizes of the trees are those of the altered text."""
    text = boosted(n_estimators=4, categorical_features=[2]).models_[0]
    altered = re.sub(pattern, new, text, count=1)
    assert altered != text
    blocks = re.findall(r"Tree=\d+\n.*?\n\n\n", altered, re.DOTALL)
    sizes = " ".join(str(len(block)) for block in blocks)
    altered = re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", altered)
    with pytest.raises(ValueError, match=message):
        check_text(altered, 3)


def test_other_sizes_than_stated_are_refused():
    text = boosted(n_estimators=4).models_[0]
    for altered in (text[:-9], text[:500], "", text + "x", text.replace("tree_sizes=", "tree_sizes=1"), "é" + text):
        with pytest.raises(ValueError, match="is not as LightGBM writes it"):
            check_text(altered, 3)


@pytest.mark.parametrize(("part", "value"), [("left", 0), ("left", 10**6), ("right", 1), ("depth", 10**9)])
def test_altered_trees_are_refused(part, value):
    model = ProperTreeClassifier(max_depth=3).fit(X, Y)
    model.tree_.check()
    getattr(model.tree_, part)[0] = value
    with pytest.raises(ValueError, match="a tree has a node"):
        check_structure({"in": [model]})


def one_hot(**options):
    return OneHotEncoder(**options).fit(CODES[:, 2:])


@pytest.mark.parametrize(
    "options", [{}, {"drop": "first"}, {"max_categories": 3}, {"max_categories": 2, "drop": "first"}]
)
def test_one_hot_encoders(options):
    check_structure(one_hot(**options))
    for name, alter in {
        "_n_features_outs": lambda widths: [widths[0] - 1],
        "categories_": lambda values: [values[0][::-1]],
    }.items():
        bad = one_hot(**options)
        setattr(bad, name, alter(getattr(bad, name)))
        with pytest.raises(ValueError, match=r"columns of categories do not add up|categories are not sorted"):
            check_structure(bad)


def test_codes_of_rare_categories():
    bad = one_hot(max_categories=3)
    bad._default_to_infrequent_mappings[0][0] = 77
    with pytest.raises(ValueError, match="categories have codes out of range"):
        check_structure(bad)
    bad = KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf").fit(X)
    check_structure(bad)
    bad._encoder.categories_[0] = bad._encoder.categories_[0][::-1]
    with pytest.raises(ValueError, match="categories are not sorted"):
        check_structure(bad)


def test_vectorizers():
    fine = CountVectorizer().fit(["a few words", "and others"])
    check_structure(fine)
    check_structure(HashingVectorizer())
    fine.vocabulary_["words"] = 10**9
    for bad, message in (
        (fine, "not numbered"),
        (CountVectorizer(token_pattern=r"(\w+)*!"), "take for ever"),
        (HashingVectorizer(n_features=0), "hashed to no number"),
    ):
        with pytest.raises(ValueError, match=message):
            check_structure(bad)
        check_structure(bad, trusted=[f"{type(bad).__module__}.{type(bad).__name__}"])


@pytest.mark.parametrize("options", [{}, {"degree": (2, 3)}, {"interaction_only": True}, {"include_bias": False}])
def test_polynomials(options):
    fine = PolynomialFeatures(**options).fit(X)
    check_structure(fine)
    fine._n_out_full = 10**8
    with pytest.raises(ValueError, match="polynomials have 100000000 columns"):
        check_structure(fine)


def test_constructors_check_what_is_loaded():
    bad = BetaLoss(1.0, 1.0)
    object.__setattr__(bad, "alpha", float("nan"))
    with pytest.raises(ValueError, match="alpha must be finite"):
        check_structure([bad])


def test_random_numbers():
    state = np.random.RandomState(0)
    content = state.get_state(legacy=False)
    check_structure([state, np.random.default_rng(0)])
    content["state"]["pos"] = 10**7
    state.set_state(content)
    with pytest.raises(ValueError, match="points outside itself"):
        check_structure([state])
    with pytest.raises(ValueError, match="MT19937, which may point outside"):
        check_structure([np.random.Generator(np.random.MT19937(0))])


def test_jobs_are_no_more_than_processors():
    model = IsolationForest(n_estimators=2, n_jobs=10**6).fit(X)
    check_structure(model)
    assert model.n_jobs < 10**4
    check_structure(model.set_params(n_jobs=-1))
    assert model.n_jobs == -1


def test_boosted_trees_have_one_value_a_leaf():
    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    check_structure(model)
    model.n_estimators_ = 10**9  # not used for predictions
    check_structure(model)
    model.estimators_ = model.estimators_[:, [0, 0]]
    with pytest.raises(ValueError, match="not as many as their classes"):
        check_structure(model)
