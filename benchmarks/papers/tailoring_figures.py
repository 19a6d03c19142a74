"""Pictures of tailored and plain decisions, after slides 47 to 51 of Buja's lectures on proper losses.

`tailoring.py` calls `draw_all`, which writes hand_vinciotti.png, pima.png, regions.png and regret.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tailoring import (
    COSTS,
    LINEAR,
    STUMPS,
    TREE,
    grid,
    linear,
    models,
    pima,
    regret,
    turned,
)

from properly.datasets import make_hand_vinciotti
from properly.losses import BetaLoss

matplotlib.use("Agg")

COLOURS = dict(zip(COSTS, ("#0072B2", "#E69F00", "#009E73", "#D55E00"), strict=True))
CONCENTRATION = 30


def points(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    for label, marker, colour in ((0, "o", "0.75"), (1, "^", "0.45")):
        ax.scatter(*X[y == label].T, s=6, marker=marker, color=colour, linewidths=0)


def contours(ax: Any, x: np.ndarray, z: np.ndarray, surfaces: dict[float, np.ndarray], **style: Any) -> None:
    """The boundary p = c of the surface given for each c."""
    for c, p in surfaces.items():
        ax.contour(x, z, p.reshape(len(z), len(x)), levels=[c], colors=[COLOURS[c]], **style)


def surfaces(model_of: Any, X: np.ndarray, y: np.ndarray, at: np.ndarray) -> dict[float, np.ndarray]:
    return {c: model_of(c).fit(X, y).predict_proba(at)[:, 1] for c in COSTS}


def legend(ax: Any, **options: Any) -> None:
    for c in COSTS:
        ax.plot([], [], color=COLOURS[c], label=f"p = {c}")
    ax.legend(fontsize=8, **options)


def hand_vinciotti(folder: Path) -> None:
    X, y, _ = make_hand_vinciotti(4000, random_state=0)
    at, eta = grid(300)
    axis = at[:300, 0]
    truth = dict.fromkeys(COSTS, eta)
    panels = {
        "the data and the truth": truth,
        "log loss: one slope for all": surfaces(lambda c: linear(), X, y, at),
        "tailored: a model for each c": surfaces(lambda c: linear(BetaLoss.tailored(c, CONCENTRATION)), X, y, at),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
    for ax, (title, found) in zip(axes, panels.items(), strict=True):
        if found is truth:
            points(ax, X[:1000], y[:1000])
        contours(ax, axis, axis, truth, linestyles="dashed" if found is not truth else "solid", linewidths=1.2)
        contours(ax, axis, axis, found, linewidths=2.0)
        ax.set(title=title, xlabel="x₁", aspect="equal", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("x₂")
    legend(axes[2], loc=(0.28, 0.7))
    figure.savefig(folder / "hand_vinciotti.png", dpi=110)


def pima_boundaries(folder: Path) -> None:
    X, y = pima()
    plasma = np.linspace(40.0, 200.0, 240)
    body = np.linspace(18.0, 60.0, 240)
    at = np.column_stack([a.ravel() for a in np.meshgrid(plasma, body)])
    nearest = make_pipeline(StandardScaler(), KNeighborsClassifier(20))
    panels = {
        "log loss": surfaces(lambda c: linear(), X, y, at),
        "tailored": surfaces(lambda c: linear(BetaLoss.tailored(c, CONCENTRATION)), X, y, at),
        "20 nearest neighbours": surfaces(lambda c: nearest, X, y, at),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
    for ax, (title, found) in zip(axes, panels.items(), strict=True):
        points(ax, X, y)
        contours(ax, plasma, body, found, linewidths=1.8)
        ax.set(title=title, xlabel="plasma glucose", xlim=(40, 200), ylim=(18, 60))
    axes[0].set_ylabel("body mass index")
    legend(axes[0], loc="upper left")
    figure.savefig(folder / "pima.png", dpi=110)


def regions(folder: Path, c: float = 0.3, n: int = 4000) -> None:
    """Where trees and stumps say p >= c."""
    X, y, _ = make_hand_vinciotti(n, random_state=0)
    at, eta = grid(300)
    axis = at[:300, 0]
    rows = [
        (TREE, ("log", "tailored, 10", "cost-weighted"), False),
        (STUMPS, ("log", "AdaBoost", "tailored, 30"), False),
        (STUMPS, ("log", "AdaBoost", "tailored, 30"), True),
    ]
    figure, axes = plt.subplots(3, 3, figsize=(10.5, 11), layout="constrained", sharex=True, sharey=True)
    for line, (family, names, is_turned) in zip(axes, rows, strict=True):
        seen = turned if is_turned else np.asarray
        for ax, name in zip(line, names, strict=True):
            p = models(c)[family, name].fit(seen(X), y).predict_proba(seen(at))[:, 1]
            ax.imshow((p >= c).reshape(300, 300), origin="lower", extent=(0, 1, 0, 1), cmap="Blues", vmin=0, vmax=3)
            ax.contour(axis, axis, eta.reshape(300, 300), levels=[c], colors="k", linestyles="dashed", linewidths=1.5)
            title = f"{family}{', turned axes' if is_turned else ''}: {name}"
            ax.set_title(f"{title}\nregret {1e3 * regret(p, eta, c):.1f} per thousand", fontsize=9)
    figure.suptitle(f"Hand–Vinciotti data, n = {n}: blue where p ≥ {c}, dashed the truth", fontsize=11)
    figure.savefig(folder / "regions.png", dpi=100)


def gains(runs: pd.DataFrame, folder: Path) -> None:
    """Mean regret of every model, its standard error over repetitions."""
    n = runs[runs.data == "Hand-Vinciotti"].n.max()
    runs = runs[runs.n == n]
    sets = {"Hand-Vinciotti": (LINEAR, TREE, STUMPS), "Hand-Vinciotti, turned": (STUMPS,)}
    keys = [(data, *key) for data, families in sets.items() for key in models(0.5) if key[0] in families]
    groups = list(dict.fromkeys(key[:2] for key in keys))
    place = {key: -(i + 0.8 * groups.index(key[:2])) for i, key in enumerate(keys)}
    figure, axes = plt.subplots(1, 4, figsize=(13, 6.5), layout="constrained", sharey=True)
    for ax, c in zip(axes, COSTS, strict=True):
        for data, family, name in keys:
            chosen = (runs.data == data) & (runs.c == c) & (runs.family == family) & (runs.loss == name)
            value = 1e3 * runs[chosen].value
            is_tailored = name.startswith(("tailored", "cost"))
            ax.errorbar(
                value.mean(), place[data, family, name], xerr=value.std() / np.sqrt(len(value)),
                fmt="D" if is_tailored else "o", color="#D55E00" if is_tailored else "0.4", markersize=5, capsize=3,
            )  # fmt: skip
        ax.set(title=f"c = {c}", xlim=(0, None))
        ax.grid(axis="x", color="0.9")
    labels = [f"{family}{', turned' * (data != 'Hand-Vinciotti')}: {name}" for data, family, name in keys]
    axes[0].set_yticks(list(place.values()), labels)
    figure.supxlabel(f"regret in thousandths (n = {n}; grey: plain, orange: tailored)", fontsize=10)
    figure.savefig(folder / "regret.png", dpi=110)


def draw_all(runs: pd.DataFrame, folder: Path) -> None:
    hand_vinciotti(folder)
    pima_boundaries(folder)
    regions(folder)
    gains(runs, folder)
