"""Three senses in which probabilities of more than two classes can be calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from properly.calibration.base import BinaryCalibrator, Calibrator
from properly.calibration.methods import calibrator_of
from properly.inputs.options import choose
from properly.inputs.scores import BinarySample, Sample, ScoreReader, class_log_odds
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, as_integers, columns_of, constant, is_traced, namespace

_TIE_BREAKER = 1e-9  # by which the most probable class stays ahead in log-probability
_WIDEST_GAP = 1e300  # between logits: products with slopes and sums of a few are still numbers
_MAX_ITER = 100
_STEPS_OF_A_GRAPH = 30  # ONNX has no way to stop a loop by its values that costs less; 23 were the most ever needed


class Target(Protocol):
    """What is calibrated: learned from logits (n, K) and codes, it gives log-probabilities up to a constant a row."""

    @classmethod
    def fitted(cls, calibrator: Calibrator, sample: Sample) -> Self: ...

    def log_scores(self, logits: Array) -> Array: ...


@dataclass(frozen=True)
class Confidence:
    """The probability that the most probable class is right; its log-odds are constant if all rows agree."""

    calibrator: Calibrator | None
    constant: float = 0.0

    @classmethod
    def fitted(cls, calibrator: Calibrator, sample: Sample) -> Self:
        rows, top = np.arange(len(sample.codes)), sample.scores.argmax(axis=1)
        right = sample.codes == top
        if right.all() or not right.any():
            return cls(None, float(np.log1p(sample.total_weight)) * (1.0 if right.all() else -1.0))
        return cls(calibrator._fit_binary(BinarySample(class_log_odds(sample.scores)[rows, top], right, sample.weight)))

    def log_scores(self, logits: Array) -> Array:
        xp, n_classes = namespace(logits), logits.shape[1]
        top = xp.argmax(logits, axis=1, keepdims=True)
        place = constant(np.arange(n_classes), logits)
        others = place[:-1] + as_integers(place[:-1] >= top)
        before = xp.take_along_axis(class_log_odds(logits), top, axis=1)
        after = xp.full_like(before, self.constant)
        if self.calibrator is not None:
            after = self.calibrator._log_scores(columns_of(before)[0])[:, None]
        with np.errstate(over="ignore"):
            gaps = fn.largest(logits, axis=1) - xp.take_along_axis(logits, others, axis=1)
        gaps = xp.minimum(gaps, _WIDEST_GAP)
        # The top class has 0, the others the logarithms of their odds against it.
        raised = -gaps - fn.logsumexp(-gaps, axis=1, keepdims=True) - after
        lowered = -_slope(gaps, after) * gaps - _TIE_BREAKER
        result = xp.where(after < before, lowered, raised)
        back = xp.minimum(place - as_integers(place > top), n_classes - 2)
        return xp.where(place == top, 0.0, xp.take_along_axis(result, back, axis=1))


def _slope(gaps: Array, log_odds: Array) -> Array:
    """The slope t in [0, 1] that gives a class these log-odds against others, whose logits are lower by `gaps`.

    That is ln Σ_j exp(-t gap_j) = -log-odds: convex and falling in t, so that Newton's method climbs from 0 to the
    solution. 0 if the log-odds are too low for any t, 1 if they are too high.
    """
    # A root of one variable in every row, which no step can overshoot: the solver for minima has nothing to add.
    xp, nearest = namespace(gaps), fn.largest(-gaps, axis=1)
    t = xp.zeros_like(log_odds)
    for _ in range(_STEPS_OF_A_GRAPH if is_traced(t) else _MAX_ITER):
        lower = -t * gaps
        total = fn.logsumexp(lower, axis=1, keepdims=True, highest=t * nearest)
        falling = xp.sum(xp.exp(lower - total) * gaps, axis=1, keepdims=True)
        moves = falling > 0.0
        step = xp.where(moves, xp.maximum(total + log_odds, 0.0) / xp.where(moves, falling, 1.0), 0.0)
        longer = xp.minimum(t + step, 1.0)
        if not is_traced(t) and xp.all(longer - t <= 1e-12 * longer):
            break
        t = longer
    return t


@dataclass(frozen=True)
class Classwise:
    """The probability of each class, against all others together."""

    calibrators: list[Calibrator]
    of_probabilities: bool

    @classmethod
    def fitted(cls, calibrator: Calibrator, sample: Sample) -> Self:
        parts = [calibrator_of(calibrator)._fit_binary(part) for part in sample.against_rest()]
        return cls(parts, sample.of_probabilities)

    def log_scores(self, logits: Array) -> Array:
        own = columns_of(class_log_odds(logits, self.of_probabilities))
        columns = [each._log_scores(score) for each, score in zip(self.calibrators, own, strict=True)]
        return fn.log_expit(namespace(logits).stack(columns, axis=1))


@dataclass(frozen=True)
class Full:
    """All probabilities together."""

    calibrator: Calibrator

    @classmethod
    def fitted(cls, calibrator: Calibrator, sample: Sample) -> Self:
        if sample.scores.ndim > 1 and isinstance(calibrator, BinaryCalibrator):
            raise ValueError(
                f"target='full' needs a method for all classes together, such as 'auto', 'temperature', "
                f"'structured_matrix' or 'dirichlet', got {type(calibrator).__name__}, which treats one class at a "
                "time; use another method, or target='classwise'."
            )
        return cls(calibrator._fit_checked(np.unique(sample.codes), ScoreReader(), sample))

    def log_scores(self, logits: Array) -> Array:
        return self.calibrator._log_scores(logits)


TARGETS: dict[str, type[Target]] = {"confidence": Confidence, "classwise": Classwise, "full": Full}


@dataclass(eq=False, repr=False)
class MulticlassCalibration(Calibrator):
    """Calibrates the probability of the top class only, that of every class by itself, or all of them together.

    With p the vector of probabilities that a model gives to K > 2 classes, it may be calibrated in three senses, each
    stronger than the one before:

    - ``"confidence"``: P(the most probable class is right | its probability is c) = c. The method is applied to the
      log-odds of the most probable class, as a problem of two classes: right or wrong. Where its probability rises, the
      others shrink in proportion. Where it falls, the logits of the row are divided by the temperature that lowers it
      so far, so that no other class overtakes; 1/K is the lowest value. The most probable class thus stays the same. If
      it was right in every calibration row, its probability is (N + 1)/(N + 2), with N the weight of the rows,
      and 1/K if it never was.
    - ``"classwise"``: P(class k | p_k = c) = c for every k. The method is applied to each class against all others, and
      the probabilities are divided by their sum, which disturbs them again in part. This is what calibrators for two
      classes do with more.
    - ``"full"``: P(class k | p) = p_k for every k and the whole vector p. It takes a method that sees all classes
      together: "auto", "temperature", "ensemble_temperature", "vector", "matrix", "structured_matrix", "dirichlet".

    Each sense needs more data than the one before, as probabilities of K classes vary in K - 1 dimensions. For two
    classes the three senses are the same, and the method is used as it is.

    Parameters
    ----------
    method : str or `Calibrator`, default "auto"
        A key of `properly.calibration.methods.METHODS`, or an unfitted calibrator, whose `input` is not used.
    target : {"confidence", "classwise", "full"}, default "full"
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    map_ : `Confidence`, `Classwise` or `Full`
        It holds the fitted calibrator, or one per class.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration, NeurIPS.

    Examples
    --------
    >>> p = [[0.9, 0.08, 0.02], [0.1, 0.9, 0.0], [0.2, 0.0, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]
    >>> model = MulticlassCalibration("platt", "confidence", input="probability").fit(p, ["a", "b", "c", "b", "b", "a"])
    >>> model.predict_proba([[0.7, 0.2, 0.1]]).round(3)
    array([[0.428, 0.311, 0.261]])
    """

    method: str | Calibrator = "auto"
    target: str = "full"

    def _fit(self, sample: Sample) -> None:
        target = choose(self.target, TARGETS, "target")
        self.map_: Target = (Full if sample.scores.ndim == 1 else target).fitted(calibrator_of(self.method), sample)

    def _log_scores(self, scores: Array) -> Array:
        return self.map_.log_scores(scores)
