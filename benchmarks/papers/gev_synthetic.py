"""GEV-canonical regression on synthetic data, where the true probabilities are known.

After section 4.1 of Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), "GEV-canonical regression for accurate
binary class probability estimation when one class is rare": 100 features, three distributions with 1.58 %, 3.12 %
and 9.5 % positives, training sets of growing size, ten repetitions, and the root mean squared error (RMSE) to the
true probabilities. The paper describes its distributions in an appendix that we do not have, so these are our own:
independent standard Gaussian features, a fixed random direction, and

- gev: p = F(a + 0.5 z), F the GEV distribution with ξ = 0.25 (the model of GEV-canonical regression is right);
- logit: p = σ(a + 1.5 z) (logistic regression is right);
- ceiling: p = 0.3 σ(a + 2 z) (none is right: no row is more than 30 % probable);

with z the standardised score and a such that the rate is as stated.

As in the paper, ξ is chosen by the RMSE to the true probabilities of 500 further rows, and so is the ridge (results
without ridge are given as well). No one has true probabilities in practice; the methods with "5 folds" choose by
cross-validation on the labels of the training rows alone (`GEVCanonicalRegressionCV`).

    python benchmarks/papers/gev_synthetic.py [--quick] [--output FOLDER] [--overwrite]

writes benchmarks/results/gev_synthetic/: all runs (runs.csv), tables (tables.md), figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gev_common import (
    AVERAGED,
    BEST,
    FIXED,
    LOGISTIC,
    STYLES,
    Fitted,
    all_methods,
    by_folds,
    label_ends,
    markdown,
    measured,
    plain_ticks,
)
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.stats import norm
from study import Options, main, progress, write_tables

from properly.diagnostics import composite_curves
from properly.links import GEV, Logit
from properly.losses import Composite, GEVLoss

FEATURES, VALIDATION, TEST = 100, 500, 10_000
SIZES, REPETITIONS = (500, 1_000, 2_500, 5_000, 10_000, 30_000), 10
CS = (1e-4, 1e-3, 10**-2.5, 1e-2, 10**-1.5, 1e-1, 1.0, np.inf)
NOT_DRAWN = "GEV-canonical, clipped"  # its line lies upon that of GEV-canonical
PROTOCOLS = {
    "ridge": "ridge and ξ chosen by 500 rows with known probabilities",
    "none": "no ridge, ξ chosen by 500 rows with known probabilities",
    "folds": "ridge and ξ chosen by 5 folds of the training rows",
}


@dataclass(frozen=True)
class Design:
    """A distribution of features and labels."""

    title: str
    rate: float
    signal: float
    inverse_link: Callable[[np.ndarray], np.ndarray]

    @property
    def intercept(self) -> float:
        """Such that the mean probability is the rate."""
        z = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
        return brentq(lambda a: float(np.mean(self.inverse_link(a + self.signal * z))) - self.rate, -50.0, 50.0)

    def draw(self, rows: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, labels, true probabilities. The direction of the score is the same in every draw."""
        direction = np.random.RandomState(0).standard_normal(FEATURES)
        X = random.standard_normal((rows, FEATURES))
        p = self.inverse_link(self.intercept + X @ (direction * (self.signal / np.linalg.norm(direction))))
        return X, (random.uniform(size=rows) < p).astype(int), p


DESIGNS = {
    "gev": Design("true link: GEV, ξ = 0.25", 0.0158, 0.5, GEV(0.25).inverse),
    "logit": Design("true link: logit", 0.0312, 1.5, Logit().inverse),
    "ceiling": Design("p = 0.3 · logistic", 0.095, 2.0, lambda v: 0.3 * Logit().inverse(v)),
}


def rmse(p: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((p - true) ** 2)))


def run(key: str, size: int, repetition: int, penalties: tuple[float, ...] = CS) -> list[dict[str, Any]]:
    """All methods on one training set; smaller sets are the beginnings of larger ones."""
    design, random = DESIGNS[key], np.random.RandomState(repetition)
    X_test, _, p_test = design.draw(TEST, random)
    X_validation, _, p_validation = design.draw(VALIDATION, random)
    X, y, _ = design.draw(max(SIZES), random)
    X, y = X[:size], y[:size]

    def error(fit: Fitted) -> float:
        return rmse(fit.probabilities(X_validation), p_validation)

    chosen = [
        *all_methods(X, y, penalties, error),
        *((name, "folds", fit) for name, fit in by_folds(X, y, penalties)),
    ]
    return [
        {
            "design": key,
            "n": size,
            "repetition": repetition,
            "method": name,
            "protocol": protocol,
            "rmse": rmse(fit.probabilities(X_test), p_test),
            "xi": fit.xi,
            "C": fit.C,
            "converged": fit.converged,
            "seconds": round(fit.seconds, 4),
        }
        for name, protocol, fit in chosen
    ]


def with_best_fixed(runs: pd.DataFrame) -> pd.DataFrame:
    """Of the fits at a fixed ξ only those at the ξ that does best on average over the repetitions, in hindsight."""
    fixed = runs[runs["method"] == FIXED]
    means = fixed.groupby(["design", "n", "xi"])["rmse"].mean().unstack()
    best = means.idxmin(axis=1).rename("best").reset_index()
    kept = fixed.merge(best, on=["design", "n"]).query("xi == best").drop(columns="best")
    return pd.concat([runs[runs["method"] != FIXED], kept], ignore_index=True)


def harmless(runs: pd.DataFrame) -> list[str]:
    """What choosing among links costs or brings, against logistic regression and the best ξ in hindsight."""
    part = runs[runs["protocol"] == "folds"]
    table = part.pivot_table(index=["design", "n", "repetition"], columns="method", values="rmse", sort=False)
    shapes = part[part["method"] == FIXED].groupby(["design", "n"])["xi"].first()
    rows = []
    for (key, n), rmses in (1000.0 * table).groupby(level=["design", "n"], sort=False):
        base = rmses[LOGISTIC].mean()
        changes = 100.0 * rmses.sub(rmses[LOGISTIC], axis=0) / base
        cells = [f"{changes[name].mean():+.1f} ± {changes[name].sem():.1f} %" for name in (FIXED, BEST, AVERAGED)]
        gain = changes[FIXED].mean()
        share = f"{100.0 * changes[AVERAGED].mean() / gain:.0f} %" if gain < -5.0 else ""
        rows.append([DESIGNS[key].title, f"{n:,}", f"{base:.2f}", f"{shapes[key, n]:g}", *cells, share])
    header = ["design", "n", "logistic", "best ξ", "fixed at it", "ξ chosen", "averaged", "share of the gain"]
    return markdown(header, rows)


def tables(runs: pd.DataFrame) -> str:
    lines = ["# GEV-canonical regression, synthetic data", ""]
    repetitions = runs["repetition"].nunique()
    lines += [
        f"Root mean squared error to the true probabilities of {TEST:,} test rows, in thousandths: mean of "
        f"{repetitions} repetitions ± its standard error. Best of a column in bold.",
        "",
    ]
    for protocol, text in PROTOCOLS.items():
        for key, design in DESIGNS.items():
            part = runs[(runs["protocol"] == protocol) & (runs["design"] == key)]
            if not part.empty:
                lines += [f"## {design.title}, {100 * design.rate:g} % positives; {text}", "", *_table(part), ""]
    lines += [
        "## Choosing by 5 folds",
        "",
        "RMSE of logistic regression, and the changes against it by GEV-canonical regression: at the ξ that is best in "
        "hindsight, at the ξ with the best score in cross-validation, and averaged over the ξ and the logit. The last "
        "column says how much of the gain of the best ξ the average has, where that gain exceeds 5 %.",
        "",
        *harmless(runs),
        "",
        "## Run times",
        "",
        "Seconds of one fit with the ridge and the ξ that were chosen, median over designs and repetitions, with all "
        "cores busy; every method is solved by the same Newton's method.",
        "",
        *run_times(runs),
        "",
    ]
    return "\n".join(lines)


def _table(part: pd.DataFrame) -> list[str]:
    groups = 1000.0 * part.pivot_table(index=["method", "repetition"], columns="n", values="rmse")
    groups = groups.groupby("method", sort=False)
    mean, error = groups.mean(), groups.sem()
    best = mean.drop(index="constant rate", errors="ignore").min()
    rows = []
    for name in part["method"].unique():
        cells = []
        for n in mean.columns:
            cell = measured(mean.at[name, n], error.at[name, n])
            cells.append(f"**{cell}**" if mean.at[name, n] == best[n] else cell)
        rows.append([name, *cells])
    return markdown(["method", *(f"n = {n:,}" for n in mean.columns)], rows)


def run_times(runs: pd.DataFrame) -> list[str]:
    """The paper's Appendix B."""
    names = ["logistic", "probit", "cloglog", "GEV-log", "GEV-canonical"]
    part = runs[(runs["protocol"] == "ridge") & runs["method"].isin(names)]
    table = part.pivot_table(index="method", columns="n", values="seconds", aggfunc="median").loc[names]
    return markdown(
        ["method", *(f"n = {n:,}" for n in table)], [[name, *map("{:.3f}".format, table.loc[name])] for name in names]
    )


def draw_losses(path: Path) -> None:
    """The paper's Figure 1: the losses against the score, without the panel of probabilities."""
    links = {"logistic": "log", "probit": Composite("log", "probit"), "cloglog": Composite("log", "cloglog")}
    shapes = (-0.5, 0.25, 0.75)
    canonical = {f"GEV-canonical, ξ = {xi:g}": GEVLoss(xi) for xi in shapes}
    likelihood = {f"GEV-log, ξ = {xi:g}": Composite("log", GEV(xi)) for xi in shapes}
    composite_curves(links | canonical | likelihood).plot().savefig(path, dpi=110)


def draw(runs: pd.DataFrame, protocol: str, path: Path) -> None:
    """RMSE against the number of training rows, one panel for each design, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 5.5), layout="constrained")
    panels = figure.subplots(1, len(DESIGNS))
    for axes, (key, design) in zip(panels, DESIGNS.items(), strict=True):
        part = runs[(runs["protocol"] == protocol) & (runs["design"] == key) & (runs["method"] != NOT_DRAWN)]
        means = 1000.0 * part.pivot_table(index="n", columns="method", values="rmse", sort=False).sort_index()
        for name in means:
            colour, marker, line = STYLES[name]
            axes.plot(means[name], color=colour, marker=marker, linestyle=line, markersize=5, linewidth=1.4)
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(means.index[0] / 1.1, means.index[-1] * 1.1),
            xlabel="training rows",
            title=f"{design.title}; {100 * design.rate:g} % positives",
        )
        low, high = axes.get_ylim()
        ticks = [digit * 10**power for power in range(4) for digit in (1, 1.5, 2, 3, 4, 5, 6, 8)]
        plain_ticks(axes.xaxis, means.index)
        plain_ticks(axes.yaxis, [tick for tick in ticks if low <= tick <= high])
        axes.set_ylim(low, high)
        axes.tick_params(labelsize=8)
        axes.grid(color="0.92", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        label_ends(axes, means.iloc[-1], 0.045)
    panels[0].set_ylabel("RMSE to the true probabilities, in thousandths")
    figure.suptitle(PROTOCOLS[protocol][0].upper() + PROTOCOLS[protocol][1:])
    figure.savefig(path, dpi=150)


def study(options: Options) -> None:
    sizes, repetitions = ((500, 2_500), 2) if options.quick else (SIZES, REPETITIONS)
    penalties = CS
    if options.made_up:
        sizes, repetitions, penalties = (300,), 1, CS[-2:]
    tasks = [
        (key, n, repetition, penalties) for n in sizes[::-1] for key in DESIGNS for repetition in range(repetitions)
    ]
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    results = progress(parallel(delayed(run)(*task) for task in tasks), len(tasks))
    runs = pd.DataFrame([row for rows in results for row in rows])
    places = {name: place for place, name in enumerate([*DESIGNS, *STYLES])}
    runs = runs.sort_values(["design", "n", "repetition", "method"], key=lambda column: column.replace(places))
    runs.to_csv(options.output / "runs.csv", index=False, float_format="%.6g")
    report(runs, options.output)


def report(runs: pd.DataFrame, output: Path) -> None:
    runs = with_best_fixed(runs)
    write_tables([tables(runs)], output)
    for protocol in PROTOCOLS:
        draw(runs, protocol, output / f"rmse_{protocol}.png")
    draw_losses(output / "losses.png")


if __name__ == "__main__":
    raise SystemExit(main("gev_synthetic", __doc__, study))
