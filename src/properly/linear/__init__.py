"""Linear models."""

from properly.linear.classifier import ProperLinearClassifier

__all__ = ["ProperLinearClassifier"]
