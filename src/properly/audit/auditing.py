"""An audit: are the probabilities right, and what is gained by mending them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.audit.recalibration import Bins, Line, Recalibrated, recalibrate_many, recalibrate_one
from properly.audit.results import Audit, Mending
from properly.audit.scoring import MEASURES, Rows, score_of
from properly.audit.thresholds import CutTable, decision_of
from properly.diagnostics import GroupCalibration, by_group, multiclass_reliability, murphy, reliability
from properly.inputs.forecast import read_forecast, read_probabilities
from properly.inputs.labels import distinct_labels
from properly.metrics import auc, smooth_calibration_error
from properly.numeric.probabilities import Array

_FALSE_FLAGS = 0.05  # the chance that any group at all is flagged if all are right
_MOST_GROUPS = 1_000
_LEAST_WEIGHT = 1e-50  # of all rows together; squares and ratios of smaller ones would be lost
_MOST_POINTS = 20_000  # of a reliability diagram, which is drawn some hundred pixels wide; its curve stays exact


def audit(
    y: ArrayLike,
    p: ArrayLike,
    *,
    group: ArrayLike | None = None,
    group_names: Sequence[str] | None = None,
    costs: tuple[float, float] | str | None = None,
    sample_weight: ArrayLike | None = None,
    calibrated: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Audit:
    """Judge probabilities by the labels that came true.

    Proper scores with their parts, reliability, what recalibration would gain on rows it has not seen, what thresholds
    cost, and the same by group. The probabilities must be for rows that their model was not trained on.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two or more classes.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the larger of two labels; for more classes, of each in sorted order.
    group : array of shape (n,), optional
        Judge every group by itself as well.
    group_names : sequence of str, optional
        If `group` holds whole numbers from 0, what they stand for.
    costs : (float, float) or str, optional
        The costs of a false positive and of a false negative, as in (1, 20) or "1:20"; for two classes.
    sample_weight : array of shape (n,), optional
        Weight 2 means the row twice, 0 not at all.
    calibrated : array of the shape of p, optional
        Mended probabilities to compare with, for the same rows; by default those of `AutoCalibration` in cross-fitting.
    classes : array of K labels, optional
        The labels in the order of the columns of p (negative, positive for one column), if y lacks some.
    class_names : sequence of str, optional
        What to call the classes; their labels by default.
    random_state : int, default 0
        Of the folds, the bands and the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> p = random.random(2000)
    >>> y = random.random(2000) < p**2
    >>> result = audit(y, p)
    >>> print(f"{result.means[1]:.2f} said, {result.rates[1]:.2f} happened")
    0.50 said, 0.33 happened
    >>> result.scores["log loss"].gain.low > 0.0
    True
    """
    forecast = read_forecast(y, p, sample_weight, classes)
    labels = distinct_labels(np.asarray(y)) if classes is None else np.asarray(classes)
    names = _names(labels, class_names)
    if forecast.binary and not forecast.class_weight.all():
        only = names[int(forecast.class_weight.argmax())]
        raise ValueError(f"y holds one class only, {only!r}; an audit needs rows of both.")
    if not forecast.binary and costs is not None:
        raise ValueError(f"costs are for two classes, y has {len(names)}; leave them out, or audit one class.")
    if not _LEAST_WEIGHT < forecast.total < 1.0 / _LEAST_WEIGHT:
        raise ValueError(f"sample_weight adds up to {forecast.total:g}; weights are numbers of rows: rescale them.")
    counted = _rows_that_count(sample_weight)
    groups = None if group is None else _checked_group(group, y)[counted]
    mended = None if calibrated is None else _checked_mended(calibrated, counted, forecast.p.shape)
    rows = Rows(forecast.codes, forecast.p, forecast.complement, forecast.weight)
    if not forecast.binary:
        return _audit_many(rows, mended, names, _by_group(rows, groups, group_names), random_state)
    order = np.argsort(rows.p, kind="stable")  # what is sorted here takes no time to sort again below
    rows = rows.at(order)
    mended = None if mended is None else mended[order]
    found = _by_group(rows, None if groups is None else groups[order], group_names)
    del forecast, groups, order
    return _audit_one(rows, mended, names, found, costs, random_state)


def _audit_one(
    rows: Rows,
    mended: Array | None,
    names: tuple[str, ...],
    groups: GroupCalibration | None,
    costs: Any,
    random_state: int,
) -> Audit:
    """Two classes; the rows are sorted by p."""
    positive, p, weight = rows.codes == 1, rows.p, rows.weight
    bins = Bins.of(p, positive, weight)
    line = Line.of(bins, positive, weight)
    after = recalibrate_one(bins, positive, weight, random_state) if mended is None else Recalibrated(mended)
    del bins
    drawing = {"random_state": random_state, "max_points": _MOST_POINTS}
    decision = None
    if costs is not None:
        decision = decision_of(positive, p, None if after is None else after.p, costs, weight, random_state)
    wanted = [0.5] if decision is None else [0.5, decision.choice.theoretical_threshold, decision.choice.threshold]
    rate, mean = float(rows.rates[1]), float(rows.mean(p))
    return Audit(
        classes=names,
        n_rows=len(p),
        total=rows.total,
        rates=rows.rates,
        means=np.array([1.0 - mean, mean]),
        hit_rate=rate,
        confidence=mean,
        surprises=rows.surprises,
        scores={name: score_of(name, rows, after, random_state) for name in MEASURES},
        line=line,
        smooth_error=smooth_calibration_error(positive, p, sample_weight=weight),
        auc=auc(positive, p, sample_weight=weight),
        reliability=reliability(positive, p, sample_weight=weight, **drawing),
        reliability_after=None if after is None else reliability(positive, after.p, sample_weight=weight, **drawing),
        panels=None,
        murphy=murphy(
            positive, {"as given": p} | ({} if after is None else {"recalibrated": after.p}), sample_weight=weight
        ),
        groups=groups,
        mending=None if after is None else Mending(len(p), after.n_folds),
        decision=decision,
        cuts=CutTable.of(p, positive, weight, np.array(wanted)),
    )


def _audit_many(
    rows: Rows, mended: Array | None, names: tuple[str, ...], groups: GroupCalibration | None, random_state: int
) -> Audit:
    """More than two classes: the confidence, the probability of the most probable class, stands for the whole."""
    right, confidence = rows.p.argmax(axis=1) == rows.codes, rows.p.max(axis=1)
    if mended is None:
        after = recalibrate_many(rows.codes, rows.p, rows.weight, random_state)
    else:
        after = Recalibrated(mended)
    return Audit(
        classes=names,
        n_rows=len(right),
        total=rows.total,
        rates=rows.rates,
        means=rows.mean(rows.p),
        hit_rate=float(rows.mean(right)),
        confidence=float(rows.mean(confidence)),
        surprises=rows.surprises,
        scores={name: score_of(name, rows, after, random_state) for name in MEASURES},
        line=Line.of(Bins.of(confidence, right, rows.weight), right, rows.weight),
        smooth_error=smooth_calibration_error(right, confidence, sample_weight=rows.weight),
        auc=None,
        reliability=None,
        reliability_after=None,
        panels=multiclass_reliability(
            rows.codes, rows.p, classes=np.arange(len(names)), sample_weight=rows.weight, random_state=random_state
        ),
        murphy=None,
        groups=groups,
        mending=None if after is None else Mending(len(after.p), after.n_folds),
        decision=None,
        cuts=None,
    )


def _by_group(rows: Rows, group: NDArray[Any] | None, names: Sequence[str] | None) -> GroupCalibration | None:
    """Every group by itself, with intervals so wide that one audit in twenty flags any group at all by chance."""
    if group is None:
        return None
    n_groups = len(names) if names is not None else len(set(group.tolist()))
    if n_groups > _MOST_GROUPS:
        raise ValueError(
            f"group has {n_groups:,} different values, more than {_MOST_GROUPS:,}; is it the right column?"
        )
    result = by_group(
        rows.codes,
        rows.p,
        group,
        sample_weight=rows.weight,
        classes=np.arange(len(rows.rates)),
        confidence=1.0 - _FALSE_FLAGS / n_groups,
    )
    return result if names is None else replace(result, groups=tuple(names[int(code)] for code in result.groups))


def _checked_group(group: ArrayLike, y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(group)
    if labels.ndim != 1 or len(labels) != len(np.asarray(y)):
        raise ValueError(f"group has shape {labels.shape}, y has {np.asarray(y).shape}: give every row its group.")
    return labels


def _checked_mended(calibrated: ArrayLike, counted: Any, shape: tuple[int, ...]) -> Array:
    mended = read_probabilities(calibrated, "calibrated")[0]
    mended = mended if isinstance(counted, slice) or len(mended) != len(counted) else mended[counted]
    if mended.shape != shape:
        raise ValueError(f"calibrated must have the rows and classes of p, {shape}, got {mended.shape}.")
    return mended


def _names(labels: NDArray[Any], given: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(str(label) for label in (labels.tolist() if given is None else given))
    if given is not None and len(names) != len(labels):
        raise ValueError(f"class_names has {len(names)} names for {len(labels)} classes; name each of them once.")
    return names if len(names) > 1 else ("0", "1")


def _rows_that_count(sample_weight: ArrayLike | None) -> Any:
    """Rows of weight 0 are no rows."""
    if sample_weight is None:
        return slice(None)
    weight = np.asarray(sample_weight)
    return slice(None) if weight.all() else weight > 0.0
