"""Learn a map from scores to probabilities, from rows whose class is known.

Learn a map from the scores of some other model to probabilities, and save it. The scores must be for
rows that the other model was not trained on. properly predict applies the map to new scores.

example: properly calibrate scores.csv --target y --score s -o calibrator.skops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import properly
from properly.cli.arguments import Arguments, Misuse, one_of, path, require_distinct, seed
from properly.files import FilePath, check_output, sha256_of
from properly.progress import progress

if TYPE_CHECKING:
    from properly.numeric.probabilities import Array

_FOLDS = 5


def _inputs() -> dict[str, Any]:
    from properly.inputs.scores import INPUTS

    return INPUTS


def add_arguments(add: Arguments) -> None:
    add("table")
    add("--target COLUMN")
    add("--score COLUMN", nargs="+")
    add("--method NAME", one_of(lambda: properly.calibration.methods.METHODS))
    add("--input KIND", one_of(_inputs))
    add("--positive CLASS")
    add("--weight COLUMN")
    add("--seed N", seed)
    add("-o --output FILE", path)


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
) -> dict[str, Any]:
    """Learn a map from scores to probabilities and save it, as ``properly calibrate`` does.

    Parameters
    ----------
    table : path
        The scores and the classes.
    target : str
        The column that holds the class.
    score : str or sequence of str
        The column with the score of the positive class; for more than two classes one column for each, named by the
        class, perhaps with a prefix that all of them have.
    method : str, default "auto"
        The calibration method, such as platt, beta or isotonic.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are: any numbers (score), or probabilities (probability); auto takes them for probabilities if
        all of them lie in [0, 1], and for more than two classes if every row adds up to 1.
    positive : str, optional
        The positive of two classes; the second in sorted order if it is not given.
    weight : str, optional
        The column that says how many rows a row stands for.
    seed : int, default 0
        Seed of the folds.
    output : path, default "calibrator.skops"
        The model file to write.

    Returns
    -------
    dict
        Among other things the log loss of held-out rows after calibration, before it, and of the class proportions.
    """
    import numpy as np

    from properly.inputs.options import choose

    columns = [score] if isinstance(score, str) else list(score)
    require_distinct(target=target, score=columns, weight=weight)
    calibrator = choose(method, properly.calibration.methods.METHODS, "method")
    choose(input, _inputs(), "input")
    check_output(output, inputs=[table])
    file = properly.tables.TableFile(table)
    data = file.read([*columns, target] + ([weight] if weight else []))
    (classes, codes), row_weights = properly.tables.targets.read_target(
        data, file.path, target, positive=positive, weight=weight
    )
    columns = _by_class(columns, classes, file.path)
    encoder, scores = _read_scores(data, columns, file.path)
    if input == "probability" and (scores.min() < 0.0 or scores.max() > 1.0):
        raise Misuse(
            f"the input probability is for scores in [0, 1], but they range from {scores.min():g} to {scores.max():g}; "
            "leave it out, or choose the input score."
        )
    scores = scores[:, 0] if len(classes) == 2 else scores
    with progress("Calibrating", None) as tell:
        tell(0, method)
        fitted = calibrator(input=input).fit(scores, codes, row_weights)
        kind = fitted.input_
        if row_weights is not None:
            counted = np.flatnonzero(row_weights)
            scores, codes, row_weights = scores[counted], codes[counted], row_weights[counted]
        folds = properly.comparison.stratified_folds(codes, np.array(classes), _FOLDS, seed)
        held_out = properly.comparison.cross_calibrated(scores, codes, folds, method, row_weights, kind)
    given: dict[str, Any] = {"sample_weight": row_weights, "classes": np.arange(len(classes))}
    share = np.bincount(codes, row_weights) / (len(codes) if row_weights is None else row_weights.sum())
    summary = {
        "calibrator": str(output),
        "table": str(table),
        "sha256": sha256_of(table),
        "target": target,
        "scores": columns,
        "classes": classes,
        "rows": data.num_rows,
        "input": kind,
        "method": method,
        "log_loss_before": None if kind == "score" else properly.metrics.log_loss(codes, scores, **given),
        "log_loss_after": properly.metrics.log_loss(codes, held_out, **given),
        "log_loss_constant": float(-np.sum(share * np.log(share))),
        "version": properly.__version__,
    }
    properly.save(properly.tables.TableClassifier(encoder, fitted, classes), output, metadata=summary)
    return summary


def _by_class(columns: list[str], classes: list[properly.tables.targets.Label], source: str) -> list[str]:
    """One column for two classes, one for each of more, in their order."""
    expected = 1 if len(classes) == 2 else len(classes)
    if len(columns) != expected:
        wanted = "one column" if expected == 1 else f"{expected} columns, one for every class"
        raise ValueError(f"score must name {wanted}, got {len(columns)}.")
    if expected == 1:
        return columns
    found = properly.tables.targets.columns_of_classes(columns, [str(label) for label in classes], source)
    return [found[str(label)] for label in classes]


def _read_scores(data: Any, columns: list[str], source: str) -> tuple[Any, Array]:
    """The encoder of the scores, and the scores; texts and missing values are refused."""
    for name in columns:
        properly.tables.numbers(data.column(name), properly.tables.base.Place(source, name))
    encoder = properly.tables.TableEncoder(missing="refuse").fit(data.select(columns), source=source)
    return encoder, encoder.transform(data, source=source)


def show(summary: dict[str, Any], console: Any) -> None:
    """What the map does to the log loss, and where it is."""
    read = "probabilities" if summary["input"] == "probability" else "scores"
    scores = ", ".join(summary["scores"])
    console.print(f"{summary['rows']:,} rows; {scores} read as {read}; method {summary['method']}.")
    console.print("Log loss, smaller is better:")
    console.print(f"  class proportions for all rows   {summary['log_loss_constant']:.5f}")
    if summary["log_loss_before"] is not None:
        console.print(f"  before calibration               {summary['log_loss_before']:.5f}")
    console.print(f"  calibrated, on held-out rows     {summary['log_loss_after']:.5f}")
    console.print(f"\nCalibrator: {summary['calibrator']}")


run = calibrate_table
