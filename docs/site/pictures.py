"""Draw the picture of the landing page again: ``python docs/site/pictures.py``."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from properly.datasets import make_rare_events
from properly.diagnostics import reliability
from properly.prevalence import PriorCorrectedClassifier

IMAGES = Path(__file__).parents[1] / "images"


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


if __name__ == "__main__":
    draw_landing()
