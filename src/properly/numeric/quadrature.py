"""Integrals over panels that are halved until they are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.numeric.probabilities import Array

_RULE = np.polynomial.legendre.leggauss(16)
_ACCURACY = 1e-13  # of a panel, relative to the integral up to it
_NOTHING = 1e-270  # of the whole integral; below it floats run out
_MOST_ROUNDS = 60  # a quarter, halved as often, is narrower than the distance of two floats
_MOST_AT_ONCE = 2000  # panels; the worst are halved first


def _lobatto(n: int) -> tuple[Array, Array]:
    """The nodes and weights of the rule of n nodes that has the ends of the panel among them."""
    nodes = np.concatenate([[-1.0], sc.roots_jacobi(n - 2, 1.0, 1.0)[0], [1.0]])
    return nodes, 2.0 / (n * (n - 1) * sc.eval_legendre(n - 1, nodes) ** 2)


_CLOSED_RULE = _lobatto(12)  # a jump beside an edge is between no two nodes of the other one


class Panels(NamedTuple):
    """The integrals of k functions over panels, which lie side by side."""

    edges: Array  # (n + 1,)
    integrals: Array  # (k, n)
    doubt: float  # the share of an integral that may be wrong
    where: float  # the middle of the panel that is most in doubt


def halved_panels(
    integrand: Callable[[Array], Array], edges: Array, directions: tuple[int, ...], least: float = _NOTHING
) -> Panels:
    """Panels of the functions that the integrand stacks, (k, *z.shape), from edges that are fine enough to see them.

    A panel is halved while another rule, or the same rule over its halves, gives another integral. What counts is the
    integral up to the panel, from the left where the direction of a function is 1, from the right where it is -1; or
    the least share of the whole integral that matters.

    >>> found = halved_panels(lambda z: np.stack([z**2 * (z < 0.3)]), np.array([0.0, 1.0]), (1,))
    >>> float(found.integrals.sum().round(12))
    0.009
    """
    start, stop = edges[:-1], edges[1:]
    value, error = _estimated(integrand, start, stop)
    for _ in range(_MOST_ROUNDS):
        middle = 0.5 * (start + stop)
        up_to = np.stack([np.cumsum(v[::d])[::d] for v, d in zip(value, directions, strict=True)])
        allowed = _ACCURACY * np.maximum(up_to, least * value.sum(axis=1, keepdims=True))
        wrong = np.flatnonzero(np.any(error > allowed, axis=0) & (start < middle) & (middle < stop))
        if not len(wrong):
            break
        if len(wrong) > _MOST_AT_ONCE:
            share = np.max(error[:, wrong] / value.sum(axis=1, keepdims=True), axis=0)
            wrong = wrong[np.argsort(-share, kind="stable")[:_MOST_AT_ONCE]]
        halves = np.concatenate([start[wrong], middle[wrong]]), np.concatenate([middle[wrong], stop[wrong]])
        more = _estimated(integrand, *halves)
        start, stop = (np.append(np.delete(old, wrong), new) for old, new in zip((start, stop), halves, strict=True))
        order = np.argsort(start, kind="stable")
        start, stop = start[order], stop[order]
        value, error = (
            np.concatenate([np.delete(old, wrong, axis=1), new], axis=1)[:, order]
            for old, new in zip((value, error), more, strict=True)
        )
    total = value.sum(axis=1, keepdims=True)
    share = np.max(np.where(total > 0.0, error / np.where(total > 0.0, total, 1.0), 0.0), axis=0)
    worst = int(share.argmax())
    return Panels(np.append(start, stop[-1]), value, float(share.sum()), 0.5 * float(start[worst] + stop[worst]))


def integral(
    integrand: Callable[[Array], Array], start: Array, stop: Array, rule: tuple[Array, Array] = _RULE
) -> Array:
    """Of every function over every panel, by Gauss's rule."""
    half, (nodes, weights) = 0.5 * (stop - start), rule
    z = (0.5 * (start + stop))[..., None] + half[..., None] * nodes
    return np.asarray((integrand(z) * (half[..., None] * weights)).sum(axis=-1))


def cumulated(values: Array, direction: int) -> Array:
    """The sums up to every edge: from the left, or (the edges in their order as before) from the right.

    >>> cumulated(np.array([1.0, 2.0]), 1), cumulated(np.array([1.0, 2.0]), -1)
    (array([0., 1., 3.]), array([3., 2., 0.]))
    """
    sums = np.concatenate([[0.0], np.cumsum(values[::direction])])
    return sums[::direction]


def _estimated(integrand: Callable[[Array], Array], start: Array, stop: Array) -> tuple[Array, Array]:
    """The integrals of the halves together, and how far they are from those of other rules."""
    middle = 0.5 * (start + stop)
    found, closed = integral(integrand, start, stop), integral(integrand, start, stop, _CLOSED_RULE)
    halves = integral(integrand, start, middle) + integral(integrand, middle, stop)
    return halves, np.maximum(np.abs(found - halves), np.abs(found - closed))
