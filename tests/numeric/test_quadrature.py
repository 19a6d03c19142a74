"""Panels that are halved: integrals with jumps, kinks and peaks, and doubt where there is no integral."""

import numpy as np
import pytest
from scipy import special

from properly.numeric.quadrature import cumulated, halved_panels

EDGES = np.linspace(0.0, 1.0, 5)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.exp, np.e - 1.0),
        (lambda z: z > 1.0 / 3.0, 2.0 / 3.0),
        (lambda z: z > 0.25 + 1e-4, 0.75 - 1e-4),  # between an edge and the first node of every open rule
        (lambda z: np.abs(z - 0.3), 0.29),
        (lambda z: np.exp(-(((z - 0.5) / 1e-3) ** 2)), 1e-3 * np.sqrt(np.pi) * special.erf(500.0)),
        (lambda z: np.sqrt(z), 2.0 / 3.0),
    ],
)
def test_integrals(function, expected):
    found = halved_panels(lambda z: np.stack([function(z) * 1.0, function(1.0 - z) * 1.0]), EDGES, (1, -1))
    np.testing.assert_allclose(found.integrals.sum(axis=1), expected, rtol=1e-12)
    assert found.doubt < 1e-10
    assert np.all(np.diff(found.edges) > 0.0)
    assert len(found.edges) == found.integrals.shape[1] + 1


def test_small_parts_have_their_own_digits():
    found = halved_panels(lambda z: np.stack([np.exp(200.0 * z) * (z > 0.1)]), EDGES, (1,))
    up_to = np.interp(0.25, found.edges, cumulated(found.integrals[0], 1))  # an edge
    np.testing.assert_allclose(up_to, (np.exp(50.0) - np.exp(20.0)) / 200.0, rtol=1e-11)


def test_what_cannot_be_followed_is_in_doubt():
    found = halved_panels(lambda z: np.stack([1.0 + np.sin(1e9 * z**2) ** 2]), EDGES, (1,))
    assert found.doubt > 1e-6
