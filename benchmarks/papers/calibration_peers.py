"""Every calibrator of the benchmark as one function: (scores, y, test scores) -> probabilities of the test rows.

Binary scores are log-odds of shape (n,), multi-class scores are logits of shape (n, K). A peer that wants
probabilities gets their logistic (softmax) transform. A package that is not installed leaves its rows out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Array = NDArray[np.float64]
Method = Callable[[Array, NDArray[np.int64], Array], Array]


def raw(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
    """No calibration: the yardstick."""
    return probabilities(test)


def probabilities(scores: Array) -> Array:
    """(n,) log-odds or (n, K) logits as (n, K) probabilities."""
    return np.column_stack((expit(-scores), expit(scores))) if scores.ndim == 1 else softmax(scores, axis=1)


def _sklearn(method: str) -> Method:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose features are its decision function."""

        def __init__(self, n_classes: int = 2) -> None:
            self.n_classes = n_classes
            self.classes_ = np.arange(n_classes)

        def fit(self, X: Array, y: Any) -> Scores:
            return self

        def decision_function(self, X: Array) -> Array:
            return X[:, 0] if self.n_classes == 2 else X

        def predict(self, X: Array) -> Array:
            v = self.decision_function(X)
            return v > 0 if v.ndim == 1 else v.argmax(axis=1)

    def run(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
        K = 2 if scores.ndim == 1 else scores.shape[1]
        X, T = (scores[:, None], test[:, None]) if K == 2 else (scores, test)
        every = np.arange(len(y))  # the estimator is frozen: one "fold" fits one calibrator to all rows
        model = CalibratedClassifierCV(FrozenEstimator(Scores(K)), method=method, cv=[(every, every)], ensemble=False)
        return np.asarray(model.fit(X, y).predict_proba(T))

    return run


def _betacal(parameters: str) -> Method:
    from betacal import BetaCalibration

    def run(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
        p = BetaCalibration(parameters).fit(expit(scores)[:, None], y).predict(expit(test)[:, None])
        return np.column_stack((1.0 - p, p))

    return run


def _netcal(module: str, name: str, **options: Any) -> Method:
    factory = getattr(importlib.import_module(f"netcal.{module}"), name)

    def run(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
        binary = scores.ndim == 1
        X, T = (expit(scores), expit(test)) if binary else (softmax(scores, axis=1), softmax(test, axis=1))
        model = factory(**options)
        model.fit(X, y)
        p = np.asarray(model.transform(T), dtype=np.float64)
        return np.column_stack((1.0 - p.ravel(), p.ravel())) if binary else p

    return run


def _venn_abers(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
    from venn_abers import VennAbersCalibrator

    calibration, new = probabilities(scores), probabilities(test)
    p = VennAbersCalibrator().predict_proba(p_cal=calibration, y_cal=y, p_test=new)
    return np.asarray(p)


def _probmetrics(key: str, **options: Any) -> Method:
    import torch
    from probmetrics.calibrators import get_calibrator
    from probmetrics.distributions import CategoricalLogits

    def run(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
        model = get_calibrator(key, **options)
        model.fit_torch(CategoricalLogits(torch.as_tensor(_logits(scores))), torch.as_tensor(y, dtype=torch.long))
        predicted = model.predict_proba_torch(CategoricalLogits(torch.as_tensor(_logits(test))))
        return np.asarray(predicted.get_probs().detach().numpy(), dtype=np.float64)

    return run


def _logits(scores: Array) -> Array:
    return np.column_stack((np.zeros_like(scores), scores)) if scores.ndim == 1 else scores


def _ours(name: str) -> Method:
    from properly import calibration

    def run(scores: Array, y: NDArray[np.int64], test: Array) -> Array:
        return np.asarray(getattr(calibration, name)().fit(scores, y).predict_proba(test))

    return run


OURS, RAW = "properly AutoCalibration", "no calibration"
BOTH: dict[str, Callable[[], Method]] = {
    RAW: lambda: raw,
    OURS: lambda: _ours("AutoCalibration"),
    "scikit-learn sigmoid": lambda: _sklearn("sigmoid"),
    "scikit-learn isotonic": lambda: _sklearn("isotonic"),
    "scikit-learn temperature": lambda: _sklearn("temperature"),
    "venn-abers": lambda: _venn_abers,
    "netcal temperature": lambda: _netcal("scaling", "TemperatureScaling"),
    "netcal histogram": lambda: _netcal("binning", "HistogramBinning"),
    "probmetrics temperature": lambda: _probmetrics("temp-scaling"),
    "probmetrics temperature mix": lambda: _probmetrics("ts-mix"),
    "probmetrics structured vector": lambda: _probmetrics("svs", svs_print_init_info=False),
    "probmetrics structured matrix": lambda: _probmetrics("sms", sms_print_init_info=False),
}
BINARY: dict[str, Callable[[], Method]] = BOTH | {
    "betacal abm": lambda: _betacal("abm"),
    "betacal ab": lambda: _betacal("ab"),
    "betacal am": lambda: _betacal("am"),
    "netcal logistic": lambda: _netcal("scaling", "LogisticCalibration"),
    "netcal beta": lambda: _netcal("scaling", "BetaCalibration"),
    "netcal BBQ": lambda: _netcal("binning", "BBQ"),
    "probmetrics affine": lambda: _probmetrics("affine-scaling"),
    "probmetrics affine mix": lambda: _probmetrics("logistic-mix"),
    "probmetrics quadratic": lambda: _probmetrics("quadratic-scaling"),
}
METHODS = {"binary": BINARY, "multiclass": BOTH}


def available(kind: str) -> dict[str, Method]:
    """The methods whose packages are installed."""
    found = {}
    for name, make in METHODS[kind].items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"left out: {name} ({error})")
    return found
