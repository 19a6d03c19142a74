"""The best split of every node: how impure sets of rows are, and which cuts make them purest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from scipy import special as sc

from properly.losses import LogLoss, Loss, SquaredLoss
from properly.numeric.probabilities import Array
from properly.tree.binning import Bins
from properly.tree.structure import Booleans, Integers

TIE = 1e-10  # differences below this share of an impurity are rounding
_DENSE = 8  # with more cells than this per row, sorting the rows is faster than a table of all cells


@dataclass(frozen=True)
class Impurity:
    """The summed loss of a set whose forecast is its own mean: total weight · entropy(class shares).

    Two classes: W · H(p) with H the entropy of the loss. More classes: W · Σ_k H(p_k), one against the rest, but
    -W · Σ_k p_k ln p_k for log loss, as everywhere. The sum over two parts is never larger than that of the whole.
    """

    loss: Loss

    def __post_init__(self) -> None:
        at_ends = self.loss.entropy([0.0, 1.0], [1.0, 0.0])
        if not np.isfinite(at_ends).all():
            raise ValueError(
                f"loss must have a finite entropy at p = 0 and p = 1 for a tree to split by, but {self.loss!r} has "
                f"{at_ends.tolist()} there; choose another loss."
            )

    def __call__(self, class_weight: Array) -> Array:
        """Of sets given by the weights of their classes, of shape (n_classes, n_sets); every set has some weight."""
        total = class_weight.sum(axis=0)
        share = class_weight / total
        if len(class_weight) == 2:
            return total * self.loss.entropy(share[1], share[0])
        if isinstance(self.loss, LogLoss):
            return -sc.xlogy(class_weight, share).sum(axis=0)
        return total * self.loss.entropy(share, (total - class_weight) / total).sum(axis=0)


@dataclass(frozen=True)
class Parallel:
    """Arrays whose last axes run over the same rows, cells, candidates or nodes."""

    def take(self, chosen: Integers | Booleans) -> Self:
        arrays = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(None if array is None else array[..., chosen] for array in arrays))


@dataclass(frozen=True)
class Rows(Parallel):
    """The rows of a level, those of a node together."""

    row: Integers  # its number in the training data
    node: Integers  # 0, 1, ... within the level
    label: Integers
    weight: Array | None


@dataclass(frozen=True)
class Cells(Parallel):
    """Bins with rows in them, those of a node together; within a node in the order in which they can be cut."""

    node: Integers
    code: Integers
    class_weight: Array  # (n_classes, n_cells)


@dataclass(frozen=True)
class Candidates(Parallel):
    """Cuts after the cells `at`, with the class weights on both sides, (n_classes, n_candidates)."""

    at: Integers
    node: Integers
    left: Array
    right: Array


@dataclass(frozen=True)
class Splits(Parallel):
    """The best split so far of each node of a level, in terms of bin codes."""

    values: Array  # (n_measures, n_nodes)
    feature: Integers  # -1 where there is no split
    cut: Integers  # the last code that goes left
    threshold: Array
    missing_left: Booleans
    n_categories: Integers  # that are divided, missing as one of them; 0 for a number
    sets: Booleans  # (n_codes, n_nodes), for categorical features


Measure = tuple[Callable[[Candidates], Array], Array]
"""What makes one candidate better than another, and for each node which difference counts as none."""


def _measures(impurity: Impurity, totals: Array) -> tuple[Measure, ...]:
    """By what splits are compared, the first difference deciding; `totals` are the class weights of the nodes.

    The loss comes first. Entropies that are straight in places, as the cost-weighted one, often show no gain
    although later splits will; there the squared loss decides, and where it shows none either, the balance.
    """

    def gain(impurity: Impurity) -> Measure:
        whole = impurity(totals)
        return lambda cut: whole[cut.node] - impurity(cut.left) - impurity(cut.right), TIE * np.abs(whole)

    def balance(cut: Candidates) -> Array:
        return np.minimum(cut.left.sum(axis=0), cut.right.sum(axis=0))

    return gain(impurity), gain(Impurity(SquaredLoss())), (balance, np.zeros(totals.shape[1]))


def best_splits(rows: Rows, features: list[Bins], totals: Array, impurity: Impurity, smallest: float) -> Splits:
    """The best split of every node; `totals` are the class weights of the nodes, (n_classes, n_nodes)."""
    n_nodes, n_codes = totals.shape[1], max((len(bins.low) for bins in features if bins.categorical), default=0)
    best = Splits(
        values=np.full((3, n_nodes), -np.inf),
        feature=np.full(n_nodes, -1),
        cut=np.full(n_nodes, -1),
        threshold=np.full(n_nodes, np.nan),
        missing_left=np.zeros(n_nodes, dtype=np.bool_),
        n_categories=np.zeros(n_nodes, dtype=np.intp),
        sets=np.zeros((n_codes, n_nodes), dtype=np.bool_),
    )
    measures = _measures(impurity, totals)
    for index, bins in enumerate(features):
        for cells in _orders(_cells(rows, bins, *totals.shape), bins, totals):
            candidates = _candidates(cells, bins, totals, smallest)
            if len(candidates.at):
                _describe(best, bins, cells, _improve(best, index, candidates, measures), totals)
    return best


def _cells(rows: Rows, bins: Bins, n_classes: int, n_nodes: int) -> Cells:
    n_codes = len(bins.low) + 1
    cell = rows.node * n_codes + bins.code[rows.row]
    n_cells = n_nodes * n_codes
    if n_cells <= _DENSE * len(cell):
        table = class_weights(cell, rows, n_classes, n_cells)
        filled = np.flatnonzero(table.sum(axis=0))
        table = table[:, filled]
    else:
        filled, position = np.unique(cell, return_inverse=True)
        table = class_weights(position, rows, n_classes, len(filled))
    return Cells(filled // n_codes, filled % n_codes, table)


def class_weights(cell: Integers, rows: Rows, n_classes: int, n_cells: int) -> Array:
    """The weight of every class in each cell that rows are in, (n_classes, n_cells)."""
    count = np.bincount(rows.label * n_cells + cell, rows.weight, n_classes * n_cells)
    return np.asarray(count.reshape(n_classes, n_cells), dtype=np.float64)


def _orders(cells: Cells, bins: Bins, totals: Array) -> Iterator[Cells]:
    """The orders in which cells may be cut; missing values are tried at either end of the others.

    For two classes and a concave entropy some best set of categories is a cut in the order of their means (Fisher
    1958; Breiman et al. 1984, section 4.2.2), if every set is allowed: where the least weight of a leaf rules out the
    best one, an allowed set that is no cut in this order may be better than all cuts. For more classes the order is
    that of the shares of the node's largest class, which may miss the best.
    """
    if bins.categorical:
        main = totals.argmax(axis=0) if len(totals) > 2 else np.ones(totals.shape[1], dtype=np.intp)
        share = cells.class_weight[main[cells.node], np.arange(len(cells.node))] / cells.class_weight.sum(axis=0)
        yield cells.take(np.lexsort((share, cells.node)))
        return
    yield cells
    missing = cells.code == len(bins.low)
    if missing.any():
        with_missing = np.zeros(totals.shape[1], dtype=np.bool_)
        with_missing[cells.node[missing]] = True
        affected = cells.take(with_missing[cells.node])
        yield affected.take(np.lexsort((affected.code != len(bins.low), affected.node)))


def _candidates(cells: Cells, bins: Bins, totals: Array, smallest: float) -> Candidates:
    """The cells after which a node can be cut."""
    inside = cells.node[1:] == cells.node[:-1]
    if not bins.categorical:
        inside &= cells.code[:-1] < len(bins.low)  # missing against all others is a cut with the missing at the end
    at = np.flatnonzero(inside)
    node = cells.node[at]
    present = np.flatnonzero(np.bincount(cells.node, minlength=totals.shape[1]))
    before = np.zeros_like(totals)
    before[:, present] = np.cumsum(totals[:, present], axis=1) - totals[:, present]  # exact, as the weights are
    left = np.cumsum(cells.class_weight, axis=1)[:, at] - before[:, node]
    right = totals[:, node] - left
    candidates, large = Candidates(at, node, left, right), np.minimum(left.sum(axis=0), right.sum(axis=0)) >= smallest
    return candidates if large.all() else candidates.take(np.flatnonzero(large))


def _improve(best: Splits, feature: int, candidates: Candidates, measures: tuple[Measure, ...]) -> Candidates:
    """The best candidate of each node where it is better than the split in `best`, which it replaces there."""
    values = []
    for measure, tolerance in measures:
        value = measure(candidates)
        first, group = _runs(candidates.node)
        largest = np.maximum.reduceat(value, first)
        values.append(largest)
        candidates = candidates.take(np.flatnonzero(value >= largest[group] - tolerance[candidates.node]))
    candidates = candidates.take(_runs(candidates.node)[0])
    node = candidates.node
    better, equal = np.zeros(len(node), dtype=np.bool_), np.ones(len(node), dtype=np.bool_)
    for value, previous, (_, tolerance) in zip(values, best.values, measures, strict=True):
        better |= equal & (value > previous[node] + tolerance[node])
        equal &= value >= previous[node] - tolerance[node]
    best.values[:, node[better]] = np.array(values)[:, better]
    best.feature[node[better]] = feature
    return candidates.take(better)


def _runs(node: Integers) -> tuple[Integers, Integers]:
    """Where each run of equal numbers begins, and which run each entry belongs to."""
    new = np.concatenate([[True], node[1:] != node[:-1]])
    return np.flatnonzero(new), np.cumsum(new) - 1


def _describe(best: Splits, bins: Bins, cells: Cells, cuts: Candidates, totals: Array) -> None:
    """Write into `best` which codes go left by these cuts."""
    at, node = cuts.at, cuts.node
    end = np.full(totals.shape[1], -1)
    end[node] = at
    index = np.flatnonzero(end[cells.node] >= 0)
    cell_node, cell_code = cells.node[index], cells.code[index]
    is_left = index <= end[cell_node]
    best.missing_left[node] = cuts.left.sum(axis=0) >= cuts.right.sum(axis=0)  # the heavier side if none is missing
    is_missing = cell_code == len(bins.low)
    best.missing_left[cell_node[is_missing]] = is_left[is_missing]
    if bins.categorical:
        best.cut[node], best.threshold[node] = -1, np.nan
        best.n_categories[node] = np.bincount(cell_node, minlength=len(end))[node]
        best.sets[:, node] = best.missing_left[node]  # so go the categories that the node has no row of
        best.sets[cell_code[~is_missing], cell_node[~is_missing]] = is_left[~is_missing]
        return
    cut, following = cells.code[at], cells.code[at + 1]
    best.cut[node], best.n_categories[node] = cut, 0
    best.threshold[node] = _between(bins.high[cut], np.append(bins.low, np.inf)[following])


def _between(below: Array, above: Array) -> Array:
    """Halfway between; `below` itself where there is no number between, and infinity if nothing is above."""
    halfway = 0.5 * below + 0.5 * above
    return np.where((halfway < above) | np.isinf(above), halfway, below)
