"""Boosted class probabilities."""

from properly.boosting.adaboost import DiscreteAdaBoost, RealAdaBoost
from properly.boosting.classifier import ProperBoostingClassifier
from properly.boosting.stagewise import StagedScores

__all__ = ["DiscreteAdaBoost", "ProperBoostingClassifier", "RealAdaBoost", "StagedScores"]
