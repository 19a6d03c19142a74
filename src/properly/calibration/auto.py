"""Automatic calibration: a Bayesian average of many maps."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.calibration.auto_maps import Candidate, Labels, apply, candidates_for, fit_with_prior, log_softmax
from properly.calibration.base import Calibrator
from properly.classifier import difference
from properly.inputs.scores import Sample
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, constant, namespace
from properly.numeric.limits import FARTHEST

_BELIEF = 0.5  # prior probability that the scores are calibrated as they are
_DOUBT = 0.01  # the weight, in rows, of the class proportions in the average
_NEGLIGIBLE = 1e-6  # predictions leave out maps of a smaller weight


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

    def _fit(self, sample: Sample) -> None:
        logits = _logits(sample.scores)
        weight = np.ones(len(logits)) if sample.weight is None else sample.weight
        labels = Labels(sample.codes, weight)
        candidates = list(candidates_for(logits, labels))
        coefs, evidence = _fit_all(candidates, logits, labels)
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


def _beliefs(candidates: list[Candidate]) -> Array:
    """Prior probabilities beside the identity's: half for the maps near it, half for the others, in equal parts."""
    near = np.array([each.base_slope > 0.0 for each in candidates])
    return 0.5 * (1.0 - _BELIEF) / np.where(near, near.sum(), (~near).sum())


def _fit_all(candidates: list[Candidate], logits: Array, labels: Labels) -> tuple[list[Array], Array]:
    """Coefficients and log-evidence of every candidate, each started where one with the same features ended."""
    fits = []
    for _, family in groupby(candidates, key=lambda each: id(each.features)):
        members = list(family)
        features = members[0].features(logits)
        start = dict.fromkeys((0.0, 1.0), np.zeros(len(members[0].precision)))
        for each in members:
            slope = each.base_slope
            fits.append(fit_with_prior(features, slope * logits, labels, each.precision, start[slope]))
            start[slope] = fits[-1].coef
    return [each.coef for each in fits], np.array([each.log_evidence for each in fits])
