"""Calibration of groups of rows: a straight line for each on top of pooled log-odds, all fitted together."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.classifier import chosen, decisions, log_probabilities, probabilities
from properly.inputs.scores import class_log_odds
from properly.inputs.weights import checked_weight
from properly.links import Logit
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array
from properly.numeric.scaling import Standardizer
from properly.solvers.dense import newton_minimum

# How much intercepts and slopes of groups may differ: standard deviations, in log-odds over one standard deviation of
# the pooled log-odds.
SPREADS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
CERTAIN = 1e300  # log-odds beyond stand for probabilities of 0 and 1
_MAX_ITER = 100
_TOLERANCE = 1e-6  # of the log-posterior, which counts in units of 1
Indices = NDArray[np.intp]


class GroupRows(NamedTuple):
    """Pooled log-odds as they are and standardised, whether a row is of the class, its weight, its group's place."""

    score: Array
    z: Array
    positive: NDArray[np.bool_]
    weight: Array
    group: Indices


def _log_belief(spread: float) -> float:
    """Half of the prior probability is that groups do not differ; the other values share the other half."""
    return float(np.log(0.5 if spread == 0.0 else 0.5 / (len(SPREADS) - 1)))


@dataclass(frozen=True)
class GroupLines:
    """What every group adds to pooled log-odds: intercept + slope · z; the last, 0, is for new groups."""

    standardize: Standardizer
    intercept: Array
    slope: Array
    spread: tuple[float, float]  # of intercepts and of slopes
    share: Array

    @classmethod
    def fitted(
        cls, score: Array, positive: NDArray[np.bool_], weight: Array, group: Indices, n_groups: int
    ) -> GroupLines:
        """Of pooled log-odds; `group` has the places of the rows' groups."""
        uncertain = np.abs(score) < CERTAIN  # no line changes probabilities of 0 and 1
        if not uncertain.any():
            none = np.zeros(n_groups + 1)
            return cls(Standardizer(0.0, 0.0), none, none, (0.0, 0.0), none[:-1])
        score, weight = score[uncertain], weight[uncertain]
        standardize = Standardizer.of(score, weight)
        rows = GroupRows(score, standardize(score), positive[uncertain], weight, group[uncertain])
        best = (0.0, 0.0)
        fits = {best: _fitted_lines(rows, best, np.zeros((n_groups, 2)))}
        while True:  # along one of the two at a time, until none gets better
            latest = best
            nearby = [best, *((spread, best[1]) for spread in SPREADS), *((best[0], spread) for spread in SPREADS)]
            for each in nearby:
                if each not in fits:
                    fits[each] = _fitted_lines(rows, each, fits[latest].coef)
                latest = each
            winner = max(nearby, key=lambda each: fits[each].log_evidence + sum(map(_log_belief, each)))
            if winner == best:
                break
            best = winner
        intercept, slope = np.pad(fits[best].coef, ((0, 1), (0, 0))).T
        return cls(standardize, intercept, slope, best, fits[best].share)

    def log_odds(self, pooled: Array, group: Indices) -> Array:
        certain = np.abs(pooled) >= CERTAIN
        moved = pooled + self.intercept[group] + self.slope[group] * self.standardize(pooled)
        return np.where(certain, np.copysign(np.inf, pooled), moved)


class _Lines(NamedTuple):
    """Intercepts and slopes (n_groups, 2), ln ∫ likelihood · prior of all groups, and the groups' own shares."""

    coef: Array
    log_evidence: float
    share: Array


def _fitted_lines(rows: GroupRows, spread: tuple[float, float], start: Array) -> _Lines:
    """The most probable lines of all groups, and Laplace's approximation of the integral."""
    scale = np.array(spread)
    u = np.divide(start, scale, out=np.zeros_like(start), where=scale > 0.0)
    found = newton_minimum(partial(_Posterior, rows, scale), u, _TOLERANCE, _MAX_ITER).at
    first, second = found.hessian[:, 0, 0], found.hessian[:, 1, 1]
    determinant = first * second - found.hessian[:, 0, 1] ** 2
    free = np.count_nonzero(scale)
    share = np.zeros(len(start)) if free == 0 else (2.0 - (first + second) / determinant) / free
    return _Lines(scale * found.coef, float(np.sum(-found.value - 0.5 * np.log(determinant))), share)


@dataclass(frozen=True)
class _Posterior:
    """Minus the log-posterior of every group's line, up to a constant.

    A coefficient is scale · u with u ~ N(0, 1), so that a spread of 0 needs no other formula; `coef` are the u.
    """

    rows: GroupRows
    scale: Array
    coef: Array

    @cached_property
    def log_odds(self) -> Array:
        intercept, slope = (self.scale * self.coef).T
        return self.rows.score + intercept[self.rows.group] + slope[self.rows.group] * self.rows.z

    @cached_property
    def value(self) -> Array:
        log_p = sc.log_expit(np.where(self.rows.positive, self.log_odds, -self.log_odds))
        return 0.5 * np.sum(self.coef**2, axis=1) - self._sum(log_p)

    @property
    def gradient(self) -> Array:
        return self._derivatives[0]

    @property
    def hessian(self) -> Array:
        return self._derivatives[1]

    def step(self) -> Array:
        return -np.asarray(np.linalg.solve(self.hessian, self.gradient[:, :, None])[:, :, 0])

    @cached_property
    def _derivatives(self) -> tuple[Array, Array]:
        p, q = Logit().inverse_pair(self.log_odds)
        error, curvature, z = np.where(self.rows.positive, -q, p), p * q, self.rows.z
        gradient = self.scale * np.stack([self._sum(error), self._sum(error * z)], axis=1) + self.coef
        bend = self._sum(curvature * z)
        sums = np.array([[self._sum(curvature), bend], [bend, self._sum(curvature * z**2)]])
        return gradient, np.eye(2) + self.scale * self.scale[:, None] * np.moveaxis(sums, -1, 0)

    def _sum(self, x: Array) -> Array:
        """Σ weight · x by group."""
        return np.bincount(self.rows.group, self.rows.weight * x, len(self.coef)).astype(np.float64)


@dataclass(eq=False, repr=False)
class GroupwiseCalibration(BaseEstimator):
    """A calibration map for every group of rows, shrunk towards the map of all rows where a group is small.

    First the method is fitted to all rows, which gives pooled log-odds l. Then every group g has a straight line on top
    of them, ln(p/q) = l + a_g + b_g z, with z the pooled log-odds in units of their spread. The lines are not free:
    a_g ~ N(0, σ²) and b_g ~ N(0, τ²) over the groups. σ and τ are those among 0, 0.05, 0.1, 0.2, ..., 3.2 that are most
    probable given the labels of all groups together, by Laplace's approximation, where each is 0 with the prior
    probability ½ (empirical Bayes); a_g and b_g are then the most probable ones. Groups that do not differ by more than
    chance therefore keep exactly the pooled map; a large group that differs gets the line that fits its own rows; and a
    small one lies in between. A group may have rows of a single class.

    A group that was not seen in `fit` has the pooled map, with a warning if none was seen. Pooled probabilities of
    exactly 0 and 1 do not change. More than two classes are treated one versus rest, and probabilities divided by their
    sum (all equal if every one of them is 0). If the groups differ in more than a straight line and have thousands of
    rows each, fit a calibrator to each of them instead.

    Parameters
    ----------
    method : str or `Calibrator`, default "auto"
        Of the pooled map: a key of `properly.calibration.methods.METHODS`, or an unfitted calibrator.
    input : {"auto", "score", "probability"}, default "auto"
        As in `Calibrator`; that of a calibrator given as `method` is not used.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    groups_ : array of shape (n_groups,)
    pooled_ : `Calibrator`
        The map of all rows.
    weights_ : dict
        For every group the share of its line that its own rows decide: 0 is the pooled map, 1 the group's own. It is
        1 - variance of a coefficient given the data/variance before, averaged over intercept, slope and classes.
    lines_ : list of `GroupLines`, one for two classes, else one per class

    References
    ----------
    Morris (1983), Parametric empirical Bayes inference: theory and applications, JASA 78.
    Hébert-Johnson, Kim, Reingold & Rothblum (2018), Multicalibration: calibration for the (computationally
    identifiable) masses, ICML, for why groups should be calibrated.

    Examples
    --------
    Two large groups, one of which has twice the log-odds it should have, and one of five rows:

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> truth = random.normal(size=2005) * 2.0
    >>> y = random.random(2005) < 1.0 / (1.0 + np.exp(-truth))
    >>> groups = np.repeat(["right", "too sure", "small"], [1000, 1000, 5])
    >>> scores = np.where(groups == "too sure", 2.0 * truth, truth)
    >>> model = GroupwiseCalibration("platt").fit(scores, y, groups)
    >>> model.predict_proba([2.0, 2.0, 2.0, 2.0], ["right", "too sure", "small", "new"])[:, 1].round(2)
    array([0.85, 0.73, 0.8 , 0.77])
    >>> {group: round(weight, 2) for group, weight in model.weights_.items()}
    {'right': 0.95, 'small': 0.13, 'too sure': 0.98}
    """

    method: str | Calibrator = "auto"
    input: str = field(default="auto", kw_only=True)

    def fit(self, scores: ArrayLike, y: ArrayLike, groups: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the maps.

        Parameters
        ----------
        scores : array of shape (n,) or (n, 1) for two classes, (n, K) for more
        y : array of shape (n,)
        groups : array of shape (n,)
            The name of the group of every row: numbers or strings.
        sample_weight : array of shape (n,), optional
            Weight 2 means the row twice, weight 0 not at all.
        """
        for name, given in {"scores": scores, "y": y, "groups": groups}.items():
            require_values(given, name)
        self.pooled_ = calibrator_of(self.method).set_params(input=self.input).fit(scores, y, sample_weight)
        self.classes_ = self.pooled_.classes_
        labels = np.asarray(y).ravel()
        weight = checked_weight(sample_weight, len(labels))
        rows = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        self.groups_, index = _distinct(_checked_groups(groups, len(labels))[rows])
        log_odds = self._pooled_log_odds(np.asarray(scores)[rows])
        own = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        weight = np.ones(len(rows)) if weight is None else weight[rows]
        self.lines_ = [
            GroupLines.fitted(column, labels[rows] == label, weight, index, len(self.groups_))
            for column, label in zip(log_odds.T, own, strict=True)
        ]
        shares = np.mean([each.share for each in self.lines_], axis=0)
        self.weights_ = dict(zip(self.groups_.tolist(), shares.tolist(), strict=True))
        return self

    def predict_proba(self, scores: ArrayLike, groups: ArrayLike) -> Array:
        """Class probabilities of shape (n, K), one column per entry of ``classes_``.

        Parameters
        ----------
        scores : array of shape (n,) or (n, K)
            New scores, of the kind that `fit` got.
        groups : array of shape (n,)
            Their groups; a group that `fit` did not see gets the map of all groups together.
        """
        return probabilities(self._log_scores(scores, groups))

    def predict_log_proba(self, scores: ArrayLike, groups: ArrayLike) -> Array:
        """The logarithms of the class probabilities, finite also where a probability is too small for float64.

        Parameters
        ----------
        scores : array of shape (n,) or (n, K)
            New scores, of the kind that `fit` got.
        groups : array of shape (n,)
            Their groups, as in `predict_proba`.
        """
        return log_probabilities(self._log_scores(scores, groups))

    def decision_function(self, scores: ArrayLike, groups: ArrayLike) -> Array:
        """The calibrated log-odds of the second of two classes, of shape (n,); log-probabilities (n, K) for more.

        Parameters
        ----------
        scores : array of shape (n,) or (n, K)
            New scores, of the kind that `fit` got.
        groups : array of shape (n,)
            Their groups, as in `predict_proba`.
        """
        return decisions(self._log_scores(scores, groups))

    def predict(self, scores: ArrayLike, groups: ArrayLike) -> NDArray[Any]:
        """The most probable class.

        Parameters
        ----------
        scores : array of shape (n,) or (n, K)
            New scores, of the kind that `fit` got.
        groups : array of shape (n,)
            Their groups, as in `predict_proba`.
        """
        return chosen(self._log_scores(scores, groups), self.classes_)

    def _log_scores(self, scores: ArrayLike, groups: ArrayLike) -> Array:
        check_is_fitted(self, "lines_")
        log_odds = self._pooled_log_odds(scores)
        index = self._positions(_checked_groups(groups, len(log_odds)))
        columns = [each.log_odds(column, index) for each, column in zip(self.lines_, log_odds.T, strict=True)]
        return columns[0] if len(columns) == 1 else np.asarray(sc.log_expit(np.column_stack(columns)))

    @property
    def input_(self) -> str:
        """What the scores in `fit` were, "score" or "probability"."""
        return self.pooled_.input_

    def _pooled_log_odds(self, scores: ArrayLike) -> Array:
        """Those of the second of two classes, or of each of more, one column each."""
        if len(self.classes_) == 2:
            log_odds = self.pooled_._log_scores(self.pooled_._read(scores))[:, None]
        else:
            log_odds = class_log_odds(self.pooled_.predict_log_proba(scores))
        return np.clip(log_odds, -CERTAIN, CERTAIN)

    def _positions(self, groups: NDArray[Any]) -> Indices:
        """The place of every row's group among ``groups_``; that after the last for a new one."""
        known = {group: place for place, group in enumerate(self.groups_.tolist())}
        names, index = _distinct(groups)
        if len(names) and known.keys().isdisjoint(names.tolist()):
            warnings.warn(
                f"none of the groups was seen in fit: got groups such as {names.tolist()[0]!r}, but fit had groups "
                f"such as {self.groups_.tolist()[0]!r}; the pooled map is used for every row.",
                UserWarning,
                stacklevel=4,
            )
        return np.array([known.get(name, len(known)) for name in names.tolist()], dtype=np.intp)[index]


def _checked_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    if groups is None:
        raise ValueError("groups must have one entry for each row, got None; without groups, use a plain calibrator.")
    require_values(groups, "groups")
    names = column_or_1d(groups, warn=False)
    if len(names) != n_rows:
        raise ValueError(f"groups has {len(names)} entries, scores has {n_rows} rows; every row needs a group.")
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError("groups must not contain nan; give rows of unknown group a name of their own.")
    return np.asarray(names)


def _distinct(groups: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    try:
        return np.unique(groups, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "groups must be all numbers or all strings; give rows of unknown group a name of their own."
        ) from error
