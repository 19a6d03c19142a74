"""The work of ``properly calibrate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from properly import __version__, save
from properly.calibration.methods import METHODS
from properly.cli.columns import require_distinct
from properly.cli.console import progress
from properly.cli.files import checked_output
from properly.cli.fitting import read_target
from properly.cli.parser import Misuse
from properly.comparison import cross_calibrated, stratified_folds
from properly.metrics import log_loss
from properly.numeric.probabilities import Array
from properly.report.pages import file_facts
from properly.tables import TableClassifier, TableEncoder, TableFile, numbers
from properly.tables.errors import Place
from properly.tables.labels import Label
from properly.tables.predictions import columns_of_classes

_FOLDS = 5


def calibrate_table(arguments: Any) -> dict[str, Any]:
    """Learn the map, save it, and say what it does to rows that it was not learned from."""
    require_distinct({"--target": arguments.target, "--score": arguments.score, "--weight": arguments.weight})
    checked_output(arguments.output, [arguments.table])
    file = TableFile(arguments.table)
    special = [arguments.target] + ([arguments.weight] if arguments.weight else [])
    table = file.read([*arguments.score, *special])
    (classes, codes), weight = read_target(arguments, table)
    columns = _columns(arguments.score, classes, file.path)
    for name in columns:
        numbers(table.column(name), Place(file.path, name))  # texts are told here
    encoder = TableEncoder(missing="refuse").fit(table.select(columns), source=file.path)
    scores = encoder.transform(table, source=file.path)
    kind = _kind(scores)
    if arguments.input == "probability" and kind == "score":
        raise Misuse(
            f"--input probability is for scores in [0, 1], but they reach from {scores.min():g} to {scores.max():g}; "
            "leave it out, or say --input score."
        )
    kind = kind if arguments.input == "auto" else arguments.input
    scores = scores[:, 0] if len(classes) == 2 else scores
    calibrator = METHODS[arguments.method](input=kind)
    with progress("Calibrating", None) as tell:
        tell(0, arguments.method)
        calibrator.fit(scores, codes, weight)
        rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
        folds = stratified_folds(codes[rows], np.array(classes), _FOLDS, arguments.seed)
        rows_weight = None if weight is None else weight[rows]
        held_out = cross_calibrated(scores[rows], codes[rows], folds, arguments.method, rows_weight, kind)
    given = {"sample_weight": rows_weight, "classes": np.arange(len(classes))}
    share = np.bincount(codes[rows], rows_weight) / (len(rows) if rows_weight is None else rows_weight.sum())
    summary = {
        "calibrator": arguments.output,
        "table": arguments.table,
        "sha256": file_facts(arguments.table)["SHA-256"],
        "target": arguments.target,
        "scores": columns,
        "classes": classes,
        "rows": len(codes),
        "input": kind,
        "method": arguments.method,
        "log_loss_before": None if kind == "score" else log_loss(codes[rows], scores[rows], **given),
        "log_loss_after": log_loss(codes[rows], held_out, **given),
        "log_loss_constant": float(-np.sum(share * np.log(share))),
        "version": __version__,
    }
    save(TableClassifier(encoder, calibrator, classes), arguments.output, metadata=summary)
    return summary


def _kind(scores: Array) -> str:
    return "probability" if scores.min() >= 0.0 and scores.max() <= 1.0 else "score"


def _columns(scores: list[str], classes: list[Label], source: str) -> list[str]:
    """One column for two classes, one for each of more, in their order."""
    expected = 1 if len(classes) == 2 else len(classes)
    if len(scores) != expected:
        wanted = "one score" if expected == 1 else f"{expected} scores, one for every class"
        raise ValueError(f"--score must name {wanted}, got {len(scores)}.")
    if expected == 1:
        return scores
    found = columns_of_classes(scores, [str(label) for label in classes], source)
    return [found[str(label)] for label in classes]
