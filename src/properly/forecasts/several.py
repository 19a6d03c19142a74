"""Probabilities of more than two classes that are not in memory, counted by score in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.engines.description import Part, Sample, said_of
from properly.forecasts.counting import column, group_column, groups_of, listed
from properly.inputs.forecast import Forecast, read_forecast, read_probabilities
from properly.inputs.labels import encode, forecast_labels, found_classes
from properly.kernels import Statistic
from properly.numeric.probabilities import Array
from properly.score_counts import ScoreCounts

_SAMPLE_ROWS = 2**17  # for what needs whole rows


@dataclass(frozen=True)
class CountedForecast(Forecast):
    """Probabilities of more than two classes, counted: each class against the rest, and the most probable one.

    `codes`, `p` and `weight` are those of rows drawn at random, for what needs whole rows.
    """

    by_class: tuple[Forecast, ...] = ()
    top: Forecast | None = None
    decisions: Array | None = None  # the weight as [true class, decision]

    @property
    def n_rows(self) -> int:
        return self.most_probable().n_rows

    @cached_property
    def class_weight(self) -> Array:
        return np.array([each.class_weight[1] for each in self.by_class])

    @property
    def surprises(self) -> int:
        impossible = (each.rows[each.positive & (each.p == 0.0)] for each in self.by_class if each.rows is not None)
        return int(sum(float(rows.sum()) for rows in impossible))

    @property
    def means(self) -> Array:
        return np.array([each.mean(each.p) for each in self.by_class])

    def against_rest(self) -> list[Forecast]:
        return list(self.by_class)

    def of_class(self, k: int) -> Forecast:
        return self.by_class[k]

    def most_probable(self) -> Forecast:
        return cast(Forecast, self.top)

    def in_rows(self) -> Forecast:
        given = self.most_probable()
        top, by_class = given.in_rows(), tuple(each.in_rows() for each in self.by_class)
        if top is given:
            return self
        factor, own = top.total / given.total, (self.weight, self.unit, self.decisions)
        weight, unit, decisions = (None if each is None else factor * each for each in own)
        return replace(self, weight=weight, unit=unit, by_class=by_class, top=top, decisions=decisions)


@dataclass(frozen=True)
class ClassCounts(Statistic):
    """What `CountedForecast` is made of; labels are not sorted yet."""

    by_class: ScoreCounts  # kinds (column, label)
    top: ScoreCounts  # kinds (column of the largest probability, label, group)
    decisions: dict[tuple[int, Any], float]  # the weight by decision and label
    sample: Sample
    n_classes: int

    @classmethod
    def of(cls, decide: Callable[[Array], NDArray[np.intp]] | None, part: Part, number: int) -> Self | None:
        """Of one part; `decide` makes decisions of rows of probabilities, if not for the most probable class."""
        part = part.checked()
        if not part.X.shape[0]:
            return None
        y, weight = part.labels(), part.weight
        with said_of(part.place):
            p = np.asarray(read_probabilities(np.asarray(part.X, dtype=np.float64))[0])
        n_rows, n_classes = p.shape
        classes = found_classes(y)
        codes, labels, (groups, group) = encode(y, classes), listed(classes), groups_of(part)
        by_class = ScoreCounts.of(
            p.T.ravel(),
            np.repeat(np.arange(n_classes), n_rows) * len(labels) + np.tile(codes, n_classes),
            None if weight is None else np.tile(weight, n_classes),
        )
        pairs = [(k, label) for k in range(n_classes) for label in labels]
        largest = p.argmax(axis=1)
        top = ScoreCounts.of(p.max(axis=1), (largest * len(labels) + codes) * len(groups) + group, weight)
        decided = largest if decide is None else decide(p)
        mass = np.bincount(decided * len(labels) + codes, weight, len(pairs))
        return cls(
            by_class.named(pairs),
            top.named([(*pair, name) for pair in pairs for name in groups]),
            dict(zip(pairs, mass.tolist(), strict=True)),
            Sample.drawn(Part(p, y, weight), number, 1.0, _SAMPLE_ROWS),
            n_classes,
        )

    def __add__(self, other: Self) -> Self:
        if self.n_classes != other.n_classes:
            raise ValueError(f"there are parts with {self.n_classes} columns and parts with {other.n_classes}.")
        decisions = dict(self.decisions)
        for pair, mass in other.decisions.items():
            decisions[pair] = decisions.get(pair, 0.0) + mass
        sums = self.by_class + other.by_class, self.top + other.top
        return type(self)(*sums, decisions, self.sample + other.sample, self.n_classes)

    @property
    def width(self) -> float:
        """As that of `ScoreCounts`."""
        return max(self.by_class.width, self.top.width)

    def forecast(self, classes: ArrayLike | None) -> tuple[CountedForecast, NDArray[Any] | None]:
        """The forecast, and the group of every entry of its most probable classes."""
        labels = column(dict.fromkeys(label for _, label in self.decisions))
        found = found_classes(labels)
        known, _ = forecast_labels(found if classes is None else labels, classes, self.n_classes)
        p, codes, weight, _ = self.sample.columns(found)
        drawn = read_forecast(found[codes], p, weight, known)
        unit = None if self.top.whole else drawn.weight
        matrix = np.zeros((self.n_classes, self.n_classes))
        for (k, label), mass in self.decisions.items():
            matrix[np.flatnonzero(known == label)[0], k] += mass
        top, groups = self._top(known)
        forecast = CountedForecast(
            drawn.codes,
            drawn.p,
            None,
            drawn.weight,
            known,
            unit=unit,
            by_class=tuple(self._of_class(k, known[k]) for k in range(self.n_classes)),
            top=top,
            decisions=matrix,
        )
        return forecast, groups

    def _top(self, known: NDArray[Any]) -> tuple[Forecast, NDArray[Any] | None]:
        names = [name for _, _, name in self.top.kinds]
        _, place, score, rows, weight, unit = self.top.entries(names)
        hit, groups = np.array([label == known[k] for k, label, _ in self.top.kinds]), group_column(names)
        return Forecast.of_positives(hit[place], score, weight, unit, rows), None if groups is None else groups[place]

    def _of_class(self, k: int, own: Any) -> Forecast:
        kinds = {label: counts for (each, label), counts in self.by_class.kinds.items() if each == k}
        labels, place, score, rows, weight, unit = replace(self.by_class, kinds=kinds).entries()
        return Forecast.of_positives(np.array([label == own for label in labels])[place], score, weight, unit, rows)
