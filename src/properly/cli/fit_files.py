"""What ``properly fit`` writes: the model, the page, and the summary that both and the command show."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import properly
from properly.cli.fitting import Roles, Rows, conclusion, validation
from properly.files import FilePath, atomic_path, displayed, sha256_of

if TYPE_CHECKING:
    from properly.audit import Audit
    from properly.comparison import BestProbabilities, Comparison
    from properly.tables.importances import Importances

_MOST_SHUFFLED = 100  # columns


class Asked(NamedTuple):
    """What the files and the page say about how a model was made."""

    table: FilePath
    output: FilePath
    report: FilePath
    key: bytes | None
    methods: list[str]
    calibration: str
    population_rate: float | None
    folds: int
    seed: int
    left_out: list[str]  # why methods of auto were


def written(best: BestProbabilities, rows: Rows, roles: Roles, asked: Asked) -> dict[str, Any]:
    """Write the model and the page; returns the summary."""
    comparison, notes = best.comparison_, asked.left_out + best.notes_
    notes += [f"column {name!r} was left out: {reason}" for name, reason in rows.encoder.left_out_.items()]
    n_folds = len(set(comparison.folds[comparison.judged].tolist()))
    if n_folds < asked.folds:
        rarest = rows.labels.classes[rows.class_rows.index(min(rows.class_rows))]
        reason = f"because the rarest class, {rarest}, has {n_folds} rows"
        if roles.group is not None:
            reason = f"because a class occurs with {n_folds} values of {roles.group} only"
        notes.append(f"there are {n_folds} folds instead of {asked.folds}, {reason}")
    corrected = []
    if asked.population_rate is not None:
        corrected.append(
            f"the saved model is for a share of {asked.population_rate:g} of {rows.labels.classes[1]}; comparison and "
            "audit are of its probabilities before that correction, in the proportions of the table"
        )
    summary = {
        "model": str(asked.output),
        "report": str(asked.report),
        "table": displayed(asked.table),
        "sha256": None if Path(asked.table).is_dir() else sha256_of(asked.table),
        "target": roles.target,
        "population_rate": asked.population_rate,
        "folds": n_folds,
        "validation": validation(roles, n_folds, comparison.repeats, asked.seed),
        "seed": asked.seed,
        "notes": corrected + notes,
        "interrupted": best.interrupted_,
        **_found(rows, best),
    }
    page = _page(best, rows, roles, summary, asked, corrected)
    model = properly.tables.TableClassifier(rows.encoder, best, rows.labels.classes)
    with atomic_path(asked.report) as temporary:
        temporary.write_text(page, encoding="utf-8")
        properly.save(model, asked.output, metadata=summary, key=asked.key)
    return summary


def _found(rows: Rows, best: BestProbabilities) -> dict[str, Any]:
    """What the data and the comparison say."""
    classes, comparison = rows.labels.classes, best.comparison_
    return {
        "classes": classes,
        "positive": classes[1] if len(classes) == 2 else None,
        "positive_is_known": rows.labels.told,
        "rows": rows.n_rows,
        "features": [column.name for column in rows.encoder.columns_],
        "best": comparison.best,
        "chosen": comparison.choice,
        "leaderboard": _leaderboard(comparison),
        "parts": [{"name": part.name, "weight": part.weight, "cost_of_leaving_out": part.cost} for part in best.parts_],
        "conclusion": conclusion(comparison),
        "warnings": rows.warnings,
        "version": properly.__version__,
    }


def _leaderboard(comparison: Comparison) -> list[dict[str, Any]]:
    columns = {
        "name": comparison.names,
        "log_loss": comparison.scores.tolist(),
        "standard_error": comparison.errors.tolist(),
        "difference_to_best": comparison.difference_to_best.tolist(),
        "p_value": comparison.p_values.tolist(),
        "significant": comparison.significant.tolist(),
        "seconds": comparison.seconds.round(3).tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def positive_note(summary: dict[str, Any]) -> str:
    """Which class is meant by the positive one, "" for more than two."""
    if summary["positive"] is None:
        return ""
    usual = "" if summary["positive_is_known"] else ", as the second in sorted order; --positive names another"
    return f"{summary['positive']}{usual}"


def _page(
    best: BestProbabilities, rows: Rows, roles: Roles, summary: dict[str, Any], asked: Asked, corrected: list[str]
) -> str:
    """The report: the comparison, and an audit of the chosen model's probabilities for held-out rows."""
    from properly.tables.summaries import table_summary

    classes, comparison = [str(label) for label in summary["classes"]], best.comparison_
    facts = {
        **properly.report.pages.file_facts(asked.table),
        "rows": f"{summary['rows']:,}",
        "target": summary["target"],
        "positive class": positive_note(summary),
        "features": ", ".join(summary["features"]),
        "methods": ", ".join(asked.methods),
        "calibration": asked.calibration,
        "model": f"{summary['model']}: {comparison.choice}, fitted to all {summary['rows']:,} rows",
        "folds": summary["validation"],
        "categories": ", ".join(roles.categories),
        "weight": roles.weight,
        "notes": "; ".join(summary["notes"]),
    }
    facts = {name: text for name, text in facts.items() if text} | properly.report.pages.version_facts()
    return properly.report.fit_page(
        comparison,
        _audit(comparison, rows, classes, asked.seed),
        facts,
        f"Models for {summary['target']}",
        warnings=[*corrected, *summary["warnings"]],
        parts=best.parts_,
        importances=_importances(best, rows, asked.seed),
        data=table_summary(rows.encoder, rows.X, rows.labels, rows.weight),
    )


def _importances(best: BestProbabilities, rows: Rows, seed: int) -> Importances | None:
    from properly.tables.importances import importances_of, shuffled_importances

    columns = rows.encoder.columns_
    if len(best.parts_) == 1:
        found = importances_of(best.parts_[0].model.classifier, columns)
        if found is not None:
            return found
    if len(columns) > _MOST_SHUFFLED:
        return None
    here = copy(best)
    here.log_ratio_ = None  # the rows are in the proportions of the table, not in those of the population
    return shuffled_importances(here, rows.X, rows.labels.codes, columns, seed, rows.weight)


def _audit(comparison: Comparison, rows: Rows, classes: list[str], seed: int) -> Audit:
    """Of the chosen model's probabilities for held-out rows; where folds were made twice, of the first time."""
    at = comparison.judged_rows
    return properly.audit.audit(
        rows.labels.codes[at],
        comparison.chosen_probabilities,
        sample_weight=None if rows.weight is None else rows.weight[at],
        cluster=None if rows.group is None else rows.group[at],
        classes=range(len(classes)),
        class_names=classes,
        random_state=seed,
    )
