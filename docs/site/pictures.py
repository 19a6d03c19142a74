"""Draw the pictures of the landing page and of the guide to diagnostics, and the badges of the README, again:

    python docs/site/pictures.py

The badges say what `pyproject.toml` says; a test compares. No badge comes from another server.
"""

from __future__ import annotations

import re
import tomllib
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


def badges() -> dict[str, str]:
    """The badges by the names of their files, as SVG."""
    config = tomllib.loads((IMAGES.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    versions = [each.rpartition(" ")[2] for each in config["project"]["classifiers"] if "Python :: 3." in each]
    strict = "mypy, strict" if config["tool"]["mypy"]["strict"] else "mypy"
    texts = {
        "python": ("Python", f"{versions[0]}–{versions[-1]}"),
        "licence": ("licence", config["project"]["license"]),
        "types": ("types", strict),
    }
    return {name: _badge(*text) for name, text in texts.items()}


def _badge(left: str, right: str) -> str:
    a, b = (12 + 7 * len(text) for text in (left, right))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img" aria-label="{left}: {right}">'
        f'<rect width="{a}" height="20" fill="#555"/><rect x="{a}" width="{b}" height="20" fill="#0072B2"/>'
        f'<g fill="#fff" font-family="sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{a / 2}" y="14">{left}</text><text x="{a + b / 2}" y="14">{right}</text></g></svg>\n'
    )


def draw_badges() -> None:
    for name, svg in badges().items():
        (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw_badges()
    draw_landing()
    draw_diagnostics()
