"""What ``properly fit`` does between its options and its files: rows, folds, the last fit, the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import properly
from properly.cli.arguments import check_outside, require_distinct
from properly.files import FilePath
from properly.inputs.misuse import Misuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from properly.comparison import BestProbabilities, Comparison
    from properly.numeric.probabilities import Array
    from properly.tables.targets import Labels


SAMPLED = 50_000  # rows of a table larger than memory, on which models are compared


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

    def columns(self, file: properly.tables.TableFile | properly.tables.TableFolder) -> list[str]:
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
    n_rows: int  # of the table: more than are here, if it is larger than memory

    @property
    def class_rows(self) -> list[int]:
        """How many rows every class has that count."""
        codes = self.labels.codes if self.weight is None else self.labels.codes[self.weight > 0.0]
        return [int((codes == code).sum()) for code in range(len(self.labels.classes))]


def read_rows(file: properly.tables.TableFile, roles: Roles) -> Rows:
    """The rows as numbers, with everything checked."""
    columns = roles.columns(file)
    data = file.read([*columns, *roles.special], texts=roles.categories)
    return _rows_of(data, file.path, roles, columns, data.num_rows)


def _rows_of(data: Any, path: str, roles: Roles, columns: list[str], n_rows: int) -> Rows:
    from properly.tables.column_checks import column_warnings

    tables = properly.tables
    labels, weight = tables.targets.read_target(data, path, roles.target, positive=roles.positive, weight=roles.weight)
    encoder = tables.TableEncoder(roles.categories).fit(data.select(columns), source=path)
    X = encoder.transform(data, source=path)
    group = None if roles.group is None else tables.targets.group_codes(data.column(roles.group), path, roles.group)
    time = None if roles.time is None else tables.targets.times(data.column(roles.time), path, roles.time)
    rows = Rows(encoder, X, labels, weight, group, time, column_warnings(data, encoder, X, labels.codes), n_rows)
    del data
    tables.base.arrow.default_memory_pool().release_unused()  # the table is as large as X
    return rows


class LargeTable:
    """A table that may be larger than memory: models are compared on drawn rows, and one is fitted to all of them."""

    def __init__(self, path: FilePath, notation: dict[str, str | None], dask: str | None, cache: FilePath | None):
        if cache is not None:
            if dask is not None:
                raise Misuse(
                    "cache is for rows that are read here, but a Dask cluster keeps them; leave out one of the two."
                )
            if not Path(cache).is_dir():
                raise Misuse(f"cache must be an existing folder on a local disk, got {str(cache)!r}.")
            check_outside(cache, [path])
        self.source, self.dask = properly.tables.table_at(path, **notation), dask
        self.cache = None if cache is None else str(cache)

    @staticmethod
    def methods(methods: Sequence[str], calibration: str) -> list[str]:
        """Those that are compared, which must be fitted by sums."""
        from properly.comparison.candidates import CANDIDATES

        known = [name for name, each in CANDIDATES.items() if each.by_sums]
        for each in methods:
            if each != "auto" and each.partition(":")[0] not in known:
                raise Misuse(f"{each} needs all rows in memory; of a table of any size are fitted: {', '.join(known)}.")
        if calibration not in ("auto", "none"):
            raise Misuse(
                "of a table of any size the model is fitted without calibration; use properly calibrate after it."
            )
        usual = [name for name in known if not CANDIDATES[name].number]
        return list(dict.fromkeys(name for each in methods for name in (usual if each == "auto" else [each])))

    @staticmethod
    def possible(methods: Sequence[str], asked: Sequence[str], rows: Rows) -> tuple[list[str], list[str]]:
        """Those that the drawn rows allow, and why others, which nobody has asked for by name, are left out."""
        from properly.comparison.candidates import Setting, unsuitable

        setting = Setting(rows.class_rows, [], 0)
        reasons = {each: "" if each in asked else unsuitable(each, setting, True) for each in methods}
        return [each for each in methods if not reasons[each]], [reason for reason in reasons.values() if reason]

    def drawn(self, roles: Roles, seed: int) -> Rows:
        """Rows drawn at random."""
        from properly.tables.clusters import sampled_by_cluster

        columns = roles.columns(self.source)
        wanted = properly.tables.base.distinct(*columns, *roles.special)
        if self.dask is None:
            found = properly.tables.folders.sampled_table(self.source, wanted, SAMPLED, seed, roles.categories)
        else:
            found = sampled_by_cluster(self.dask, self.source, wanted, SAMPLED, seed)
        table, name, n_rows = found
        return _rows_of(table, name, roles, columns, n_rows)

    def fit_to_all(self, best: BestProbabilities, rows: Rows, roles: Roles) -> None:
        """Fit the chosen model to all rows, with the settings that were chosen on the drawn ones."""
        from properly.tables.clusters import connected
        from properly.tables.labelled import LabelledBlocks

        part = best.parts_[0].model.classifier
        columns = [column.name for column in rows.encoder.columns_]
        features = _Features(rows.encoder, part.features_)
        blocks = LabelledBlocks(self.source, features, columns, rows.labels.classes, roles.target, roles.weight)
        classifier = _as_chosen(part.classifier_)
        if self.dask is None:
            classifier.fit(properly.engines.Stream(blocks, cache=self.cache))
        else:
            n_features = len(part.features_.get_feature_names_out())
            with connected(self.dask):
                found = blocks.of_cluster(n_features, best.population_rate is not None)
                classifier.fit(found.X, found.y, found.weight)
            for file in properly.tables.folders.files_of(self.source):
                file.check_unchanged()
        if best.population_rate is not None:
            best.log_ratio_ = best.prior_change(best.classes_, blocks.class_weight)
        part.classifier_ = classifier.set_params(**part.classifier_.get_params(deep=False))
        drawn = len(rows.labels.codes)
        if drawn < rows.n_rows:
            best.notes_.append(
                f"models were compared, and the chosen one audited, on {drawn:,} rows drawn at random; "
                f"{best.comparison_.choice} was then fitted to all {rows.n_rows:,}, with the same settings"
            )
        else:
            best.notes_.append(f"models were compared, and the chosen one audited, on all {drawn:,} rows")


class _Features:
    """What turns a table into the features of a linear model."""

    def __init__(self, encoder: properly.tables.TableEncoder, features: Any) -> None:
        self.encoder, self.features = encoder, features

    def __call__(self, table: Any, **place: Any) -> Array:
        found: Array = self.features.transform(self.encoder.transform(table, **place))
        return found


def _as_chosen(fitted: Any) -> Any:
    """The same kind of model, not fitted, with the settings that a cross-validation inside it has chosen."""
    from sklearn.base import clone

    own = fitted.get_params(deep=False)
    chosen = {"xis": "xi_", "Cs": "C_", "concentrations": "concentration_"}
    settings: dict[str, Any] = {name: [getattr(fitted, found)] for name, found in chosen.items() if name in own}
    if "cv" in own:
        settings["cv"] = properly.engines.KeyedFolds(2)
    return clone(fitted).set_params(**settings)


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
