"""Data whose class boundaries are all straight, but not parallel."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


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
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1, got {n_samples!r}.")
    random = check_random_state(random_state)
    X = random.uniform(size=(int(n_samples), 2))
    total = X.sum(axis=1)
    p = np.where(total > 0.0, X[:, 1] / np.where(total > 0.0, total, 1.0), 0.5)  # the origin has no probability
    y = (random.uniform(size=len(X)) < p).astype(np.int64)
    return X, y, p
