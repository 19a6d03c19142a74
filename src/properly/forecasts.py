"""Labels and scores wherever their rows are: those that are not in memory are counted by score, in one pass.

A count is a row with a weight: whatever takes labels, scores and weights takes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.engines import PartitionedEngine, engine_for
from properly.engines.description import Part, Sample
from properly.inputs import forecast as in_memory
from properly.inputs.forecast import Forecast, read_probabilities
from properly.inputs.frames import missing_in
from properly.inputs.labels import encode, forecast_labels, found_classes, positive_last
from properly.inputs.misuse import Misuse
from properly.inputs.options import checked_names
from properly.kernels import Statistic
from properly.numeric.probabilities import Array
from properly.score_counts import ScoreCounts

MOST_GROUPS = 1_000


class NoRows(ValueError):
    """There is nothing to count."""


class CountedRows(NamedTuple):
    """Rows of the same label, score and group as one, with their weight and their number."""

    y: NDArray[Any]
    score: Array
    weight: Array
    rows: Array
    group: NDArray[Any] | None
    counts: ScoreCounts


def is_elsewhere(X: Any) -> bool:
    """Whether the rows are not in memory."""
    return issubclass(engine_for(X), PartitionedEngine)


def counted_rows(
    scores: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    *,
    read: Callable[[Array], Array],
    labelled: bool = True,
) -> CountedRows:
    """Rows that are not in memory, counted; `read` makes one column of the columns of a part.

    Rows without labels, if they are not wanted, have the label 0.
    """
    return _rows_of(_total(scores, y, sample_weight, group, partial(_counted, read, labelled)))


def _total(scores: Any, y: Any, sample_weight: Any, group: Any, function: Callable[[Part, int], Any]) -> Any:
    """What a function counts of all parts, in one pass."""
    engine = cast(type[PartitionedEngine], engine_for(scores))(scores, y, sample_weight, None, group)
    total: Any = None
    try:
        engine.prepare(several=False)
        with engine.visited(function) as results:
            for found in results:
                if found is not None:
                    total = found if total is None else total + found
                    _check_groups(total if isinstance(total, ScoreCounts) else total.top)
    finally:
        engine.release()
    counts = total.top if isinstance(total, _ClassCounts) else total
    if counts is None or not any(len(each.score) for each in counts.kinds.values()):
        raise NoRows("there are no rows of a positive weight.")
    return total


def _rows_of(total: ScoreCounts) -> CountedRows:
    kinds, place, score, rows, weight = total.entries()
    labels, groups = (_column(each) for each in zip(*kinds, strict=True))
    no_group = bool((groups == _NO_GROUP).all())
    return CountedRows(labels[place], score, weight, rows, None if no_group else groups[place], total)


_NO_GROUP = "\0no group"


def _counted(read: Callable[[Array], Array], labelled: bool, part: Part, number: int) -> ScoreCounts | None:
    part = part.checked()
    if not part.X.shape[0]:
        return None
    if labelled and part.y is None:
        raise ValueError(f"{part.place} has no labels; blocks must be (X, y, ...), files and frames need target=.")
    y = part.y if labelled and part.y is not None else np.zeros(part.X.shape[0], dtype=np.int8)
    classes = found_classes(y)
    groups: list[Any] = [_NO_GROUP]
    group = np.zeros(1, dtype=np.intp)
    if part.group is not None:
        groups, group = _distinct(part.group)
    try:
        score = read(np.asarray(part.X, dtype=np.float64))
    except ValueError as error:
        raise type(error)(f"{error} (in {part.place})") from error
    names = [(label, name) for name in groups for label in classes.tolist()]
    return ScoreCounts.of(score, len(classes) * group + encode(y, classes), part.weight).named(names)


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Labels of any kind, missing ones as None, and the position of every row's."""
    if labels.dtype != object and not missing_in(labels).any():
        found, place = np.unique(labels, return_inverse=True)
        return found.tolist(), place
    missing = missing_in(labels)
    known = [*dict.fromkeys(labels[~missing].tolist()), None]
    position = {label: k for k, label in enumerate(known)}
    place = np.full(len(labels), len(known) - 1, dtype=np.intp)
    place[~missing] = [position[label] for label in labels[~missing].tolist()]
    return known, place


def _check_groups(counts: ScoreCounts) -> None:
    if len(counts.kinds) > MOST_GROUPS:
        number = len({kind[-1] for kind in counts.kinds})  # the group is the last
        if number > MOST_GROUPS:
            raise Misuse(f"group has more than {MOST_GROUPS:,} different values; is it the right column?")


def _column(values: Iterable[Any]) -> NDArray[Any]:
    """Labels as NumPy would hold them, except that mixed kinds stay apart."""
    listed = list(values)
    if len({isinstance(each, str) for each in listed}) > 1 or any(each is None for each in listed):
        return np.array([*listed, None], dtype=object)[:-1]
    return np.array(listed)


@dataclass(frozen=True)
class CountedForecast(Forecast):
    """Probabilities of more than two classes, counted: each class against the rest, and the most probable one.

    `codes`, `p` and `weight` are those of rows drawn at random, for what needs whole rows.
    """

    by_class: tuple[Forecast, ...] = ()
    top: Forecast | None = None
    decisions: Array | None = None  # the weight as [true class, decision]
    width: float = 0.0  # as that of `ScoreCounts`

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


@dataclass(frozen=True)
class _ClassCounts(Statistic):
    """What `CountedForecast` is made of; labels are not sorted yet."""

    by_class: ScoreCounts  # kinds (column, label)
    top: ScoreCounts  # kinds (column of the largest probability, label, group)
    decisions: dict[tuple[int, Any], float]  # the weight by decision and label
    sample: Sample
    n_classes: int

    @classmethod
    def of(cls, part: Part, number: int, decide: Callable[[Array], NDArray[np.intp]] | None) -> Self:
        try:
            p = np.asarray(read_probabilities(np.asarray(part.X, dtype=np.float64))[0])
        except ValueError as error:
            raise type(error)(f"{error} (in {part.place})") from error
        n_rows, n_classes = p.shape
        classes, weight = found_classes(part.y), part.weight
        codes, labels = encode(part.y, classes), classes.tolist()
        groups, group = ([_NO_GROUP], np.zeros(n_rows, np.intp)) if part.group is None else _distinct(part.group)
        column = np.repeat(np.arange(n_classes), n_rows)
        by_class = ScoreCounts.of(
            p.T.ravel(),
            column * len(labels) + np.tile(codes, n_classes),
            None if weight is None else np.tile(weight, n_classes),
        ).named([(k, label) for k in range(n_classes) for label in labels])
        largest = p.argmax(axis=1)
        top = ScoreCounts.of(p.max(axis=1), (largest * len(labels) + codes) * len(groups) + group, weight)
        top = top.named([(k, label, name) for k in range(n_classes) for label in labels for name in groups])
        decided = largest if decide is None else decide(p)
        mass = np.bincount(decided * len(labels) + codes, weight, n_classes * len(labels))
        pairs = [(k, label) for k in range(n_classes) for label in labels]
        sample = Sample.drawn(Part(p, part.y, weight), number, 1.0, _SAMPLE_ROWS)
        return cls(by_class, top, dict(zip(pairs, mass.tolist(), strict=True)), sample, n_classes)

    def __add__(self, other: Self) -> Self:
        if self.n_classes != other.n_classes:
            raise ValueError(f"there are parts with {self.n_classes} columns and parts with {other.n_classes}.")
        decisions = dict(self.decisions)
        for pair, mass in other.decisions.items():
            decisions[pair] = decisions.get(pair, 0.0) + mass
        sums = self.by_class + other.by_class, self.top + other.top
        return type(self)(*sums, decisions, self.sample + other.sample, self.n_classes)

    def forecast(self, classes: ArrayLike | None) -> tuple[Forecast, NDArray[Any] | None]:
        """The forecast, and the group of every entry of its most probable classes; of all rows if they are few."""
        labels = _column(dict.fromkeys(label for _, label in self.decisions))
        known, _ = forecast_labels(found_classes(labels) if classes is None else labels, classes, self.n_classes)
        parts = [part for _, part in self.sample.parts]
        y, p = np.concatenate([part.y for part in parts]), np.concatenate([part.X for part in parts])
        weight = None if parts[0].weight is None else np.concatenate([part.weight for part in parts])
        drawn = in_memory.read_forecast(y, p, weight, known)
        found_kinds, place, score, rows, mass = self.top.entries()
        kinds = cast("tuple[tuple[int, Any, Any], ...]", found_kinds)
        hit = np.array([label == known[k] for k, label, _ in kinds])
        groups = _column(group for _, _, group in kinds)
        no_group = bool((groups == _NO_GROUP).all())
        top = Forecast.of_positives(hit[place], score, mass, rows)
        matrix = np.zeros((self.n_classes, self.n_classes))
        for (k, label), weight_of in self.decisions.items():
            matrix[np.flatnonzero(known == label)[0], k] += weight_of
        counted = [self._of_class(k, known[k]) for k in range(self.n_classes)]
        width = max(self.by_class.width, self.top.width)
        found = CountedForecast(
            drawn.codes,
            drawn.p,
            None,
            drawn.weight,
            known,
            by_class=tuple(counted),
            top=top,
            decisions=matrix,
            width=width,
        )
        return found, None if no_group else groups[place]

    def _of_class(self, column: int, own: Any) -> Forecast:
        kinds = {label: counts for (k, label), counts in self.by_class.kinds.items() if k == column}
        labels, place, score, rows, weight = replace(self.by_class, kinds=kinds).entries()
        return Forecast.of_positives(np.array([label == own for label in labels])[place], score, weight, rows)


_SAMPLE_ROWS = 2**17  # of more than two classes, for what needs whole rows


def _counted_part(decide: Any, part: Part, number: int) -> ScoreCounts | _ClassCounts | None:
    """Of one part: probabilities of two classes, or of more."""
    if np.ndim(part.X) < 2 or part.X.shape[1] < 3:
        return _counted(_one_column, True, part, number)
    part = part.checked()
    if not part.X.shape[0]:
        return None
    if part.y is None:
        raise ValueError(f"{part.place} has no labels; blocks must be (X, y, ...), files and frames need target=.")
    return _ClassCounts.of(part, number, decide)


def audited_forecast(
    p: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    group: Any = None,
    classes: ArrayLike | None = None,
    decide: Callable[[Array], NDArray[np.intp]] | None = None,
) -> tuple[Forecast, NDArray[Any] | None, float]:
    """Probabilities that are not in memory, of any number of classes, as a forecast, the groups of its entries
    (of those of the most probable class, for several classes), and the width of a cell.

    `decide` makes decisions of rows of probabilities, if these are not the most probable class.
    """
    total = _total(p, y, sample_weight, group, partial(_counted_part, decide))
    if isinstance(total, _ClassCounts):
        return (*total.forecast(classes), max(total.by_class.width, total.top.width))
    found = _rows_of(total)
    known = positive_last(found.y) if classes is None else classes
    return forecast_of(found, known), found.group, found.counts.width


def read_forecast(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    keep_library: bool = False,
) -> Forecast:
    """`properly.inputs.forecast.read_forecast`, also of probabilities that are not in memory (two classes)."""
    if not is_elsewhere(p):
        return in_memory.read_forecast(y, p, sample_weight, classes, keep_library=keep_library)  # type: ignore[arg-type]
    return forecast_of(counted_forecast(p, y, sample_weight), classes)


def counted_forecast(
    p: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, group: Any = None, *, labelled: bool = True
) -> CountedRows:
    """Probabilities of the second of two classes, or of both, counted."""
    return counted_rows(p, y, sample_weight, group, read=_one_column, labelled=labelled)


def forecast_of(found: CountedRows, classes: ArrayLike | None = None) -> Forecast:
    return replace(in_memory.read_forecast(found.y, found.score, found.weight, classes), rows=found.rows)


def _one_column(values: Array) -> Array:
    p, _ = read_probabilities(values)
    if p.ndim > 1:
        raise ValueError(
            f"probabilities that are not in memory are judged for two classes, but there are {p.shape[1]} columns; "
            "look at one class against the rest: its column, and labels that say whether it occurred"
        )
    return np.asarray(p)


def read_binary(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    keep_library: bool = False,
) -> Forecast:
    """As `read_forecast`, for what is defined for two classes only."""
    forecast = read_forecast(y, p, sample_weight, classes, keep_library=keep_library)
    if not forecast.binary:
        raise ValueError(
            f"this is defined for two classes, but p has {forecast.p.shape[1]} columns; look at one class k against "
            "the rest: y == classes[k] and p[:, k]."
        )
    return forecast


def read_named(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    reserved: Iterable[str] = (),
) -> dict[str, Forecast]:
    """One forecaster, called "forecast", or several by name, of the same rows of two classes.

    `reserved` names are those of other columns.
    """
    if not isinstance(p, Mapping):
        return {"forecast": read_binary(y, p, sample_weight, classes)}
    if not p:
        raise ValueError("p is an empty mapping; it must map the name of at least one forecaster to its probabilities.")
    forecasts = {}
    for name, each in zip(checked_names(p, reserved), p.values(), strict=True):
        try:
            forecasts[name] = read_binary(y, each, sample_weight, classes)
        except ValueError as error:
            raise ValueError(f"forecaster {name!r}: {error}") from error
    return forecasts
