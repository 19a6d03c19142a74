"""Automatic calibration: a Bayesian average of many maps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import groupby
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special as sc

from properly.calibration.auto_maps import (
    Candidate,
    Features,
    Labels,
    Waves,
    apply,
    fit_with_prior,
    for_many_classes,
    for_two_classes,
    log_softmax,
)
from properly.calibration.base import Calibrator
from properly.classifier import difference
from properly.inputs.scores import Sample, without_last_digits, zero_of
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, anywhere, constant, is_traced, namespace
from properly.numeric.compression import cell_starts, classes_apart
from properly.numeric.limits import FARTHEST

_BELIEF = 0.5  # prior probability that the scores are calibrated as they are
_DOUBT = 0.01  # the weight, in rows, of the class proportions in the average
_NEGLIGIBLE = 1e-6  # predictions leave out maps of a smaller weight
_BLOCK = 50_000  # as many scores at a time are turned into probabilities
_BLOCK_ELSEWHERE = 4_000_000  # of libraries that may compute on a card

# More rows of two classes than these are compressed: features are averages over cells, computed in finer ones. These
# numbers keep probabilities within 1e-5 of those of a fit to all rows.
_MOST_ROWS = 20_000
_CELLS = 8_000
_FINE_CELLS = 400_000
# Ranks are exact at knots and interpolated between them: between two of K among n rows by about 1/√(nK) beside.
_KNOTS = 1_000_000
_KNOTS_TIMES_ROWS = 4e12


class FittedMap(NamedTuple):
    """A candidate with its most probable coefficients, and its weight in the average."""

    candidate: Candidate
    coef: Array
    weight: float


class AutoCalibration(Calibrator):
    """An average of many calibration maps, weighted by their posterior probabilities, so that none has to be chosen.

    Probabilities are averaged over a few dozen maps from scores to probabilities, each weighted by how probable it is
    given the calibration data (Bayesian model averaging). One of the maps is the identity, which leaves the scores as
    they are. It has half of the prior probability, so that scores that are calibrated already hardly change. A quarter
    is shared equally by maps close to the identity, a quarter by maps for scores of any unit.

    - For two classes, a map's log-odds are a temperature times the score, or a straight line in it, or such a line plus
      bends: asinh of the score, which corrects overconfident scores, or eight cosines of its rank, which fit any smooth
      curve. Every coefficient has a Gaussian prior, and every map comes with several widths of it.
    - For K > 2 classes, the logit of a class is an intercept plus a slope times its own log-probability plus a slope
      times asinh of that, and in some of the maps plus a weighted sum of the other classes'. The slopes of the classes
      are a shared part plus one of their own, with priors of several widths for either.

    The weight of a map is its prior probability times its evidence, ∫ likelihood(coefficients) · prior(coefficients),
    by Laplace's approximation at the most probable coefficients. The evidence penalises flexible maps, so that few rows
    give probabilities close to those of the simplest maps, and many rows those of the best. The class proportions,
    whatever the score, are averaged in with the weight of 0.01 rows: no probability is exactly 0 or 1, and the log loss
    of an unexpected label is finite. No random numbers and no held-out rows are used, the order of the rows does not
    matter, and all coefficients are finite, even if the classes are separated.

    The map need not be monotone: rows ordered by probability may be in another order than by score. The time for n rows
    grows as n, for K classes as K⁴ while maps mix classes (beyond 12 classes only few of them do, beyond 30 none).

    More than 20,000 rows of two classes are compressed: rows of a class whose scores fall into the same of some 8,000
    narrow cells count as one row, with the means of their scores and features. Probabilities stay within about 1e-5 of
    those of a fit to all rows, and are the same but for rounding if there are at most 8,000 distinct scores.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    scores_ : dict
        For every map the logarithm of its evidence; the greater, the better it explains the labels.
    weights_ : dict
        For every map its weight in the average; they add up to 1.
    log_proportions_ : array of shape (n_classes,)
    best_ : str
        The map of the largest weight. ``"identity"`` leaves the scores as they are; ``"near"`` maps start from the
        identity, ``"free"`` ones from equal log-odds; ``"proportions"`` ignores the scores; numbers are widths of
        priors.

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
    Hoeting, Madigan, Raftery & Volinsky (1999), Bayesian model averaging: a tutorial, Statistical Science 14.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> score = random.normal(size=500) * 3.0
    >>> y = random.random(500) < 1.0 / (1.0 + np.exp(-score))

    These scores are calibrated log-odds and stay as they are; scores of twice the size are about halved:

    >>> AutoCalibration().fit(score, y).best_
    'identity'
    >>> model = AutoCalibration().fit(2.0 * score, y)
    >>> model.weights_["identity"] < 1e-6
    True
    >>> model.predict_proba([-4.0, 0.0, 4.0])[:, 1].round(2)
    array([0.09, 0.49, 0.91])
    """

    scores_: dict[str, float]
    weights_: dict[str, float]
    best_: str
    maps_: list[FittedMap]
    log_proportions_: Array

    _fits_anywhere: ClassVar[bool] = True

    def _fit(self, sample: Sample) -> None:
        _warn_of_far_scores(sample.scores)
        logits, labels, candidates, featured = _problem(sample)
        weight = labels.weight
        coefs, evidence = _fit_all(candidates, logits, labels, featured)
        self.log_proportions_ = np.log(np.bincount(labels.codes, weight) / weight.sum())
        evidence = np.append(evidence, labels.log_likelihood(log_softmax(logits)))
        doubt = _DOUBT / (_DOUBT + weight.sum())
        weights = (1.0 - doubt) * sc.softmax(evidence + np.log([*_beliefs(candidates), _BELIEF]))
        names = [*(each.name for each in candidates), "identity", "proportions"]
        evidence = np.append(evidence, self.log_proportions_[labels.codes] @ weight)
        self.scores_ = dict(zip(names, evidence.tolist(), strict=True))
        self.weights_ = dict(zip(names, [*weights.tolist(), float(doubt)], strict=True))
        self.best_ = max(self.weights_, key=self.weights_.__getitem__)
        self.maps_ = [
            FittedMap(*each) for each in zip(candidates, coefs, weights.tolist(), strict=False) if each[2] > _NEGLIGIBLE
        ]

    def _log_scores(self, scores: Array) -> Array:
        xp, n = namespace(scores), 0 if is_traced(scores) else scores.shape[0]
        rows = max(1, (_BLOCK if xp is np else _BLOCK_ELSEWHERE) // math.prod(scores.shape[1:]))
        if n > rows:  # so that features are never there for all rows
            blocks = range(0, n, rows)
            return xp.concat([self._log_scores(scores[begin : min(begin + rows, n), ...]) for begin in blocks])
        logits = _logits(scores)
        constant_part = np.log(self.weights_["proportions"]) + self.log_proportions_
        log_p = namespace(logits).zeros_like(logits) + constant(constant_part, logits)
        if self.weights_["identity"] > _NEGLIGIBLE:
            log_p = fn.logaddexp(log_p, float(np.log(self.weights_["identity"])) + log_softmax(logits))
        shared: dict[int, list[Array]] = {}  # maps of a kind have the same features
        for candidate, coef, weight in self.maps_:
            features = shared.get(id(candidate.features)) or candidate.features(logits)
            shared[id(candidate.features)] = features
            own = log_softmax(apply(features, coef, candidate.base_slope * logits))
            log_p = fn.logaddexp(log_p, float(np.log(weight)) + own)
        return difference(log_p) if scores.ndim == 1 else log_p


def _logits(scores: Array) -> Array:
    """Two classes: 0 and the log-odds. Beyond 1e100 counts as 1e100, so that sums stay numbers."""
    xp = namespace(scores)
    logits = xp.stack([xp.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
    return xp.clip(logits, -FARTHEST, FARTHEST)


def _warn_of_far_scores(scores: Array) -> None:
    """Where finite scores differ, but count as the same."""
    xp = namespace(scores)
    beyond = xp.isfinite(scores) & (xp.abs(scores) > FARTHEST)
    if anywhere(beyond):
        count = int(xp.sum(xp.astype(beyond, xp.int64)))
        warnings.warn(
            f"{count:,} scores are larger than 1e100 in size and count as 1e100, so that they are told apart no more; "
            "divide all scores by a constant.",
            UserWarning,
            stacklevel=4,
        )


def _beliefs(candidates: list[Candidate]) -> Array:
    """Prior probabilities beside the identity's: half for the maps near it, half for the others, in equal parts."""
    near = np.array([each.base_slope > 0.0 for each in candidates])
    return 0.5 * (1.0 - _BELIEF) / np.where(near, near.sum(), (~near).sum())


class _Problem(NamedTuple):
    """Rows to fit candidates to, as they were given or compressed."""

    logits: Array
    labels: Labels
    candidates: list[Candidate]
    featured: Callable[[Features], list[Array]]  # the features of the rows; means, where a row stands for several


def _problem(sample: Sample) -> _Problem:
    if sample.scores.ndim == 1 and sample.scores.shape[0] > _MOST_ROWS:
        return _compressed(sample)
    sample = sample.on_host()  # few rows, or several classes
    logits = _logits(sample.scores)
    labels = Labels(sample.codes, np.ones(len(logits)) if sample.weight is None else sample.weight)
    if sample.scores.ndim == 1:
        candidates = for_two_classes(logits, labels, Waves.of(logits[:, 1], labels))
    else:
        candidates = for_many_classes(logits, labels)
    return _Problem(logits, labels, list(candidates), lambda features: features(logits))


def _compressed(sample: Sample) -> _Problem:
    """Rows of a class in a cell count as one, with the means of their scores and features."""
    score = namespace(sample.scores).clip(sample.scores, -FARTHEST, FARTHEST)
    zero = zero_of(score)
    score = without_last_digits(score, zero)
    classes = classes_apart(score, sample.codes == 1, sample.weight)
    knots = cell_starts(classes, min(_KNOTS, int(_KNOTS_TIMES_ROWS / score.shape[0])))
    waves = Waves(knots, np.mean([each.middle_rank(knots) for each in classes], axis=0), zero)
    first_fine = cell_starts(classes, _FINE_CELLS)
    fine = [each.compressed(first_fine) for each in classes]
    first = cell_starts(fine, _CELLS)
    rows = [each.compressed(first) for each in fine]
    labels = Labels(
        np.repeat([0, 1], [len(each.score) for each in rows]), np.concatenate([each.weight for each in rows])
    )
    logits = _logits(np.concatenate([each.score for each in rows]))

    def featured(features: Features) -> list[Array]:
        columns = np.concatenate([each.means(first, features(_logits(each.score))[1]) for each in fine])
        return [columns[:, :0], columns]

    return _Problem(logits, labels, list(for_two_classes(logits, labels, waves)), featured)


def _fit_all(
    candidates: list[Candidate], logits: Array, labels: Labels, featured: Callable[[Features], list[Array]]
) -> tuple[list[Array], Array]:
    """Coefficients and log-evidence of every candidate, each started where one with the same features ended."""
    fits = []
    for _, family in groupby(candidates, key=lambda each: id(each.features)):
        members = list(family)
        features = featured(members[0].features)
        start = dict.fromkeys((0.0, 1.0), np.zeros(len(members[0].precision)))
        for each in members:
            slope = each.base_slope
            fits.append(fit_with_prior(features, slope * logits, labels, each.precision, start[slope]))
            start[slope] = fits[-1].coef
    return [each.coef for each in fits], np.array([each.log_evidence for each in fits])
