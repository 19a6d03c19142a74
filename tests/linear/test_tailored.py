"""Tailored linear models: regret against the truth, the choice against brute force, and scikit-learn's habits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.linear import ProperLinearClassifier, TailoredLinearClassifierCV
from properly.linear.tailored import _best_or_first, _standard_error
from properly.links import Logit
from properly.losses import BetaLoss, Composite
from properly.solvers import Status

AT = 0.3


def hand_vinciotti(n, seed):
    """η = x₂/(x₁+x₂) on the unit square: every contour is a line, but their slopes differ."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (rng.random(n) < X[:, 1] / X.sum(axis=1)).astype(int)


MIDDLES = (np.arange(400) + 0.5) / 400
GRID = np.stack(np.meshgrid(MIDDLES, MIDDLES), axis=-1).reshape(-1, 2)
GRID_ETA = GRID[:, 1] / GRID.sum(axis=1)


def regret(model, X=GRID, eta=GRID_ETA, at=AT):
    """The expected cost-weighted error beyond that of the best decisions, per thousand."""
    alarm = model.predict_proba(X)[:, 1] >= at
    cost = np.where(alarm, (1 - eta) * at, eta * (1 - at))
    return 1e3 * np.mean(cost - np.minimum((1 - eta) * at, eta * (1 - at)))


X, Y = hand_vinciotti(600, 0)
WEIGHT = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)


class TestRegret:
    @pytest.mark.parametrize("n", [1000, 5000])
    def test_tailoring_beats_logistic_regression_in_every_repetition(self, n):
        logistic, tailored = [], []
        for seed in range(8):
            data = hand_vinciotti(n, seed)
            logistic.append(regret(ProperLinearClassifier(C=10.0).fit(*data)))
            tailored.append(regret(ProperLinearClassifier(BetaLoss.tailored(AT, 30), "logit", C=10.0).fit(*data)))
        assert np.all(np.array(tailored) < 0.7 * np.array(logistic))
        assert 5.5 < np.mean(logistic) < 7.5
        assert np.mean(tailored) < 1.6

    def test_the_choice_gains_where_there_is_something_to_gain(self):
        """It may stay with logistic regression when the sample does not tell, but is never worse here."""
        chosen, logistic = [], []
        for seed in range(6):
            data = hand_vinciotti(4000, seed)
            chosen.append(regret(TailoredLinearClassifierCV(AT).fit(*data)))
            logistic.append(regret(ProperLinearClassifier(C=10.0).fit(*data)))
        assert np.all(np.array(chosen) <= np.array(logistic) + 1e-9)
        assert np.mean(chosen) < 0.5 * np.mean(logistic)

    @pytest.mark.slow
    @pytest.mark.parametrize(("n_features", "at"), [(5, 0.3), (10, 0.1)])
    def test_the_choice_does_no_harm_where_logistic_regression_is_true(self, n_features, at):
        """On average it costs less than half of what the estimation of the coefficients costs anyway."""
        extra, unavoidable, gave_in = [], [], 0
        for seed in range(30):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(21_000, n_features))
            eta = expit(1.5 / np.sqrt(n_features) * X.sum(axis=1) + logit(at) - 0.3)
            y = (rng.random(1000) < eta[:1000]).astype(int)
            model = TailoredLinearClassifierCV(at).fit(X[:1000], y)
            logistic = ProperLinearClassifier(C=10.0).fit(X[:1000], y)
            unavoidable.append(regret(logistic, X[1000:], eta[1000:], at))
            extra.append(regret(model, X[1000:], eta[1000:], at) - unavoidable[-1])
            gave_in += model.concentration_ > 0
        assert np.mean(extra) < 0.5 * np.mean(unavoidable)
        assert gave_in <= 15


class TestChoice:
    def test_scores_are_held_out_losses_of_one_judge(self):
        model = TailoredLinearClassifierCV(AT, (10.0,), cv=4).fit(X, Y)
        losses, judge = ["log", BetaLoss.tailored(AT, 10.0)], BetaLoss.tailored(AT, 30.0)
        for i, loss in enumerate(losses):
            judged = np.zeros(len(X))
            for train, test in StratifiedKFold(4).split(X, Y):
                p = ProperLinearClassifier(loss, "logit", C=10.0).fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
                judged[test] = np.where(Y[test] == 1, judge.loss1(p), judge.loss0(p))
            np.testing.assert_allclose(model.scores_[i], judged.mean(), rtol=1e-7)
        np.testing.assert_array_equal(model.concentrations_, [0.0, 10.0])
        assert model.split_scores_.shape == (4, 2)
        gain = model.split_scores_[:, 0] - model.split_scores_[:, 1]  # splits of equal size
        np.testing.assert_allclose(model.standard_errors_, [0.0, np.std(gain, ddof=1) / 2], rtol=1e-9)

    @pytest.mark.parametrize(
        ("held_out", "chosen"),
        [
            ([[10, 10], [10, 10], [10, 10]], 0),  # a tie
            ([[10, 8], [10, 10], [10, 11]], 0),  # better, but by less than the standard error
            ([[10, 8], [10, 8], [10, 9]], 1),  # better by more
            ([[10, 8, 9], [10, 8, 6], [10, 8, 8]], 2),  # the best, though hardly better than the second
            ([[10, 8, 3], [10, 8, 12], [10, 8, 8]], 0),  # the best is not clear: no other is asked
            ([[10, 10, 7], [10, 10, 8], [10, 10, 7]], 2),
            ([[10, 11, 12], [10, 12, 11], [10, 11, 11]], 0),
        ],
    )
    def test_the_best_candidate_must_be_better_than_logistic_regression_beyond_noise(self, held_out, chosen):
        assert _best_or_first(np.array(held_out, float), np.full(3, 100.0)) == chosen

    def test_the_standard_error_of_a_ratio(self):
        """Over many repetitions it is, on average, the spread of the mean; the unit of the weights does not matter."""
        rng = np.random.default_rng(0)
        judged = np.array([40.0, 50.0, 60.0, 50.0, 45.0])
        gains = rng.normal(0.1 * judged, np.sqrt(judged), (20_000, 5))
        variances = [_standard_error(gain, judged) ** 2 for gain in gains]
        assert np.mean(variances) == pytest.approx(np.var(gains.sum(axis=1) / judged.sum()), rel=0.03)
        assert _standard_error(7 * gains[0], 7 * judged) == pytest.approx(_standard_error(gains[0], judged), rel=1e-12)

    def test_without_candidates_it_is_logistic_regression(self):
        model = TailoredLinearClassifierCV(AT, ()).fit(X, Y, WEIGHT)
        logistic = ProperLinearClassifier(C=10.0).fit(X, Y, WEIGHT)
        assert model.concentration_ == 0.0
        np.testing.assert_allclose(model.coef_, logistic.coef_, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, logistic.intercept_, atol=1e-6)

    def test_the_chosen_fit_is_an_optimum_as_good_as_any_found(self):
        X, Y = hand_vinciotti(4000, 0)
        model = TailoredLinearClassifierCV(AT).fit(X, Y)
        assert model.concentration_ > 0.0
        composite = Composite(BetaLoss.tailored(AT, model.concentration_), Logit())

        def objective(coef, intercept):
            return 10.0 * np.sum(composite.value(Y, X @ coef[0] + intercept)) + 0.5 * np.sum(coef**2)

        best = objective(model.coef_, model.intercept_)
        rng = np.random.default_rng(0)
        for _ in range(50):
            assert (
                objective(model.coef_ + 0.03 * rng.normal(size=(1, 2)), model.intercept_ + 0.03 * rng.normal()) > best
            )
        direct = ProperLinearClassifier(composite.loss, "logit", C=10.0).fit(X, Y)
        assert best <= objective(direct.coef_, direct.intercept_) * (1.0 + 1e-9)

    def test_candidates_come_in_order_and_once(self):
        model = TailoredLinearClassifierCV(AT, [30, 3, 0, 3]).fit(X, Y)
        np.testing.assert_array_equal(model.concentrations_, [0.0, 3.0, 30.0])

    def test_splitters_and_pairs_of_rows(self):
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        one = TailoredLinearClassifierCV(AT, cv=folds).fit(X, Y)
        other = TailoredLinearClassifierCV(AT, cv=list(folds.split(X, Y))).fit(X, Y)
        np.testing.assert_array_equal(one.split_scores_, other.split_scores_)


class TestData:
    FOLD = np.random.default_rng(3).integers(0, 4, len(X))

    def pairs(self, fold):
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]

    def test_weights_are_repetitions(self):
        weighted = TailoredLinearClassifierCV(AT, cv=self.pairs(self.FOLD)).fit(X, Y, WEIGHT)
        rows = np.repeat(np.arange(len(X)), WEIGHT.astype(int))
        repeated = TailoredLinearClassifierCV(AT, cv=self.pairs(self.FOLD[rows])).fit(X[rows], Y[rows])
        assert weighted.concentration_ == repeated.concentration_
        np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-12)
        np.testing.assert_allclose(weighted.standard_errors_, repeated.standard_errors_, rtol=1e-9)
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)

    def test_the_unit_of_the_weights_does_not_matter(self):
        plain = TailoredLinearClassifierCV(AT).fit(X, Y, WEIGHT)
        scaled = TailoredLinearClassifierCV(AT, C=10.0 / 1e6).fit(X, Y, 1e6 * WEIGHT)
        assert plain.concentration_ == scaled.concentration_
        np.testing.assert_allclose(scaled.standard_errors_, plain.standard_errors_, rtol=1e-9)
        np.testing.assert_allclose(scaled.coef_, plain.coef_, atol=1e-5)

    def test_containers(self):
        dense = TailoredLinearClassifierCV(AT).fit(X, Y, WEIGHT)
        for data in (sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X, columns=["a", "b"]), X.astype(np.float32)):
            other = TailoredLinearClassifierCV(AT).fit(data, Y, WEIGHT)
            assert other.concentration_ == dense.concentration_
            np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-4)
        labels = TailoredLinearClassifierCV(AT).fit(X, np.array(["no", "yes"])[Y], WEIGHT)
        assert labels.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(labels.coef_, dense.coef_)

    def test_offsets_stand_for_a_known_part_of_the_score(self):
        offset = 2.0 * X[:, 0]
        with_offset = TailoredLinearClassifierCV(AT, C=np.inf).fit(X, Y, offset=offset)
        without = TailoredLinearClassifierCV(AT, C=np.inf).fit(X, Y)
        np.testing.assert_allclose(with_offset.split_scores_, without.split_scores_, rtol=1e-5)
        np.testing.assert_allclose(with_offset.coef_[0] + [2.0, 0.0], without.coef_[0], atol=1e-5)
        np.testing.assert_allclose(with_offset.predict_proba(X, offset), without.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 0.0}, "at must lie strictly between 0 and 1, got 0.0"),
        ({"at": 1.0, "concentrations": ()}, "at must lie strictly between 0 and 1, got 1.0"),
        ({"at": np.nan}, "at must be finite"),
        ({"concentrations": (3.0, -1.0)}, "concentration must not be negative, got -1.0"),
        ({"concentrations": 10.0}, "concentrations must be a sequence of numbers, got 10.0"),
        ({"concentrations": "many"}, "concentrations must be numbers"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"tol": 0.0}, "tol must be above 0 and finite"),
        ({"cv": ShuffleSplit(1, random_state=0)}, "cv must give at least two splits, got 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TailoredLinearClassifierCV(**{"at": AT, **options}).fit(X, Y)


def test_bad_data():
    with pytest.raises(ValueError, match="3 classes"):
        TailoredLinearClassifierCV(AT).fit(X, np.arange(len(X)) % 3)
    model = TailoredLinearClassifierCV(AT).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="3 classes"):
        model.fit(X, np.arange(len(X)) % 3)
    assert np.array_equal(model.predict_proba(X), before)  # a failed fit leaves the old one whole
    with pytest.raises(ValueError, match="split 0 of cv must have training rows of both classes"):
        TailoredLinearClassifierCV(AT, cv=[(np.flatnonzero(Y == 0), np.flatnonzero(Y)), ([0, 1], [10])]).fit(X, Y)


@parametrize_with_checks([TailoredLinearClassifierCV(0.3), TailoredLinearClassifierCV(0.5, (10.0,), C=np.inf, cv=3)])
@pytest.mark.filterwarnings("ignore:the classes look separable:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_more_features_than_rows_converge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 500))
    y = rng.random(300) < 1.0 / (1.0 + np.exp(1.5 - X[:, 0] - X[:, 1]))
    model = ProperLinearClassifier(BetaLoss.tailored(0.2, 10.0), Logit(), C=10.0).fit(X, y)
    assert model.solutions_[0].status is Status.CONVERGED  # conjugate gradients took more than 100 iterations
    assert model.n_iter_[0] < 30
