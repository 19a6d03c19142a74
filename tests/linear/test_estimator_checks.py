"""scikit-learn's own checks, over the default and over every kind of loss, link and penalty."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from properly.linear import GEVCanonicalRegression, GEVLogRegression, ProperKernelClassifier, ProperLinearClassifier
from properly.losses import BetaLoss, GEVLoss

VARIANTS = [
    ProperLinearClassifier(),
    ProperLinearClassifier("squared"),
    ProperLinearClassifier("squared", "logit"),
    ProperLinearClassifier(GEVLoss(-0.5)),
    ProperLinearClassifier(link="probit"),
    ProperLinearClassifier(l1_ratio=0.5),
    ProperLinearClassifier(BetaLoss.tailored(0.3, 10), "logit"),
    GEVLogRegression(),
    GEVLogRegression(-0.5),
    ProperKernelClassifier(),
]
# Probabilities of these underflow to 0 on the data of one check, which compares their logarithms with -inf.
UNDERFLOWING = [
    ProperLinearClassifier(GEVLoss(0.3)),
    ProperLinearClassifier(link="cloglog"),
    GEVLogRegression(0.3),
    GEVCanonicalRegression(),
    GEVCanonicalRegression(0.3, outside="clip"),
]
EXPECTED = {"check_classifiers_train": "predict_log_proba is finite where the probability underflows to 0"}
separable = pytest.mark.filterwarnings("ignore:the classes look separable:sklearn.exceptions.ConvergenceWarning")

several_optima = pytest.mark.filterwarnings("ignore:the loss is not convex:sklearn.exceptions.ConvergenceWarning")


# scikit-learn skips checks that need array-API support or other optional set-ups on its own.
@separable
@several_optima
@parametrize_with_checks(
    [*VARIANTS, *UNDERFLOWING],
    expected_failed_checks=lambda model: EXPECTED if str(model) in map(str, UNDERFLOWING) else {},
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@separable
@pytest.mark.parametrize("model", UNDERFLOWING, ids=str)
def test_scikit_learn_accepts_all_but_finite_logarithms(model):
    def predict_log_proba(self, X):
        finite, p = type(model).predict_log_proba(self, X), self.predict_proba(X)
        assert np.all(finite[p == 0.0] < -700.0)
        return np.where(p == 0.0, -np.inf, finite)

    kind = type(type(model).__name__, (type(model),), {"predict_log_proba": predict_log_proba})
    kind.__init__ = type(model).__init__  # scikit-learn reads its signature
    check_classifiers_train(type(model).__name__, kind(**model.get_params()))
