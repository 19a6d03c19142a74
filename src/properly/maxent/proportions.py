"""Sets of class proportions, and the member of a set that is closest to given proportions in relative entropy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, optimize
from scipy import special as sc
from sklearn.exceptions import ConvergenceWarning

from properly.numeric.probabilities import Array, as_float
from properly.prevalence.prior import SUM_TOLERANCE
from properly.solvers.dense import nonnegative_minimum

_PRECISE, _GOOD_ENOUGH = 1e-13, 1e-8  # of the duality gap, and of what a constraint is missed by
_MOST_STEPS = 200
_DAMPING = (1e-12, *np.logspace(-8.0, 6.0, 8))
_LENGTHS = 0.5 ** np.arange(12)


class Proportions(NamedTuple):
    """Proportions π ≥ 0 of sum 1 with low ≤ π ≤ high for every class, and matrix · π ≤ limit."""

    bounds: Array  # (n_classes, 2)
    matrix: Array
    limit: Array
    texts: tuple[str, ...]  # what each row of the matrix demands

    def nearest(self, prevalence: Array) -> tuple[Array, float]:
        """argmin RE(π ‖ prevalence), and the duality gap: by how much another member could be closer, at most."""
        if not len(self.limit):
            return nearest_within(self.bounds, prevalence), 0.0
        matrix, limit, _ = self._rows()
        missed, _ = _least_missed(matrix, limit)
        limit = limit + missed  # what constraints of a few digits miss each other by
        possible = _can_be_positive(matrix, limit)
        result = np.zeros(len(prevalence))
        result[possible], gap = _projected(prevalence[possible], matrix[:, possible], limit)
        return result, gap

    def require_member(self) -> None:
        """Refuse an empty set, and name the constraints that contradict each other."""
        matrix, limit, texts = self._rows()
        missed, prices = _least_missed(matrix, limit)
        if missed > SUM_TOLERANCE:
            guilty = [text for text, price in zip(texts, prices, strict=True) if abs(price) > 1e-9]
            raise ValueError(
                "no class proportions meet all constraints: they add up to 1, and these contradict each other: "
                f"{'; '.join(guilty)}. Drop or widen one of them."
            )

    def _rows(self) -> tuple[Array, Array, tuple[str, ...]]:
        """Limits of classes as rows as well, all of them scaled to a largest entry of 1."""
        (low, high), one = self.bounds.T, np.eye(len(self.bounds))
        least, most = np.flatnonzero(low > 0.0), np.flatnonzero(high < 1.0)
        matrix = np.vstack([self.matrix, -one[least], one[most]])
        limit = np.concatenate([self.limit, -low[least], high[most]])
        texts = [f"the share of class {k} is at least {low[k]:g}" for k in least]
        texts += [f"the share of class {k} is at most {high[k]:g}" for k in most]
        scale = np.abs(matrix).max(axis=1)
        return matrix / scale[:, None], limit / scale, (*self.texts, *texts)


def checked_proportions(bounds: Any, constraints: Any, n_classes: int) -> Proportions | None:
    """The set that the options `prevalence_bounds` and `prevalence_constraints` describe; None if neither is given."""
    if bounds is None and constraints is None:
        return None
    matrix, limit, texts = _checked_inequalities(constraints, n_classes)
    ranges: dict[Any, Any] = {}
    if isinstance(bounds, Mapping):
        ranges = {key: pair for key, pair in bounds.items() if isinstance(key, tuple)}
        bounds = {key: pair for key, pair in bounds.items() if key not in ranges}
    box = np.tile([0.0, 1.0], (n_classes, 1)) if bounds is None else checked_bounds(bounds, n_classes)
    for key, pair in ranges.items():
        low, high = _checked_range(key, pair, n_classes)
        together = np.isin(np.arange(n_classes), key).astype(np.float64)
        matrix = np.vstack([matrix, -together, together])
        limit = np.append(limit, [-low, high])
        name = " and ".join(str(k) for k in key)
        texts += [f"the shares of classes {name} add up to at {word}" for word in (f"least {low:g}", f"most {high:g}")]
    result = Proportions(box, matrix, limit, tuple(texts))
    if len(limit):
        result.require_member()
    return result


def _checked_inequalities(constraints: Any, n_classes: int) -> tuple[Array, Array, list[str]]:
    if constraints is None:
        return np.empty((0, n_classes)), np.empty(0), []
    if not isinstance(constraints, tuple | list) or len(constraints) != 2:
        raise ValueError(f"prevalence_constraints must be a pair (A, b) for A·π ≤ b, got {constraints!r}.")
    matrix, limit = (as_float(each, "prevalence_constraints") for each in constraints)
    matrix, limit = np.atleast_2d(matrix), np.atleast_1d(limit)
    if matrix.shape != (len(limit), n_classes) or limit.ndim != 1:
        raise ValueError(
            "prevalence_constraints must have a row of A for each limit in b, and a column for each of "
            f"{n_classes} classes, got shapes {matrix.shape} and {limit.shape}."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(limit).all()):
        raise ValueError("prevalence_constraints must be finite; leave out what does not limit anything.")
    empty = ~matrix.any(axis=1)
    if empty.any():
        raise ValueError(f"row {int(empty.argmax())} of A in prevalence_constraints is 0 throughout; leave it out.")
    texts = [
        f"row {k} of prevalence_constraints ({np.array2string(row, separator=', ', threshold=8)} · π ≤ {most:g})"
        for k, (row, most) in enumerate(zip(matrix, limit, strict=True))
    ]
    return matrix, limit, texts


def _checked_range(key: tuple[Any, ...], pair: Any, n_classes: int) -> tuple[float, float]:
    """Of the sum of the shares of several classes."""
    for label in key:
        _require_class(label, n_classes)
    if not key or len(set(key)) < len(key):
        raise ValueError(f"prevalence_bounds must name several classes, each once, for the sum of shares, got {key}.")
    if np.shape(pair) != (2,):
        raise ValueError(f"prevalence_bounds must give (low, high) for classes {key}, got {pair!r}.")
    low, high = as_float(pair, "prevalence_bounds")
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"prevalence_bounds must have 0 ≤ low ≤ high ≤ 1, got {pair!r} for classes {key}.")
    return float(low), float(high)


def _require_class(label: object, n_classes: int) -> None:
    if label not in range(n_classes):
        raise ValueError(
            f"prevalence_bounds names class {label!r}, but the classes are 0 … {n_classes - 1}; use these."
        )


def checked_bounds(bounds: Any, n_classes: int) -> Array:
    """The lowest and highest proportion of every class, of shape (n_classes, 2).

    A pair is meant for class 1 out of two, a mapping names classes, an array has a row for each.
    """
    if np.ndim(bounds) == 1 and n_classes == 2:
        bounds = {1: bounds}
    if isinstance(bounds, Mapping):
        result = np.tile([0.0, 1.0], (n_classes, 1))
        for label, pair in bounds.items():
            _require_class(label, n_classes)
            if np.shape(pair) != (2,):
                raise ValueError(f"prevalence_bounds must give (low, high) for a class, got {pair!r}.")
            result[int(label)] = as_float(pair, "prevalence_bounds")  # 1.0 and True are names of class 1, too
    else:
        result = as_float(bounds, "prevalence_bounds")
    if result.shape != (n_classes, 2):
        raise ValueError(
            "prevalence_bounds must be (low, high) for class 1 out of two, a mapping from classes to pairs, or of "
            f"shape ({n_classes}, 2), got shape {result.shape}."
        )
    low, high = result.T
    if not np.all((low >= 0.0) & (low <= high) & (high <= 1.0)):
        raise ValueError(f"prevalence_bounds must have 0 ≤ low ≤ high ≤ 1 for every class, got {result.tolist()}.")
    if low.sum() > 1.0 + SUM_TOLERANCE or high.sum() < 1.0 - SUM_TOLERANCE:
        raise ValueError(
            f"prevalence_bounds contradict each other: proportions add up to 1, but the lowest add up to {low.sum():g} "
            f"and the highest to {high.sum():g}."
        )
    return result


def checked_row_prevalence(rows: ArrayLike, n_rows: int) -> Array:
    """ν(y|x) of every row, of shape (n_rows, n_classes); a column alone is that of class 1 out of two."""
    values = as_float(rows, "row_prevalence")
    if values.ndim == 1:
        values = np.column_stack([1.0 - values, values])
    if values.ndim != 2 or len(values) != n_rows or values.shape[1] < 2:
        raise ValueError(f"row_prevalence must have shape ({n_rows},) or ({n_rows}, K), got {np.shape(rows)}.")
    bad = ~((values > 0.0) & (values < 1.0)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"row_prevalence must lie strictly between 0 and 1, got {values[bad][0].tolist()} in row {bad.argmax()}; "
            "give a class that does not occur there a small share."
        )
    total = values.sum(axis=1)
    wrong = np.abs(total - 1.0) > SUM_TOLERANCE
    if wrong.any():
        raise ValueError(
            f"row_prevalence must add up to 1 in every row, got {total[wrong][0]:.9g} in row {wrong.argmax()}."
        )
    return np.asarray(values / total[:, None])


def nearest_within(bounds: Array, prevalence: Array) -> Array:
    """argmin RE(p ‖ prevalence) over proportions p within bounds: p_y = c · prevalence_y, cut off at its bounds.

    The sum grows with c and is linear between the values at which a class reaches a bound.

    >>> nearest_within(np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 0.05]]), np.array([0.9, 0.06, 0.04]))
    array([0.86, 0.1 , 0.04])
    """
    low, high = bounds.T

    def at(c: Array) -> Array:
        return np.clip(np.outer(c, prevalence), low, high)

    corners = np.unique(np.append(bounds.T / prevalence, 0.0))
    c = np.interp(1.0, at(corners).sum(axis=1), corners)
    p = at(np.array([c]))[0]
    return np.asarray(p / p.sum())


def _least_missed(matrix: Array, limit: Array) -> tuple[float, Array]:
    """The least t with matrix · π ≤ limit + t for some π; and multipliers: rows whose own is not 0 set it."""
    n_rows, n_classes = matrix.shape
    found = optimize.linprog(
        np.append(np.zeros(n_classes), 1.0),
        A_ub=np.column_stack([matrix, -np.ones(n_rows)]),
        b_ub=limit,
        A_eq=np.append(np.ones(n_classes), 0.0)[None],
        b_eq=[1.0],
    )
    return max(float(found.x[-1]), 0.0), np.asarray(found.ineqlin.marginals)


def _can_be_positive(matrix: Array, limit: Array) -> NDArray[np.intp]:
    """The classes whose share is not 0 in the whole set."""
    n_classes = matrix.shape[1]
    largest = [
        -optimize.linprog(-one, A_ub=matrix, b_ub=limit + 1e-12, A_eq=np.ones((1, n_classes)), b_eq=[1.0]).fun
        for one in np.eye(n_classes)
    ]
    return np.flatnonzero(np.array(largest) > 1e-9)


def _projected(prevalence: Array, matrix: Array, limit: Array) -> tuple[Array, float]:
    """The closest proportions, π ∝ prevalence · exp(-matrixᵀμ), by Newton's method for the multipliers μ ≥ 0.

    These minimise ln Σ prevalence · exp(-matrixᵀμ) + limit·μ. With slack = limit - matrix · π, the gradient, the gap is
    μ·slack. LinAlgErrors only mean that a step needs more damping.
    """
    log_prevalence = np.log(prevalence)

    def at(multipliers: Array) -> tuple[float, Array]:
        score = log_prevalence - multipliers @ matrix
        return float(sc.logsumexp(score) + limit @ multipliers), np.asarray(sc.softmax(score))

    mu = np.zeros(len(limit))
    value, p = at(mu)
    for _ in range(_MOST_STEPS):
        slack = limit - matrix @ p
        gap, missed = abs(float(mu @ slack)), float(np.maximum(-slack, 0.0).max())
        if max(gap, missed) <= _PRECISE:
            break
        centred = matrix - (matrix @ p)[:, None]
        hessian = (centred * p) @ centred.T
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-12))
        hessian = hessian * scale * scale[:, None]
        found = None
        for damping in _DAMPING:
            try:
                aim = scale * nonnegative_minimum(hessian + damping * np.eye(len(mu)), scale * slack, mu / scale)
            except linalg.LinAlgError:
                continue
            tries = [(mu + length * (aim - mu), length * float(slack @ (aim - mu))) for length in _LENGTHS]
            found = next((new for new, slope in tries if at(new)[0] < value + 1e-4 * slope), None)
            if found is not None:
                break
        if found is None:
            break  # what is left is rounding
        mu = found
        value, p = at(mu)
    slack = limit - matrix @ p
    gap = abs(float(mu @ slack))
    if max(gap, float(np.maximum(-slack, 0.0).max())) > _GOOD_ENOUGH:
        warnings.warn(
            f"the closest class proportions are in doubt: the duality gap is {gap:.1e}, and constraints are missed by "
            f"{np.maximum(-slack, 0.0).max():.1e}; leave out constraints that say nearly the same.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return p, gap
