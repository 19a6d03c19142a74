"""What is measured on a species, and what is said of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from nceas_data import Survey, TargetGroup
from nceas_models import Array
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit, xlogy
from sklearn.metrics import roc_auc_score

DEFAULTS = np.concatenate(
    [
        [0.002, 0.005, 0.01],
        np.arange(2, 30, 2) / 100,  # close where the losses of all species are smallest
        np.arange(30, 50, 4) / 100,
        np.arange(50, 95, 5) / 100,
        [0.94, 0.98],
    ]
)
Labels = NDArray[np.bool_]

ENTROPY, DEFAULT, ROBUST = "entropy-weighted maxent", "default-weighted maxent", "class-robust"
TREES_ENTROPY, TREES_DEFAULT = "entropy-weighted trees", "default-weighted trees"
MOVED = "class-robust, moved to the true prevalence"
ORACLE, CONSTANT = "oracle-weighted maxent", "constant oracle"
# Bounds of test prevalence; each bin holds about a third of the species.
BINS = {"0 – 4 %": (0.0, 0.04), "4 – 15 %": (0.04, 0.15), "15 – 70 %": (0.15, 0.7), "all species": (0.0, 1.0)}


@dataclass
class Result:
    """One species: its numbers, log losses on the survey at every default prevalence, and areas under the ROC curve."""

    region: str
    group: str
    species: str
    presences: int
    places: int
    sites: int
    prevalence: float  # in the survey
    gain: float = np.nan  # RE(q ‖ π̃)
    area: dict[str, Array] = field(default_factory=dict)  # of shape () or (defaults,)
    loss: dict[str, Array] = field(default_factory=dict)
    reached: Array = field(default_factory=lambda: np.full(len(DEFAULTS), np.nan))  # P(y = 1) of class-robust
    cap: tuple[float, float] = (np.nan, np.nan)  # bounds of the largest P(y = 1) that class-robust can reach
    certain: Array = field(default_factory=lambda: np.full(len(DEFAULTS), np.nan))  # share of sites, see main


def result_of(group: TargetGroup, survey: Survey, name: str) -> tuple[Result, Labels]:
    """An empty result, and the labels of the survey's sites."""
    y = survey.present[:, survey.species.index(name)]
    presences = int(group.present[:, group.species.index(name)].sum())
    prevalence = float(y.mean())
    result = Result(group.region, group.name, name, presences, len(group.environment), len(y), prevalence)
    result.loss[CONSTANT] = np.asarray(-xlogy(prevalence, prevalence) - xlogy(1 - prevalence, 1 - prevalence))
    return result, y


def log_loss(y: Labels, log_odds: Array) -> Array:
    """Mean over the sites, which are along the last axis; finite for every finite score."""
    return np.logaddexp(0.0, np.where(y, -log_odds, log_odds)).mean(axis=-1)


def area(y: Labels, score: Array) -> Array:
    return np.asarray(roc_auc_score(y, score))


def reweighted(log_ratio: Array, gain: float) -> tuple[Array, Array]:
    """Log-odds at every default with entropy weights, ν(y) e^{-RE}, and with default weights, ν(y)."""
    default = logit(DEFAULTS)[:, None] + log_ratio
    return default - gain, default


def cap_bounds(log_odds: Array, default: float) -> tuple[float, float]:
    """Bounds of the largest P(y = 1) that the conditions of class-robust logistic regression allow.

    That is a linear programme: maximise mean p_i over 0 ≤ p_i ≤ 1 such that |Σ p_i (f_j(x_i) - μ̃_j)| ≤ β_j Σ p_i. What
    the fit with default ν reaches is one such p, so a lower bound; its coefficients, divided by logit ν, are feasible
    for the dual programme, minimise mean max(0, 1 + λ·(f(x_i) - μ̃) + Σ_j β_j |λ_j|), and so give an upper one.
    """
    return float(expit(log_odds).mean()), float(np.maximum(log_odds, 0.0).mean() / logit(default))


def of_bin(results: list[Result], name: str) -> list[Result]:
    low, high = BINS[name]
    return [result for result in results if low <= result.prevalence < high]


def curve(results: list[Result], method: str) -> Array:
    """Mean log loss over species at every default."""
    return np.mean([np.broadcast_to(result.loss[method], DEFAULTS.shape) for result in results], axis=0)


def range_below(losses: Array, level: float) -> tuple[float, float]:
    """The lowest and the highest default with a loss of at most `level`, with a smooth curve through the points.

    Interpolated over the log-odds of the default; nan if the curve stays above.
    """
    grid = np.linspace(logit(DEFAULTS[0]), logit(DEFAULTS[-1]), 20_001)
    below = np.flatnonzero(PchipInterpolator(logit(DEFAULTS), losses)(grid) <= level)
    return (float(expit(grid[below[0]])), float(expit(grid[below[-1]]))) if len(below) else (np.nan, np.nan)


def best(losses: Array) -> tuple[float, float]:
    """The default with the smallest loss, and that loss."""
    return float(DEFAULTS[losses.argmin()]), float(losses.min())
