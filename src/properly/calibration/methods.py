"""The calibration methods by name."""

from __future__ import annotations

from sklearn.base import clone

from properly.calibration import bennett
from properly.calibration.affine import DirichletCalibration, MatrixScaling, StructuredMatrixScaling, VectorScaling
from properly.calibration.auto import AutoCalibration
from properly.calibration.base import Calibrator
from properly.calibration.histogram import HistogramBinning
from properly.calibration.isotonic import IsotonicCalibration
from properly.calibration.log_odds import BetaCalibration, PiecewiseLogOddsCalibration, PlattScaling, QuadraticScaling
from properly.calibration.spline import SplineCalibration
from properly.calibration.temperature import EnsembleTemperatureScaling, TemperatureScaling
from properly.calibration.venn_abers import VennAbersCalibration
from properly.inputs.options import choose

METHODS: dict[str, type[Calibrator]] = {
    "auto": AutoCalibration,
    "platt": PlattScaling,
    "beta": BetaCalibration,
    "quadratic": QuadraticScaling,
    "isotonic": IsotonicCalibration,
    "venn_abers": VennAbersCalibration,
    "spline": SplineCalibration,
    "histogram": HistogramBinning,
    "gaussian": bennett.GaussianCalibration,
    "asymmetric_gaussian": bennett.AsymmetricGaussianCalibration,
    "laplace": bennett.LaplaceCalibration,
    "asymmetric_laplace": bennett.AsymmetricLaplaceCalibration,
    "hybrid": bennett.HybridCalibration,
    "piecewise": PiecewiseLogOddsCalibration,
    "temperature": TemperatureScaling,
    "ensemble_temperature": EnsembleTemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "structured_matrix": StructuredMatrixScaling,
    "dirichlet": DirichletCalibration,
}


def calibrator_of(method: str | Calibrator) -> Calibrator:
    """A new, unfitted calibrator, from its name or from an example.

    >>> calibrator_of("isotonic")
    IsotonicCalibration()
    >>> calibrator_of(HistogramBinning(20, input="probability"))
    HistogramBinning(input='probability', n_bins=20)
    """
    return clone(method) if isinstance(method, Calibrator) else choose(method, METHODS, "method")()
