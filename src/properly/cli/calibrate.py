"""Learn a map from scores to probabilities, from rows whose class is known.

Learn a map from the scores of some other model to probabilities, and save it. The scores must be for
rows that the other model was not trained on. properly predict applies the map to new scores.

example: properly calibrate scores.csv --target y --score s -o calibrator.skops
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from typing import TYPE_CHECKING, Any

import properly
from properly.cli.arguments import (
    NOTATION,
    Arguments,
    add_notation,
    check_output,
    checked,
    listed_names,
    model_file,
    names,
    one_of,
    page_file,
    read_key,
    require_distinct,
    seed,
)
from properly.cli.main import show_warnings
from properly.files import FilePath, atomic_path, displayed, sha256_of
from properly.inputs.misuse import Misuse
from properly.progress import progress

if TYPE_CHECKING:
    from properly.cli.held_out import HeldOut
    from properly.numeric.probabilities import Array


def _inputs() -> dict[str, Any]:
    from properly.inputs.scores import INPUTS

    return INPUTS


def add_arguments(add: Arguments) -> None:
    add("table")
    add("--target COLUMN")
    add("--score COLUMN", names, nargs="+")
    add("--method NAME")
    add("--input KIND")
    add("--positive CLASS")
    add("--weight COLUMN")
    add("--seed N")
    add("-o --output FILE")
    add("--report FILE")
    add("--key-file FILE")
    add("--dask SCHEDULER")
    add_notation(add)


@checked(
    method=one_of(lambda: properly.calibration.methods.METHODS),
    input=one_of(_inputs),
    seed=seed,
    output=model_file,
    report=page_file,
    **NOTATION,
)
def calibrate_table(
    table: FilePath,
    *,
    target: str,
    score: str | Sequence[str],
    method: str = "auto",
    input: str = "auto",
    positive: str | None = None,
    weight: str | None = None,
    seed: int = 0,
    output: FilePath = "calibrator.skops",
    report: FilePath | None = None,
    key_file: FilePath | None = None,
    dask: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Learn a map from scores to probabilities and save it, as ``properly calibrate`` does.

    Parameters
    ----------
    table : path
        The scores and the classes. A folder of files, or a file of two gigabytes or more, is read in one pass and
        never held in memory; this is for one column of scores and two classes, without a report.
    target : str
        The column that holds the class.
    score : str or sequence of str
        The column with the score of the positive class; for more than two classes one column for each, named by the
        class, perhaps with a prefix that all of them have, separated by spaces or commas.
    method : str, default "auto"
        The calibration method, such as platt, beta or isotonic.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are: any numbers (score), or probabilities (probability); auto takes them for probabilities if
        all of them lie in [0, 1], and for more than two classes if every row adds up to 1.
    positive : str, optional
        The class that a single column of scores is for; not needed for 0/1, false/true, no/yes and -1/1, nor if the
        column is named after it, as p_fraud.
    weight : str, optional
        The column that says how many rows a row stands for.
    seed : int, default 0
        Seed of the folds.
    output : path, default "calibrator.skops"
        The model file to write.
    report : path, optional
        A report to write, an HTML file: the probabilities before and after, judged on held-out rows.
    key_file : path, optional
        A file with a secret of at least 16 characters, by which properly predict sees whether the model was altered.
    dask : str, optional
        The address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers read the Parquet files, under the
        same path as here.
    separator : str, optional
        What separates the cells of a text file, such as ; or tab; recognised if it is not given.
    decimal : {".", ","}, optional
        The decimal sign of a text file; recognised if it is not given.

    Returns
    -------
    dict
        Among other things the log loss of held-out rows after calibration, before it, and of the class proportions.
    """
    from properly.cli.held_out import FOLDS, held_out
    from properly.inputs.weights import unit_of
    from properly.tables.counted import counted_table

    columns = listed_names(score)
    require_distinct(target=target, score=columns, weight=weight)
    calibrator = properly.calibration.methods.METHODS[method]
    check_output(output, inputs=[table])
    if report is not None:
        check_output(report, inputs=[table], outputs=[output])
    key = read_key(key_file)
    file, counted = properly.tables.table_at(table, separator=separator, decimal=decimal), None
    if isinstance(file, properly.tables.TableFolder) or dask is not None or properly.tables.folders.is_large(table):
        if report is not None:
            raise Misuse(
                f"{file.path} is counted by score, since it may be larger than memory, and has no report; leave it "
                "out: properly audit makes one of the calibrated probabilities."
            )
        if len(columns) > 1:
            raise _only_two_classes(file.path, f"score names {len(columns)} columns")
        counted = counted_table(file, target, columns[0], read=_checked_scores, weight=weight, dask=dask)
        data, weight = counted.table, counted.weight
    else:
        data = file.read([*columns, target, *([] if weight is None else [weight])])
    single = columns[0] if len(columns) == 1 else None
    labels, row_weights = properly.tables.targets.read_target(
        data, file.path, target, positive=positive, forecast=single, weight=weight
    )
    classes, codes = labels.classes, labels.codes
    if counted is not None and len(classes) > 2:
        raise _only_two_classes(file.path, f"the target {target!r} has {len(classes)} classes")
    columns = _by_class(columns, classes, file.path)
    labels.require_told(properly.tables.base.Place(file.path, target), f"the column {columns[0]!r} of scores")
    encoder, scores = _read_scores(data, columns, file.path)
    if input == "probability" and (scores.min() < 0.0 or scores.max() > 1.0):
        raise Misuse(
            f"the input probability is for scores in [0, 1], but they range from {scores.min():g} to {scores.max():g}; "
            "leave it out, or choose the input score."
        )
    scores = scores[:, 0] if len(classes) == 2 else scores
    with progress("Calibrating", 1 + FOLDS) as tell:
        tell(0, f"{method}, all rows")
        fitted = calibrator(input=input).fit(scores, codes, row_weights)
        kind = fitted.input_

        def done(share: float) -> None:
            tell(1 + share * FOLDS, f"{method}, held-out rows of {FOLDS} folds")

        unit = unit_of(row_weights) if counted is None else counted.unit
        judged = held_out(scores, codes, row_weights, unit, classes, method, kind, seed, done)
    summary = {
        "calibrator": str(output),
        "table": displayed(table),
        "sha256": sha256_of(table) if counted is None else None,
        "target": target,
        "scores": columns,
        "classes": classes,
        "positive": classes[1] if len(classes) == 2 else None,
        "rows": data.num_rows if counted is None else int(counted.rows.sum()),
        "input": kind,
        "method": method,
        **judged.log_losses(kind),
        "warnings": judged.reversed(columns[0], classes) if len(classes) == 2 else [],
        "version": properly.__version__,
        "report": None if report is None else str(report),
    }
    properly.save(properly.tables.TableClassifier(encoder, fitted, classes), output, metadata=summary, key=key)
    if report is not None:
        page = _page(table, judged, summary)
        with atomic_path(report) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return summary


def _page(table: FilePath, rows: HeldOut, summary: dict[str, Any]) -> str:
    """The report: the calibrated probabilities of held-out rows, and those before if the scores were probabilities."""
    from properly.cli.held_out import FOLDS

    names = [str(label) for label in summary["classes"]]
    after = rows.p if len(names) > 2 else rows.p[:, 1]
    given: dict[str, Any] = {"sample_weight": rows.weight, "classes": range(len(names)), "class_names": names}
    whole: dict[str, Any] = {"n_rows": rows.n_rows, "n_recalibrated": rows.n_rows}
    before, calibrated = None, replace(properly.audit.audit(rows.codes, after, **given), **whole)
    if summary["input"] == "probability":
        before = replace(properly.audit.audit(rows.codes, rows.scores, calibrated=after, **given), **whole)
    pages = properly.report.pages
    facts = {
        **pages.file_facts(table),
        "rows": f"{summary['rows']:,}",
        "target": summary["target"],
        "positive class": "" if summary["positive"] is None else str(summary["positive"]),
        "scores": f"{', '.join(summary['scores'])}, read as {_read_as(summary)}",
        "method": summary["method"],
        "calibrator": f"{summary['calibrator']}, fitted to all rows; this page judges calibrators of {FOLDS} folds",
    }
    facts = {name: text for name, text in facts.items() if text} | pages.version_facts()
    title = f"Calibration of {', '.join(summary['scores'])}"
    return properly.report.calibrate_page(before, calibrated, facts, title, summary["warnings"])


def _read_as(summary: dict[str, Any]) -> str:
    return "probabilities" if summary["input"] == "probability" else "scores"


def _only_two_classes(path: str, problem: str) -> Misuse:
    return Misuse(
        f"{problem}, but {path} is counted by score, since it may be larger than memory: of one column of scores and "
        "two classes. Calibrate a sample of the rows in one smaller file, or use Python: "
        "properly.calibration.VectorScaling and others take a Stream of several columns."
    )


def _by_class(columns: list[str], classes: list[properly.tables.targets.Label], source: str) -> list[str]:
    """One column for two classes, one for each of more, in their order."""
    expected = 1 if len(classes) == 2 else len(classes)
    if len(columns) != expected:
        wanted = "one column" if expected == 1 else f"{expected} columns, one for every class"
        raise Misuse(f"score must name {wanted}, got {len(columns)}.")
    if expected == 1:
        return columns
    found = properly.tables.targets.columns_of_classes(columns, [str(label) for label in classes], source)
    return [found[str(label)] for label in classes]


def _checked_scores(column: Any, place: Any) -> Array:
    from numpy import isinf, isnan

    values = properly.tables.targets.named_numbers(column, place)
    place.refuse(isnan(values), "the score is missing; leave out such rows.")
    place.refuse(isinf(values), "the number must be finite.")
    return values


def _read_scores(data: Any, columns: list[str], source: str) -> tuple[Any, Array]:
    """The encoder of the scores, and the scores; texts and missing values are refused."""
    for name in columns:
        properly.tables.targets.named_numbers(data.column(name), properly.tables.base.Place(source, name))
    encoder = properly.tables.TableEncoder(missing="refuse").fit(data.select(columns), source=source)
    return encoder, encoder.transform(data, source=source)


def show(summary: dict[str, Any], console: Any) -> None:
    """Warnings, what the map does to the log loss, and where it is."""
    show_warnings(summary["warnings"], console)
    scores = ", ".join(summary["scores"])
    positive = "" if summary["positive"] is None else f" of {summary['positive']}"
    console.print(
        f"{summary['rows']:,} rows; {scores} read as {_read_as(summary)}{positive}; method {summary['method']}."
    )
    console.print("Log loss, smaller is better:")
    console.print(f"  class proportions for all rows   {summary['log_loss_constant']:.5f}")
    if summary["log_loss_before"] is not None:
        before = "infinite" if isinf(summary["log_loss_before"]) else f"{summary['log_loss_before']:.5f}"
        console.print(f"  before calibration               {before}")
    console.print(f"  calibrated, on held-out rows     {summary['log_loss_after']:.5f}")
    console.print(f"\nCalibrator: {summary['calibrator']}")
    if summary["report"]:
        console.print(f"Report: {summary['report']}")


run = calibrate_table
