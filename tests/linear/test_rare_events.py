"""Rare-event corrections against brute force and their defining formulas."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly import kernels
from properly.datasets import make_rare_events
from properly.engines import Stream
from properly.engines.stream import StreamEngine
from properly.linear import ProperLinearClassifier, RareEventLogisticRegression

X, Y, _ = make_rare_events(400, 2, rate=0.06, random_state=1)
WEIGHT = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
DESIGN = np.column_stack([X, np.ones(len(X))])


def penalised_likelihood(beta, weight, ridge=0.0):
    v = DESIGN @ beta
    p = expit(v)
    information = (DESIGN * (weight * p * (1 - p))[:, None]).T @ DESIGN
    loss = np.sum(weight * np.logaddexp(0, np.where(Y == 1, -v, v)))
    return loss - 0.5 * np.linalg.slogdet(information)[1] + 0.5 * ridge * beta[:-1] @ beta[:-1]


@pytest.mark.parametrize("weight", [np.ones(len(X)), WEIGHT])
@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_firth_maximises_the_penalised_likelihood(weight, C):
    model = RareEventLogisticRegression("firth", C=C).fit(X, Y, weight)
    ours = np.append(model.coef_, model.intercept_)
    ridge = 0.0 if np.isinf(C) else 1 / C
    brute = minimize(
        penalised_likelihood, np.zeros(3), (weight, ridge), "Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    np.testing.assert_allclose(ours, brute.x, atol=1e-6)


def test_firth_of_a_single_proportion_adds_half_a_success_and_half_a_failure():
    y = np.r_[np.ones(3), np.zeros(47)]
    model = RareEventLogisticRegression("firth").fit(np.zeros((50, 1)), y)
    np.testing.assert_allclose(expit(model.intercept_), 3.5 / 51.0, rtol=1e-7)


def test_firth_is_finite_for_separated_classes():
    x = np.linspace(-1, 1, 40)[:, None]
    model = RareEventLogisticRegression("firth").fit(x, x[:, 0] > 0.6)
    assert np.isfinite(model.coef_).all()
    assert 1.0 < model.coef_[0, 0] < 100.0


def test_king_zeng_subtracts_its_bias_formula():
    """bias = (X'WX)⁻¹ X'W ξ with ξ = Q_ii (p - 1/2), Q = X (X'WX)⁻¹ X' (their equation for equal weights)."""
    plain = ProperLinearClassifier(C=np.inf).fit(X, Y)
    beta = np.append(plain.coef_, plain.intercept_)
    p = expit(DESIGN @ beta)
    W = p * (1 - p)
    inverse = np.linalg.inv((DESIGN * W[:, None]).T @ DESIGN)
    xi = np.einsum("ij,jk,ik->i", DESIGN, inverse, DESIGN) * (p - 0.5)
    expected = beta - inverse @ (DESIGN.T @ (W * xi))
    model = RareEventLogisticRegression("king-zeng-bias").fit(X, Y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), expected, atol=1e-8)


@pytest.mark.slow
def test_bias_corrections_remove_bias():
    slopes = {"none": [], "firth": [], "king-zeng-bias": []}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(200, 1))
        y = rng.random(200) < expit(1.0 * x[:, 0] - 2.5)
        slopes["none"].append(ProperLinearClassifier(C=np.inf).fit(x, y).coef_[0, 0])
        for correction in ("firth", "king-zeng-bias"):
            slopes[correction].append(RareEventLogisticRegression(correction).fit(x, y).coef_[0, 0])
    error = np.std(slopes["firth"]) / np.sqrt(400)
    assert np.mean(slopes["none"]) - np.mean(slopes["firth"]) > 0.02
    assert abs(np.mean(slopes["firth"]) - 1.0) < 3 * error
    assert abs(np.mean(slopes["king-zeng-bias"]) - 1.0) < 3 * error


class TestPopulationRate:
    @pytest.mark.parametrize("correction", ["undersampling", "weighting", "firth", "king-zeng-bias"])
    def test_only_the_intercept_moves_by_the_log_odds(self, correction):
        at_sample = RareEventLogisticRegression(correction, random_state=0).fit(X, Y)
        elsewhere = RareEventLogisticRegression(correction, 0.002, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(at_sample.coef_, elsewhere.coef_)
        shift = logit(0.002) - logit(Y.mean())
        np.testing.assert_allclose(elsewhere.intercept_ - at_sample.intercept_, shift, rtol=1e-12)

    def test_case_control_samples_recover_the_population(self):
        X, y, p = make_rare_events(400_000, 2, rate=0.005, random_state=0)
        cases, controls = np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:4000]
        rows = np.concatenate([cases, controls])
        model = RareEventLogisticRegression("firth", population_rate=0.005).fit(X[rows], y[rows])
        assert abs(np.log(model.predict_proba(X)[:, 1] / p)).mean() < 0.15

    @pytest.mark.parametrize("correction", ["undersampling", "weighting"])
    def test_rates_come_back_after_balancing(self, correction):
        X, y, p = make_rare_events(100_000, 3, rate=0.02, random_state=0)
        estimate = RareEventLogisticRegression(correction, random_state=0).fit(X, y).predict_proba(X)[:, 1]
        assert abs(estimate.mean() / p.mean() - 1.0) < 0.05


def test_weighting_is_the_balanced_fit_with_its_prior_corrected():
    balanced = ProperLinearClassifier(C=np.inf, class_weight="balanced").fit(X, Y)
    model = RareEventLogisticRegression("weighting").fit(X, Y)
    np.testing.assert_allclose(model.coef_, balanced.coef_, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, balanced.intercept_ + logit(Y.mean()), atol=1e-9)


def test_undersampling_keeps_the_rare_class_and_as_many_others():
    seen = []
    plain = RareEventLogisticRegression._plain

    class Spy(RareEventLogisticRegression):
        def _plain(self, engine, share):
            seen.append(share)
            return plain(self, engine, share)

    Spy("undersampling", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(seen[0], [Y.sum(), Y.sum()])


@pytest.mark.parametrize("correction", ["weighting", "firth", "king-zeng-bias"])
def test_other_containers(correction):
    dense = RareEventLogisticRegression(correction).fit(X, Y, WEIGHT)
    for data in (sp.csr_array(X), sp.csc_matrix(X)):
        np.testing.assert_allclose(
            RareEventLogisticRegression(correction).fit(data, Y, WEIGHT).coef_, dense.coef_, atol=1e-7
        )
    stream = Stream([(X[:100], Y[:100], WEIGHT[:100]), (X[100:], Y[100:], WEIGHT[100:])])
    np.testing.assert_allclose(RareEventLogisticRegression(correction).fit(stream).coef_, dense.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "smote"}, "correction must be one of 'undersampling', 'weighting', 'firth'"),
        ({"population_rate": 1.0}, "population_rate, .* must be above 0 and below 1, got 1.0"),
        ({"population_rate": np.nan}, "must be above 0 and below 1, got nan"),
        ({"correction": "weighting", "fit_intercept": False}, "no intercept to shift"),
        ({"C": -1.0}, "C must be a positive number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        RareEventLogisticRegression(**options).fit(X, Y)


def test_undersampling_of_a_stream():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40_000, 2))
    y = rows[:, 0] + rng.logistic(size=40_000) > 4.0
    stream = Stream([(rows[i : i + 10_000], y[i : i + 10_000]) for i in range(0, 40_000, 10_000)])
    one, again, other = (RareEventLogisticRegression("undersampling", random_state=s).fit(stream) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.coef_, again.coef_)
    assert np.any(one.coef_ != other.coef_)
    whole = RareEventLogisticRegression("undersampling", random_state=0).fit(rows, y)
    np.testing.assert_allclose(one.coef_, whole.coef_, atol=0.15)  # other rows are drawn
    assert one.predict_proba(rows)[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)


@pytest.mark.parametrize("tol", [1e-8, 1e-12])
def test_firth_takes_few_passes_and_warns_nobody_of_rounding(tol):
    exact = RareEventLogisticRegression(tol=1e-13).fit(X, Y)
    for cuts in ([0, 400], [0, 100, 130, 400]):
        model = RareEventLogisticRegression(tol=tol).fit(Stream([(X[i:j], Y[i:j]) for i, j in pairwise(cuts)]))
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=tol)
        assert model.n_passes_ <= 30


def test_undersampling_of_a_stream_counts_rows_not_weights():
    rows, y = X, Y.astype(int)
    weight = np.where(y == 1, 100.0, np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0))
    engine, _ = StreamEngine(Stream([(rows, y, weight)])).trained(RareEventLogisticRegression())
    sample = engine.undersampled(0)
    kept, drawn = (each.reduce(kernels.classes, 2).weight for each in (sample, sample.sample))
    assert kept[1] == weight[y == 1].sum()  # every row of the rare class
    assert kept[0] == pytest.approx(y.sum(), rel=0.3)  # as many others, of weight 1
    np.testing.assert_allclose(drawn, [y.sum(), kept[1]])  # in which the fit has its start


def test_bad_data():
    with pytest.raises(ValueError, match="3 classes"):
        RareEventLogisticRegression().fit(X, np.arange(len(X)) % 3)
    separated = np.linspace(-1, 1, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="separable"):
        RareEventLogisticRegression("king-zeng-bias").fit(separated, separated[:, 0] > 0.5)


RANDOM = "a random sample of the rows is not the same for a repeated row as for a weighted one"


@pytest.mark.filterwarnings("ignore:the classes look separable:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        RareEventLogisticRegression(correction, random_state=0)
        for correction in ("undersampling", "weighting", "firth", "king-zeng-bias")
    ],
    expected_failed_checks=lambda estimator: (
        {
            "check_sample_weight_equivalence_on_dense_data": RANDOM,
            "check_sample_weight_equivalence_on_sparse_data": RANDOM,
        }
        if estimator.correction == "undersampling"
        else {}
    ),
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_a_saturated_model_is_found_at_once():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 90)), rng.random(60) < 0.3, rng.integers(1, 4, 60)
    model = RareEventLogisticRegression().fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], (weight * y + 0.5) / (weight + 1.0), rtol=1e-7)
    assert model.solutions_[0].passes <= 8  # it took 40 where the scores of all rows were searched for
