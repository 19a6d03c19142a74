"""Linear models."""

from properly.linear.classifier import ProperLinearClassifier
from properly.linear.gev import GEVCanonicalRegression
from properly.linear.inference import Inference, inference
from properly.linear.rare_events import RareEventLogisticRegression

__all__ = [
    "GEVCanonicalRegression",
    "Inference",
    "ProperLinearClassifier",
    "RareEventLogisticRegression",
    "inference",
]
