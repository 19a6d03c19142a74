"""Named calls of the public functions, and what the code returned for them at commit 8a6a777.

A restructuring must not change a number. ``python tests/golden/calls.py --compare`` runs every call and tells which
outputs are not those that are stored, to the last bit; ``--write`` stores them anew; ``--only PATTERN`` limits either
to the calls whose names match. Set OMP_NUM_THREADS=1 for outputs that are equal to the last bit. Last bits also differ
between processors: to compare them, store the outputs of the older code anew on the same machine.

Every call finds what it needs through `public`, so that it does not matter in which module a name is defined.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from fnmatch import fnmatch
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

STORED = Path(__file__).with_name("outputs.npz")
RELATIVE, ABSOLUTE = 1e-9, 1e-12  # how far from the stored outputs others may be
PACKAGES = (
    "linear", "boosting", "tree", "calibration", "prevalence", "maxent", "metrics", "diagnostics", "report", "audit",
    "comparison", "losses", "links", "engines", "tables", "datasets",
)  # fmt: skip
FITTED = (
    "coef_", "intercept_", "n_iter_", "xi_", "C_", "Cs_", "weights_", "cv_results_", "sample_rate_",
    "intercept_shift_", "concentration_", "concentrations_", "split_scores_", "standard_errors_", "scores_",
    "log_proportions_", "slope_", "temperature_", "densities_", "steps_", "starts_", "best_iteration_",
    "log_iterations_", "train_losses_", "validation_losses_", "feature_importances_", "probabilities_", "tree_",
    "train_prior_", "true_prior_", "prevalence_", "entropy_", "relative_gain_", "violation_", "objective_",
    "duality_gap_", "labelled_classes_",
)  # fmt: skip

CALLS: dict[str, Callable[[], Any]] = {}


def public(name: str, *first: str) -> Any:
    """The public function or class of this name; of packages that both have one, those named first come first."""
    for package in (*first, *PACKAGES):
        try:
            module = import_module(f"properly.{package}")
        except ModuleNotFoundError as error:
            if error.name != f"properly.{package}":
                raise
            continue
        if name in _public_names(module):
            return getattr(module, name)
    raise LookupError(f"{name} is not public in any of {', '.join(PACKAGES)}.")


def _public_names(module: Any) -> Iterable[str]:
    """Those in ``__all__``; of a module without it, what is defined there."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def call(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function without arguments to the calls."""

    def added(function: Callable[..., Any]) -> Callable[..., Any]:
        CALLS[name] = function
        return function

    return added


def each(prefix: str, table: Mapping[str, Any] | Iterable[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function of one argument to the calls, once for every entry of the table."""
    entries = table if isinstance(table, Mapping) else {name: name for name in table}

    def added(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, value in entries.items():
            CALLS[f"{prefix}/{name}"] = partial(function, value)
        return function

    return added


def run(name: str) -> dict[str, np.ndarray]:
    """The outputs of a call by name; warnings for users are expected here and there."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UserWarning)
        return numbers(CALLS[name]())


def numbers(value: Any, name: str = "") -> dict[str, np.ndarray]:
    """All numbers and truth values within a result, by their place in it; texts, objects and None are left out."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "to_numpy") and hasattr(value, "columns"):
        value = {column: value[column].to_numpy() for column in value.columns}
    if isinstance(value, list | tuple) and not _is_numeric(value):
        value = dict(enumerate(value))
    if isinstance(value, Mapping):
        inner = [numbers(entry, f"{name}/{key}" if name else str(key)) for key, entry in value.items()]
        return {key: array for part in inner for key, array in part.items()}
    return {name or "value": np.asarray(value)} if _is_numeric(value) else {}


def _is_numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except ValueError:  # parts of different lengths
        return False


# Data ----------------------------------------------------------------------------------------------------------------


@cache
def two(n: int = 140, shift: float = -0.3) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of two classes."""
    random = np.random.RandomState(1)
    X = random.normal(size=(n, 3))
    return X, (random.uniform(size=n) < expit(X @ [1.2, -0.8, 0.0] + shift)).astype(np.int64)


@cache
def many(n_classes: int = 3, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of several classes."""
    random = np.random.RandomState(2)
    X = random.normal(size=(n, 3))
    p = softmax(X @ random.normal(size=(3, n_classes)) + np.linspace(0.5, -0.5, n_classes), axis=1)
    return X, (p.cumsum(axis=1) < random.uniform(size=(n, 1))).sum(axis=1)


def weights(n: int) -> np.ndarray:
    """Weights of which some are 0."""
    return np.random.RandomState(3).choice([0.0, 0.5, 1.0, 2.5], size=n)


@cache
def scores(n_classes: int = 2, n: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident scores, some of them tied, and labels."""
    random = np.random.RandomState(4)
    if n_classes == 2:
        s = np.round(random.normal(scale=2.0, size=n), 1)
        return s, (random.uniform(size=n) < expit(0.6 * s - 0.4)).astype(np.int64)
    logits = np.round(random.normal(scale=2.0, size=(n, n_classes)), 1)
    p = softmax(0.6 * logits + np.linspace(0.4, -0.4, n_classes), axis=1)
    return logits, (p.cumsum(axis=1) < random.uniform(size=(n, 1))).sum(axis=1)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Probabilities of which some are 0 and 1."""
    p = expit(logits) if logits.ndim == 1 else softmax(logits, axis=1)
    p = p.copy()
    if p.ndim == 1:
        p[[3, 17]] = 0.0, 1.0
    else:
        p[3], p[17] = np.eye(p.shape[1])[0], np.eye(p.shape[1])[1]
    return p


@cache
def forecast() -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of two classes, with ties, without 0 and 1."""
    s, y = scores()
    return y, expit(s)


@cache
def forecasts() -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of three classes."""
    logits, y = scores(3)
    return y, softmax(logits, axis=1)


@cache
def presences(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Background points (-1) and presences of one class (1), or of classes 0, 1, ..."""
    random = np.random.RandomState(5)
    X = random.normal(size=(200, 2))
    y = np.full(200, -1)
    y[:40] = 1
    X[:40, 0] += 1.0
    if n_classes > 2:
        y[:60] = np.arange(60) % n_classes
        X[np.flatnonzero(y == 0)] -= 0.7
    return X, y


def frame() -> Any:
    """A data frame with numbers, missing ones, categories, truth values and texts."""
    import pandas

    X, y = two()
    number = X[:, 0].copy()
    number[::11] = np.nan
    return pandas.DataFrame(
        {
            "number": number,
            "whole": np.arange(len(y)) % 7,
            "flag": X[:, 1] > 0.0,
            "town": np.array(["Bath", "Rome", "Paris"], dtype=object)[(X[:, 2] > 0.5).astype(int) + (y > 0)],
            "code": pandas.Categorical.from_codes(np.arange(len(y)) % 3, ["a", "b", "c"]),
        }
    )


def rows(X: Any, n: int = 20) -> Any:
    """A few rows to predict."""
    return X.iloc[:n] if hasattr(X, "iloc") else X[:n]


# What a fitted model says --------------------------------------------------------------------------------------------


def said(model: Any, X: Any, *more: Any, **options: Any) -> dict[str, Any]:
    """Probabilities, their logarithms, decisions, and the numbers that the fit left behind."""
    found = {"predict_proba": model.predict_proba(X, *more, **options), "predict": _codes(model, X, *more, **options)}
    for method in ("decision_function", "predict_log_proba"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(X, *more, **options)
    return found | fitted(model)


def fitted(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in FITTED if hasattr(model, name)}


def _codes(model: Any, X: Any, *more: Any, **options: Any) -> np.ndarray:
    """The predicted classes by their places, as labels may be texts."""
    predicted = np.asarray(model.predict(X, *more, **options))
    known = np.unique([*model.classes_.tolist(), *predicted.tolist()])
    return np.searchsorted(known, predicted)


# Linear models -------------------------------------------------------------------------------------------------------


def linear(X: Any, y: Any, weight: Any = None, offset: Any = None, **options: Any) -> dict[str, Any]:
    model = public("ProperLinearClassifier", "linear")(**options).fit(X, y, weight, offset)
    few = None if offset is None else offset[:20]
    return said(model, rows(X), offset=few)


LINEAR_ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": lambda: linear(*two()),
    "weights": lambda: linear(*two(), weights(140)),
    "ties": lambda: linear(np.round(two()[0]), two()[1]),
    "constant column": lambda: linear(np.c_[two()[0], np.full(140, 7.0)], two()[1]),
    "duplicated columns": lambda: linear(np.c_[two()[0], two()[0]], two()[1]),
    "text labels": lambda: linear(two()[0], np.array(["no", "yes"])[two()[1]]),
    "boolean labels": lambda: linear(two()[0], two()[1] == 1),
    "rare class": lambda: linear(*two(300, -5.0)),
    "float32": lambda: linear(two()[0].astype(np.float32), two()[1]),
    "fortran": lambda: linear(np.asfortranarray(two()[0]), two()[1]),
    "sparse": lambda: linear(sparse.csr_array(np.where(np.abs(two()[0]) > 0.5, two()[0], 0.0)), two()[1]),
    "sparse csc": lambda: linear(sparse.csc_matrix(np.where(two()[0] > 0.5, two()[0], 0.0)).tocsr(), two()[1]),
    "frame": lambda: linear(frame()[["whole", "flag"]].astype(float), two()[1]),
    "offset": lambda: linear(*two(), offset=np.linspace(-2.0, 2.0, 140)),
    "balanced": lambda: linear(*two(), class_weight="balanced"),
    "class weights": lambda: linear(*two(), class_weight={0: 2.0, 1: 0.5}),
    "large features": lambda: linear(two()[0] * [1e6, 1.0, 1e-6], two()[1]),
    "shifted features": lambda: linear(two()[0] + 1e4, two()[1]),
    "separated": lambda: linear(two()[0], (two()[0][:, 0] > 0.0).astype(int)),
    "huge offset": lambda: linear(*two(), offset=np.tile([-800.0, 800.0], 70)),
    "lasso": lambda: linear(*two(), C=0.1, l1_ratio=1.0),
    "elastic net": lambda: linear(*two(), weights(140), C=0.2, l1_ratio=0.5),
    "lasso, duplicated": lambda: linear(np.c_[two()[0], two()[0][:, :1]], two()[1], C=0.2, l1_ratio=0.7),
    "no penalty": lambda: linear(*two(), C=np.inf),
    "no intercept": lambda: linear(*two(), fit_intercept=False),
    "few iterations": lambda: linear(*two(), C=1e4, max_iter=2),
    "three classes": lambda: linear(*many()),
    "three classes, weights": lambda: linear(*many(), weights(150), C=np.inf),
    "three classes, offset": lambda: linear(*many(), offset=np.random.RandomState(9).normal(size=(150, 3))),
    "three classes, lasso": lambda: linear(*many(), C=0.2, l1_ratio=1.0),
    "three classes, squared": lambda: linear(*many(), loss="squared"),
    "three classes, squared logit": lambda: linear(*many(), loss="squared", link="logit"),
    "three classes, one versus rest": lambda: linear(*many(), loss="boosting", class_weight="balanced"),
    "three classes, cauchit": lambda: linear(*many(), link="cauchit"),
    "five classes": lambda: linear(*many(5, 200)),
}


@each("linear/rows", LINEAR_ROWS)
def linear_rows(fit: Callable[[], Any]) -> Any:
    return fit()


LINEAR_LOSSES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "log, probit": lambda: ("log", "probit"),
    "log, cloglog": lambda: ("log", "cloglog"),
    "log, loglog": lambda: ("log", "loglog"),
    "log, cauchit": lambda: ("log", "cauchit"),
    "log, gev": lambda: ("log", public("GEV", "links")(-0.2)),
    "squared": lambda: ("squared", None),
    "squared, logit": lambda: ("squared", "logit"),
    "squared, probit": lambda: ("squared", "probit"),
    "boosting": lambda: ("boosting", None),
    "boosting, logit": lambda: ("boosting", "logit"),
    "gev": lambda: ("gev", None),
    "gev, logit": lambda: (public("GEVLoss", "losses")(0.3), "logit"),
    "beta": lambda: (public("BetaLoss", "losses")(0.5, 2.0), None),
    "beta, logit": lambda: (public("BetaLoss", "losses")(0.5, 2.0), "logit"),
    "tailored, logit": lambda: (public("BetaLoss", "losses").tailored(0.3, 20.0), "logit"),
    "canonical of probit": lambda: (public("CanonicalLoss", "losses")(public("Probit", "links")()), None),
    "from weight, logit": lambda: (public("LossFromWeight", "losses")(lambda p: 1.0 + p), "logit"),
}


@each("linear/loss", LINEAR_LOSSES)
def linear_loss(pair: Callable[[], tuple[Any, Any]]) -> Any:
    loss, link = pair()
    return linear(*two(), loss=loss, link=link)


@call("linear/stream")
def linear_stream() -> Any:
    X, y = two()
    parts = [slice(0, 50), slice(50, 50), slice(50, 140)]
    stream = public("Stream", "engines")([(X[part], y[part], weights(140)[part]) for part in parts])
    model = public("ProperLinearClassifier", "linear")().fit(stream)
    return said(model, X[:20]) | {"of stream": model.predict_proba(stream)[:20]}


@call("linear/stream, offset, three classes")
def linear_stream_many() -> Any:
    X, y = many()
    offset = np.random.RandomState(9).normal(size=(150, 3))
    blocks = [(X[i : i + 40], y[i : i + 40], None, offset[i : i + 40]) for i in range(0, 150, 40)]
    model = public("ProperLinearClassifier", "linear")(class_weight="balanced").fit(public("Stream", "engines")(blocks))
    return said(model, X[:20], offset=offset[:20])


@call("linear/stream, sparse")
def linear_stream_sparse() -> Any:
    X, y = two()
    blocks = [(sparse.csr_array(X[i : i + 70]), y[i : i + 70]) for i in (0, 70)]
    return said(public("ProperLinearClassifier", "linear")(C=0.5).fit(public("Stream", "engines")(blocks)), X[:20])


@call("linear/several blocks")
def linear_blocks() -> Any:
    random = np.random.RandomState(8)
    X = random.normal(size=(70_000, 2))
    y = random.uniform(size=len(X)) < expit(X[:, 0] - 1.0)
    return fitted(public("ProperLinearClassifier", "linear")().fit(X, y))


@call("linear/warm start")
def linear_warm() -> Any:
    X, y = two()
    model = public("ProperLinearClassifier", "linear")(warm_start=True).fit(X, y)
    return said(model.set_params(C=10.0).fit(X, y), X[:20])


GEV_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "canonical, -0.5": ("GEVCanonicalRegression", {"xi": -0.5}),
    "canonical, 0": ("GEVCanonicalRegression", {}),
    "canonical, 0.3": ("GEVCanonicalRegression", {"xi": 0.3, "C": 10.0}),
    "canonical, 1.2": ("GEVCanonicalRegression", {"xi": 1.2, "class_weight": "balanced"}),
    "canonical, clip": ("GEVCanonicalRegression", {"xi": 0.3, "outside": "clip"}),
    "canonical, lasso": ("GEVCanonicalRegression", {"xi": 0.2, "C": 0.2, "l1_ratio": 1.0}),
    "log, -0.3": ("GEVLogRegression", {"xi": -0.3}),
    "log, 0": ("GEVLogRegression", {}),
    "log, 0.3": ("GEVLogRegression", {"xi": 0.3}),
    "log, no intercept": ("GEVLogRegression", {"xi": 0.1, "fit_intercept": False}),
    "cv": ("GEVCanonicalRegressionCV", {"xis": [-0.5, 0.0, 0.5], "Cs": 3}),
    "cv, best": ("GEVCanonicalRegressionCV", {"xis": [0.0, 0.5], "Cs": [0.1, 1.0], "average": False, "cv": 3}),
    "cv, squared": ("GEVCanonicalRegressionCV", {"xis": [0.0], "Cs": 2, "scoring": "squared"}),
}


@each("linear/gev", GEV_MODELS)
def linear_gev(entry: tuple[str, dict[str, Any]]) -> Any:
    X, y = two(200, -2.0)
    return said(public(entry[0], "linear")(**entry[1]).fit(X, y), X[:20])


@each("linear/gev, weights and offset", ["GEVCanonicalRegression", "GEVLogRegression", "GEVCanonicalRegressionCV"])
def linear_gev_weights(name: str) -> Any:
    X, y = two(200, -2.0)
    options = {"xis": [0.0, 0.25], "Cs": 2} if name.endswith("CV") else {"xi": 0.1}
    offset = np.linspace(-0.5, 0.5, 200)
    return said(public(name, "linear")(**options).fit(X, y, weights(200), offset), X[:20], offset=offset[:20])


@call("linear/gev, three classes")
def linear_gev_many() -> Any:
    X, y = many()
    return said(public("GEVCanonicalRegression", "linear")(0.2).fit(X, y), X[:20])


RARE_MODELS: dict[str, dict[str, Any]] = {
    "undersampling": {"correction": "undersampling", "random_state": 0},
    "weighting": {"correction": "weighting", "population_rate": 0.01},
    "firth": {},
    "firth, ridge": {"C": 1.0, "population_rate": 0.3},
    "firth, no intercept": {"fit_intercept": False},
    "king and zeng": {"correction": "king-zeng-bias"},
}


@each("linear/rare events", RARE_MODELS)
def linear_rare(options: dict[str, Any]) -> Any:
    X, y = two(200, -2.5)
    return said(public("RareEventLogisticRegression", "linear")(**options).fit(X, y, weights(200)), X[:20])


@call("linear/rare events, separated")
def linear_rare_separated() -> Any:
    X, _ = two(60)
    return said(public("RareEventLogisticRegression", "linear")().fit(X[:, :1], X[:, 0] > 0.2), X[:20, :1])


@each("linear/tailored", {"plain": {}, "two": {"concentrations": (5.0, 50.0), "C": 1.0, "cv": 3}})
def linear_tailored(options: dict[str, Any]) -> Any:
    X, y, _ = public("make_hand_vinciotti", "datasets")(250, random_state=0)
    return said(public("TailoredLinearClassifierCV", "linear")(0.2, **options).fit(X, y, weights(250)), X[:20])


INFERENCES: dict[str, tuple[str, dict[str, Any], str]] = {
    "model": ("ProperLinearClassifier", {"C": np.inf}, "model"),
    "sandwich": ("ProperLinearClassifier", {"C": np.inf, "link": "probit"}, "sandwich"),
    "penalty": ("ProperLinearClassifier", {"C": 1.0}, "sandwich"),
    "gev": ("GEVCanonicalRegression", {"xi": 0.1, "C": np.inf}, "model"),
    "firth": ("RareEventLogisticRegression", {}, "model"),
}


@each("linear/inference", INFERENCES)
def linear_inference(entry: tuple[str, dict[str, Any], str]) -> Any:
    name, options, kind = entry
    X, y = two(200, -1.0)
    model = public(name, "linear")(**options).fit(X, y, weights(200))
    found = public("inference", "linear")(model, X, y, weights(200), kind=kind)
    return {
        "coef": found.coef,
        "covariance": _value(found.covariance),
        "standard_errors": _value(found.standard_errors),
        "confidence_intervals": found.confidence_intervals(0.9),
        "probability_intervals": found.probability_intervals(X[:10]),
        "summary": found.summary(),
    }


def _value(member: Any) -> Any:
    return member() if callable(member) else member


# Boosting and trees --------------------------------------------------------------------------------------------------


def boosted(X: Any, y: Any, *given: Any, eval_set: Any = None, loss: Any = "log", **options: Any) -> Any:
    options = {"n_estimators": 25, "min_samples_leaf": 8, "random_state": 0, "n_jobs": 1} | options
    model = public("ProperBoostingClassifier", "boosting")(loss, **options)
    return said(model.fit(X, y, *given, eval_set=eval_set), rows(X))


BOOSTED: dict[str, Callable[[], Any]] = {
    "log": lambda: boosted(*two(250)),
    "weights": lambda: boosted(*two(250), weights(250)),
    "squared": lambda: boosted(*two(250), loss="squared"),
    "boosting": lambda: boosted(*two(250), loss="boosting", start="base rate"),
    "gev, own link": lambda: boosted(*two(250), loss="gev", link="gev"),
    "tailored": lambda: boosted(*two(250), loss=public("BetaLoss", "losses").tailored(0.3, 10.0), num_leaves=2),
    "probit": lambda: boosted(*two(250), link="probit", l2_regularization=1.0),
    "all trees": lambda: boosted(*two(250), early_stopping=False, learning_rate=0.3, num_leaves=5),
    "eval set": lambda: boosted(two(250)[0][:180], two(250)[1][:180], eval_set=(two(250)[0][180:], two(250)[1][180:])),
    "three classes": lambda: boosted(*many(3, 250)),
    "three classes, squared": lambda: boosted(*many(3, 250), loss="squared"),
    "text labels": lambda: boosted(two(250)[0], np.array(["no", "yes"])[two(250)[1]]),
    "frame": lambda: boosted(frame()[["number", "whole", "code"]], two()[1], categorical_features=["whole"]),
    "sparse": lambda: boosted(sparse.csr_array(np.where(two(250)[0] > 0.5, two(250)[0], 0.0)), two(250)[1]),
    "constant columns": lambda: boosted(np.ones((100, 2)), two()[1][:100]),
}


@each("boosting/proper", BOOSTED)
def boosting_proper(fit: Callable[[], Any]) -> Any:
    return fit()


@each("boosting/adaboost", ["DiscreteAdaBoost", "RealAdaBoost"])
def adaboost(name: str) -> Any:
    X, y = two(250)
    model = public(name, "boosting")(n_estimators=15, learning_rate=0.5, random_state=0).fit(X, y)
    return said(model, X[:20]) | {"staged_scores": model.staged_scores(X, y)}


@each("boosting/adaboost, weights", ["DiscreteAdaBoost", "RealAdaBoost"])
def adaboost_weights(name: str) -> Any:
    X, y = two(250)
    model = public(name, "boosting")(n_estimators=6, early_stopping=False, random_state=0)
    model.fit(np.round(X), np.array(["no", "yes"])[y], weights(250))
    return said(model, X[:20]) | {"staged": list(model.staged_predict_proba(X[:5]))}


def tree(X: Any, y: Any, weight: Any = None, **options: Any) -> Any:
    model = public("ProperTreeClassifier", "tree")(**({"min_samples_leaf": 10, "ccp_alpha": 0.0} | options)).fit(
        X, y, weight
    )
    return said(model, rows(X)) | {"apply": model.apply(rows(X))}


TREES: dict[str, Callable[[], Any]] = {
    "log": lambda: tree(*two()),
    "weights": lambda: tree(*two(), weights(140)),
    "squared": lambda: tree(*two(), loss="squared", max_depth=2, shrinkage=0.0),
    "boosting": lambda: tree(*two(), loss="boosting", shrinkage=5.0),
    "tailored": lambda: tree(*two(), loss=public("BetaLoss", "losses").tailored(0.3, 10.0)),
    "costs": lambda: tree(*two(), loss=public("CostWeightedLoss", "losses")(0.3)),
    "pruned": lambda: tree(*two(), min_samples_leaf=2, ccp_alpha=1.0),
    "few bins": lambda: tree(*two(), n_bins=4),
    "ties": lambda: tree(np.round(two()[0]), two()[1]),
    "one leaf": lambda: tree(np.ones((50, 2)), two()[1][:50]),
    "three classes": lambda: tree(*many(), weights(150)),
    "three classes, squared": lambda: tree(*many(), loss="squared"),
    "frame": lambda: tree(
        frame()[["number", "whole", "town", "code"]], two()[1], categorical_features=["whole", "town"]
    ),
    "float32": lambda: tree(two()[0].astype(np.float32), two()[1]),
}


@each("tree/classifier", TREES)
def tree_classifier(fit: Callable[[], Any]) -> Any:
    return fit()


@call("tree/pruning path")
def tree_pruning() -> Any:
    model = public("ProperTreeClassifier", "tree")(min_samples_leaf=4)
    path = model.cost_complexity_pruning_path(*two())
    return dict(path) if isinstance(path, Mapping) else path


# Calibration ---------------------------------------------------------------------------------------------------------

CALIBRATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("AutoCalibration", {}),
    "platt": ("PlattScaling", {}),
    "platt, plain labels": ("PlattScaling", {"noisy_labels": False}),
    "beta": ("BetaCalibration", {}),
    "quadratic": ("QuadraticScaling", {}),
    "isotonic": ("IsotonicCalibration", {}),
    "isotonic, linear, strict": ("IsotonicCalibration", {"interpolation": "linear", "strict": True}),
    "venn abers": ("VennAbersCalibration", {}),
    "spline": ("SplineCalibration", {}),
    "histogram": ("HistogramBinning", {}),
    "histogram, width": ("HistogramBinning", {"n_bins": 5, "strategy": "width"}),
    "gaussian": ("GaussianCalibration", {}),
    "asymmetric gaussian": ("AsymmetricGaussianCalibration", {"monotone": True}),
    "laplace": ("LaplaceCalibration", {}),
    "asymmetric laplace": ("AsymmetricLaplaceCalibration", {"monotone": True}),
    "hybrid": ("HybridCalibration", {}),
    "piecewise": ("PiecewiseLogOddsCalibration", {}),
    "temperature": ("TemperatureScaling", {}),
    "ensemble temperature": ("EnsembleTemperatureScaling", {}),
    "vector": ("VectorScaling", {}),
    "matrix": ("MatrixScaling", {}),
    "structured matrix": ("StructuredMatrixScaling", {}),
    "dirichlet": ("DirichletCalibration", {}),
}


def calibrated(calibrator: str, y: Any, s: Any, weight: Any = None, at: Any = None, **options: Any) -> Any:
    name, own = CALIBRATORS[calibrator]
    model = public(name, "calibration")(**own, **options).fit(s, y, weight)
    at = s[:16] if at is None else at
    found = said(model, at)
    if hasattr(model, "predict_interval"):
        found["predict_interval"] = model.predict_interval(at)
    return found


def _calibration_call(calibrator: str, n_classes: int, kind: str, weighted: bool) -> Any:
    s, y = scores(n_classes)
    s = probabilities(s) if kind == "probability" else s
    return calibrated(calibrator, y, s, weights(len(y)) if weighted else None, input=kind)


for _name in CALIBRATORS:
    for _kind in ("score", "probability"):
        for _weighted in (False, True):
            for _n_classes in (2, 3):
                _key = f"calibration/{_name}/{_n_classes} classes, {_kind}{', weights' if _weighted else ''}"
                CALLS[_key] = partial(_calibration_call, _name, _n_classes, _kind, _weighted)


@each("calibration/extreme scores", list(CALIBRATORS))
def calibration_extremes(name: str) -> Any:
    """Texts as labels, ties, separated classes, one row of a class, and scores far beyond those of the fit."""
    s, y = scores()
    at = np.array([-1e300, -1e5, -40.0, -1.0, 0.0, 1e-9, 3.0, 800.0, 1e12, 1e300])
    mixture = name == "ensemble temperature"  # what rounding leaves of a weight of 0 decides about ties and tails
    at = s[:16] if mixture else at
    rare = np.arange(len(s)) == 5
    found = {
        "texts": calibrated(name, np.array(["no", "yes"])[y], s, at=at),
        "separated": calibrated(name, s > 0.5, s, at=at),
        "rare": calibrated(name, rare, s, at=at),
        "float32": calibrated(name, y, s.astype(np.float32)),
    }
    if not mixture:
        found["constant"] = calibrated(name, y, np.full(len(s), 2.0))
        found["reversed"] = calibrated(name, y, -s, at=at)
    return found


@each("calibration/monotone", ["Gaussian", "AsymmetricGaussian", "Laplace", "AsymmetricLaplace", "Hybrid"])
def calibration_monotone(family: str) -> Any:
    s, y = scores()
    model = public(f"{family}Calibration", "calibration")
    return {str(flag): said(model(monotone=flag).fit(s + 2.0 * y, y), s[:16]) for flag in (False, True)}


@call("calibration/density")
def calibration_density() -> Any:
    s, y = scores()
    densities = public("AsymmetricLaplaceCalibration", "calibration")().fit(s, y).densities_
    return [density.log_density(np.linspace(-6.0, 6.0, 13)) for density in densities]


@each("calibration/multiclass", ["full", "classwise", "confidence"])
def calibration_multiclass(target: str) -> Any:
    logits, y = scores(3)
    model = public("MulticlassCalibration", "calibration")
    methods = {"full": ("matrix", "temperature")}.get(target, ("platt", "isotonic"))
    return {
        "first": said(model(methods[0], target).fit(logits, y), logits[:16]),
        "second": said(model(methods[1], target).fit(logits, y, weights(len(y))), logits[:16]),
        "auto": said(model(target=target, input="probability").fit(forecasts()[1], y), forecasts()[1][:16]),
    }


@each("calibration/groupwise", {"auto": ("auto", 2), "platt": ("platt", 2), "three classes": ("temperature", 3)})
def calibration_groupwise(entry: tuple[str, int]) -> Any:
    method, n_classes = entry
    s, y = scores(n_classes)
    groups = np.array(["a", "b", "c"])[np.random.RandomState(6).choice(3, size=len(y), p=[0.6, 0.35, 0.05])]
    model = public("GroupwiseCalibration", "calibration")(method).fit(s, y, groups, weights(len(y)))
    return said(model, s[:24], groups[:24])


@call("calibration/groupwise, probabilities")
def calibration_groupwise_probabilities() -> Any:
    s, y = scores()
    model = public("GroupwiseCalibration", "calibration")("beta", input="probability")
    p, groups = probabilities(s), np.arange(len(y)) % 4
    return said(model.fit(p, y, groups), p[:24], groups[:24])


def calibrated_classifier(X: Any, y: Any, weight: Any = None, *, estimator: Any = None, **options: Any) -> Any:
    from sklearn.naive_bayes import GaussianNB

    options = {"ensemble": False} | options  # which was the default
    model = public("CalibratedClassifier", "calibration")(GaussianNB() if estimator is None else estimator, **options)
    return said(model.fit(X, y, weight), X[:20])


def _frozen() -> Any:
    from sklearn.frozen import FrozenEstimator
    from sklearn.naive_bayes import GaussianNB

    return FrozenEstimator(GaussianNB().fit(*two()))


CALIBRATED: dict[str, Callable[[], Any]] = {
    "auto": lambda: calibrated_classifier(*two()),
    "weights": lambda: calibrated_classifier(*two(), weights(140), method="platt"),
    "isotonic, ensemble": lambda: calibrated_classifier(*two(), method="isotonic", ensemble=True, cv=3),
    "decision function": lambda: calibrated_classifier(
        *two(), method="beta", estimator=public("ProperLinearClassifier", "linear")()
    ),
    "frozen": lambda: calibrated_classifier(*two(), estimator=_frozen(), method="temperature"),
    "three classes": lambda: calibrated_classifier(*many()),
    "three classes, linear": lambda: calibrated_classifier(
        *many(), estimator=public("ProperLinearClassifier", "linear")(), method="dirichlet"
    ),
    "text labels": lambda: calibrated_classifier(two()[0], np.array(["no", "yes"])[two()[1]], method="spline"),
    "rare class": lambda: calibrated_classifier(*two(300, -5.0), method="platt"),
    "zeros and ones": lambda: calibrated_classifier(
        *two(),
        method="platt",
        estimator=public("ProperTreeClassifier", "tree")(min_samples_leaf=3, ccp_alpha=0.0, shrinkage=0.0),
    ),
}


@each("calibration/classifier", CALIBRATED)
def calibration_classifier(fit: Callable[[], Any]) -> Any:
    return fit()


# Prevalence and maxent -----------------------------------------------------------------------------------------------


def pooled(name: str, X: Any, y: Any, weight: Any = None, **options: Any) -> Any:
    model = public(name, "maxent", "prevalence")(**options).fit(X, y, weight)
    found = said(model, rows(X)) | {"class_scores": model.class_scores(rows(X))}
    if hasattr(model, "predict_output"):
        found |= {output: model.predict_output(rows(X), output) for output in ("raw", "logistic", "cloglog")}
    return found


def features(*given: Any, **options: Any) -> Any:
    return public("MaxentFeatures", "maxent", "prevalence")(*given, **options)


POOLED = ("Maxent", "EntropyWeightedMaxent", "ClassRobustLogisticRegression")


@each("maxent/plain", POOLED)
def maxent_plain(name: str) -> Any:
    return pooled(name, *presences())


@each("maxent/weights", POOLED)
def maxent_weights(name: str) -> Any:
    return pooled(name, *presences(), weights(200), regularization=0.5)


@each("maxent/hinges", POOLED)
def maxent_hinges(name: str) -> Any:
    return pooled(name, *presences(), features=features("lqph", n_hinges=6))


@each("maxent/thresholds", POOLED)
def maxent_thresholds(name: str) -> Any:
    return pooled(name, *presences(), features=features("lt", n_hinges=5, clamp=False), regularization=2.0)


@each("maxent/three classes", POOLED)
def maxent_many(name: str) -> Any:
    return pooled(name, *presences(3), features=features("lq"))


@each("maxent/ties, sites once", POOLED)
def maxent_sites(name: str) -> Any:
    X, y = presences()
    return pooled(name, np.c_[np.round(X), np.ones(200)], y, duplicates="once")


@each("maxent/frame", POOLED)
def maxent_frame(name: str) -> Any:
    table = frame()[["whole", "town", "code"]]
    return pooled(name, table, np.where(two()[1] == 1, 1, -1), features=features("lq", categorical=["whole"]))


@each("maxent/default prevalence", POOLED[1:])
def maxent_default(name: str) -> Any:
    X, y = presences()
    return {str(nu): pooled(name, X, y, default_prevalence=nu) for nu in (0.1, 0.7)}


@call("maxent/prevalence bounds")
def maxent_bounds() -> Any:
    X, y = presences()
    model = public("EntropyWeightedMaxent", "maxent", "prevalence")(0.3, prevalence_bounds=(0.4, 0.6)).fit(X, y)
    found = said(model, X[:20])
    return found | {"at 0.1": model.predict_proba(X[:20], 0.1), "prevalence at 0.1": model.prevalence(0.1)}


@call("maxent/features")
def maxent_features() -> Any:
    X, y = presences()
    made = features("lqpht", n_hinges=4).fit(X, y)
    far = np.array([[9.0, -9.0], [0.0, 0.0]])
    return {"transform": made.transform(X[:8]), "far": made.transform(far), "extrapolation": made.extrapolation(far)}


@call("maxent/features of a frame")
def maxent_features_frame() -> Any:
    table = frame()[["whole", "town", "code"]]
    return features(n_hinges=5).fit(table, np.where(two()[1] == 1, 1, -1)).transform(table)[:12]


@call("maxent/response curve")
def maxent_response() -> Any:
    X, y = presences()
    model = public("Maxent", "maxent", "prevalence")(features=features("lq")).fit(X, y)
    return [public("response_curve", "maxent", "prevalence")(model, X, column, n_points=15) for column in (0, 1)]


@call("maxent/jackknife")
def maxent_jackknife() -> Any:
    X, y = presences()
    return public("jackknife", "maxent", "prevalence")(public("Maxent", "maxent", "prevalence")(), X, y)


@each("maxent/species", {"background": True, "target group": False})
def maxent_species(with_background: bool) -> Any:
    X, _ = presences()
    species = np.array(["fern", "moss"])[np.arange(60) % 2]
    model = public("Maxent", "maxent", "prevalence")(features=features("lqh", n_hinges=4))
    background = X[60:] if with_background else None
    models = public("fit_species", "maxent", "prevalence")(model, X[:60], species, background)
    return {name: said(one, X[:20]) for name, one in models.items()}


@call("prevalence/reweight")
def prevalence_reweight() -> Any:
    X, y = presences()
    maxent = public("EntropyWeightedMaxent", "maxent", "prevalence")(0.3).fit(X, y)
    model = public("ProperLinearClassifier", "linear")(class_weight="balanced").fit(X, y)
    reweight = public("reweight", "maxent", "prevalence")
    return {
        "default": reweight(model, X[:20], maxent),
        "other": reweight(model, X[:20], maxent, default_prevalence=0.1),
    }


@call("prevalence/adjust prior")
def prevalence_adjust() -> Any:
    adjust = public("adjust_prior", "prevalence")
    p = np.array([0.0, 5e-324, 1e-300, 1e-9, 0.2, 0.5, 1.0 - 1e-16, 1.0])
    return {
        "two": adjust(p, 0.5, 0.01),
        "columns": adjust(np.column_stack([1.0 - p, p]), [0.9, 0.1], [0.2, 0.8]),
        "three": adjust(forecasts()[1][:20], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]),
        "end": adjust(p[1:-1], 0.5, 1.0),
        "number": adjust(0.3, 0.5, 0.1),
    }


@call("prevalence/prior after")
def prevalence_after() -> Any:
    sampling = public("prior_after_sampling", "prevalence")
    weighting = public("prior_after_weighting", "prevalence")
    return {
        "sampling": sampling(0.02, [0.1, 1.0]),
        "sampling, three": sampling([0.2, 0.3, 0.5], [1.0, 0.1, 2.0]),
        "balanced": weighting([0.2, 0.3, 0.5], "balanced"),
        "by label": weighting(0.1, {"yes": 5.0}, ["no", "yes"]),
        "array": weighting(0.1, [1.0, 9.0]),
    }


@each("prevalence/estimate", ["em", "bbse-hard", "bbse-soft"])
def prevalence_estimate(method: str) -> Any:
    estimate = partial(public("estimate_prior", "prevalence"), method=method, n_bootstrap=20, random_state=0)
    (y, p), (labels, P) = forecast(), forecasts()
    given = [(), ()] if method == "em" else [(p[80:], y[80:]), (P[80:], labels[80:])]
    return {
        "two": estimate(p[:80], 0.5, *given[0]),
        "three": estimate(P[:80], [0.3, 0.3, 0.4], *given[1]),
        "no interval": estimate(p[:80], 0.3, *given[0], n_bootstrap=None),
        "absent": estimate(np.full(30, 0.01), 0.5, *given[0]),
    }


def prior_corrected(X: Any, y: Any, weight: Any = None, *, estimator: Any = None, **options: Any) -> Any:
    balanced = public("ProperLinearClassifier", "linear")(class_weight="balanced")
    model = public("PriorCorrectedClassifier", "prevalence")(balanced if estimator is None else estimator, **options)
    return said(model.fit(X, y, weight), X[:20])


CORRECTED: dict[str, Callable[[], Any]] = {
    "balanced": lambda: prior_corrected(*two()),
    "weights": lambda: prior_corrected(*two(), weights(140)),
    "true prior": lambda: prior_corrected(*two(), true_prior=0.01),
    "by label": lambda: prior_corrected(
        two()[0], np.array(["no", "yes"])[two()[1]], train_prior="from y", true_prior={"no": 0.7, "yes": 0.3}
    ),
    "three classes": lambda: prior_corrected(*many(), true_prior=[0.1, 0.2, 0.7]),
    "zeros and ones": lambda: prior_corrected(
        *two(),
        estimator=public("ProperTreeClassifier", "tree")(min_samples_leaf=3, ccp_alpha=0.0, shrinkage=0.0),
        train_prior=0.4,
        true_prior=0.1,
    ),
    "frozen": lambda: prior_corrected(*two(), estimator=_frozen(), true_prior=0.2),
}


@each("prevalence/corrected", CORRECTED)
def prevalence_corrected(fit: Callable[[], Any]) -> Any:
    return fit()


# Losses and links ----------------------------------------------------------------------------------------------------

P = np.array([0.0, 5e-324, 1e-300, 1e-20, 1e-8, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-8, 1.0 - 2.0**-53, 1.0])
Q = np.array([1e-300, 1e-20, 1e-9, 0.25])
V = np.array([-np.inf, -1e300, -1e5, -745.0, -40.0, -6.0, -1.0, -1e-8, 0.0, 0.3, 1.0, 3.0, 30.0, 800.0, 1e10, np.inf])

LOSSES: dict[str, Callable[[], Any]] = {
    "log": lambda: public("LogLoss", "losses")(),
    "squared": lambda: public("SquaredLoss", "losses")(),
    "boosting": lambda: public("BoostingLoss", "losses")(),
    "beta, small": lambda: public("BetaLoss", "losses")(0.05, -0.7),
    "beta": lambda: public("BetaLoss", "losses")(0.5, 2.0),
    "beta, large": lambda: public("BetaLoss", "losses")(300.0, 20.0),
    "tailored": lambda: public("BetaLoss", "losses").tailored(0.05, 1000.0),
    "gev, 0": lambda: public("GEVLoss", "losses")(),
    "gev, 0.4": lambda: public("GEVLoss", "losses")(0.4),
    "gev, -0.6": lambda: public("GEVLoss", "losses")(-0.6),
    "gev, 1.3": lambda: public("GEVLoss", "losses")(1.3),
    "canonical of probit": lambda: public("CanonicalLoss", "losses")(public("Probit", "links")()),
    "canonical of cauchit": lambda: public("CanonicalLoss", "losses")(public("Cauchit", "links")()),
    "canonical of cloglog": lambda: public("CanonicalLoss", "losses")(public("Cloglog", "links")()),
    "from weight": lambda: public("LossFromWeight", "losses")(lambda p: 1.0 / np.sqrt(p * (1.0 - p))),
    "costs": lambda: public("CostWeightedLoss", "losses")(0.2),
}
LINKS: dict[str, Callable[[], Any]] = {
    "logit": lambda: public("Logit", "links")(),
    "probit": lambda: public("Probit", "links")(),
    "cloglog": lambda: public("Cloglog", "links")(),
    "loglog": lambda: public("Loglog", "links")(),
    "cauchit": lambda: public("Cauchit", "links")(),
    "gev, 0": lambda: public("GEV", "links")(),
    "gev, 0.4": lambda: public("GEV", "links")(0.4),
    "gev, -0.6": lambda: public("GEV", "links")(-0.6),
    "canonical of squared": lambda: public("SquaredLoss", "losses")().canonical_link,
    "canonical of boosting": lambda: public("BoostingLoss", "losses")().canonical_link,
    "canonical of beta": lambda: public("BetaLoss", "losses")(0.5, 2.0).canonical_link,
}
SMOOTH = {name: make for name, make in LOSSES.items() if name != "costs"}


@each("losses/values", LOSSES)
def loss_values(make: Callable[[], Any]) -> Any:
    loss = make()
    found = {method: getattr(loss, method)(P) for method in ("weight", "loss0", "loss1", "entropy")}
    found |= {f"{method}, q": getattr(loss, method)(1.0 - Q, Q) for method in ("weight", "loss0", "loss1", "entropy")}
    return found | {"risk": loss.risk(P[:, None], P[None, 4:10])}


def composite_values(composite: Any, y: Any, v: Any) -> dict[str, Any]:
    return {
        "value": composite.value(y, v),
        "gradient": composite.gradient(y, v),
        "expected": composite.curvature(y, v),
        "observed": composite.curvature(y, v, kind="observed"),
    }


@each("losses/composite", SMOOTH)
def loss_composite(make: Callable[[], Any]) -> Any:
    loss, y = make(), np.array([[0], [1]])
    composite = public("Composite", "losses")
    found = {name: composite_values(composite(loss, link()), y, V) for name, link in list(LINKS.items())[:8]}
    return found | {"own": composite_values(composite(loss), y, V)}


@call("losses/composite, not extended")
def loss_clipped() -> Any:
    composite = public("Composite", "losses")(LOSSES["gev, 0.4"](), LINKS["gev, 0.4"](), False)
    return composite_values(composite, np.array([[0], [1]]), V)


@call("losses/composite, shares")
def loss_shares() -> Any:
    composite = public("Composite", "losses")("log", "probit")
    return composite_values(composite, np.array([[0.0], [0.3], [1.0]]), V[1:-1])


@each("losses/softmax", ["log", "squared"])
def loss_softmax(name: str) -> Any:
    composite = public("SoftmaxComposite", "losses")(LOSSES[name]())
    v = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5], [800.0, -800.0, 0.0], [1e300, 1e300, -1e300]])
    return {str(y): composite_values(composite, np.full(4, y), v) for y in range(3)}


@each("links/values", LINKS)
def link_values(make: Callable[[], Any]) -> Any:
    link = make()
    return {
        "link": link.link(P),
        "link, q": link.link(1.0 - Q, Q),
        "inverse": link.inverse(V),
        "pair": link.inverse_pair(V),
        "derivative": link.inverse_derivative(V),
        "loss0": public("canonical_loss", "losses")(link).loss0(P),
        "loss1": public("canonical_loss", "losses")(link).loss1(P),
    }


@call("losses/keys")
def loss_keys() -> Any:
    losses = {key: public("get_loss", "losses")(key).loss1(P) for key in public("LOSSES", "losses")}
    return losses | {key: public("get_link", "links")(key).link(P) for key in public("LINKS", "links")}


# Metrics -------------------------------------------------------------------------------------------------------------

FORECASTS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "plain": lambda: (*forecast(), None),
    "weights": lambda: (*forecast(), weights(160)),
    "zeros and ones": lambda: (forecast()[0], probabilities(scores()[0]), None),
    "text labels": lambda: (np.array(["no", "yes"])[forecast()[0]], forecast()[1], weights(160)),
    "float32": lambda: (forecast()[0], forecast()[1].astype(np.float32), None),
    "two columns": lambda: (forecast()[0], np.column_stack([expit(-scores()[0]), expit(scores()[0])]), None),
    "constant": lambda: (forecast()[0], np.full(160, 0.4), weights(160)),
    "rare class": lambda: ((np.arange(160) == 7).astype(int), forecast()[1], None),
    "three classes": lambda: (*forecasts(), None),
    "three classes, weights": lambda: (*forecasts(), weights(160)),
    "three classes, zeros and ones": lambda: (forecasts()[0], probabilities(scores(3)[0]), None),
}
OF_TWO = {name: make for name, make in FORECASTS.items() if not name.startswith("three")}


@each("metrics/scores", FORECASTS)
def metric_scores(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    found = {name: public(name, "metrics")(y, p, sample_weight=weight) for name in ("log_loss", "brier_score")}
    for loss in ("log", "squared", "boosting", "gev"):
        found[f"proper_score, {loss}"] = public("proper_score", "metrics")(y, p, loss, sample_weight=weight)
        found[f"skill_score, {loss}"] = public("skill_score", "metrics")(y, p, loss, sample_weight=weight)
        found[f"row_losses, {loss}"] = public("row_losses", "metrics")(y, p, loss)[:20]
    return found


@each("metrics/decomposition", FORECASTS)
def metric_decomposition(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    losses = {"log": "log", "squared": "squared", "tailored": LOSSES["tailored"](), "costs": LOSSES["costs"]()}
    decomposed = partial(public("score_decomposition", "metrics"), y, p, sample_weight=weight)
    return {name: decomposed(loss) for name, loss in losses.items()}


BINS: dict[str, dict[str, Any]] = {
    "default": {},
    "mass": {"strategy": "mass", "n_bins": 7},
    "norm 2": {"norm": 2, "n_bins": 5},
    "debiased": {"debiased": True, "n_bins": 5},
    "debiased 2": {"debiased": True, "norm": 2, "strategy": "mass"},
}


@each("metrics/calibration error", FORECASTS)
def metric_calibration_error(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    names = ["classwise_calibration_error", "confidence_calibration_error"]
    names += ["expected_calibration_error"] if len(np.unique(y)) == 2 else []
    return {
        f"{name}, {kind}": public(name, "metrics")(y, p, sample_weight=weight, **options)
        for name in names
        for kind, options in BINS.items()
    }


def _murphy_curve(y: Any, p: Any, thresholds: Any, **given: Any) -> Any:
    found = public("murphy", "diagnostics")(y, p, thresholds=thresholds, **given)
    return {"thresholds": found.thresholds, "errors": found.errors[0]}


def _net_benefit(y: Any, p: Any, thresholds: Any, **given: Any) -> Any:
    found = public("decision_curve", "diagnostics")(y, p, thresholds=thresholds, **given)
    return {"thresholds": found.thresholds, "benefits": found.benefits[0], "treat_all": found.treat_all}


@each("metrics/two classes", OF_TWO)
def metric_two(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    given = {"sample_weight": weight}
    at = np.array([0.0, 0.1, 0.4, 0.5, 0.9])
    return {
        "calibration_loss": public("calibration_loss", "metrics")(y, p, **given),
        "smooth": public("smooth_calibration_error", "metrics")(y, p, **given),
        "auc": public("auc", "metrics")(y, p, **given),
        "auc, 0.8": public("auc", "metrics")(y, p, confidence=0.8, **given),
        "best_threshold": public("best_threshold", "metrics")(y, p, (1, 4), **given),
        "cost_weighted_error": public("cost_weighted_error", "metrics")(y, p, at, **given),
        "murphy_curve": _murphy_curve(y, p, at, **given),
        "net_benefit": _net_benefit(y, p, at, **given),
    }


@call("metrics/murphy curve")
def metric_murphy() -> Any:
    y, p = forecast()
    return _murphy_curve(y[:40], p[:40], "exact")


@each("metrics/auc difference", {"plain": False, "weights": True})
def metric_auc_difference(weighted: bool) -> Any:
    y, p = forecast()
    other = expit(scores()[0] + np.random.RandomState(7).normal(size=160))
    weight = weights(160) if weighted else None
    return public("auc_difference", "metrics")(y, p, other, sample_weight=weight)


@call("metrics/perfect ranking")
def metric_perfect() -> Any:
    y = np.repeat([0, 1], [12, 8])
    return {"right": public("auc", "metrics")(y, y * 0.5), "wrong": public("auc", "metrics")(y, 0.5 - y * 0.5)}


@call("metrics/decisions")
def metric_decisions() -> Any:
    decide, (_, p), (_, columns) = public("decide", "metrics"), forecast(), forecasts()
    each_row = np.random.RandomState(1).uniform(size=(160, 3, 3))
    return {
        "pair": decide(p, (1, 4)),
        "text": decide(p, "1:20"),
        "reject": decide(p, (1, 1), reject_cost=0.2),
        "matrix": decide(columns, [[0, 1, 4], [1, 0, 1], [4, 1, 0]]),
        "rows": decide(columns, each_row, reject_cost=0.3),
        "matrix of pair": public("cost_matrix", "metrics")((1, 20)),
        "threshold": public("cost_threshold", "metrics")([[0, 5], [95, -5]]),
        "parsed": public("parse_costs", "metrics")("1:20"),
    }


@each("metrics/paired", {"plain": False, "weights": True})
def metric_paired(weighted: bool) -> Any:
    y, p = forecast()
    a, b = (public("row_losses", "metrics")(y, each) for each in (p, np.sqrt(p)))
    given = {"sample_weight": weights(160) if weighted else None}
    bootstrap = public("paired_bootstrap", "metrics")
    return {
        "bootstrap": bootstrap(a, b, n_resamples=200, random_state=0, **given),
        "confidence": bootstrap(a, b, n_resamples=100, confidence=0.8, random_state=1, **given),
        "sign test": public("sign_test", "metrics")(a, np.round(b, 1), **given),
    }


@call("metrics/rmse and skill")
def metric_rmse() -> Any:
    (y, p), (labels, columns) = forecast(), forecasts()
    rmse, skill = public("probability_rmse", "metrics"), public("skill_score", "metrics")
    return {
        "two": rmse(p, np.sqrt(p)),
        "weights": rmse(p, p**2, sample_weight=weights(160)),
        "three": rmse(columns, np.full((160, 3), 1.0 / 3.0)),
        "skill": skill(y, p, reference=0.3),
        "skill, rows": skill(y, p, "squared", reference=np.sqrt(p)),
        "skill, three": skill(labels, columns, reference=[0.2, 0.3, 0.5]),
        "one class": public("log_loss", "metrics")(np.zeros(5), p[:5]),
        "classes": public("brier_score", "metrics")(labels[labels < 2], columns[labels < 2], classes=[0, 1, 2]),
    }


@call("metrics/scorers")
def metric_scorers() -> Any:
    X, y = two()
    model = public("ProperLinearClassifier", "linear")().fit(X, y)
    found = {name: scorer(model, X, y) for name, scorer in public("SCORERS", "metrics").items()}
    return found | {"proper": public("proper_scorer", "metrics")("boosting")(model, X, y)}


# Diagnostics ---------------------------------------------------------------------------------------------------------


def diagnosed(result: Any) -> dict[str, Any]:
    """The attributes and the columns of the frame."""
    return numbers(result) | {"frame": result.frame()}


@each("diagnostics/reliability", OF_TWO)
def diagnostic_reliability(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    given = {"n_resamples": 30, "max_points": 25, "confidence": 0.9}
    return diagnosed(public("reliability", "diagnostics")(y, p, sample_weight=weight, **given))


@call("diagnostics/reliability, every point")
def diagnostic_reliability_exact() -> Any:
    y, p = forecast()
    return public("reliability", "diagnostics")(y, p, n_resamples=30, confidence=0.8, random_state=3)


@each("diagnostics/multiclass reliability", {"plain": False, "weights": True})
def diagnostic_multiclass(weighted: bool) -> Any:
    y, p = forecasts()
    weight = weights(160) if weighted else None
    multiclass = public("multiclass_reliability", "diagnostics")
    return diagnosed(multiclass(y, p, sample_weight=weight, n_resamples=20, max_points=15, confidence=0.9))


AT = np.array([0.01, 0.1, 0.25, 0.5, 0.75, 0.95])


@each("diagnostics/curves", OF_TWO)
def diagnostic_curves(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    given = {"sample_weight": weight, "thresholds": AT}
    several = {"as given": p, "constant": np.full(160, 0.3)}
    difference = public("murphy_difference", "diagnostics")(y, p, np.full(160, 0.3), confidence=0.9, **given)
    return {
        "murphy": diagnosed(public("murphy", "diagnostics")(y, several, **given)),
        "difference": diagnosed(difference),
        "decision": diagnosed(public("decision_curve", "diagnostics")(y, several, **given)),
        "cost": diagnosed(public("cost_curve", "diagnostics")(y, several, (1, 5), **given)),
    }


@call("diagnostics/curves, all thresholds")
def diagnostic_curves_all() -> Any:
    y, p = forecast()
    found = public("murphy", "diagnostics")(y, p)
    return {"thresholds": found.thresholds, "errors": found.errors, "base": found.base}


@each("diagnostics/groups", FORECASTS)
def diagnostic_groups(make: Callable[[], Any]) -> Any:
    y, p, weight = make()
    group = np.array(["a", "b", None], dtype=object)[np.random.RandomState(6).randint(3, size=160)]
    by_group = partial(public("by_group", "diagnostics"), y, p, group, sample_weight=weight)
    return {"log": diagnosed(by_group(confidence=0.9)), "squared": diagnosed(by_group(loss="squared", confidence=0.99))}


@each("diagnostics/log-odds fit", {"plain": False, "weights": True})
def diagnostic_log_odds(weighted: bool) -> Any:
    s, y = scores()
    weight = weights(160) if weighted else None
    given = {"n_bins": 8, "sample_weight": weight, "confidence": 0.9}
    fit = public("log_odds_fit", "diagnostics")(y, s, ("platt", "isotonic"), **given)
    return {"frame": fit.frame(), "score": fit.score, "log_odds": fit.log_odds, "curves": fit.curves[:, ::20]}


@each("diagnostics/score densities", {"plain": False, "weights": True})
def diagnostic_densities(weighted: bool) -> Any:
    s, y = scores()
    methods = ("asymmetric_laplace", "gaussian", "hybrid")
    weight = weights(160) if weighted else None
    found = public("score_densities", "diagnostics")(y, s, methods, n_bins=10, sample_weight=weight)
    some = {"score": found.score[::20], "fitted": found.fitted[..., ::20]}
    return some | {name: getattr(found, name) for name in ("edges", "observed", "log_likelihood")}


@call("diagnostics/loss curves")
def diagnostic_losses() -> Any:
    found = public("loss_curves", "diagnostics")({"log": "log", "beta": LOSSES["beta"]()})
    return {name: getattr(found, name)[..., ::25] for name in ("p", "weight", "entropy", "loss0", "loss1")}


# Audit and comparison ------------------------------------------------------------------------------------------------


def audited(y: Any, p: Any, **options: Any) -> dict[str, Any]:
    """All numbers of an audit; of its two long curves every twentieth point."""
    found = public("audit", "audit", "report")(y, p, **options)
    kept = {_stored_as(name): _thinned(array, name.split("/")[0]) for name, array in numbers(found).items()}
    return kept | {"verdict": np.frombuffer(public("verdict", "audit", "report")(found).encode(), np.uint8)}


def _stored_as(name: str) -> str:
    """The name under which a number was stored: some attributes have been renamed since."""
    part, _, rest = name.partition("/")
    former = {
        "thresholds": "cuts",
        "multiclass_reliability": "panels",
        "n_recalibrated": "mending/n_rows",
        "n_folds": "mending/n_folds",
    }
    return "/".join(filter(None, (former.get(part, part), rest)))


def _thinned(array: np.ndarray, part: str) -> np.ndarray:
    return array[..., ::20] if part in ("murphy", "thresholds", "cuts") and array.ndim else array


def _audit_groups() -> np.ndarray:
    return np.array(["a", "b", "c"])[np.random.RandomState(6).randint(3, size=160)]


AUDITS: dict[str, Callable[[], Any]] = {
    "plain": lambda: audited(*forecast()),
    "weights, costs, groups": lambda: audited(
        *forecast(), sample_weight=weights(160), costs=(1, 5), group=_audit_groups()
    ),
    "zeros and ones": lambda: audited(forecast()[0], probabilities(scores()[0]), costs="1:3"),
    "text labels": lambda: audited(np.array(["no", "yes"])[forecast()[0]], forecast()[1], random_state=1),
    "mended": lambda: audited(*forecast(), calibrated=np.sqrt(forecast()[1])),
    "rare class": lambda: audited((np.arange(160) % 50 == 7).astype(int), forecast()[1]),
    "three classes": lambda: audited(*forecasts(), group=_audit_groups()),
    "three classes, weights": lambda: audited(*forecasts(), sample_weight=weights(160)),
}


@each("audit", AUDITS)
def audit_numbers(make: Callable[[], Any]) -> Any:
    return make()


def compared(X: Any, y: Any, **options: Any) -> dict[str, Any]:
    from sklearn.naive_bayes import GaussianNB

    candidates = {"bayes": GaussianNB(), "linear": public("ProperLinearClassifier", "linear")()}
    found = public("compare", "comparison")(candidates, X, y, cv=3, **options)
    kept = {name: array for name, array in numbers(found).items() if name != "seconds"}
    places = {"names": np.array([sorted(found.names).index(name) for name in found.names])}
    return {name: array[:20] if name.startswith("prob") else array for name, array in kept.items()} | places


COMPARISONS: dict[str, Callable[[], Any]] = {
    "plain": lambda: compared(*two()),
    "weights": lambda: compared(*two(), sample_weight=weights(140), loss="squared"),
    "calibration": lambda: compared(*two(), calibration="platt", random_state=1),
    "three classes": lambda: compared(*many(), calibration="temperature", uncalibrated=False),
}


@each("comparison/compare", COMPARISONS)
def comparison(make: Callable[[], Any]) -> Any:
    return make()


@call("comparison/cross-calibrated")
def comparison_cross() -> Any:
    y, p = forecast()
    folds = public("stratified_folds", "comparison")(y, np.array([0, 1]), 4, 0)
    cross = public("cross_calibrated", "comparison")
    after = cross(p, y, folds, "beta", weights(160))
    return {"folds": folds, "beta": after[:20], "scores": cross(scores()[0], y, folds, "platt", None, "score")[:20]}


# Data sets, tables, files --------------------------------------------------------------------------------------------


@each("datasets/rare events", ["logit", "probit", "cloglog", "loglog", "cauchit"])
def rare_events(link: str) -> Any:
    X, y, p = public("make_rare_events", "datasets")(200, 2, rate=0.1, link=link, signal=2.0, random_state=0)
    return {"X": X[:20], "y": y, "p": p[:40]}


@call("datasets/rare events, gev")
def rare_events_gev() -> Any:
    X, y, p = public("make_rare_events", "datasets")(150, 3, link=LINKS["gev, 0.4"](), random_state=5)
    return {"X": X[:20], "y": y, "p": p}


@call("datasets/hand and vinciotti")
def hand_vinciotti() -> Any:
    return public("make_hand_vinciotti", "datasets")(40, random_state=0)


def table() -> dict[str, list[Any]]:
    """Columns of every kind, with missing values."""
    return {
        "age": [30, None, 50, 41, 12, 77],
        "share": [0.5, 1e-3, 7.0, 2.5, 2.0, 3.0],
        "town": ["Rome", "Bath", "Rome", None, "Ulm", "Ulm"],
        "member": [True, False, None, True, True, False],
        "since": [date(2020, month, 17) for month in range(1, 7)],
        "code": [1, 2, 1, 2, 3, 1],
        "empty": [None] * 6,
    }


@each("tables/encoder", {"plain": {}, "categories": {"categories": ["code", "age"]}, "few": {"max_categories": 2}})
def table_encoder(options: dict[str, Any]) -> Any:
    encoder = public("TableEncoder", "tables")(**options).fit(table())
    texts = {"share": ["7", " 1e3", None], "town": ["Oslo", None, "Bath"], "since": ["1969-12-31", "2024-02-29", None]}
    new = {name: column[:3] for name, column in table().items()} | texts
    return {
        "transform": encoder.transform(table()),
        "new": encoder.transform(new, unseen="missing"),
        "categorical": encoder.categorical_,
        "missing": [column.missing for column in encoder.columns_],
        "mean": [column.mean for column in encoder.columns_],
    }


@call("tables/encoder of a frame")
def table_encoder_frame() -> Any:
    return public("TableEncoder", "tables")().fit(frame()).transform(frame())[:30]


@call("tables/files")
def table_files() -> Any:
    import pyarrow

    given = public("as_table", "tables")(frame())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        public("write_batches", "tables")(path, given.schema, given.to_batches())
        whole, parts = public("read_table", "tables")(path), list(public("read_batches", "tables")(path))
        encoder = public("TableEncoder", "tables")().fit(whole)
        return {
            "whole": encoder.transform(whole)[:30],
            "parts": encoder.transform(pyarrow.Table.from_batches(parts))[:30],
        }


@call("tables/linear features")
def table_linear_features() -> Any:
    encoded = public("TableEncoder", "tables")().fit(frame())
    X = encoded.transform(frame())
    make = partial(public("LinearFeatures", "tables"), categorical=encoded.categorical_)
    return {
        "plain": make().fit_transform(X)[:20],
        "few": make(max_levels=1).fit(X, None, weights(140)).transform(X)[:20],
    }


@call("tables/model")
def table_model() -> Any:
    encoder = public("TableEncoder", "tables")().fit(frame())
    model = public("WithFeatures", "tables")(
        public("LinearFeatures", "tables")(encoder.categorical_), public("ProperLinearClassifier", "linear")()
    ).fit(encoder.transform(frame()), two()[1], weights(140))
    whole = public("TableClassifier", "tables")(encoder, model, ["no", "yes"])
    return {"scored": whole.scored(rows(frame())), "model": said(model, encoder.transform(rows(frame())))}


@each("files/save and load", ["linear", "calibrated", "tree", "boosting", "maxent"])
def saved(kind: str) -> Any:
    import properly

    X, y = presences() if kind == "maxent" else two()
    model = {
        "linear": lambda: public("ProperLinearClassifier", "linear")("gev"),
        "calibrated": lambda: public("CalibratedClassifier", "calibration")(
            public("ProperLinearClassifier", "linear")(), ensemble=False
        ),
        "tree": lambda: public("ProperTreeClassifier", "tree")(min_samples_leaf=20, ccp_alpha=0.0),
        "boosting": lambda: public("ProperBoostingClassifier", "boosting")(n_estimators=5, n_jobs=1, random_state=0),
        "maxent": lambda: public("EntropyWeightedMaxent", "maxent", "prevalence")(features=features("lq")),
    }[kind]()
    with tempfile.TemporaryDirectory() as folder:
        properly.save(model.fit(X, y), Path(folder, "model.skops"))
        return said(properly.load(Path(folder, "model.skops")), X[:20])


def command(*words: str) -> Any:
    """What a command of the command line says as JSON, without what depends on time and place."""
    main = import_module("properly.cli").main
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words, "--json"])
    found = json.loads(written.getvalue())
    return {"code": code} | {name: array for name, array in numbers(found).items() if "second" not in name}


def write_table(path: Path, columns: Mapping[str, Any]) -> str:
    """A CSV file; numbers with all their digits."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def read_numbers(path: Path, column: str) -> list[float]:
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    place = header.replace('"', "").split(",").index(column)
    return [float(line.split(",")[place]) for line in lines]


@call("files/command audit")
def command_audit() -> Any:
    y, p = forecast()
    with tempfile.TemporaryDirectory() as folder:
        columns = {"y": y.tolist(), "p": p.tolist(), "g": _audit_groups().tolist()}
        given = write_table(Path(folder, "given.csv"), columns)
        options = ["--target", "y", "--probability", "p", "--group", "g", "--costs", "1:5"]
        return command("audit", given, *options, "--report", str(Path(folder, "audit.html")))


@call("files/command calibrate")
def command_calibrate() -> Any:
    s, y = scores()
    with tempfile.TemporaryDirectory() as folder:
        given = write_table(Path(folder, "given.csv"), {"y": y.tolist(), "s": s.tolist()})
        model, scored = Path(folder, "model.skops"), Path(folder, "scored.csv")
        found = command("calibrate", given, "--target", "y", "--score", "s", "-o", str(model))
        command("predict", str(model), given, "-o", str(scored))
        return {"calibrate": found, "probability": read_numbers(scored, "probability_1")[:40]}


@call("files/command fit")
def command_fit() -> Any:
    X, y = two()
    with tempfile.TemporaryDirectory() as folder:
        columns = {"y": y.tolist()} | {name: column.tolist() for name, column in zip("abc", X.T, strict=True)}
        given = write_table(Path(folder, "given.csv"), columns)
        model, scored, page = (Path(folder, name) for name in ("model.skops", "scored.csv", "fit.html"))
        options = ["--target", "y", "--method", "logistic,gev", "--folds", "3"]
        found = command("fit", given, *options, "-o", str(model), "--report", str(page))
        command("predict", str(model), given, "-o", str(scored))
        return {"fit": found, "probability": read_numbers(scored, "probability_1")[:40]}


@call("files/command maxent")
def command_maxent() -> Any:
    X, y = presences()
    with tempfile.TemporaryDirectory() as folder:
        columns = [dict(zip("ab", X[y == label].T.tolist(), strict=True)) for label in (1, -1)]
        seen, region = (write_table(Path(folder, f"{k}.csv"), each) for k, each in enumerate(columns))
        model, scored = Path(folder, "model.skops"), Path(folder, "scored.csv")
        options = ["--predict", region, "--scored", str(scored), "--kinds", "lq", "-o", str(model)]
        found = command("maxent", "--presence", seen, "--background", region, *options)
        return {"maxent": found, "columns": len(scored.read_text(encoding="utf-8").splitlines())}


# Storing and comparing -----------------------------------------------------------------------------------------------


def write(found: Mapping[str, Mapping[str, np.ndarray]], path: Path = STORED) -> None:
    """All outputs in one file: their bytes one after the other, and an index of names, types and shapes."""
    flat = [(name, key, np.asarray(array)) for name, arrays in found.items() for key, array in arrays.items()]
    index = [[name, key, array.dtype.str, list(array.shape)] for name, key, array in flat]
    data = np.frombuffer(b"".join(array.tobytes() for _, _, array in flat), np.uint8)
    np.savez_compressed(path, index=np.frombuffer(json.dumps(index).encode(), np.uint8), data=data)


def read(path: Path = STORED) -> dict[str, dict[str, np.ndarray]]:
    """What `write` stored: the outputs of every call by their names."""
    with np.load(path) as stored:
        index, data = json.loads(stored["index"].tobytes()), stored["data"].tobytes()
    found: dict[str, dict[str, np.ndarray]] = {}
    begin = 0
    for name, key, dtype, shape in index:
        count = int(np.prod(shape, dtype=np.intp))
        array = np.frombuffer(data, dtype, count, begin).reshape(shape)
        begin += array.nbytes
        found.setdefault(name, {})[key] = array
    return found


def same_bits(stored: np.ndarray, now: np.ndarray) -> bool:
    return stored.dtype == now.dtype and stored.shape == now.shape and stored.tobytes() == now.tobytes()


def close(stored: np.ndarray, now: np.ndarray) -> bool:
    return stored.shape == now.shape and np.allclose(now, stored, RELATIVE, ABSOLUTE, equal_nan=True)


def largest_difference(stored: np.ndarray, now: np.ndarray) -> float:
    """Relative to the larger of the two; infinite where shapes differ, or where only one is finite."""
    if stored.shape != now.shape:
        return np.inf
    a, b = stored.astype(np.float64), now.astype(np.float64)
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    with np.errstate(all="ignore"):
        relative = np.abs(a - b)[differ] / np.maximum(np.abs(a), np.abs(b))[differ]
    return float(np.where(np.isfinite(relative), relative, np.inf).max(initial=0.0))


def compare(names: Iterable[str]) -> tuple[int, int, int]:
    """Print what differs from what is stored; how many calls are equal, close, and changed."""
    stored, equal, near, changed = read(), 0, 0, 0
    for name in names:
        try:
            now, before = run(name), stored[name]
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            changed += 1
            continue
        differing = [key for key in before if key not in now or not same_bits(before[key], now[key])]
        for key in differing:
            size = f"{largest_difference(before[key], now[key]):.1e}" if key in now else "missing"
            print(f"{name}: {key}: {size}")
        for key in set(now) - set(before):
            print(f"{name}: {key}: new")
        if not differing:
            equal += 1
        elif all(key in now and close(before[key], now[key]) for key in differing):
            near += 1
        else:
            changed += 1
    return equal, near, changed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--write", action="store_true", help="store the outputs")
    task.add_argument("--compare", action="store_true", help="compare the outputs with those stored")
    parser.add_argument("--only", metavar="PATTERN", default="*", help='names of calls, such as "linear/*"')
    given = parser.parse_args(arguments)
    names = [name for name in CALLS if fnmatch(name, given.only)]
    if given.write:
        kept = {} if given.only == "*" or not STORED.exists() else read()
        write(kept | {name: run(name) for name in names})
        print(f"{len(names)} calls stored, {STORED.stat().st_size / 1000:.0f} kB")
        return 0
    equal, near, changed = compare(names)
    print(f"{len(names)} calls: {equal} bitwise equal, {near} within {RELATIVE:g}, {changed} changed")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
