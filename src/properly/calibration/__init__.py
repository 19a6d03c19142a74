"""Calibration: from the scores of a classifier to calibrated probabilities."""

from properly.calibration.affine import DirichletCalibration, MatrixScaling, StructuredMatrixScaling, VectorScaling
from properly.calibration.auto import AutoCalibration
from properly.calibration.base import BinaryCalibrator, Calibrator
from properly.calibration.bennett import (
    AsymmetricGaussianCalibration,
    AsymmetricLaplaceCalibration,
    GaussianCalibration,
    HybridCalibration,
    LaplaceCalibration,
)
from properly.calibration.classifier import CalibratedClassifier
from properly.calibration.densities import TwoPieceDensity
from properly.calibration.groupwise import GroupwiseCalibration
from properly.calibration.histogram import HistogramBinning
from properly.calibration.isotonic import IsotonicCalibration
from properly.calibration.log_odds import BetaCalibration, PiecewiseLogOddsCalibration, PlattScaling, QuadraticScaling
from properly.calibration.multiclass import MulticlassCalibration
from properly.calibration.spline import SplineCalibration
from properly.calibration.temperature import EnsembleTemperatureScaling, TemperatureScaling
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
