"""Logistic regression with the usual corrections for rare classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state

from properly import kernels
from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.engines.select import training_engine
from properly.inputs.options import check_finite, choose
from properly.linear.firth import BiasReduction
from properly.linear.fitting import (
    Data,
    Fit,
    Penalty,
    check_limits,
    fit_linear,
    require_two_classes,
    warn_about,
    weight_by_class,
)
from properly.linear.prediction import LinearPredictor
from properly.links import Logit
from properly.losses import Composite, LogLoss
from properly.numeric.probabilities import Array
from properly.solvers import Solution


class RareEventLogisticRegression(LinearPredictor):
    """Logistic regression for a rare class, with a correction of its sampling or of its bias; two classes only.

    Parameters
    ----------
    correction : {"undersampling", "weighting", "firth", "king-zeng-bias"}, default "firth"
        - "undersampling": keep every row of the rarer class and as many, drawn at random, of the other; fit; bring the
          intercept back to the rate of the population.
        - "weighting": weight both classes equally; fit; bring the intercept back.
        - "firth": maximise the likelihood times √|information| (Firth 1993): the first-order bias is gone, and the
          estimates are finite for separated classes, too.
        - "king-zeng-bias": subtract the estimated bias from the maximum-likelihood coefficients (King & Zeng 2001).
    population_rate : float or None, default None
        The share of the second class where the probabilities will be used, if the sample does not have it
        (case-control studies, purchased negatives); None means that of the sample. The intercept is shifted by
        the difference of the log-odds; other coefficients do not depend on it.
    C : float, default np.inf
        Inverse strength of a ridge penalty on top, as in `ProperLinearClassifier`; by default there is none. "firth"
        then maximises ln likelihood + ½ ln|information| - ½‖w‖²/C.
    fit_intercept : bool, default True
        Without an intercept there is nothing that could be corrected for the rate: `population_rate`, "undersampling"
        and "weighting" need it.
    tol : float, default 1e-8
    max_iter : int, default 100
    random_state : int, RandomState or None, default None
        For "undersampling".

    Attributes
    ----------
    classes_, coef_, intercept_, link_, n_iter_, solutions_ : as in `ProperLinearClassifier`
    sample_rate_ : float
        The weighted share of the second class in the data.
    intercept_shift_ : float
        What was added to the intercept for the rate of the population.

    References
    ----------
    Firth (1993), Biometrika 80; King & Zeng (2001), Political Analysis 9.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(500, 2, rate=0.03, random_state=0)
    >>> model = RareEventLogisticRegression(correction="firth").fit(X, y)
    >>> model.predict_proba(X).shape
    (500, 2)
    """

    def __init__(
        self,
        correction: str = "firth",
        population_rate: float | None = None,
        *,
        C: float = np.inf,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.correction = correction
        self.population_rate = population_rate
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the model; arguments as in `ProperLinearClassifier`, streams included ("undersampling" excepted)."""
        method = choose(self.correction, self._methods(), "correction")
        self._check_options()
        engine, classes = training_engine(self, X, y, sample_weight, offset)
        share = weight_by_class(engine, classes)
        require_two_classes(classes)
        self.classes_, self.link_ = classes, Logit()
        self.sample_rate_ = float(share[1] / share.sum())
        fit, fitted_rate = method(engine, share)
        rate = self.sample_rate_ if self.population_rate is None else self.population_rate
        shift = _log_odds(rate) - _log_odds(fitted_rate) if rate != fitted_rate else 0.0
        self.intercept_shift_ = shift
        self.coef_, self.intercept_ = fit.coef, fit.intercept + shift
        self.solutions_ = [fit.solution]
        self.n_iter_ = np.array([fit.solution.n_iter])
        warn_about(fit, self.tol, self.max_iter)
        return self

    def _methods(self) -> dict[str, Callable[[Engine, Array], tuple[Fit, float]]]:
        return {
            "undersampling": self._undersampled,
            "weighting": self._weighted,
            "firth": self._firth,
            "king-zeng-bias": self._without_bias,
        }

    def _check_options(self) -> None:
        Penalty.of(self.C)
        check_limits(self.tol, self.max_iter, self.fit_intercept)
        if self.population_rate is not None:
            check_finite(self.population_rate, "population_rate")
            if not 0.0 < self.population_rate < 1.0:
                raise ValueError(
                    f"population_rate must lie strictly between 0 and 1, got {self.population_rate}; it is the share "
                    "of the second class in the population."
                )
        shifted = self.population_rate is not None or self.correction in ("undersampling", "weighting")
        if shifted and not self.fit_intercept:
            raise ValueError("fit_intercept=False leaves no intercept to bring to the population's rate; set it True.")

    def _plain(self, engine: Engine, share: Array) -> Fit:
        return fit_linear(
            Data.describe(engine, share, self.fit_intercept),
            Composite(LogLoss()),
            Penalty.of(self.C),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _undersampled(self, engine: Engine, share: Array) -> tuple[Fit, float]:
        if not isinstance(engine, MemoryEngine):
            raise ValueError('correction="undersampling" needs the data in memory; use "weighting" for a Stream.')
        rows = _balanced_rows(engine.y, engine.weight, check_random_state(self.random_state))
        sample = MemoryEngine(
            engine.X[rows],
            engine.y[rows],
            None if engine.weight is None else engine.weight[rows],
            None if engine.offset is None else engine.offset[rows],
        )
        kept = sample.reduce(kernels.classes, 2).weight
        return self._plain(sample, kept), float(kept[1] / kept.sum())

    def _weighted(self, engine: Engine, share: Array) -> tuple[Fit, float]:
        factor = share.sum() / (2.0 * share)
        return self._plain(engine.reweighted(factor), share * factor), 0.5

    def _firth(self, engine: Engine, share: Array) -> tuple[Fit, float]:
        data = Data.describe(engine, share, self.fit_intercept)
        start = np.zeros((1, len(data.squares) + int(self.fit_intercept)))
        if self.fit_intercept:
            start[0, -1] = _log_odds(self.sample_rate_)
        solution = self._bias_reduction(data).maximise(start, self.tol, self.max_iter)
        return self._as_fit(solution, solution.coef, data.center), self.sample_rate_

    def _without_bias(self, engine: Engine, share: Array) -> tuple[Fit, float]:
        data = Data.describe(engine, share, self.fit_intercept)
        fit = self._plain(engine, share)
        shift = 0.0 if data.center is None else fit.coef @ data.center
        estimate = np.column_stack([fit.coef, fit.intercept + shift]) if self.fit_intercept else fit.coef
        *_, minus_bias = self._bias_reduction(data).evaluate(estimate)
        corrected = self._as_fit(fit.solution, estimate + minus_bias, data.center)
        return corrected._replace(runaway=fit.runaway), self.sample_rate_

    def _bias_reduction(self, data: Data) -> BiasReduction:
        null_loss = data.weight * float(LogLoss().entropy(self.sample_rate_))
        return BiasReduction(data, self.fit_intercept, Penalty.of(self.C).ridge, null_loss)

    def _as_fit(self, solution: Solution, coef: Array, center: Array | None) -> Fit:
        if not self.fit_intercept:
            return Fit(coef, np.zeros(1), solution, False)
        w, intercept = coef[:, :-1].copy(), coef[:, -1].copy()
        return Fit(w, intercept if center is None else intercept - w @ center, solution, False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _log_odds(rate: float) -> float:
    return float(Logit().link(rate))


def _balanced_rows(y: NDArray[np.intp], weight: Array | None, random: np.random.RandomState) -> NDArray[np.intp]:
    """All rows of the rarer class and as many of the other; rows of weight 0 are left out."""
    counts = np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
    rows = [np.flatnonzero((y == code) & counts) for code in (0, 1)]
    size = min(map(len, rows))
    return np.sort(np.concatenate([np.sort(random.permutation(part)[:size]) for part in rows]))
