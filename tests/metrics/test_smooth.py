import numpy as np
import pytest
from scipy import integrate, optimize, stats

from properly.metrics import smooth_calibration_error


def by_definition(y, p):
    """The fixed point, with the kernel as a sum of many reflections, by the trapezium rule."""
    t = np.linspace(0.0, 1.0, 2001)[:, None]

    def excess(bandwidth):
        kernel = sum(
            stats.norm.pdf(t, 2 * k + p, bandwidth) + stats.norm.pdf(t, 2 * k - p, bandwidth) for k in range(-2, 3)
        )
        return integrate.trapezoid(np.abs((kernel * (p - y)).mean(axis=1)), t[:, 0]) - bandwidth

    return optimize.brentq(excess, 1e-3, 1.0, xtol=1e-6)


@pytest.mark.parametrize(
    "true_p",
    [lambda p: p, lambda p: p**2, lambda p: 0.3 + 0.0 * p, lambda p: 1.0 - p],
    ids=["calibrated", "squared", "constant", "backwards"],
)
def test_it_is_the_fixed_point(true_p):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = rng.random(60) < true_p(p)
    assert smooth_calibration_error(y, p) == pytest.approx(by_definition(y, p), abs=2e-5)


@pytest.mark.parametrize("n_rows", [500, 20_000])
@pytest.mark.parametrize("largest", [0.1, 1.0])
@pytest.mark.parametrize("power", [1.0, 1.3])
def test_relplot_agrees(n_rows, largest, power):
    # up to errors of about 0.2: beyond, their kernel is cut off where it still matters
    relplot = pytest.importorskip("relplot.metrics")
    rng = np.random.default_rng(1)
    p = largest * rng.random(n_rows)
    y = rng.random(n_rows) < p**power
    assert smooth_calibration_error(y, p) == pytest.approx(relplot.smECE(p, y.astype(float)), abs=1e-3)


def test_special_cases():
    y = np.array([0, 1, 1, 0])
    assert smooth_calibration_error(y, y.astype(float)) == 0.0
    assert smooth_calibration_error([0, 0], [0.0, 0.0]) == 0.0
    assert smooth_calibration_error([1], [0.0]) == pytest.approx(1.0)
    assert smooth_calibration_error([0], [1e-6]) == pytest.approx(1e-6, abs=1e-7)
    # one sign of residual everywhere: smoothing takes nothing away
    p = np.array([0.1, 0.4, 0.8])
    assert smooth_calibration_error([0, 0, 0], p) == pytest.approx(p.mean(), abs=1e-6)


def test_residuals_side_by_side_cancel():
    # ¼ on one side and -¼ at a distance d: the error is d/(2 σ √(2π)) as long as σ is well above d
    error = smooth_calibration_error([0, 1], [0.5, 0.5 + 1e-7])
    assert error == pytest.approx(np.sqrt(0.5e-7 / np.sqrt(2 * np.pi)), rel=1e-2)
