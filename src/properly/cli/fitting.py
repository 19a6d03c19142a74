"""The work of ``properly fit``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly import __version__, save
from properly.audit import audit
from properly.calibration import CalibratedClassifier
from properly.cli.columns import require_distinct, require_named
from properly.cli.console import progress
from properly.cli.files import checked_output
from properly.cli.methods import Setting, candidates
from properly.comparison import CALIBRATED, Comparison, compare
from properly.files import atomic_path
from properly.numeric.probabilities import Array
from properly.prevalence import PriorCorrectedClassifier
from properly.report import fit_page
from properly.report.pages import file_facts, version_facts
from properly.tables import TableClassifier, TableEncoder, TableFile
from properly.tables.errors import Place, TableError, require_columns
from properly.tables.labels import Label, Labels, class_labels, require_two_rows
from properly.tables.values import weights


class TrainingRows(NamedTuple):
    """What is read from the table."""

    encoder: TableEncoder
    X: Array
    codes: NDArray[np.intp]
    classes: list[Label]
    weight: Array | None

    def setting(self, seed: int) -> Setting:
        size = float(len(self.codes) if self.weight is None else self.weight.sum())
        counted = self.codes if self.weight is None else self.codes[self.weight > 0.0]
        return Setting(np.bincount(counted).tolist(), self.encoder.categorical_, size, seed)


def fit_table(arguments: Any) -> dict[str, Any]:
    """Compare, fit, save; returns the summary."""
    calibration = None if arguments.calibration == "none" else arguments.calibration
    checked_output(arguments.output, [arguments.table])
    checked_output(arguments.report, [arguments.table], [arguments.output])
    with progress("Fitting", 1.0) as tell:
        tell(0.0, "reading")
        rows = read_training_rows(arguments)
        if arguments.population_rate is not None and len(rows.classes) > 2:
            raise ValueError(f"--population-rate is for two classes, the target has {len(rows.classes)}.")
        models, notes = candidates(arguments.method, rows.setting(arguments.seed))
        notes += [f"column {name!r} was left out: {reason}" for name, reason in rows.encoder.left_out_.items()]
        comparison = compare(
            models,
            rows.X,
            rows.codes,
            cv=arguments.folds,
            sample_weight=rows.weight,
            calibration=calibration,
            uncalibrated=arguments.calibration in ("auto", "none"),
            skip_failing="auto" in arguments.method,
            random_state=arguments.seed,
            progress=lambda done, note: tell(0.9 * done, note),
        )
        notes += _fewer_folds(arguments.folds, comparison, rows)
        tell(0.9, f"{comparison.best}, on all rows")
        classifier = _refitted(models, comparison, calibration, arguments.population_rate, rows)
        tell(0.95, "report")
        page = _page(arguments, comparison, rows, notes)
        summary = _summary(arguments, comparison, rows, notes)
        save(TableClassifier(rows.encoder, classifier, rows.classes), arguments.output, metadata=summary)
        with atomic_path(arguments.report) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return summary


def read_training_rows(arguments: Any) -> TrainingRows:
    """The rows as numbers, with everything checked."""
    file = TableFile(arguments.table)
    require_distinct({"--target": arguments.target, "--weight": arguments.weight, "--features": arguments.features})
    special = [arguments.target] + ([arguments.weight] if arguments.weight else [])
    require_columns([*special, *arguments.ignore, *(arguments.features or [])], file.names, file.path)
    features = arguments.features or [name for name in file.names if name not in (*special, *arguments.ignore)]
    require_named(features, file.path)
    require_columns(arguments.categories, features, f"the list of features of {file.path}")
    if not features:
        raise TableError(f"{file.path} has no column left to learn from.")
    table = file.read([*features, *special], texts=arguments.categories)
    labels, weight = read_target(arguments, table)
    encoder = TableEncoder(arguments.categories).fit(table.select(features), source=file.path)
    X = encoder.transform(table, source=file.path)
    return TrainingRows(encoder, X, labels.codes, labels.classes, weight)


def read_target(arguments: Any, table: Any) -> tuple[Labels, Array | None]:
    """The classes of the rows and their weights, with at least two rows of every class."""
    place = Place(arguments.table, arguments.target)
    labels = class_labels(table.column(arguments.target), place, arguments.positive)
    column = arguments.weight
    weight = None if column is None else weights(table.column(column), Place(arguments.table, column))
    require_two_rows(labels, weight, place)
    return labels, weight


def _refitted(
    models: dict[str, Any], comparison: Comparison, calibration: str | None, rate: float | None, rows: TrainingRows
) -> Any:
    """The best model, on all rows, with what was decided about it."""
    name = comparison.best.removesuffix(CALIBRATED)
    model = models[name]
    if name != comparison.best:
        folds = comparison.folds
        splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
        model = CalibratedClassifier(model, str(calibration), cv=splits)
    if rate is not None:
        model = PriorCorrectedClassifier(model, "from y", rate)
    return model.fit(rows.X, rows.codes, sample_weight=rows.weight)


def _fewer_folds(wanted: int, comparison: Comparison, rows: TrainingRows) -> list[str]:
    """A note if there are fewer folds than asked for."""
    n_folds = int(comparison.folds.max()) + 1
    if n_folds == wanted:
        return []
    label = rows.classes[int(np.argmin(rows.setting(0).class_rows))]
    return [f"there are {n_folds} folds instead of {wanted}, because the rarest class, {label}, has {n_folds} rows"]


def _page(arguments: Any, comparison: Comparison, rows: TrainingRows, notes: list[str]) -> str:
    """The report: the comparison, and an audit of the best one's probabilities for held-out rows."""
    judged = audit(
        rows.codes,
        comparison.probabilities[comparison.best],
        sample_weight=rows.weight,
        class_names=[str(label) for label in rows.classes],
        random_state=arguments.seed,
    )
    facts = _facts(arguments, comparison, rows, notes)
    return fit_page(comparison, judged, facts, f"Models for {arguments.target}")


def _summary(arguments: Any, comparison: Comparison, rows: TrainingRows, notes: list[str]) -> dict[str, Any]:
    leaderboard = [
        {
            "name": name,
            "log_loss": float(comparison.scores[i]),
            "standard_error": float(comparison.errors[i]),
            "difference_to_best": float(comparison.difference_to_best[i]),
            "p_value": float(comparison.p_values[i]),
            "significant": bool(comparison.significant[i]),
            "seconds": round(float(comparison.seconds[i]), 3),
        }
        for i, name in enumerate(comparison.names)
    ]
    return {
        "model": arguments.output,
        "report": arguments.report,
        "table": arguments.table,
        "sha256": file_facts(arguments.table)["SHA-256"],
        "target": arguments.target,
        "classes": rows.classes,
        "rows": len(rows.codes),
        "features": [column.name for column in rows.encoder.columns_],
        "best": comparison.best,
        "population_rate": arguments.population_rate,
        "folds": int(comparison.folds.max()) + 1,
        "seed": arguments.seed,
        "leaderboard": leaderboard,
        "conclusion": conclusion(comparison),
        "notes": notes,
        "version": __version__,
    }


def conclusion(comparison: Comparison) -> str:
    """Which is the best, and from which others it can be told apart."""
    worse = [name for name, clear in zip(comparison.names, comparison.significant, strict=True) if clear]
    alike = [name for name in comparison.names[1:] if name not in worse]
    text = f"{comparison.best} is the best"
    if worse:
        text += f", and significantly better than {_listed(worse)}"
    if alike:
        text += f"; it cannot be told apart from {_listed(alike)}"
    return f"{text}." if worse or alike else f"{comparison.best} is the only candidate."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _facts(arguments: Any, comparison: Comparison, rows: TrainingRows, notes: list[str]) -> dict[str, str]:
    facts = {
        **file_facts(arguments.table),
        "rows": f"{len(rows.codes):,}",
        "target": arguments.target,
        "features": ", ".join(column.name for column in rows.encoder.columns_),
        "methods": ", ".join(arguments.method),
        "calibration": arguments.calibration,
        "model": f"{arguments.output}: {comparison.best}, fitted to all rows",
        "folds": f"{int(comparison.folds.max()) + 1}, with seed {arguments.seed}",
    }
    if len(rows.classes) == 2:
        facts["positive class"] = str(rows.classes[1])
    if arguments.categories:
        facts["categories"] = ", ".join(arguments.categories)
    if arguments.weight:
        facts["weight"] = arguments.weight
    if arguments.population_rate is not None:
        facts["population rate"] = (
            f"the saved model is for a share of {arguments.population_rate:g} of {rows.classes[1]}; this page judges "
            "the probabilities before that correction, in the proportions of the table"
        )
    if notes:
        facts["notes"] = "; ".join(notes)
    return {**facts, **version_facts()}
