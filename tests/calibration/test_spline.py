"""The smoothing spline for log-odds."""

import numpy as np
import pytest
from scipy import interpolate
from scipy import special as sc

from properly.calibration import PlattScaling, SplineCalibration
from properly.calibration.spline import _natural_cubes, _smooth_basis


def test_the_basis_is_made_of_natural_splines_with_orthonormal_bends():
    knots = np.array([-2.0, -1.0, 0.2, 0.9, 3.0])
    basis = _smooth_basis(knots)
    assert basis.shape == (3, 3)
    values = _natural_cubes(knots, knots) @ basis
    grid = np.linspace(-5.0, 6.0, 501)
    for column in range(3):
        # A natural spline is determined by its values at the knots; straight lines continue it.
        truth = interpolate.CubicSpline(knots, values[:, column], bc_type="natural")
        inside = (grid >= -2.0) & (grid <= 3.0)
        found = (_natural_cubes(grid, knots) @ basis)[:, column]
        assert found[inside] == pytest.approx(truth(grid[inside]), abs=1e-9)
        assert found[grid > 3.0] == pytest.approx(truth(3.0) + truth(3.0, 1) * (grid[grid > 3.0] - 3.0), abs=1e-8)
        for other in range(3):
            other_truth = interpolate.CubicSpline(knots, values[:, other], bc_type="natural")
            fine = np.linspace(-2.0, 3.0, 100_001)
            product = np.mean(truth(fine, 2) * other_truth(fine, 2)) * 5.0
            assert product == pytest.approx(float(column == other), abs=1e-3)


def test_the_spline_finds_a_curve_and_keeps_a_line():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000) * 2.0
    curve = 2.0 * np.tanh(scores) + 0.5
    asked = np.linspace(-4.0, 4.0, 81)
    model = SplineCalibration().fit(scores, rng.random(20_000) < sc.expit(curve))
    assert sc.logit(model.predict_proba(asked)[:, 1]) == pytest.approx(2.0 * np.tanh(asked) + 0.5, abs=0.3)
    y = rng.random(300) < sc.expit(scores[:300])
    spline = SplineCalibration().fit(scores[:300], y).predict_proba(asked)
    line = PlattScaling(noisy_labels=False).fit(scores[:300], y).predict_proba(asked)
    assert spline == pytest.approx(line, abs=0.15)


def test_the_spline_is_straight_outside_its_knots():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    each = SplineCalibration().fit(scores, rng.random(500) < sc.expit(scores**2 - 1.0)).maps_[0]
    for far in (np.linspace(10.0, 1000.0, 50), np.linspace(-1000.0, -10.0, 50)):
        assert np.diff(each.log_odds(far), 2) == pytest.approx(0.0, abs=1e-6)


def test_two_different_scores_leave_a_line():
    model = SplineCalibration().fit([0.0, 0.0, 1.0, 1.0, 0.0, 1.0], [0, 1, 1, 0, 0, 1])
    assert model.predict_proba([0.0, 1.0])[:, 1] == pytest.approx([1 / 3, 2 / 3])
