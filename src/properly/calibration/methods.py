"""The calibration methods by name."""

from __future__ import annotations

from sklearn.base import clone

from properly.calibration.asymmetric_gaussian import AsymmetricGaussianCalibration
from properly.calibration.asymmetric_laplace import AsymmetricLaplaceCalibration
from properly.calibration.auto import AutoCalibration
from properly.calibration.base import Calibrator
from properly.calibration.beta import BetaCalibration
from properly.calibration.dirichlet import DirichletCalibration
from properly.calibration.ensemble_temperature import EnsembleTemperatureScaling
from properly.calibration.gaussian import GaussianCalibration
from properly.calibration.histogram import HistogramBinning
from properly.calibration.hybrid import HybridCalibration
from properly.calibration.isotonic import IsotonicCalibration
from properly.calibration.laplace import LaplaceCalibration
from properly.calibration.matrix import MatrixScaling
from properly.calibration.piecewise import PiecewiseLogOddsCalibration
from properly.calibration.platt import PlattScaling
from properly.calibration.quadratic import QuadraticScaling
from properly.calibration.spline import SplineCalibration
from properly.calibration.structured_matrix import StructuredMatrixScaling
from properly.calibration.temperature import TemperatureScaling
from properly.calibration.vector import VectorScaling
from properly.calibration.venn_abers import VennAbersCalibration
from properly.options import choose

METHODS: dict[str, type[Calibrator]] = {
    "auto": AutoCalibration,
    "platt": PlattScaling,
    "beta": BetaCalibration,
    "quadratic": QuadraticScaling,
    "isotonic": IsotonicCalibration,
    "venn_abers": VennAbersCalibration,
    "spline": SplineCalibration,
    "histogram": HistogramBinning,
    "gaussian": GaussianCalibration,
    "asymmetric_gaussian": AsymmetricGaussianCalibration,
    "laplace": LaplaceCalibration,
    "asymmetric_laplace": AsymmetricLaplaceCalibration,
    "hybrid": HybridCalibration,
    "piecewise": PiecewiseLogOddsCalibration,
    "temperature": TemperatureScaling,
    "ensemble_temperature": EnsembleTemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "structured_matrix": StructuredMatrixScaling,
    "dirichlet": DirichletCalibration,
}


def calibrator_of(method: str | Calibrator) -> Calibrator:
    """A new, unfitted calibrator for log-odds, from its name or from an example.

    >>> calibrator_of("isotonic")
    IsotonicCalibration()
    >>> calibrator_of(HistogramBinning(20, input="probability"))
    HistogramBinning(n_bins=20)
    """
    calibrator = clone(method) if isinstance(method, Calibrator) else choose(method, METHODS, "method")()
    return calibrator.set_params(input="score")
