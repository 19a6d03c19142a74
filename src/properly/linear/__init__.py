"""Linear models."""

from properly.linear.classifier import ProperLinearClassifier
from properly.linear.gev import GEVCanonicalRegression, GEVLogRegression
from properly.linear.gev_cv import GEVCanonicalRegressionCV
from properly.linear.inference import Inference, inference
from properly.linear.kernel import ProperKernelClassifier
from properly.linear.rare_events import RareEventLogisticRegression
from properly.linear.tailored import TailoredLinearClassifierCV

__all__ = [
    "GEVCanonicalRegression",
    "GEVCanonicalRegressionCV",
    "GEVLogRegression",
    "Inference",
    "ProperKernelClassifier",
    "ProperLinearClassifier",
    "RareEventLogisticRegression",
    "TailoredLinearClassifierCV",
    "inference",
]
