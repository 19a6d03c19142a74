"""Our classes under the names, and with the parameters, of scikit-learn's, for scikit-learn's own tests.

A plugin of pytest: it puts them in place of scikit-learn's before the tests are imported, and writes what each test
came to into a file. Parameters that we do not have are taken and ignored.
"""

import inspect
import json
import os

import numpy as np
import sklearn.calibration
import sklearn.ensemble
import sklearn.isotonic
import sklearn.linear_model
import sklearn.metrics
import sklearn.svm
import sklearn.tree

import properly.metrics
from properly.boosting import DiscreteAdaBoost, ProperBoostingClassifier
from properly.calibration import CalibratedClassifier
from properly.linear import ProperLinearClassifier
from properly.numeric.isotonic import isotonic_rates
from properly.tree import ProperTreeClassifier
from properly.tree.structure import Tree

MODULES = [
    getattr(sklearn, name) for name in ["calibration", "ensemble", "isotonic", "linear_model", "metrics", "tree"]
]


def _substitute(theirs, ours, fixed, renamed=None):
    """Ours with the parameters of theirs: some are fixed, and some have another name or other values when it is fitted.

    `renamed` gives, from the estimator, the parameters of ours that follow from those of theirs.
    """

    def fit(self, X, y=None, sample_weight=None, **others):
        kept = dict(self.__dict__)
        self.__dict__.update(renamed(self) if renamed else {})
        try:
            return ours.fit(self, X, y, sample_weight, **others)
        finally:
            self.__dict__.update({name: kept[name] for name in self.get_params(deep=False)})

    fit.__signature__ = inspect.signature(ours.fit)  # from which scikit-learn reads what it may route
    signature = inspect.signature(theirs.__init__)

    def __init__(self, *given, **named):
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        self.__dict__.update({name: value for name, value in bound.arguments.items() if name != "self"})

    __init__.__signature__ = signature  # from which scikit-learn reads the names of parameters
    return type(theirs.__name__, (ours,), {**fixed, "__init__": __init__, "fit": fit, "__module__": __name__})


def _penalty(model):
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, model.l1_ratio)
    return {"C": np.inf if model.penalty is None else model.C, "l1_ratio": 0.0 if ratio is None else ratio}


def _loss(model):
    return {"loss": {"log_loss": "log", "exponential": "boosting"}.get(model.loss, model.loss)}


def _friedman(model):
    share = model.max_features if isinstance(model.max_features, float) else None
    return {**_loss(model), "max_features": share, "n_iter_no_change": 50}


def _method(model):
    return {
        "method": {"sigmoid": "platt"}.get(model.method, model.method),
        "ensemble": True if model.ensemble == "auto" else model.ensemble,
        "estimator": sklearn.svm.LinearSVC(random_state=0) if model.estimator is None else model.estimator,
    }


_BOOSTING = {"link": None, "start": "log loss", "max_samples": 1.0, "extra_trees": False, "cv": 5, "n_jobs": 1}


# Attributes of theirs by which their tests look at fitted models, so that they come to what they test.
_PAIRS = {"calibrated_classifiers_": property(lambda model: model.pairs_)}
_TREES = {
    "n_estimators_": property(lambda model: int(max(model.best_iteration_))),
    "estimators_": property(lambda model: np.empty((model.n_estimators, len(model.starts_)), dtype=object)),
    "apply": lambda model, X: (
        model._trees()[0].predict(model._read(X), pred_leaf=True).reshape(X.shape[0], -1, len(model.starts_))
    ),
}


def _staged_score(model, X, y, sample_weight=None):
    return (sklearn.metrics.accuracy_score(y, each, sample_weight=sample_weight) for each in model.staged_predict(X))


_NODES = {
    "node_count": lambda tree: len(tree.left),
    "max_depth": lambda tree: int(tree.depth.max()),
    "n_leaves": lambda tree: int(tree.is_leaf.sum()),
    "n_classes": lambda tree: np.array([tree.class_weight.shape[1]]),
    "children_left": lambda tree: tree.left,
    "children_right": lambda tree: tree.right,
    "value": lambda tree: (tree.class_weight / tree.class_weight.sum(axis=1, keepdims=True))[:, None],
    "n_node_samples": lambda tree: tree.n_rows,
    "weighted_n_node_samples": lambda tree: tree.class_weight.sum(axis=1),
    "missing_go_to_left": lambda tree: tree.missing_left,
    "apply": lambda tree: lambda X: tree.leaf_of(X.toarray() if hasattr(X, "toarray") else X),
}
for name, value in _NODES.items():
    setattr(Tree, name, property(value))


def log_loss(y_true, y_proba, *, normalize=True, sample_weight=None, labels=None):
    value = properly.metrics.log_loss(y_true, y_proba, sample_weight=sample_weight, classes=labels)
    return value if normalize else value * (len(y_true) if sample_weight is None else np.sum(sample_weight))


def brier_score_loss(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, scale_by_half="auto"):
    y_true = y_true if pos_label is None else np.asarray(y_true) == pos_label
    return properly.metrics.brier_score(y_true, y_proba, sample_weight=sample_weight, classes=labels)


def roc_auc_score(
    y_true, y_score, *, average="macro", sample_weight=None, max_fpr=None, multi_class="raise", labels=None
):
    return properly.metrics.auc(y_true, y_score, sample_weight=sample_weight, classes=labels).area


def d2_log_loss_score(y_true, y_pred, *, sample_weight=None, labels=None):
    return properly.metrics.skill_score(y_true, y_pred, "log", sample_weight=sample_weight, classes=labels)


def d2_brier_score(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None):
    y_true = y_true if pos_label is None else np.asarray(y_true) == pos_label
    return properly.metrics.skill_score(y_true, y_proba, "squared", sample_weight=sample_weight, classes=labels)


def isotonic_regression(y, *, sample_weight=None, y_min=None, y_max=None, increasing=True):
    y = np.asarray(y, dtype=float)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rates = isotonic_rates(y * weight, weight) if increasing else -isotonic_rates(-y * weight, weight)
    return np.clip(rates, y_min, y_max) if (y_min, y_max) != (None, None) else rates


OURS = {
    each.__name__: each
    for each in (
        _substitute(
            sklearn.linear_model.LogisticRegression, ProperLinearClassifier, {"loss": "log", "link": None}, _penalty
        ),
        _substitute(
            sklearn.ensemble.AdaBoostClassifier,
            DiscreteAdaBoost,
            {"early_stopping": False, "staged_score": _staged_score},
        ),
        _substitute(
            sklearn.tree.DecisionTreeClassifier,
            ProperTreeClassifier,
            {
                "loss": "log",
                "shrinkage": 0.0,
                "categorical_features": None,
                "n_classes_": property(lambda model: len(model.classes_)),
            },
        ),
        _substitute(
            sklearn.ensemble.GradientBoostingClassifier,
            ProperBoostingClassifier,
            {
                **_BOOSTING,
                **_TREES,
                "num_leaves": 8,
                "l2_regularization": 0.0,
                "early_stopping": False,
                "categorical_features": None,
            },
            _friedman,
        ),
        _substitute(sklearn.calibration.CalibratedClassifierCV, CalibratedClassifier, _PAIRS, _method),
        log_loss,
        brier_score_loss,
        roc_auc_score,
        d2_log_loss_score,
        d2_brier_score,
        isotonic_regression,
    )
}

globals().update(OURS)  # where pickle looks for them


def pytest_configure(config):
    for name in os.environ["SUBSTITUTES"].split():
        for module in MODULES:
            if hasattr(module, name):
                setattr(module, name, OURS[name])


def pytest_runtest_logreport(report):
    """One line for every test that was run: its name, and the message if it failed."""
    if report.when == "call" or report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = str(report.longrepr if crash is None else crash.message) if report.failed else None
        with open(os.environ["SUBSTITUTES_OUTPUT"], "a") as file:
            file.write(json.dumps([report.nodeid.rpartition("::")[2], report.skipped, message]) + "\n")
