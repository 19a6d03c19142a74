"""GEV-canonical regression, extended and clipped."""

import numpy as np
import pytest

from properly.datasets import make_rare_events
from properly.linear import GEVCanonicalRegression, ProperLinearClassifier
from properly.links import GEV
from properly.losses import Composite, GEVLoss

X, Y, P = make_rare_events(3000, 4, rate=0.05, link=GEV(0.3), random_state=0)
XIS = [-1.2, -0.5, -1e-9, 0.0, 0.3, 1.0, 2.0]


@pytest.mark.parametrize("xi", XIS)
def test_it_is_the_canonical_fit(xi):
    ours, reference = GEVCanonicalRegression(xi).fit(X, Y), ProperLinearClassifier(GEVLoss(xi)).fit(X, Y)
    np.testing.assert_array_equal(ours.coef_, reference.coef_)


@pytest.mark.parametrize("xi", XIS)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("outside", ["extend", "clip"])
def test_the_gradient_vanishes(xi, scale, outside):
    model = GEVCanonicalRegression(xi, C=10.0, outside=outside).fit(X * scale, Y)
    composite = Composite(GEVLoss(xi), extend=outside == "extend")
    rows = composite.gradient(Y, X @ (scale * model.coef_[0]) + model.intercept_)
    gradient = np.append(scale * (X.T @ rows) + model.coef_[0] / 10.0, rows.sum())
    size = np.append(scale * np.abs(X).sum(axis=0), len(X))
    assert np.all(np.abs(gradient) <= 1e-6 * size)


def test_without_rows_outside_clipping_changes_nothing():
    extended = GEVCanonicalRegression(-0.2).fit(X, Y)
    clipped = GEVCanonicalRegression(-0.2, outside="clip").fit(X, Y)
    assert np.all(1 - 0.2 * (X @ extended.coef_[0] + extended.intercept_) > 0)
    np.testing.assert_allclose(clipped.coef_, extended.coef_, atol=1e-5)


def test_clipped_value_is_flat_outside():
    composite = Composite(GEVLoss(0.5), extend=False)
    for y in (0, 1):
        edge = composite.value(y, -2.0)
        np.testing.assert_allclose(composite.value(y, [-2.5, -10.0]), edge, atol=1e-14)
        np.testing.assert_array_equal(composite.gradient(y, [-2.5, -10.0]), 0.0)
    assert not composite.canonical


def test_the_edge_of_the_support_is_exact():
    model = GEVCanonicalRegression(0.5).fit(X, Y)
    far = -1e3 * np.sign(model.coef_)
    np.testing.assert_array_equal(model.predict_proba(far), [[1.0, 0.0]])


def test_unknown_option():
    with pytest.raises(ValueError, match="outside must be one of 'extend', 'clip', got 'trim'"):
        GEVCanonicalRegression(outside="trim").fit(X, Y)
    with pytest.raises(ValueError, match="xi must be finite, got nan"):
        GEVCanonicalRegression(np.nan).fit(X, Y)
