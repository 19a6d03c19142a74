"""Class proportions: correct probabilities for them, and estimate them."""

from properly.prevalence.corrected import PriorCorrectedClassifier
from properly.prevalence.estimate import PriorEstimate, estimate_prior
from properly.prevalence.prior import adjust_prior, prior_after_sampling, prior_after_weighting

__all__ = [
    "PriorCorrectedClassifier",
    "PriorEstimate",
    "adjust_prior",
    "estimate_prior",
    "prior_after_sampling",
    "prior_after_weighting",
]
