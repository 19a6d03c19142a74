"""Presence-only and unlabelled data: maximum entropy densities, entropy weighting and class-robust regression."""

from properly.maxent.class_robust import ClassRobustLogisticRegression
from properly.maxent.entropy_weighted import EntropyWeightedMaxent, reweight
from properly.maxent.explain import Jackknife, ResponseCurve, jackknife, response_curve
from properly.maxent.features import MaxentFeatures
from properly.maxent.maxent import Maxent
from properly.maxent.species import fit_species

__all__ = [
    "ClassRobustLogisticRegression",
    "EntropyWeightedMaxent",
    "Jackknife",
    "Maxent",
    "MaxentFeatures",
    "ResponseCurve",
    "fit_species",
    "jackknife",
    "response_curve",
    "reweight",
]
