"""Class probabilities for other class proportions than those that a model was trained with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.forecast import read_probabilities
from properly.inputs.labels import two_shares
from properly.inputs.options import choose
from properly.numeric.arrays import Array, as_float, columns_of, constant, floats, namespace, require_values
from properly.numeric.probabilities import unwrap

SUM_TOLERANCE = 1e-6  # a prior that was typed in with six decimals


def adjust_prior(p: ArrayLike, train_prior: ArrayLike, true_prior: ArrayLike) -> Array:
    """Probabilities for the class proportions `true_prior`, from those of a model trained with `train_prior`.

    With τ the training prior and π the true one,

        p*_k = p_k π_k/τ_k / Σ_j p_j π_j/τ_j,

    which for two classes multiplies the odds by the odds of π over those of τ. It is right if the rows of a class have
    the same distribution in both places and only the proportions differ: after sampling or weighting by class, or
    under label shift.

    Mathematics: formula (1.12).

    Parameters
    ----------
    p : array of shape (n,), the probability of the second of two classes, or (n, K), a column for each class
        In [0, 1]; rows of (n, K) add up to 1 within 1e-3. Give both columns, (n, 2), where p is so close to 1 that
        1 - p matters: either keeps its own last digits.
    train_prior, true_prior : float, the share of the second of two classes, or array of shape (K,)
        Strictly between 0 and 1, but `true_prior`, which `estimate_prior` may find to be 0, also the ends; arrays add
        up to 1 within 1e-6 and are divided by their sum.

    Returns
    -------
    array of the shape of p
        Accurate to a few last digits, however small p is. Probabilities of 0 and 1 stay what they are. A class with a
        true share of 0 gets 0, except in rows that allow no other class, which stay what they are.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI; Saerens, Latinne & Decaestecker (2002), Neural
    Computation 14; King & Zeng (2001), Political Analysis 9, for the same on the intercept of a logistic regression.

    Examples
    --------
    A model was trained on as many frauds as honest payments, but one payment in a thousand is a fraud:

    >>> adjust_prior([0.0, 0.5, 0.9, 1.0], train_prior=0.5, true_prior=0.001)
    array([0.    , 0.001 , 0.0089, 1.    ])
    >>> adjust_prior([[0.2, 0.3, 0.5]], [1 / 3, 1 / 3, 1 / 3], [0.6, 0.3, 0.1])
    array([[0.46, 0.35, 0.19]])
    """
    (values,) = floats(p=p)
    size = math.prod(values.shape)
    columns = as_columns(values, "p") if size else np.empty((0, values.shape[1] if values.ndim == 2 else 2))
    result = adjusted(constant(columns, values), log_prior_ratio(train_prior, true_prior, columns.shape[1]))
    if size != result.shape[0]:
        return result
    return unwrap(namespace(result).reshape(columns_of(result)[1], values.shape))


def prior_after_sampling(prior: ArrayLike, keep: ArrayLike) -> Array:
    """The class proportions of a sample that keeps the share keep_k of class k: prior_k keep_k, divided by their sum.

    This is the `train_prior` of a model that was trained on such a sample.

    Parameters
    ----------
    prior : float, the share of the second of two classes, or array of shape (K,)
        Before sampling.
    keep : array of shape (K,)
        The share of each class that was kept, positive; more than 1 means rows that were repeated. Only ratios matter.

    Returns
    -------
    float or array, like `prior`

    Examples
    --------
    One row in fifty is positive; every tenth negative was kept, and every positive:

    >>> prior_after_sampling(0.02, [0.1, 1.0])
    np.float64(0.169)
    """
    return _like(prior, _reweighted(as_prior(prior, None, "prior"), as_float(keep, "keep"), "keep"))


def prior_after_weighting(
    prior: ArrayLike, class_weight: str | Mapping[Any, float] | ArrayLike, classes: ArrayLike | None = None
) -> Array:
    """The class proportions that a model sees when class k has weight_k: prior_k weight_k, divided by their sum.

    This is the `train_prior` of a model that was trained with such weights, as a loss cannot tell a row of weight 2
    from two rows. A boosting library's ``scale_pos_weight=s`` is the weight ``[1, s]``.

    Parameters
    ----------
    prior : float, the share of the second of two classes, or array of shape (K,)
        The class proportions of the sample.
    class_weight : "balanced", dict or array of shape (K,)
        "balanced" makes all classes equally heavy, and so the prior 1/K whatever it was. A dict gives the weight by
        class, 1 where a class is missing. Weights are positive; only ratios matter.
    classes : array of shape (K,), optional
        The labels in the order of `prior`, for a dict; 0, 1, … by default.

    Returns
    -------
    float or array, like `prior`

    Examples
    --------
    >>> prior_after_weighting(0.02, "balanced")
    np.float64(0.5)
    >>> prior_after_weighting(0.02, {1: 10.0})
    np.float64(0.169)
    >>> prior_after_weighting([0.5, 0.3, 0.2], {"cat": 2.0}, classes=["cat", "dog", "owl"])
    array([0.667, 0.2  , 0.133])
    """
    return _like(prior, weighted_prior(prior, class_weight, classes))


def weighted_prior(
    prior: ArrayLike, class_weight: str | Mapping[Any, float] | ArrayLike, classes: ArrayLike | None
) -> Array:
    """`prior_after_weighting` as an array with an entry for each class."""
    share = as_prior(prior, None, "prior")
    if isinstance(class_weight, str):
        weight = choose(class_weight, {"balanced": 1.0 / share}, "class_weight")
    elif isinstance(class_weight, Mapping):
        require_values(classes, "classes")
        labels = np.arange(len(share)) if classes is None else np.asarray(classes)
        if len(labels) != len(share):
            raise ValueError(f"classes has {len(labels)} entries, but prior is for {len(share)}; name every class.")
        weight = by_class({**dict.fromkeys(labels.tolist(), 1.0), **class_weight}, labels, "class_weight")
    else:
        weight = as_float(class_weight, "class_weight")
    return _reweighted(share, weight, "class_weight")


def _reweighted(share: Array, factor: Array, name: str) -> Array:
    if factor.shape != share.shape:
        raise ValueError(f"{name} must have an entry for each of {len(share)} classes, got shape {factor.shape}.")
    if not (np.isfinite(factor).all() and (factor > 0.0).all()):
        raise ValueError(f"{name} must be positive and finite, got {factor.tolist()}.")
    share = share * (factor / factor.max())
    return np.asarray(share / share.sum())


def _like(prior: ArrayLike, result: Array) -> Array:
    """The share of the second class if the prior was given as a number."""
    return result[1] if np.ndim(prior) == 0 else result


def as_prior(prior: ArrayLike, n_classes: int | None, name: str, *, ends: bool = False) -> Array:
    """A checked prior as an array with an entry for each class; `n_classes` None means as many as it has.

    Shares of 0 and 1 pass if `ends` are allowed.
    """
    prior = as_float(prior, name)
    bad = ~((prior >= 0.0) & (prior <= 1.0) if ends else (prior > 0.0) & (prior < 1.0))
    if bad.any():
        value = prior[bad].flat[0]
        domain = "in [0, 1]" if ends else "strictly between 0 and 1"
        remedy = "leave out a class that does not occur, or give it a small share."
        if value not in (0.0, 1.0):
            remedy = "give shares, not percentages or counts."
        raise ValueError(f"{name} must lie {domain}, got {value}; {remedy}")
    if prior.ndim == 0:
        if n_classes not in (None, 2):
            raise ValueError(f"{name} must have an entry for each of {n_classes} classes, got the number {prior}.")
        return np.array([1.0 - prior, prior])
    if prior.ndim != 1 or len(prior) < 2:
        raise ValueError(f"{name} must be a number, or an array of shape (K,) with K > 1, got shape {prior.shape}.")
    if n_classes not in (None, len(prior)):
        raise ValueError(f"{name} has {len(prior)} entries, but there are {n_classes} classes.")
    if abs(prior.sum() - 1.0) > SUM_TOLERANCE:
        raise ValueError(
            f"{name} must add up to 1 within {SUM_TOLERANCE:g}, but its sum is {prior.sum():.9g}; divide it by that."
        )
    return np.asarray(prior / prior.sum())


def as_columns(p: ArrayLike, name: str) -> Array:
    """Checked probabilities of shape (n, K); those of a second class, or a single one, become (n, 2)."""
    values = as_float(p, name)
    second, first = read_probabilities(values if values.ndim else values[None], name)
    return second if second.ndim == 2 else np.column_stack([1.0 - second if first is None else first, second])


def shares_of(prior: Any, classes: NDArray[Any], name: str) -> Any:
    """A prior that `as_prior` takes: a dict in the order of the classes, a number as the share of the positive one."""
    if len(classes) == 2 and (isinstance(prior, Mapping) or np.ndim(prior) == 0):
        if not isinstance(prior, Mapping):
            as_prior(prior, 2, name)  # what is no share is refused first
        prior = two_shares(prior, classes, name)
    return by_class(prior, classes, name) if isinstance(prior, Mapping) else prior


def by_class(values: Mapping[Any, Any], classes: ArrayLike, name: str) -> Array:
    """The values of a dict in the order of the classes, which must be its keys."""
    labels: Sequence[Any] = np.asarray(classes).tolist()
    unknown = [key for key in values if key not in labels]
    if unknown:
        raise ValueError(f"{name} names {unknown[0]!r}, which is not one of the classes {labels}.")
    missing = [label for label in labels if label not in values]
    if missing:
        raise ValueError(f"{name} has no entry for class {missing[0]!r}; name every class.")
    return as_float([values[label] for label in labels], name)


def log_prior_ratio(train_prior: ArrayLike, true_prior: ArrayLike, n_classes: int) -> Array:
    """ln π_k/τ_k: what is added to the logarithm of every class's probability."""
    train = as_prior(train_prior, n_classes, "train_prior")
    with np.errstate(divide="ignore"):  # of 0 it is -infinity
        return np.log(as_prior(true_prior, n_classes, "true_prior", ends=True)) - np.log(train)


def adjusted(p: Array, log_ratio: Array) -> Array:
    xp, ratio = namespace(p), constant(log_ratio, p)
    # Ratios are taken relative to the largest one of a class that is possible, so that sums stay above 0.
    largest = xp.max(xp.where(p > 0.0, ratio, -math.inf), axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        relative = xp.where(largest > -math.inf, xp.minimum(ratio - largest, 0.0), 0.0)
    scaled = p * xp.exp(relative)
    return scaled / xp.sum(scaled, axis=1, keepdims=True)
