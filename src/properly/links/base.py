"""What every link can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from properly.numeric.arrays import namespace
from properly.numeric.probabilities import Array, Probabilities, as_probabilities, as_scores, unwrap


class Link(ABC):
    """A strictly increasing map from probabilities to scores.

    A subclass defines the private methods below. They take float64 arrays of any library that were checked already, and
    run inside ``np.errstate`` of the caller. With F the inverse link, p = F(v) and q = 1 - p, the *hazards* are
    a = p'/p = d ln p/dv and b = p'/q = -d ln q/dv: with them, no loss has to multiply a number that overflows by one
    that underflows.
    """

    def link(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The score v of the probability p; give q = 1 - p as well where p is close to 1.

        Parameters
        ----------
        p : array
            Probabilities.
        q : array, optional
            1 - p, where that is known to more digits than p tells.
        """
        with np.errstate(all="ignore"):
            return unwrap(self._link(as_probabilities(p, q)))

    def inverse(self, v: ArrayLike) -> Array:
        """The probability p of the score v.

        Parameters
        ----------
        v : array
            Scores, any real numbers.
        """
        return self.inverse_pair(v)[0]

    def inverse_pair(self, v: ArrayLike) -> tuple[Array, Array]:
        """The pair (p, 1 - p), each accurate to its own last digits.

        Parameters
        ----------
        v : array
            Scores, any real numbers.
        """
        with np.errstate(all="ignore"):
            p, q = self._pair(as_scores(v))
        return unwrap(p), unwrap(q)

    def inverse_derivative(self, v: ArrayLike) -> Array:
        """dp/dv at the score v; never negative.

        Parameters
        ----------
        v : array
            Scores, any real numbers.
        """
        with np.errstate(all="ignore"):
            return unwrap(self._derivative(as_scores(v)))

    @property
    def _kinked(self) -> bool:
        """Whether dp/dv may jump, at an end of the support: a curvature may then change from one step to the next."""
        return False

    @abstractmethod
    def _link(self, at: Probabilities) -> Array: ...

    @abstractmethod
    def _pair(self, v: Array) -> tuple[Array, Array]:
        """(p, q)."""

    @abstractmethod
    def _logs(self, v: Array) -> tuple[Array, Array]:
        """(ln p, ln q), finite also where p or q underflows to 0."""

    @abstractmethod
    def _derivative(self, v: Array) -> Array:
        """p' = dp/dv."""

    @abstractmethod
    def _hazards(self, v: Array) -> tuple[Array, Array]:
        """(p'/p, p'/q)."""

    def _log_hazards(self, v: Array) -> tuple[Array, Array]:
        """The logarithms of the hazards; a link whose hazards underflow overrides it."""
        a, b = self._hazards(v)
        xp = namespace(a)
        return xp.log(a), xp.log(b)

    @abstractmethod
    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        """The derivatives in v of the two hazards."""

    @abstractmethod
    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        """(∫ p dv from -∞ to v, ∫ q dv from v to ∞): the canonical loss at y = 0 and at y = 1."""

    def _probabilities(self, v: Array) -> Probabilities:
        return Probabilities(*self._pair(v), *self._logs(v))

    def _coordinate(self, at: Probabilities) -> Any:
        """What the hazards, their slopes and the antiderivatives take for given probabilities: the score.

        A link whose score has too few digits near the end of its support takes the probabilities themselves.
        """
        return self._link(at)

    def _log_hazards_at(self, at: Probabilities) -> tuple[Array, Array]:
        """The logarithms of the hazards at given probabilities."""
        return self._log_hazards(self._coordinate(at))

    def _weight_at(self, at: Probabilities) -> Array:
        """1/p' = dv/dp, the weight function of the canonical loss."""
        xp = namespace(at.p)
        a, b = self._hazards(self._coordinate(at))
        weight = xp.where(at.p <= at.q, xp.exp(-xp.log(a) - at.log_p), xp.exp(-xp.log(b) - at.log_q))
        return xp.where(xp.isnan(weight), np.inf, weight)  # p' vanishes at both ends
