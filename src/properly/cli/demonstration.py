"""The work of ``properly demo``."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from properly.cli.parser import make_parser
from properly.datasets import make_rare_events
from properly.links import GEV
from properly.metrics import log_loss, probability_rmse
from properly.numeric.probabilities import Array
from properly.tables import read_table, write_batches
from properly.tables.arrow import arrow

N_TRAIN, N_TEST, RATE = 10_000, 40_000, 0.02
TRUE_XI, SIGNAL, N_FEATURES = -0.3, 1.0, 6
_REGIONS = np.array(["east", "north", "south", "west"])


def demonstrate(folder: str) -> dict[str, Any]:
    """Draw the data, run the commands on them, and compare with the truth; returns the summary."""
    output = Path(folder)
    output.mkdir(parents=True, exist_ok=True)
    X, y, truth = make_rare_events(
        N_TRAIN + N_TEST, N_FEATURES, rate=RATE, link=GEV(TRUE_XI), signal=SIGNAL, random_state=0
    )
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    columns = {f"x{j + 1}": X[:, j] for j in range(N_FEATURES)}
    columns |= {"region": np.random.RandomState(0).choice(_REGIONS, len(y)), "event": np.where(y == 1, "yes", "no")}
    balanced = LogisticRegression(class_weight="balanced").fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    _write(output / "train.csv", {name: values[train] for name, values in columns.items()})
    _write(output / "test.parquet", {name: values[test] for name, values in columns.items()} | {"balanced": balanced})
    steps = [
        _step("audit", output / "test.parquet", "--target", "event", "--probability", "balanced", "--group", "region",
              "--costs", "1:20", "--report", output / "audit.html"),
        _step("fit", output / "train.csv", "--target", "event", "-o", output / "model.skops", "--report",
              output / "fit.html"),
        _step("predict", output / "model.skops", output / "test.parquet", "-o", output / "scored.parquet"),
    ]  # fmt: skip
    fitted = read_table(output / "scored.parquet", ["probability_yes"]).column(0).to_numpy()
    comparison = [
        _judged("the truth", truth[test], y[test], truth[test]),
        _judged("balanced class weights", balanced, y[test], truth[test]),
        _judged(f"properly fit ({steps[1]['summary']['best']})", fitted, y[test], truth[test]),
    ]
    return {
        "setting": (
            f"A rare class: {RATE:.0%} of the rows, true link GEV with ξ = {TRUE_XI}; {N_TRAIN:,} rows to train on, "
            f"{N_TEST:,} to test."
        ),
        "steps": steps,
        "comparison": comparison,
        "findings": findings(comparison),
        "reports": [str(output / "audit.html"), str(output / "fit.html")],
    }


def findings(comparison: list[dict[str, Any]]) -> list[str]:
    """What the numbers say."""
    truth, balanced, fitted = comparison
    return [
        f"Balanced class weights make the rare class look {balanced['mean'] / truth['mean']:.0f} times as frequent as "
        f"it is ({balanced['mean']:.1%} instead of {truth['mean']:.1%}).",
        f"The fitted model says {fitted['mean']:.1%} on average, and its probabilities are "
        f"{balanced['rmse'] / fitted['rmse']:.0f} times as close to the true ones.",
    ]


def _judged(model: str, p: Array, y: Any, truth: Array) -> dict[str, Any]:
    return {"model": model, "mean": float(p.mean()), "rmse": probability_rmse(truth, p), "log_loss": log_loss(y, p)}


def _step(*words: str | Path) -> dict[str, Any]:
    """A command as a user would type it, and what came of it."""
    command = [str(word) for word in words]
    arguments = make_parser().parse_args(command)
    return {"command": shlex.join(command), "summary": import_module(f"properly.cli.{command[0]}").run(arguments)}


def _write(path: Path, columns: dict[str, Any]) -> None:
    table = arrow.table(columns)
    write_batches(path, table.schema, table.to_batches())
