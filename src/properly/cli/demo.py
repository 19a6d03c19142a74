"""See the commands at work on a rare class whose true probabilities are known.

Draw a rare class whose true probabilities are known. Audit the probabilities of a model that was fitted
with balanced class weights, fit better ones, and compare both with the truth. Takes about 15 seconds on a free core.

example: properly demo --output demo
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import properly
from properly.cli.arguments import Arguments
from properly.cli.main import module_of, parse, table_of
from properly.files import FilePath
from properly.inputs.misuse import Misuse

if TYPE_CHECKING:
    from properly.numeric.probabilities import Array

N_TRAIN, N_TEST, RATE = 10_000, 40_000, 0.02
TRUE_XI, SIGNAL, N_FEATURES = -0.3, 1.0, 6
_FILES = {"train.csv", "test.parquet", "audit.html", "model.skops", "fit.html", "scored.parquet"}


def add_arguments(add: Arguments) -> None:
    add("--output FOLDER")


def run_demo(output: FilePath = "demo") -> dict[str, Any]:
    """Draw data, run the commands on them, and compare the results with the truth, as ``properly demo`` does.

    Parameters
    ----------
    output : path, default "demo"
        The folder for tables, model and reports; it is made if it does not exist.

    Returns
    -------
    dict
        The commands ("steps") with their summaries, the "comparison" with the true probabilities, the "findings" in
        words, and the paths of the "reports".
    """
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise Misuse(f"{output} is a file; give the name of a folder.")
    there = {each.name for each in folder.iterdir()} if folder.exists() else set()
    if there - _FILES or (there and "test.parquet" not in there):
        raise Misuse(f"{folder} is a folder with other files, which the demo might overwrite; name a new one.")
    folder.mkdir(parents=True, exist_ok=True)
    truth, balanced, y = _write_tables(folder)
    steps = [
        _step("audit", folder / "test.parquet", "--target", "event", "--probability", "balanced", "--group", "region",
              "--costs", "1:20", "--report", folder / "audit.html"),
        _step("fit", folder / "train.csv", "--target", "event", "--method", "logistic,gev,boosting", "-o",
              folder / "model.skops", "--report", folder / "fit.html"),
        _step("predict", folder / "model.skops", folder / "test.parquet", "-o", folder / "scored.parquet"),
    ]  # fmt: skip
    fitted = properly.tables.read_table(folder / "scored.parquet", ["probability_yes"]).column(0).to_numpy()
    chosen = steps[1]["summary"]["chosen"]
    forecasts = {"the truth": truth, "balanced class weights": balanced, f"properly fit ({chosen})": fitted}
    comparison = [
        {
            "model": model,
            "mean": float(p.mean()),
            "rmse": properly.metrics.probability_rmse(truth, p),
            "log_loss": properly.metrics.log_loss(y, p),
        }
        for model, p in forecasts.items()
    ]
    return {
        "setting": (
            f"A rare class: {RATE:.0%} of the rows, true link GEV with ξ = {TRUE_XI}; {N_TRAIN:,} rows to train on, "
            f"{N_TEST:,} to test."
        ),
        "steps": steps,
        "comparison": comparison,
        "findings": findings(comparison),
        "reports": [str(folder / "audit.html"), str(folder / "fit.html")],
    }


def _write_tables(folder: Path) -> tuple[Array, Array, Any]:
    """Write the tables; return the true and the balanced probabilities of the test rows, and their labels."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    X, y, truth = properly.datasets.make_rare_events(
        N_TRAIN + N_TEST, N_FEATURES, rate=RATE, link=properly.links.GEV(TRUE_XI), signal=SIGNAL, random_state=0
    )
    region = np.random.RandomState(0).choice(np.array(["east", "north", "south", "west"]), len(y))
    columns = {f"x{j + 1}": X[:, j] for j in range(N_FEATURES)}
    columns |= {"region": region, "event": np.where(y == 1, "yes", "no")}
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    model = LogisticRegression(class_weight="balanced").fit(X[train], y[train])
    balanced = model.predict_proba(X[test])[:, 1]
    added: dict[str, Any] = {"balanced": balanced}
    for name, rows, more in (("train.csv", train, {}), ("test.parquet", test, added)):
        table = properly.tables.base.arrow.table({column: values[rows] for column, values in columns.items()} | more)
        properly.tables.write_batches(folder / name, table.schema, table.to_batches())
    return truth[test], balanced, y[test]


def _step(*words: str | Path) -> dict[str, Any]:
    """A command as a user would type it, and its summary."""
    typed = [str(word) for word in words]
    command, options, _ = parse(typed)
    return {"command": shlex.join(typed), "summary": command.run(**options)}


def findings(comparison: list[dict[str, Any]]) -> list[str]:
    """What the numbers mean, in words."""
    truth, balanced, fitted = comparison
    return [
        f"Balanced class weights make the rare class look {balanced['mean'] / truth['mean']:.0f} times as frequent as "
        f"it is ({balanced['mean']:.1%} instead of {truth['mean']:.1%}).",
        f"The mean probability of the fitted model is {fitted['mean']:.1%}, and its probabilities are "
        f"{balanced['rmse'] / fitted['rmse']:.0f} times as close to the true ones.",
    ]


def show(summary: dict[str, Any], console: Any) -> None:
    """Every command with what it prints, and the comparison with the truth."""
    console.print(summary["setting"])
    for step in summary["steps"]:
        console.print(f"\n$ properly {step['command']}", style="bold")
        module_of(step["command"].split()[0]).show(step["summary"], console)
    console.print("\nHow far from the true probabilities?", style="bold")
    rows = [
        [each["model"], f"{each['mean']:.4f}", f"{each['rmse']:.4f}", f"{each['log_loss']:.4f}", ""]
        for each in summary["comparison"]
    ]
    console.print(table_of(["", "mean", "RMSE to the truth", "log loss", ""], rows))
    console.print()
    for finding in summary["findings"]:
        console.print(finding)
    console.print(f"\nReports: {'  '.join(summary['reports'])}")


run = run_demo
