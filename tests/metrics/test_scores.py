import numpy as np
import pytest
from sklearn import metrics as peer

from properly.losses import BetaLoss, CostWeightedLoss, GEVLoss, LogLoss, SquaredLoss
from properly.metrics import (
    brier_score,
    log_loss,
    probability_rmse,
    proper_score,
    row_losses,
    score_decomposition,
    skill_score,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 3, 70_000)  # more than one block of rows
    return rng.random(70_000) < p, p, rng.random(70_000)


@pytest.fixture
def data3():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 2.0, 3.0], 500)
    return (p.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1), p, rng.random(500)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees(data, data3, weighted):
    for y, p, weight in (data, data3):
        options = {"sample_weight": weight if weighted else None}
        assert log_loss(y, p, **options) == pytest.approx(peer.log_loss(y, p, **options), abs=1e-9)
        assert brier_score(y, p, **options) == pytest.approx(peer.brier_score_loss(y, p, **options), abs=1e-9)
    y, p, weight = data
    options = {"sample_weight": weight if weighted else None}
    assert skill_score(y, p, **options) == pytest.approx(peer.d2_log_loss_score(y, p, **options), abs=1e-9)
    assert skill_score(y, p, "squared", **options) == pytest.approx(peer.d2_brier_score(y, p, **options), abs=1e-9)
    y, p, weight = data3
    options = {"sample_weight": weight if weighted else None}
    assert skill_score(y, p, **options) == pytest.approx(peer.d2_log_loss_score(y, p, **options), abs=1e-9)
    assert skill_score(y, p, "squared", **options) == pytest.approx(peer.d2_brier_score(y, p, **options), abs=1e-9)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss(), BetaLoss(0.5, 2), GEVLoss(-0.4), CostWeightedLoss(0.2)])
def test_the_score_is_the_mean_loss(data, loss):
    y, p, weight = data
    losses = np.where(y, loss.loss1(p), loss.loss0(p))
    np.testing.assert_allclose(row_losses(y, p, loss), losses, rtol=1e-14)
    assert proper_score(y, p, loss) == pytest.approx(losses.mean(), rel=1e-12)
    assert proper_score(y, p, loss, sample_weight=weight) == pytest.approx(
        np.average(losses, weights=weight), rel=1e-12
    )


def test_losses_of_many_classes(data3):
    y, p, _ = data3
    own = y[:, None] == np.arange(3)
    np.testing.assert_allclose(row_losses(y, p), -np.log(p[own]))
    np.testing.assert_allclose(row_losses(y, p, "squared"), 0.5 * ((p - own) ** 2).sum(axis=1), rtol=1e-12)
    loss = GEVLoss(0.2)
    np.testing.assert_allclose(
        row_losses(y, p, loss), np.where(own, loss.loss1(p), loss.loss0(p)).sum(axis=1), rtol=1e-12
    )


def test_both_tails_are_kept():
    # 1 - 1e-20 is 1 in float64, but the first column knows better
    assert log_loss([0], [[1e-20, 1.0]], classes=[0, 1]) == pytest.approx(20 * np.log(10))
    assert log_loss([1], [1e-320], classes=[0, 1]) == pytest.approx(-np.log(1e-320))


def test_nothing_is_clipped():
    assert log_loss([0, 1], [0.5, 0.0]) == np.inf
    assert log_loss([0, 1, 2], np.eye(3)[[0, 0, 2]]) == np.inf
    assert log_loss([0, 1], [0.0, 1.0]) == 0.0
    assert brier_score([0, 1], [1.0, 0.0]) == 1.0
    # a row of weight 0 is no row
    assert log_loss([0, 1], [0.5, 0.0], sample_weight=[1, 0]) == pytest.approx(np.log(2))
    # for ξ >= 1 a positive may have the loss -∞, a negative +∞
    assert proper_score([0, 1], [1.0, 1.0], GEVLoss(1.5)) == np.inf


def test_the_truth_is_best_on_average():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    y = rng.random(50_000) < p
    for loss in ("log", "squared", "boosting", "gev"):
        assert proper_score(y, p, loss) < proper_score(y, 0.9 * p + 0.05, loss)


def test_skill():
    y, p = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9])
    constant = np.full(4, 0.5)
    assert skill_score(y, constant) == 0.0
    assert skill_score(y, y.astype(float)) == 1.0
    assert skill_score(y, p, reference=p) == 0.0
    assert skill_score(y, p, reference=constant) == skill_score(y, p, reference=0.5) == pytest.approx(skill_score(y, p))
    assert skill_score(y, 1.0 - y) == -np.inf
    assert skill_score(y, p, reference=1.0 - y) == 1.0
    assert skill_score(y, 1.0 - y, reference=1.0 - y) == 0.0
    assert skill_score([0, 0], [0.1, 0.1]) == -np.inf  # nothing is better than the frequency 0
    assert skill_score([0, 0], [0.0, 0.0]) == 0.0
    with pytest.raises(ValueError, match=r"reference must lie in \[0, 1\]"):
        skill_score(y, p, reference=1.5)
    labels, p = [0, 1, 2, 1], np.full((4, 3), 1 / 3)
    assert skill_score(labels, p, reference=[0.25, 0.5, 0.25]) == pytest.approx(skill_score(labels, p))


def test_distance_to_true_probabilities():
    truth, p = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.5, 0.7])
    assert probability_rmse(truth, p) == pytest.approx(np.sqrt(0.05 / 3))
    assert probability_rmse(truth, p, sample_weight=[2, 1, 0]) == pytest.approx(np.sqrt(0.02 / 3))
    both = [np.stack([1 - x, x], axis=1) for x in (truth, p)]
    assert probability_rmse(*both) == pytest.approx(probability_rmse(truth, p))
    three = [np.column_stack([1 - x, x / 2, x / 2]) for x in (truth, p)]
    assert probability_rmse(*three) == pytest.approx(np.sqrt(1.5 * 0.05 / 9))
    with pytest.raises(ValueError, match="same shape"):
        probability_rmse(truth, p[:2])
    with pytest.raises(ValueError, match=r"true_p must lie in \[0, 1\]"):
        probability_rmse([1.1], [0.5])


def test_an_unknown_loss():
    with pytest.raises(ValueError, match="loss must be one of 'log', 'squared'"):
        proper_score([0, 1], [0.5, 0.5], "brier")


@pytest.mark.parametrize("classes", [2, 3])
def test_shares_of_one_class_do_not_exceed_1(classes):
    rng = np.random.default_rng(0)
    for n_rows in range(3, 60):
        y, weight = np.zeros(n_rows, dtype=int), rng.random(n_rows)
        p = rng.dirichlet(np.ones(classes), n_rows)
        known = np.arange(classes)
        assert skill_score(y, p, sample_weight=weight, classes=known) == -np.inf
        parts = score_decomposition(y, p, sample_weight=weight, classes=known)
        assert parts.uncertainty == parts.discrimination == 0.0


def test_two_columns_that_do_not_quite_add_up_to_1_count_as_they_are():
    assert log_loss([1], [[0.0005, 0.9990]], classes=[0, 1]) == pytest.approx(-np.log(0.9990), rel=1e-12)
    assert log_loss([0], [[0.6005, 0.4]], classes=[0, 1]) == pytest.approx(-np.log(0.6005), rel=1e-12)
    assert log_loss([1], [[1e-20, 1.0]], classes=[0, 1]) == pytest.approx(1e-20, rel=1e-12)


def test_a_reference_of_as_many_numbers_as_rows():
    y, p = [0, 1, 2], np.eye(3)[[0, 2, 1]] * 0.7 + 0.1
    expected = 1 - log_loss(y, p) / log_loss(y, np.tile([0.2, 0.3, 0.5], (3, 1)))
    assert skill_score(y, p, reference=[0.2, 0.3, 0.5]) == pytest.approx(expected)
    p, reference = [0.2, 0.9], [0.3, 0.6]  # one column: row by row
    assert skill_score([0, 1], p, reference=reference) == pytest.approx(
        1 - log_loss([0, 1], p) / log_loss([0, 1], reference)
    )
    two = [[0.8, 0.2], [0.1, 0.9]]  # two columns: for all rows
    every = log_loss([0, 1], [[0.3, 0.7], [0.3, 0.7]])
    assert skill_score([0, 1], two, reference=[0.3, 0.7]) == pytest.approx(1 - log_loss([0, 1], p) / every)


def test_a_skill_that_is_rounding_is_0():
    y = [0, 1, 1, 0, 1, 0, 0]
    for factor in (1.0, 1.0 + 2e-16, 1.0 - 2e-16):
        for reference in (None, 3.0 / 7.0):
            assert skill_score(y, np.full(7, 3.0 / 7.0 * factor), "squared", reference=reference) == 0.0
    assert skill_score(y, np.full(7, 3.0 / 7.0 + 1e-5), "squared") < 0.0
