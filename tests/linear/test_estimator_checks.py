"""scikit-learn's own checks, over the default and over every kind of loss, link and penalty."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.linear import GEVLogRegression, ProperLinearClassifier
from properly.losses import BetaLoss, GEVLoss

VARIANTS = [
    ProperLinearClassifier(),
    ProperLinearClassifier("squared"),
    ProperLinearClassifier("squared", "logit"),
    ProperLinearClassifier(GEVLoss(0.3)),
    ProperLinearClassifier(GEVLoss(-0.5)),
    ProperLinearClassifier(link="cloglog"),
    ProperLinearClassifier(link="probit"),
    ProperLinearClassifier(l1_ratio=0.5),
    ProperLinearClassifier(BetaLoss.tailored(0.3, 10), "logit"),
    GEVLogRegression(),
    GEVLogRegression(-0.5),
    GEVLogRegression(0.3),
]


# scikit-learn skips checks that need array-API support or other optional set-ups on its own.
@pytest.mark.filterwarnings("ignore:the classes look separable:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
