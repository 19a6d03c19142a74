"""Calibration: from scores to probabilities that mean what they say."""

from properly.calibration.asymmetric_gaussian import AsymmetricGaussianCalibration
from properly.calibration.asymmetric_laplace import AsymmetricLaplaceCalibration
from properly.calibration.auto import AutoCalibration
from properly.calibration.base import BinaryCalibrator, Calibrator
from properly.calibration.beta import BetaCalibration
from properly.calibration.classifier import CalibratedClassifier
from properly.calibration.densities import TwoPieceDensity
from properly.calibration.dirichlet import DirichletCalibration
from properly.calibration.ensemble_temperature import EnsembleTemperatureScaling
from properly.calibration.gaussian import GaussianCalibration
from properly.calibration.groupwise import GroupwiseCalibration
from properly.calibration.histogram import HistogramBinning
from properly.calibration.hybrid import HybridCalibration
from properly.calibration.isotonic import IsotonicCalibration
from properly.calibration.laplace import LaplaceCalibration
from properly.calibration.matrix import MatrixScaling
from properly.calibration.multiclass import MulticlassCalibration
from properly.calibration.piecewise import PiecewiseLogOddsCalibration
from properly.calibration.platt import PlattScaling
from properly.calibration.quadratic import QuadraticScaling
from properly.calibration.spline import SplineCalibration
from properly.calibration.structured_matrix import StructuredMatrixScaling
from properly.calibration.temperature import TemperatureScaling
from properly.calibration.vector import VectorScaling
from properly.calibration.venn_abers import VennAbersCalibration

__all__ = [
    "AsymmetricGaussianCalibration",
    "AsymmetricLaplaceCalibration",
    "AutoCalibration",
    "BetaCalibration",
    "BinaryCalibrator",
    "CalibratedClassifier",
    "Calibrator",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "GaussianCalibration",
    "GroupwiseCalibration",
    "HistogramBinning",
    "HybridCalibration",
    "IsotonicCalibration",
    "LaplaceCalibration",
    "MatrixScaling",
    "MulticlassCalibration",
    "PiecewiseLogOddsCalibration",
    "PlattScaling",
    "QuadraticScaling",
    "SplineCalibration",
    "StructuredMatrixScaling",
    "TemperatureScaling",
    "TwoPieceDensity",
    "VectorScaling",
    "VennAbersCalibration",
]
