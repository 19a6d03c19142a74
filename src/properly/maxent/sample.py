"""Labelled and unlabelled rows as one pool of points, and what the labelled ones say about their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from properly.maxent.design import Design
from properly.numeric.probabilities import Array

UNLABELLED = -1
_LARGEST = 1e150  # range of a feature, and the inverse of the smallest one


class Sample(NamedTuple):
    """The points of the pool with their weights, and the weights of the labelled ones for every labelled class.

    Labels have the shape (labelled classes, points).
    """

    design: Design
    weight: Array
    labelled: NDArray[np.intp]
    labels: Array


class Constraints(NamedTuple):
    """|E f - μ̃| ≤ β for every labelled class and feature; `scale` is the range of every feature, 1 if it has none."""

    mean: Array
    deviation: Array
    scale: Array


def checked_classes(y: ArrayLike | None, n_rows: int, n_classes: int) -> NDArray[np.intp]:
    """Labels 0, 1, … K - 1, and -1 for rows without one; K is at most `n_classes`, or the number of labelled rows."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(labels)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows, X has {n_rows}: inconsistent numbers of samples.")
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"Unknown label type: y must hold classes 0, 1, … and -1 for rows without label, got {labels[0]!r}; number "
            "the classes first."
        )
    if labels.min(initial=0) < UNLABELLED:
        raise ValueError(f"y must hold classes 0, 1, … and -1 for rows without label, got {labels.min()}.")
    n_labelled = np.count_nonzero(labels != UNLABELLED)
    if labels.max(initial=0) >= max(n_classes, n_labelled):
        raise ValueError(
            f"y must hold classes 0, 1, … K - 1 and -1 for rows without label, got {labels.max()} among {n_labelled} "
            "labelled rows; number the classes from 0."
        )
    return labels.astype(np.intp)


def pooled(design: Design, classes: NDArray[np.intp], weight: Array, site: NDArray[np.intp] | None = None) -> Sample:
    """The sample of all points with positive weight; those with the same number of a site count as one, if it is given.

    It weighs as much as the heaviest of them, and is labelled with every class that one of them is labelled with. A
    weight that is 0 beside the sum of all others is 0.
    """
    rows = np.flatnonzero(weight / weight.sum() > 0.0)
    labelled = np.unique(classes[rows])
    labelled = labelled[labelled != UNLABELLED]
    if not len(labelled):
        raise ValueError("no row with a label: y must hold a class 0, 1, … in at least one row of positive weight.")
    if site is not None:
        _, group = np.unique(site[rows], return_inverse=True)
        heaviest, first = np.zeros(group.max() + 1), np.zeros(group.max() + 1, dtype=np.intp)
        np.maximum.at(heaviest, group, weight[rows])
        first[group[::-1]] = rows[::-1]
        labels = np.zeros((len(labelled), len(first)))
        for row, label in zip(labels, labelled, strict=True):
            chosen = classes[rows] == label
            np.maximum.at(row, group[chosen], weight[rows][chosen])
        return Sample(design.take(first), heaviest, labelled, labels)
    labels = np.where(classes[rows] == labelled[:, None], weight[rows], 0.0)
    return Sample(design if len(rows) == len(weight) else design.take(rows), weight[rows], labelled, labels)


def constraints(sample: Sample, regularization: float, name_of: Callable[[int], str]) -> Constraints:
    """Means of the labelled rows and how far off they may be: β_j = regularization · σ̃_j/√m, m their weight.

    Few presences that happen to agree prove little. The standard deviation σ̃_j of a derived feature, of range 1, is
    therefore at least 1/√m; that of any other feature is range_j/√m where all labelled rows have the same value.
    """
    low, high = sample.design.ranges
    varies = high > low
    with np.errstate(over="ignore"):
        span = high - low
    extreme = np.flatnonzero(varies & ~((span > 1.0 / _LARGEST) & (span < _LARGEST)))
    if len(extreme):
        j = extreme[0]
        raise ValueError(
            f"feature {name_of(j)!r} has values from {low[j]:g} to {high[j]:g}, whose squares are beyond float64; "
            "change its unit, or use features=MaxentFeatures(), which scale it."
        )
    mean, deviation = np.empty((2, len(sample.labelled), sample.design.n_features))
    for y, weight in enumerate(sample.labels):
        moments, m = sample.design.moments(weight), weight.sum()
        if sample.design.derived:
            spread = np.maximum(moments.deviation, 1.0 / np.sqrt(m))
        else:
            spread = np.where(moments.deviation > 0.0, moments.deviation, span / np.sqrt(m))
        mean[y], deviation[y] = moments.mean, regularization * spread / np.sqrt(m)
        stuck = np.flatnonzero(varies & (deviation[y] == 0.0) & ((mean[y] <= low) | (mean[y] >= high)))
        if len(stuck):
            raise ValueError(
                f"feature {name_of(stuck[0])!r} is {mean[y, stuck[0]]:g}, an extreme of its range, in all rows "
                f"labelled {sample.labelled[y]}: without regularization its coefficient would be infinite; drop it, "
                "or use positive regularization."
            )
    # The expectation of a constant feature is its mean, whatever rounding says; any positive deviation leaves it out.
    deviation = np.where(varies, deviation, np.maximum(1.0, np.abs(mean)))
    return Constraints(mean, deviation, np.where(varies, span, 1.0))
