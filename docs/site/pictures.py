"""Draw the pictures of the landing page and of the guide to diagnostics again: ``python docs/site/pictures.py``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from properly.datasets import make_rare_events
from properly.diagnostics import log_odds_fit, reliability
from properly.prevalence import PriorCorrectedClassifier

IMAGES = Path(__file__).parents[1] / "images"
GUIDE = Path(__file__).parents[1] / "guides" / "diagnostics.md"


def draw_landing() -> None:
    X, y, _ = make_rare_events(40_000, rate=0.04, signal=1.5, random_state=0)
    train, test = slice(0, 20_000), slice(20_000, None)
    balanced = LogisticRegression(class_weight="balanced").fit(X[train], y[train])
    corrected = PriorCorrectedClassifier(LogisticRegression(class_weight="balanced")).fit(X[train], y[train])
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    for axes, title, model in zip(
        figure.subplots(1, 2), ("balanced class weights", "the same, corrected"), (balanced, corrected), strict=True
    ):
        reliability(y[test], model.predict_proba(X[test])[:, 1]).plot(axes)
        axes.set_title(title)
    figure.savefig(IMAGES / "landing.png", dpi=110)


def draw_diagnostics() -> None:
    """From the data of the guide, whose blocks are run."""
    of: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(block, of)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    for axes, scale in zip(figure.subplots(1, 2), ("probability", "log-odds"), strict=True):
        reliability(of["y"], of["overconfident"]).plot(axes, scale=scale)
    figure.savefig(IMAGES / "reliability.png", dpi=110)
    fits = {"Platt": of["platt"], "asymmetric Laplace": "asymmetric_laplace"}
    axes = log_odds_fit(of["y"][10_000:], of["score"][10_000:], fits).plot()
    axes.figure.savefig(IMAGES / "log_odds_fit.png", dpi=110)


if __name__ == "__main__":
    draw_landing()
    draw_diagnostics()
