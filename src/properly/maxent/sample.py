"""Labelled and unlabelled rows as one pool of points, and what the labelled ones say about their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.frames import missing_in
from properly.inputs.labels import checked_labels, label_column
from properly.maxent.design_matrix import DesignMatrix
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array

UNLABELLED = -1  # the label of rows without one
_LARGEST = 1e150  # range of a feature, and the inverse of the smallest one


class Sample(NamedTuple):
    """The points of the pool and their weights, and the weights that they have in every labelled class.

    `label_weight` has the shape (labelled classes, points); it is 0 where a point does not have the label.
    `prevalence`, of shape (points, classes), is the default ν(y|x), if it varies.
    """

    design: DesignMatrix
    weight: Array
    labelled_classes: NDArray[np.intp]
    label_weight: Array
    prevalence: Array | None = None

    def default_density(self, label: int) -> Array:
        """ν(x|y): the weights of the points, of sum 1, multiplied by ν(y|x) if that varies."""
        weight = self.weight if self.prevalence is None else self.weight * self.prevalence[:, label]
        return np.asarray(weight / weight.sum())


class Constraints(NamedTuple):
    """|E f - mean| ≤ tolerance for every labelled class and feature.

    `scale` is the range of every feature, 1 if it is constant.
    """

    mean: Array
    tolerance: Array
    scale: Array


def numbered(y: Any) -> tuple[Any, NDArray[Any] | None]:
    """Labels that are texts, and -1 for rows without one, as the numbers of the sorted texts, and these; others as is.

    >>> numbered(np.array(["oak", -1, "ash"], dtype=object))
    (array([ 1, -1,  0]), array(['ash', 'oak'], dtype=object))
    """
    require_values(y, "y")
    labels = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "OU" or missing_in(labels).any():
        return y, None
    if not any(isinstance(label, str) for label in labels.tolist()):
        return y, None
    labelled = labels != UNLABELLED
    names, codes = checked_labels(labels[labelled])
    result = np.full(len(labels), UNLABELLED)
    result[labelled] = codes
    return result, names


def checked_classes(y: ArrayLike | None, n_rows: int, n_classes: int) -> NDArray[np.intp]:
    """Labels 0, 1, … K - 1, and -1 for rows without one; K is at most `n_classes`, or the number of labelled rows."""
    labels = label_column(y, n_rows)
    rule = "y must hold classes 0, 1, … K - 1, and -1 for rows without label"
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"Unknown label type: {rule}, got {labels[0]!r}; number the classes, or use texts.")
    if labels.min(initial=0) < UNLABELLED:
        raise ValueError(f"{rule}, got {labels.min()}.")
    n_labelled = np.count_nonzero(labels != UNLABELLED)
    if labels.max(initial=0) >= max(n_classes, n_labelled):
        raise ValueError(f"{rule}, got {labels.max()} among {n_labelled} labelled rows; number the classes from 0.")
    return labels.astype(np.intp)


def pooled_sample(
    design: DesignMatrix,
    classes: NDArray[np.intp],
    weight: Array,
    site: NDArray[np.intp] | None,
    prevalence: Array | None = None,
) -> Sample:
    """The sample of all points with positive weight; those with the same site number count as one, if it is given.

    Such a site weighs as much as the heaviest of its points, and is labelled with every class that one of them is
    labelled with. A weight that is 0 beside the sum of all others is 0.
    """
    rows = np.flatnonzero(weight / weight.sum() > 0.0)
    labelled = np.unique(classes[rows])
    labelled = labelled[labelled != UNLABELLED]
    if not len(labelled):
        raise ValueError("no row with a label: y must hold a class 0, 1, … in at least one row of positive weight.")
    label_weight = np.where(classes[rows] == labelled[:, None], weight[rows], 0.0)
    own = None if prevalence is None else prevalence[rows]
    if site is None:
        kept = design if len(rows) == len(weight) else design.take(rows)
        return Sample(kept, weight[rows], labelled, label_weight, own)
    _, first, group = np.unique(site[rows], return_index=True, return_inverse=True)
    heaviest = np.zeros((1 + len(labelled), len(first)))  # of all points of a site, and of those with each label
    for most, weights in zip(heaviest, [weight[rows], *label_weight], strict=True):
        np.maximum.at(most, group, weights)
    if own is not None:
        if np.any(own != own[first][group]):
            raise ValueError("row_prevalence must be the same for all rows of a site, or use duplicates='keep'.")
        own = own[first]
    return Sample(design.take(rows[first]), heaviest[0], labelled, heaviest[1:], own)


def constraints(sample: Sample, regularization: float, name_of: Callable[[int], str]) -> Constraints:
    """Means of the labelled rows, and tolerances β_j = regularization · σ̃_j/√m, with m the weight of these rows.

    Few presences that happen to agree prove little. The standard deviation σ̃_j of a feature of `MaxentFeatures`, of
    range 1, is therefore at least 1/√m; that of any other feature is range_j/√m where all labelled rows have the same
    value.
    """
    low, high = sample.design.ranges()
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
    mean, tolerance = np.empty((2, len(sample.labelled_classes), sample.design.n_features))
    for y, weight in enumerate(sample.label_weight):
        root = np.sqrt(weight.sum())
        mean[y], deviation = sample.design.moments(weight)
        if sample.design.unit_range:
            deviation = np.maximum(deviation, 1.0 / root)
        else:
            deviation = np.where(deviation > 0.0, deviation, span / root)
        tolerance[y] = regularization * deviation / root
        stuck = np.flatnonzero(varies & (tolerance[y] == 0.0) & ((mean[y] <= low) | (mean[y] >= high)))
        if len(stuck):
            raise ValueError(
                f"feature {name_of(stuck[0])!r} is {mean[y, stuck[0]]:g}, an extreme of its range, in all rows "
                f"labelled {sample.labelled_classes[y]}: without regularization its coefficient would be infinite; "
                "drop it, or use positive regularization."
            )
    # The expectation of a constant feature is its mean, whatever rounding says; any positive tolerance leaves it out.
    tolerance = np.where(varies, tolerance, np.maximum(1.0, np.abs(mean)))
    return Constraints(mean, tolerance, np.where(varies, span, 1.0))
