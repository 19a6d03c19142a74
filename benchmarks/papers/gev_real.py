"""GEV-canonical regression on real data: Brier score and calibration loss.

After section 4.2 of Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), "GEV-canonical regression for accurate
binary class probability estimation when one class is rare": ten random splits of every data set into 70 % for training
and 30 % for testing; 30 % of the training rows choose ξ and the ridge by their Brier score, and what was chosen is then
fitted to all training rows. The paper's three strata of rarity with four data sets each, and a fourth of three sets
rarer than 1 %. Methods with "5 folds" choose by cross-validation on all training rows instead.

Texts and codes become one-hot columns (a level with fewer than 20 rows joins the others of its kind), numbers are
standardised, missing numbers get the median; all this is learnt from the training rows. Two large sets are
thinned, at random and with their rates kept.

    python benchmarks/papers/gev_real.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes benchmarks/results/gev_real/: all runs (runs.csv), tables (tables.md), figures.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gev_common import (
    AVERAGED,
    FIXED,
    LOGISTIC,
    METHODS,
    STYLES,
    Fitted,
    all_methods,
    by_folds,
    fitted,
    markdown,
    measured,
    plain_ticks,
)
from joblib import Parallel, delayed
from made_up import TABLES
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from study import Options, main, progress, write_tables

from properly.datasets import load_benchmark

STRATA = {
    "below 1 %": ("abalone", "covtype", "page_blocks"),
    "1 to 10 %": ("mammography", "yeast", "winequality_red", "satimage"),
    "10 to 25 %": ("adult", "cmc", "transfusion", "vehicle"),
    "25 to 35 %": ("german_credit", "haberman", "phoneme", "pima"),
}
SETS = [name for names in STRATA.values() for name in names]
LARGEST = {"covtype": 8_000, "adult": 5_000}  # rows kept
SPLITS = 10
CS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, np.inf)
MEASURES = {"brier": "Brier score", "calibration": "calibration loss"}
PROTOCOLS = {("ridge", "folds"): "ridge and ξ chosen", ("none",): "no ridge, ξ chosen"}
BASELINES = ("logistic", LOGISTIC)  # what the others are compared with, each within its protocol
# The constant forecast is calibrated and useless; the clipped form mostly doubles the other.
UNRANKED = ("constant rate", "GEV-canonical, clipped")
DRAWN = ("probit", "cloglog", "weighting", "squared loss", "GEV-log", "GEV-canonical", AVERAGED)


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_benchmark(name)
    if name in LARGEST:
        X, _, y, _ = train_test_split(X, y, train_size=LARGEST[name], stratify=y, random_state=0)
    return X, y


def preparation() -> Any:
    """From a data frame to a matrix, sparse if most of it is 0."""
    one_hot = OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist")
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (one_hot, make_column_selector(dtype_exclude="number")),
    )


def calibration_loss(y: np.ndarray, p: np.ndarray) -> float:
    """Mean squared distance of p from the share of positives in its bin, of which there are ten of equal width."""
    bins = np.minimum((10.0 * p).astype(int), 9)
    rows, positives = np.bincount(bins, minlength=10), np.bincount(bins, y, minlength=10)
    return float(np.mean((p - positives[bins] / rows[bins]) ** 2))


def run(name: str, split: int) -> list[dict[str, Any]]:
    """All methods on one split of a data set."""
    X, y = load(name)
    rate = y.mean()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    fit_rows, validation = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=split)
    prepare = preparation()
    part = prepare.fit_transform(X.iloc[fit_rows])
    judge, y_judge = prepare.transform(X.iloc[validation]), y[validation]
    chosen = list(
        all_methods(part, y[fit_rows], CS, lambda fit: float(np.mean((fit.probabilities(judge) - y_judge) ** 2)))
    )
    whole = prepare.fit_transform(X)
    rows_test = prepare.transform(X_test)
    described, rows = {"set": name, "split": split, "rate": rate}, []
    for method, protocol, choice in chosen:
        fit = fitted(clone(METHODS[method].model), whole, y, choice.xi, choice.C)
        rows.append(described | {"method": method, "protocol": protocol} | assess(fit, rows_test, y_test))
    for method, fit in by_folds(whole, y, CS):
        if method != FIXED:
            rows.append(described | {"method": method, "protocol": "folds"} | assess(fit, rows_test, y_test))
    return rows


def assess(fit: Fitted, X: Any, y: np.ndarray) -> dict[str, Any]:
    p = fit.probabilities(X)
    return {
        "brier": float(np.mean((p - y) ** 2)),
        "calibration": calibration_loss(y, p),
        "lost_positives": int(np.sum((y == 1) & (p == 0.0))),
        "xi": fit.xi,
        "C": fit.C,
        "converged": fit.converged,
        "seconds": round(fit.seconds, 4),
    }


def against_logistic(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Each method minus logistic regression chosen in the same way: mean over the splits, and its standard error.

    Training sets of different splits overlap; the variance is enlarged for that (Nadeau & Bengio 2003).
    """
    rows = []
    for (name, protocol), part in runs.groupby(["set", "protocol"]):
        table = part.pivot(index="split", columns="method", values=measure)
        reference = next(column for column in BASELINES if column in table)
        for method in table.columns.drop(reference):
            difference = table[method] - table[reference]
            error = np.sqrt(difference.var(ddof=1) * (1.0 / len(difference) + 0.3 / 0.7))
            scale = table[reference].mean()
            rows.append((name, protocol, method, difference.mean() / scale, error / scale))
    return pd.DataFrame(rows, columns=["set", "protocol", "method", "change", "error"])


def tables(runs: pd.DataFrame) -> str:
    lines = ["# GEV-canonical regression, real data", "", *_sets(runs)]
    for measure, title in MEASURES.items():
        for protocol, text in PROTOCOLS.items():
            part = runs[runs["protocol"].isin(protocol)]
            lines += [f"## {title}, {text}", "", "In thousandths, mean over the splits ± standard error.", ""]
            lines += [*_values(part, measure), ""]
            lines += ["Mean ranks, and changes against logistic regression chosen in the same way:", ""]
            lines += [*_comparison(part, measure), ""]
    return "\n".join(lines)


def _sets(runs: pd.DataFrame) -> list[str]:
    rows = []
    for stratum, names in STRATA.items():
        for name in names:
            if name in set(runs["set"]):
                X, y = load(name)
                columns = preparation().fit_transform(X).shape[1]
                rows.append([stratum, name, f"{len(y):,}", str(columns), f"{y.sum():,}", f"{100 * y.mean():.2f} %"])
    return [*markdown(["stratum", "set", "rows used", "columns", "positives", "rate"], rows), ""]


def _values(part: pd.DataFrame, measure: str) -> list[str]:
    methods = list(part["method"].unique())
    groups = part.groupby(["set", "method"])[measure]
    mean, error = 1000.0 * groups.mean().unstack(), 1000.0 * groups.sem().unstack()
    rows = []
    for name in [name for name in SETS if name in mean.index]:
        best = mean.loc[name].drop(list(UNRANKED)).min()
        cells = [measured(mean.at[name, method], error.at[name, method]) for method in methods]
        bold = [mean.at[name, method] == best for method in methods]
        rows.append([name, *(f"**{cell}**" if is_best else cell for cell, is_best in zip(cells, bold, strict=True))])
    return markdown(["set", *methods], rows)


def _comparison(part: pd.DataFrame, measure: str) -> list[str]:
    methods = list(part["method"].unique())
    means = part.groupby(["set", "method"])[measure].mean().unstack()
    ranks = means.drop(columns=list(UNRANKED)).rank(axis=1).reindex(columns=methods)
    changes = against_logistic(part, measure)
    rows = []
    for method in methods:
        strata = [ranks.loc[ranks.index.isin(names), method].mean() for names in STRATA.values()]
        by_stratum = ["" if np.isnan(rank) else f"{rank:.1f}" for rank in [*strata, ranks[method].mean()]]
        own = changes[changes["method"] == method]
        clear = own[own["change"].abs() > 2.0 * own["error"]]
        if own.empty:
            compared = ["", "", ""]
        else:
            compared = [
                f"{100 * own['change'].median():+.1f} %",
                f"{(own['change'] < 0).sum()} : {(own['change'] > 0).sum()}",
                f"{(clear['change'] < 0).sum()} : {(clear['change'] > 0).sum()}",
            ]
        rows.append([method, *by_stratum, *compared])
    header = ["method", *(f"rank, {stratum}" for stratum in STRATA), "rank, all"]
    return markdown([*header, "median change", "sets better : worse", "by more than 2 errors"], rows)


def draw(runs: pd.DataFrame, measure: str, path: Path) -> None:
    """Change against logistic regression, a line for each data set."""
    from matplotlib.figure import Figure

    changes = against_logistic(runs[runs["protocol"].isin(["ridge", "folds"])], measure)
    names = [name for name in SETS if name in set(changes["set"])]
    figure = Figure(figsize=(9, 0.55 * len(names) + 1.6), layout="constrained")
    axes = figure.subplots()
    shift = np.linspace(-0.32, 0.32, len(DRAWN))
    for method, offset in zip(DRAWN, shift, strict=True):
        own = changes[changes["method"] == method].set_index("set").reindex(names)
        colour, marker, _ = STYLES[method]
        axes.errorbar(
            100.0 * own["change"],
            np.arange(len(names)) + offset,
            xerr=100.0 * own["error"],
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=5,
            elinewidth=0.8,
            label=method,
        )
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    strata = {name: stratum for stratum, members in STRATA.items() for name in members}
    for place, (above, below) in enumerate(pairwise(names)):
        axes.axhline(place + 0.5, color="0.85" if strata[above] == strata[below] else "0.3", linewidth=0.6)
    rates = runs.groupby("set")["rate"].first()
    axes.set_yticks(range(len(names)), [f"{name}, {100 * rates[name]:.2g} %" for name in names])
    axes.set(
        ylim=(len(names) - 0.5, -0.5),
        xlabel=f"{MEASURES[measure]}: change in % against logistic regression chosen in the same way",
    )
    unit = 1.0 if measure == "brier" else 10.0
    axes.set_xscale("symlog", linthresh=unit)
    low, high = axes.get_xlim()
    ticks = [sign * unit * size for size in (0.5, 1, 2, 5, 10, 20, 50, 100) for sign in (-1, 1)]
    plain_ticks(axes.xaxis, [0.0, *(tick for tick in ticks if low <= tick <= high)])
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)


def study(options: Options) -> None:
    names = [name for name in SETS if name not in LARGEST] if options.quick else SETS
    splits = 2 if options.quick else SPLITS
    if options.made_up:
        names, splits = [name for name in TABLES if name in SETS][:1], 2
    tasks = [(name, split) for name in sorted(names, key=lambda name: name not in LARGEST) for split in range(splits)]
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    results = progress(parallel(delayed(run)(*task) for task in tasks), len(tasks))
    runs = pd.DataFrame([row for rows in results for row in rows])
    places = {name: place for place, name in enumerate([*SETS, *STYLES])}
    runs = runs.sort_values(["set", "split", "method"], key=lambda column: column.replace(places))
    runs.to_csv(options.output / "runs.csv", index=False, float_format="%.6g")
    report(runs, options.output)


def report(runs: pd.DataFrame, output: Path) -> None:
    write_tables([tables(runs)], output)
    for measure in MEASURES:
        draw(runs, measure, output / f"{measure}.png")


if __name__ == "__main__":
    raise SystemExit(main("gev_real", __doc__, study))
