"""What the two studies of GEV regression share: the methods, how validation rows choose among fits, and output."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning

from properly.linear import (
    GEVCanonicalRegression,
    GEVCanonicalRegressionCV,
    GEVLogRegression,
    ProperLinearClassifier,
    RareEventLogisticRegression,
)

matplotlib.use("Agg")

# The paper's own range is lost; below -1 the fit of GEV-log meets a kink, at 1 GEV-canonical needs a penalty.
XIS = (-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)
FIT = {"tol": 1e-6}  # coefficients to four decimals and more, far within the statistical error

# Okabe–Ito colours, which colour-blind readers can tell apart; markers and lines differ as well, for print.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE, GREY, DARK = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#888888", "#555555",
)  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A model, how it is drawn, and what it is tried with."""

    model: Any
    style: tuple[str, str, str]  # colour, marker, line
    xis: tuple[float, ...] | None = None  # shapes of the GEV link
    ridge: bool = True  # with penalties as well as without
    like: str | None = None  # nothing is tried: ξ and C are those chosen for this method


METHODS = {
    "logistic": Method(ProperLinearClassifier(**FIT), (BLACK, "o", "-")),
    "probit": Method(ProperLinearClassifier(link="probit", **FIT), (SKY, "v", "--")),
    "cloglog": Method(ProperLinearClassifier(link="cloglog", **FIT), (GREEN, "^", "--")),
    "under-sampling": Method(RareEventLogisticRegression("undersampling", random_state=0, **FIT), (ORANGE, "<", ":")),
    "weighting": Method(RareEventLogisticRegression("weighting", **FIT), (ORANGE, ">", "-.")),
    "GEV-log": Method(GEVLogRegression(**FIT), (PURPLE, "s", "--"), XIS),
    "GEV-canonical": Method(GEVCanonicalRegression(**FIT), (BLUE, "D", "-"), XIS),
    # Fitted to separable classes without a penalty, the clipped form takes a minute: one fit instead of a grid.
    "GEV-canonical, clipped": Method(
        GEVCanonicalRegression(outside="clip", **FIT), (BLUE, "x", ":"), like="GEV-canonical"
    ),
    "squared loss": Method(ProperLinearClassifier("squared", "logit", **FIT), (DARK, "P", "-.")),
    "Firth": Method(RareEventLogisticRegression("firth", **FIT), (GREY, "*", "--"), ridge=False),
    "constant rate": Method(DummyClassifier(strategy="prior"), (GREY, "", "-"), ridge=False),
}


# What by_folds() gives.
LOGISTIC, BEST, AVERAGED, FIXED = (
    "logistic, 5 folds",
    "GEV-canonical, best ξ, 5 folds",
    "GEV-canonical, averaged, 5 folds",
    "GEV-canonical, fixed ξ, 5 folds",
)
STYLES = {name: method.style for name, method in METHODS.items()} | {
    LOGISTIC: (BLACK, "o", "-"),
    BEST: (SKY, "v", "--"),
    AVERAGED: (RED, "D", "-"),
    FIXED: (ORANGE, "s", ":"),
}


@dataclass(frozen=True)
class Fitted:
    """A fitted model, and the ξ and C it was fitted with (None where it has none)."""

    model: Any
    xi: float | None
    C: float | None
    seconds: float

    @property
    def converged(self) -> bool:
        return all(solution.status.name == "CONVERGED" for solution in getattr(self.model, "solutions_", []))

    def probabilities(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X)[:, 1]


def all_methods(
    X: Any, y: np.ndarray, Cs: tuple[float, ...], error: Callable[[Fitted], float]
) -> Iterator[tuple[str, str, Fitted]]:
    """Every method with the fit that has the smallest error: (method, protocol, fit)."""
    chosen: dict[str, dict[str, Fitted]] = {}
    for name, method in METHODS.items():
        if method.like is None:
            chosen[name] = _best(_fits(method, X, y, Cs), error)
        else:
            chosen[name] = {
                protocol: fitted(clone(method.model), X, y, fit.xi, fit.C)
                for protocol, fit in chosen[method.like].items()
            }
        for protocol, fit in chosen[name].items():
            yield name, protocol, fit


def _fits(method: Method, X: Any, y: np.ndarray, Cs: tuple[float, ...]) -> Iterator[Fitted]:
    """Every fit of a method: all shapes, and all penalties, from strong to none, each begun at the one before."""
    options = method.model.get_params()
    for xi in method.xis or (None,):
        model = clone(method.model).set_params(**({"warm_start": True} if "warm_start" in options else {}))
        for C in (sorted(Cs) if method.ridge else (np.inf,)) if "C" in options else (None,):
            yield fitted(model, X, y, xi, C)


def by_folds(X: Any, y: np.ndarray, Cs: tuple[float, ...]) -> Iterator[tuple[str, Fitted]]:
    """Fits chosen by 5 folds of the rows: logistic, GEV-canonical at its best ξ, averaged, at each ξ."""
    finite = [C for C in Cs if np.isfinite(C)]
    averaged = fitted(GEVCanonicalRegressionCV(Cs=finite, **FIT), X, y, None, None)
    results = averaged.model.cv_results_
    for xi in np.unique(results["xi"]).tolist():
        of_this = np.flatnonzero(np.isnan(results["xi"]) if np.isnan(xi) else results["xi"] == xi)
        C = float(results["C"][of_this[results["loss"][of_this].argmin()]])
        if np.isnan(xi):
            yield LOGISTIC, fitted(ProperLinearClassifier(**FIT), X, y, None, C)
        else:
            fit = fitted(GEVCanonicalRegression(**FIT), X, y, xi, C)
            yield FIXED, fit
            if xi == averaged.model.xi_:
                yield BEST, fit
    yield AVERAGED, averaged


def fitted(model: Any, X: Any, y: np.ndarray, xi: float | None, C: float | None) -> Fitted:
    model.set_params(**{name: value for name, value in (("xi", xi), ("C", C)) if value is not None})
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Fits without a penalty to separable classes have no optimum; the column `converged` of the results says so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    return Fitted(copy(model), xi, C, seconds)  # a later fit begun here gives the model new arrays, not this copy


def _best(candidates: Iterable[Fitted], error: Callable[[Fitted], float]) -> dict[str, Fitted]:
    """The fits with the smallest error: among all ("ridge"; not for a model without), and among those without ridge."""
    scored = [(error(candidate), candidate) for candidate in candidates]
    free = [pair for pair in scored if pair[1].C is None or np.isinf(pair[1].C)]
    groups = {"ridge": scored, "none": free}
    if all(np.inf == candidate.C for _, candidate in scored):
        del groups["ridge"]
    return {name: min(group, key=lambda pair: pair[0])[1] for name, group in groups.items()}


def markdown(header: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def measured(mean: float, error: float) -> str:
    """Mean ± standard error, both to the second digit of the error."""
    if not error > 1e-9 * abs(mean):  # the same every time, or measured once
        return f"{mean:.3g}"
    decimals = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def plain_ticks(axis: Any, places: Iterable[float]) -> None:
    """Ticks of a logarithmic axis at these places, written as plain numbers."""
    from matplotlib.ticker import NullLocator

    places = list(places)
    axis.set_ticks(places, [f"{place:,g}".replace("-", "−") for place in places])
    axis.set_minor_locator(NullLocator())


def label_ends(axes: Any, ends: Any, gap: float) -> None:
    """Write the name of each line beside its end at the right, in its colour, and at least `gap` of the axis apart."""
    transform = axes.transData + axes.transAxes.inverted()
    places = {name: float(transform.transform((axes.get_xlim()[1], end))[1]) for name, end in ends.items()}
    order = sorted(places, key=lambda name: places[name])
    heights = np.array([places[name] for name in order])
    for _ in range(500):  # push neighbours apart until none touch, but not below the axis
        short = np.maximum(gap - np.diff(heights), 0.0) / 2.0
        heights[:-1] -= short
        heights[1:] += short
        heights[0] = max(heights[0], gap / 2.0)
    for name, height in zip(order, heights, strict=True):
        colour = STYLES[name][0]
        axes.annotate(
            name.removesuffix(", 5 folds"),
            xy=(1.0, places[name]),
            xytext=(1.05, height),
            xycoords="axes fraction",
            color=colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )
