"""Synthetic data whose true class probabilities are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from properly.inputs.options import check_interval, checked_count
from properly.links import get_link

if TYPE_CHECKING:
    from properly.links import Link


def make_rare_events(
    n_samples: int = 10_000,
    n_features: int = 10,
    *,
    rate: float = 0.02,
    link: str | Link = "logit",
    signal: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw a binary data set with a rare class, and the true probabilities with it.

    Features are independent standard Gaussians. The probability of the positive class is p = ψ⁻¹(a + σ u·x), where ψ is
    the link, u a random direction of length one, σ the ``signal``, and the intercept a is such that the mean of p over
    the sample is ``rate``; labels are drawn with these probabilities.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of rows. At least one row of each class must be expected:
        ``n_samples * min(rate, 1 - rate) >= 1``.
    n_features : int, default=10
        Number of features, at least one.
    rate : float, default=0.02
        Mean of the true probabilities, strictly between 0 and 1.
    link : str or link, default="logit"
        The true link, by its key or as an object, e.g. ``"probit"`` or ``GEV(0.2)``.
    signal : float, default=1.0
        Standard deviation of the linear score, in the units of the link; 0 makes all probabilities equal.
    random_state : int, RandomState or None, default=None
        An int makes the draw reproducible.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels, 0 or 1. They are drawn once and never redrawn, as this would bias them: when few
        positives are expected, ``y`` may hold a single class.
    p : ndarray of shape (n_samples,)
        True probabilities of class 1. A link of bounded support, such as GEV, may give exactly 0 or 1.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(5_000, 3, rate=0.01, link="cloglog", random_state=0)
    >>> X.shape, y.shape, p.shape
    ((5000, 3), (5000,), (5000,))
    >>> print(f"{p.mean():.6f}")
    0.010000
    """
    n_samples = checked_count(n_samples, "n_samples", 1)
    n_features = checked_count(n_features, "n_features", 1)
    check_interval(rate, "rate", 0.0, 1.0)
    check_interval(signal, "signal", 0.0, with_low=True)
    rarer = min(rate, 1 - rate)
    if n_samples * rarer < 1:
        raise ValueError(
            f"n_samples must be at least {int(np.ceil(1 / rarer))} at rate={rate!r} for a row of each class "
            f"to be expected, got {n_samples} ({n_samples * rarer:.3g} rows expected of the rarer class); "
            "increase n_samples or move the rate towards 1/2."
        )
    link = get_link(link)
    random = check_random_state(random_state)

    X = random.standard_normal((n_samples, n_features))
    direction = random.standard_normal(n_features)
    score = X @ (direction * (signal / np.linalg.norm(direction)))
    p = link.inverse(score + _intercept(link, score, rate))
    y = (random.uniform(size=n_samples) < p).astype(np.int64)
    return X, y, p


def _intercept(link: Link, score: NDArray[np.float64], rate: float) -> float:
    """Solve mean(link.inverse(score + intercept)) = rate, whose left side increases with the intercept."""

    def excess(intercept: float) -> float:
        return float(np.mean(link.inverse(score + intercept))) - rate

    # At the lower end every p is below the rate, at the upper end above: the 1 gives room for rounding.
    centre = float(link.link(np.float64(rate)))
    return float(brentq(excess, centre - score.max() - 1, centre - score.min() + 1, xtol=1e-14))


def make_hand_vinciotti(
    n_samples: int = 1000, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw from a distribution in which each decision needs a linear model of its own.

    The two features are uniform on the unit square and P(y=1|x) = x₂/(x₁+x₂). The boundary P(y=1|x) = c is the line
    x₂ = x₁ c/(1-c) through the origin: a linear model can be right about any one of these lines, but about no two of
    them. Reference: Hand & Vinciotti (2003), The American Statistician 57.

    Parameters
    ----------
    n_samples : int, default 1000
    random_state : int, RandomState or None, default None
        An int makes the draw reproducible.

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,), 0 or 1
    p : array of shape (n_samples,), the true probabilities of class 1; 1/2 on average

    Examples
    --------
    >>> X, y, p = make_hand_vinciotti(100_000, random_state=0)
    >>> print(f"{y.mean():.2f}, {(p >= 0.3).mean():.2f}")
    0.50, 0.79
    """
    random = check_random_state(random_state)
    X = random.uniform(size=(checked_count(n_samples, "n_samples", 1), 2))
    total = X.sum(axis=1)
    p = np.where(total > 0.0, X[:, 1] / np.where(total > 0.0, total, 1.0), 0.5)  # the origin has no probability
    y = (random.uniform(size=len(X)) < p).astype(np.int64)
    return X, y, p
