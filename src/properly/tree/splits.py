"""How impure a set of rows is: the loss of its best constant forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.losses import LogLoss, Loss, SquaredLoss
from properly.numeric.probabilities import Array
from properly.tree.binning import Bins
from properly.tree.structure import Booleans, Integers

TIE = 1e-10  # differences below this share of an impurity are rounding


@dataclass(frozen=True)
class Impurity:
    """The summed loss of a set whose forecast is its own mean: total weight · entropy(class shares).

    Two classes: W · H(p) with H the entropy of the loss. More classes: W · Σ_k H(p_k), one against the rest, but
    -W · Σ_k p_k ln p_k for log loss, as everywhere. Never larger for two parts together than for the whole.
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


_DENSE = 8  # a table with more cells than this many per row is worth sorting the rows instead


class Rows(NamedTuple):
    """The rows of a level, those of a node together."""

    row: Integers  # its number in the training data
    node: Integers  # 0, 1, ... within the level
    label: Integers
    weight: Array | None


class Cells(NamedTuple):
    """Bins with rows in them, those of a node together; within a node in the order in which they can be cut."""

    node: Integers
    code: Integers
    class_weight: Array  # (n_classes, n_cells)

    def take(self, order: Integers | Booleans) -> Cells:
        return Cells(self.node[order], self.code[order], self.class_weight[:, order])


class Candidates(NamedTuple):
    """Cuts after the cells `at`, with the class weights on both sides, (n_classes, n_candidates)."""

    at: Integers
    node: Integers
    left: Array
    right: Array

    def take(self, chosen: Integers) -> Candidates:
        return Candidates(self.at[chosen], self.node[chosen], self.left[:, chosen], self.right[:, chosen])


class Measure(NamedTuple):
    """What makes one candidate better than another, and for each node which difference counts as none."""

    value: Callable[[Candidates], Array]
    tolerance: Array


def measures(impurity: Impurity, totals: Array) -> tuple[Measure, ...]:
    """By what splits are compared, the first difference deciding; `totals` are the class weights of the nodes.

    The loss comes first. Entropies that are straight in places, as the cost-weighted one, often see no gain
    although later splits will; there the squared loss decides, and where it sees none either, the balance.
    """
    return _gain(impurity, totals), _gain(Impurity(SquaredLoss()), totals), _balance(totals.shape[1])


def _gain(impurity: Impurity, totals: Array) -> Measure:
    whole = impurity(totals)
    return Measure(
        lambda candidates: whole[candidates.node] - impurity(candidates.left) - impurity(candidates.right),
        TIE * np.abs(whole),
    )


def _balance(n_nodes: int) -> Measure:
    return Measure(
        lambda candidates: np.minimum(candidates.left.sum(axis=0), candidates.right.sum(axis=0)), np.zeros(n_nodes)
    )


@dataclass
class Splits:
    """The best split so far of each node of a level, in terms of bin codes."""

    values: Array  # (n_measures, n_nodes)
    feature: Integers  # -1 where there is no split
    cut: Integers  # the last code that goes left
    threshold: Array
    missing_left: Booleans
    sets: Booleans  # (n_nodes, n_codes), for categorical features

    @classmethod
    def none(cls, n_nodes: int, n_codes: int) -> Splits:
        return cls(
            np.full((3, n_nodes), -np.inf),
            np.full(n_nodes, -1),
            np.full(n_nodes, -1),
            np.full(n_nodes, np.nan),
            np.zeros(n_nodes, dtype=np.bool_),
            np.zeros((n_nodes, n_codes), dtype=np.bool_),
        )

    def take(self, chosen: Booleans) -> Splits:
        return Splits(
            self.values[:, chosen],
            self.feature[chosen],
            self.cut[chosen],
            self.threshold[chosen],
            self.missing_left[chosen],
            self.sets[chosen],
        )


def best_splits(rows: Rows, features: list[Bins], totals: Array, impurity: Impurity, smallest: float) -> Splits:
    """The best split of every node; `totals` are the class weights of the nodes, (n_classes, n_nodes)."""
    n_codes = max((len(bins.low) for bins in features if bins.categorical), default=0)
    best = Splits.none(totals.shape[1], n_codes)
    compared_by = measures(impurity, totals)
    for index, bins in enumerate(features):
        for cells in _orders(_cells(rows, bins, *totals.shape), bins, totals):
            candidates = _candidates(cells, bins, totals, smallest)
            if len(candidates.at):
                at = _improve(best, index, candidates, compared_by)
                _describe(best, bins, cells, at, totals)
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
    1958; Breiman et al. 1984, section 4.2.2). That is so if every set is allowed: where the least weight of a leaf
    forbids the best, a set that is no cut in this order may be better than all that are. For more classes the order
    is that of the node's largest class, which may miss the best.
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
    candidates = Candidates(at, node, left, totals[:, node] - left)
    large = (candidates.left.sum(axis=0) >= smallest) & (candidates.right.sum(axis=0) >= smallest)
    return candidates if large.all() else candidates.take(np.flatnonzero(large))


def _improve(best: Splits, feature: int, candidates: Candidates, compared_by: tuple[Measure, ...]) -> Integers:
    """Put the best candidate of each node into `best` where it is better, and say where these cuts are."""
    values = []
    for measure in compared_by:
        value = measure.value(candidates)
        first, group = _runs(candidates.node)
        largest = np.maximum.reduceat(value, first)
        values.append(largest)
        candidates = candidates.take(np.flatnonzero(value >= largest[group] - measure.tolerance[candidates.node]))
    first, _ = _runs(candidates.node)
    at, node = candidates.at[first], candidates.node[first]
    better, equal = np.zeros(len(node), dtype=np.bool_), np.ones(len(node), dtype=np.bool_)
    for value, previous, measure in zip(values, best.values, compared_by, strict=True):
        better |= equal & (value > previous[node] + measure.tolerance[node])
        equal &= value >= previous[node] - measure.tolerance[node]
    best.values[:, node[better]] = np.array(values)[:, better]
    best.feature[node[better]] = feature
    return at[better]


def _runs(node: Integers) -> tuple[Integers, Integers]:
    """Where each run of equal numbers begins, and which run each entry belongs to."""
    new = np.concatenate([[True], node[1:] != node[:-1]])
    return np.flatnonzero(new), np.cumsum(new) - 1


def _describe(best: Splits, bins: Bins, cells: Cells, at: Integers, totals: Array) -> None:
    """Write down which codes go left when a cut follows the cells `at`."""
    node, n_values = cells.node[at], len(bins.low)
    end = np.full(totals.shape[1], -1)
    end[node] = at
    chosen = end[cells.node] >= 0
    index = np.flatnonzero(chosen)
    cell_node, cell_code = cells.node[index], cells.code[index]
    is_left = index <= end[cell_node]
    weight = cells.class_weight[:, index].sum(axis=0)
    left = np.bincount(cell_node, weight * is_left, totals.shape[1])[node]
    best.missing_left[node] = 2.0 * left >= totals[:, node].sum(axis=0)  # the larger side if no row was missing
    is_missing = cell_code == n_values
    best.missing_left[cell_node[is_missing]] = is_left[is_missing]
    if bins.categorical:
        best.cut[node], best.threshold[node] = -1, np.nan
        best.sets[node] = best.missing_left[node][:, None]  # as are the categories that the node has no row of
        best.sets[cell_node[~is_missing], cell_code[~is_missing]] = is_left[~is_missing]
        return
    cut, following = cells.code[at], cells.code[at + 1]
    best.cut[node] = cut
    best.threshold[node] = _between(bins.high[cut], np.append(bins.low, np.inf)[following])


def _between(below: Array, above: Array) -> Array:
    """Halfway between; `below` itself where there is no number between, and infinity if nothing is above."""
    halfway = 0.5 * below + 0.5 * above
    return np.where((halfway < above) | np.isinf(above), halfway, below)
