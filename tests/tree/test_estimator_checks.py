"""scikit-learn's own checks, over kinds of losses and options."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.losses import BetaLoss, CostWeightedLoss
from properly.tree import ProperTreeClassifier

VARIANTS = [
    ProperTreeClassifier(),
    ProperTreeClassifier("squared", min_samples_leaf=1, ccp_alpha=0.0, shrinkage=0.0),
    ProperTreeClassifier(CostWeightedLoss(0.4), min_samples_leaf=1),
    ProperTreeClassifier(BetaLoss.tailored(0.3, 20), max_depth=3, min_samples_leaf=2, ccp_alpha=1e-3),
    ProperTreeClassifier("boosting", n_bins=4, min_samples_leaf=1),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
