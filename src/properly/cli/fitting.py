"""What ``properly fit`` does between its options and its files: rows, folds, the last fit, the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import properly
from properly.cli.arguments import require_distinct
from properly.inputs.misuse import Misuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from properly.comparison import Comparison
    from properly.numeric.probabilities import Array
    from properly.tables.targets import Labels


class Roles(NamedTuple):
    """Which column is what."""

    target: str
    positive: str | None
    features: Sequence[str] | None
    ignore: Sequence[str]
    categories: Sequence[str]
    weight: str | None
    group: str | None
    time: str | None

    @property
    def special(self) -> list[str]:
        """Columns that are no features."""
        return [name for name in (self.target, self.weight, self.group, self.time) if name is not None]

    def check(self) -> None:
        """Refuse roles that exclude each other."""
        if self.features is not None and self.ignore:
            raise Misuse("features and ignore exclude each other: name the columns to use, or those not to use.")
        if self.group is not None and self.time is not None:
            raise Misuse("group and time exclude each other: folds are made by one of them.")
        require_distinct(
            target=self.target, weight=self.weight, group=self.group, time=self.time, features=self.features
        )

    def columns(self, file: properly.tables.TableFile) -> list[str]:
        """The features in the order of the table."""
        base = properly.tables.base
        file.require([*self.special, *self.ignore, *(self.features or [])])
        found = list(self.features or [name for name in file.names if name not in (*self.special, *self.ignore)])
        base.require_named(found, file.path)
        base.require_columns(self.categories, found, f"the list of features of {file.path}", Misuse)
        if not found:
            raise Misuse(f"{file.path} has no column left to learn from.")
        return found


class Rows(NamedTuple):
    """What is read from the table."""

    encoder: properly.tables.TableEncoder
    X: Array
    labels: Labels
    weight: Array | None
    group: NDArray[Any] | None
    time: Array | None
    warnings: list[str]

    @property
    def class_rows(self) -> list[int]:
        """How many rows every class has that count."""
        codes = self.labels.codes if self.weight is None else self.labels.codes[self.weight > 0.0]
        return [int((codes == code).sum()) for code in range(len(self.labels.classes))]


def read_rows(file: properly.tables.TableFile, roles: Roles) -> Rows:
    """The rows as numbers, with everything checked."""
    from properly.tables.column_checks import column_warnings

    tables, path = properly.tables, file.path
    columns = roles.columns(file)
    data = file.read([*columns, *roles.special], texts=roles.categories)
    labels, weight = tables.targets.read_target(data, path, roles.target, positive=roles.positive, weight=roles.weight)
    encoder = tables.TableEncoder(roles.categories).fit(data.select(columns), source=path)
    X = encoder.transform(data, source=path)
    group = None if roles.group is None else tables.targets.group_codes(data.column(roles.group), path, roles.group)
    time = None if roles.time is None else tables.targets.times(data.column(roles.time), path, roles.time)
    rows = Rows(encoder, X, labels, weight, group, time, column_warnings(data, encoder, X, labels.codes))
    del data
    tables.base.arrow.default_memory_pool().release_unused()  # the table is as large as X
    return rows


def validation(roles: Roles, n_folds: int, repeats: int, seed: int) -> str:
    """How the rows were divided, in words."""
    if roles.time is not None:
        return f"{n_folds} periods by {roles.time}: models of the rows before a period were judged by the rows in it"
    times = f", made {repeats} times" if repeats > 1 else ""
    if roles.group is not None:
        folds = f"{n_folds} folds by {roles.group}{times}"
        return f"{folds}: all rows with the same {roles.group} are in one fold (seed {seed})"
    return f"{n_folds} random folds with the same class shares{times} (seed {seed})"


def conclusion(comparison: Comparison) -> str:
    """Which model is the best, than which others it is significantly better, and which one is chosen."""
    worse = [name for name, clear in zip(comparison.names, comparison.significant, strict=True) if clear]
    alike = [name for name in comparison.names[1:] if name not in worse]
    if not worse and not alike:
        return f"{comparison.best} is the only candidate."
    text = f"{comparison.best} is the best"
    if worse:
        text += f", and significantly better than {_listed(worse)}"
    if alike:
        text += f"; it is not significantly better than {_listed(alike)}"
    if comparison.choice != comparison.best:
        text += f". {comparison.choice} is chosen: {comparison.reason}"
    return f"{text}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
