"""Class proportions: correct probabilities for them, and estimate them."""

from properly.prevalence.class_robust import ClassRobustLogisticRegression
from properly.prevalence.corrected import PriorCorrectedClassifier
from properly.prevalence.entropy_weighted import EntropyWeightedMaxent
from properly.prevalence.estimate import PriorEstimate, estimate_prior
from properly.prevalence.explain import Jackknife, ResponseCurve, jackknife, response_curve
from properly.prevalence.features import MaxentFeatures
from properly.prevalence.maxent import Maxent
from properly.prevalence.prior import adjust_prior, prior_after_sampling, prior_after_weighting
from properly.prevalence.reweight import reweight
from properly.prevalence.species import fit_species

__all__ = [
    "ClassRobustLogisticRegression",
    "EntropyWeightedMaxent",
    "Jackknife",
    "Maxent",
    "MaxentFeatures",
    "PriorCorrectedClassifier",
    "PriorEstimate",
    "ResponseCurve",
    "adjust_prior",
    "estimate_prior",
    "fit_species",
    "jackknife",
    "prior_after_sampling",
    "prior_after_weighting",
    "response_curve",
    "reweight",
]
