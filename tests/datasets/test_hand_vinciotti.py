import numpy as np
import pytest

from properly.datasets import make_hand_vinciotti
from properly.linear import ProperLinearClassifier
from properly.losses import BetaLoss


def test_probabilities_are_those_of_the_labels():
    X, y, p = make_hand_vinciotti(200_000, random_state=0)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    np.testing.assert_allclose(p, X[:, 1] / X.sum(axis=1))
    # P(p >= c) is the part of the unit square above the line x2 = x1 c/(1-c): 1 - slope/2 for c <= 1/2
    for c in (0.1, 0.3, 0.5):
        assert (p >= c).mean() == pytest.approx(1.0 - 0.5 * c / (1.0 - c), abs=5e-3)
    for low in (0.0, 0.25, 0.5, 0.75):
        inside = (p >= low) & (p < low + 0.25)
        assert y[inside].mean() == pytest.approx(p[inside].mean(), abs=8e-3)


def test_the_draw_is_reproducible_and_checked():
    draws = [make_hand_vinciotti(50, random_state=3) for _ in range(2)]
    for one, other in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1, got 0"):
        make_hand_vinciotti(0)


def test_a_linear_model_tailored_to_a_threshold_decides_better_there():
    at = (np.arange(200) + 0.5) / 200
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(at, at)])
    eta, c = grid[:, 1] / grid.sum(axis=1), 0.3
    tailored = ProperLinearClassifier(BetaLoss.tailored(c, 30), "logit", C=10.0)
    for repetition in range(5):
        X, y, _ = make_hand_vinciotti(1000, random_state=repetition)
        wrong = [
            (model.fit(X, y).predict_proba(grid)[:, 1] >= c) != (eta >= c)
            for model in (tailored, ProperLinearClassifier(C=10.0))
        ]
        regret = [np.mean(np.abs(eta - c) * rows) for rows in wrong]
        assert regret[0] < 0.5 * regret[1]
