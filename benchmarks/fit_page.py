"""The page and the CSV file of bench_fit.py, from its records."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fit_peers import METHODS, OURS
from numpy.typing import NDArray

RESULTS = Path(__file__).parent / "results"
SMALL = 0.05  # a best loss below this is compared by difference, not by ratio
AUTOGLUON_VERSION = "1.6.3"  # of the records
WORSE, ERRORS, LEVEL = 1.08, 2.0, 0.05
GOALS = {"ratio": 1.03, "difference": 0.01}
INTRODUCTION = """# properly fit and its peers

Mean log loss of new rows, smaller is better; in brackets the ratio to the best of all, or the difference where the best
is below {small}. At most 6,000 rows of each table, 70 % for training, the same three splits for all methods; ten splits
of tables below 1,000 rows. Peers are at their defaults. LightGBM, HistGradientBoosting and CatBoost are told the
categories; forests (with scikit-learn's `CalibratedClassifierCV`) and logistic regression (the penalty chosen by log
loss) have one column for each. AutoGluon {autogluon}: medium quality without neural networks, on the first three
splits, in at least the processor time of 40 s on two quiet cores (the machine was shared, so the limit in seconds was
longer); where others have ten splits, its difference to them on the three is added to their mean on the ten. A
probability of 0 for the class that came counts as 2e-16. Classes with fewer than 10 rows are left out: {left_out}.
abalone: up to 8 rings, 9 or 10, more. Splits on which `properly fit` was not run are left out. A
dash: not run; the last table has the number of runs. {versions}.
"""


def write_results(
    records: dict[tuple[str, int, str], dict[str, Any]],
    groups: dict[str, list[str]],
    test_rows: dict[tuple[str, int], NDArray[np.int64]],
    left_out: dict[str, list[str]],
) -> None:
    """Write fit.md and fit.csv; `test_rows` are the positions of the test rows of every table and split."""
    frame = pd.DataFrame([record for _, record in sorted(records.items())])
    frame.drop(columns="losses").to_csv(RESULTS / "fit.csv", index=False, float_format="%.6g")
    means, splits = table_means(frame), frame[frame["method"] == OURS].groupby("table").size().to_dict()
    packages = ("scikit-learn", "lightgbm", "catboost")
    lines = INTRODUCTION.format(
        small=SMALL,
        autogluon=AUTOGLUON_VERSION,
        left_out="; ".join(f"{', '.join(classes)} of {name}" for name, classes in left_out.items()),
        versions=", ".join(f"{name} {version(name)}" for name in packages),
    ).splitlines()
    for title, names in {**groups, "All": list(means.index)}.items():
        these = means.loc[[name for name in names if name in means.index]]
        lines += [
            "",
            f"## {title} tables",
            "",
            *loss_table(these, rows_of(test_rows), splits, only_summary=title == "All"),
        ]
    if OURS in means:
        lines += ["", "## properly fit against the best peer", "", *against_best(records, means, test_rows)]
    lines += ["", "## Audits and times", "", *audits_and_times(frame)]
    (RESULTS / "fit.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(test_rows: dict[tuple[str, int], NDArray[np.int64]]) -> dict[str, int]:
    return {name: len(rows) for (name, _), rows in test_rows.items()}


def table_means(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean loss of each method on each table, over the splits that ours has; fewer are compared on these."""
    losses = frame.pivot(index=["table", "split"], columns="method", values="log_loss")
    if OURS in losses:
        losses = losses[losses[OURS].notna()]
    means = {}
    for name, block in losses.groupby(level="table"):
        base = block.dropna(axis=1).mean(axis=1)
        means[name] = block.sub(base, axis=0).mean() + base.mean()
    return pd.DataFrame(means).T[[name for name in METHODS if name in losses]]


def relative(means: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ratios to the best of all on tables where that is not small, and the differences on the others."""
    best = means.min(axis=1)
    large = best > SMALL
    return means[large].div(best[large], axis=0), means[~large].sub(best[~large], axis=0)


def loss_table(means: pd.DataFrame, test_rows: dict[str, int], splits: dict[str, int], only_summary: bool) -> list[str]:
    ratios, differences = relative(means)
    lines = ["| table | test rows × splits | " + " | ".join(means) + " |", "|---|---:|" + "---:|" * means.shape[1]]
    for name, losses in means.iterrows():
        if only_summary:
            break
        cells = []
        for method, loss in losses.items():
            beside = (
                f"{ratios.at[name, method]:.2f}" if name in ratios.index else f"+{differences.at[name, method]:.4f}"
            )
            cell = f"{loss:.4f} ({beside})"
            cells.append("–" if np.isnan(loss) else f"**{cell}**" if loss == losses.min() else cell)
        lines.append(f"| {name} | {test_rows[name]:,} × {splits.get(name, 0)} | " + " | ".join(cells) + " |")
    summary = {
        f"mean ratio ({len(ratios)} tables)": ratios.mean().map("{:.3f}".format),
        f"largest difference ({len(differences)} tables)": differences.max().map("{:.4f}".format),
        "mean rank": means.rank(axis=1).mean().map("{:.2f}".format),
    }
    for title, row in summary.items():
        lines.append(f"| {title} | | " + " | ".join(row.replace("nan", "–")) + " |")
    return lines


def against_best(records: dict[Any, Any], means: pd.DataFrame, test_rows: dict[Any, Any]) -> list[str]:
    """Ours and the best peer of each table; the standard error knows that a row is in the tests of several splits."""
    lines = ["| table | best peer | ratio | difference | ± standard error | |", "|---|---|---:|---:|---:|---|"]
    for name, losses in means.dropna(subset=[OURS]).iterrows():
        if losses.drop(OURS).isna().all():
            continue
        peer = losses.drop(OURS).idxmin()
        splits = [split for table, split in test_rows if table == name and _both(records, name, split, peer)]
        if not splits:
            lines.append(
                f"| {name} | {peer} | {losses[OURS] / losses[peer]:.3f} | {losses[OURS] - losses[peer]:+.4f} | – | |"
            )
            continue
        ours, theirs = (
            np.concatenate([records[name, split, each]["losses"] for split in splits]) for each in (OURS, peer)
        )
        rows = np.concatenate([test_rows[name, split] for split in splits])
        difference = ours - theirs
        mean = difference.mean()
        error = np.sqrt(np.sum(np.bincount(rows, difference - mean) ** 2)) / len(rows)
        ratio = ours.mean() / theirs.mean()
        mark = "worse by more than 8 %, beyond two errors" if ratio > WORSE and mean > ERRORS * error else ""
        lines.append(f"| {name} | {peer} | {ratio:.3f} | {mean:+.4f} | {error:.4f} | {mark} |")
    ratios, differences = relative(means)
    lines += [
        "",
        f"Mean ratio to the best of all {ratios[OURS].mean():.3f} (goal {GOALS['ratio']}), largest difference "
        f"elsewhere {differences[OURS].max():.4f} (goal {GOALS['difference']}).",
    ]
    return lines


def _both(records: dict[Any, Any], name: str, split: int, peer: str) -> bool:
    """Whether the losses of all rows are known of both; of runs that were kept as a line of fit.csv they are not."""
    found = [records.get((name, split, method)) for method in (OURS, peer)]
    return all(each is not None and len(each["losses"]) for each in found)


def audits_and_times(frame: pd.DataFrame) -> list[str]:
    """How often the audit of the test rows finds a fault, and what a fit takes."""
    lines = [
        "| method | runs | audit: fault found (p < 0.05) | on the first three splits | called wrong | "
        "rows of a class with probability 0 | mean seconds | processor seconds | most |",
        "|---|" + "---:|" * 8,
    ]
    for name in METHODS:
        these = frame[frame["method"] == name]
        if these.empty:
            continue
        rejected, first = these["audit_p"] < LEVEL, these["split"] < 3
        cpu = these["cpu_seconds"]
        lines.append(
            f"| {name} | {len(these)} | {rejected.mean():.0%} | {rejected[first].mean():.0%} of {first.sum()} | "
            f"{(these['verdict'] == 'wrong').mean():.0%} | {these['impossible'].sum():,} | "
            f"{these['seconds'].mean():.1f} | {cpu.mean():.1f} | {cpu.max():.1f} |"
        )
    return [*lines, "", "The machine was shared: processor seconds say more than seconds."]
