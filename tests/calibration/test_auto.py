"""AutoCalibration: how it weighs its maps, and what it must not do."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy import special as sc
from sklearn.base import clone
from sklearn.metrics import log_loss

import properly.calibration.auto as module
from properly.calibration import AutoCalibration, IsotonicCalibration, PlattScaling, TemperatureScaling
from properly.calibration.auto_maps import Labels, Waves, apply, fit_with_prior, for_many_classes, for_two_classes


def two_classes(n, seed=0, log_odds=lambda s: s, scale=2.0, shift=-0.5):
    random = np.random.default_rng(seed)
    score = scale * random.normal(size=n) + shift
    return score, (random.random(n) < sc.expit(log_odds(score))).astype(int)


def three_classes(n, seed=0, stretch=1.0):
    random = np.random.default_rng(seed)
    logits = 1.5 * random.normal(size=(n, 3))
    p = sc.softmax(logits, axis=1)
    y = (random.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    return stretch * logits, y


# --- evidence ------------------------------------------------------------------------


def test_evidence_agrees_with_numerical_integration():
    score, y = two_classes(60)
    labels = Labels(y, np.linspace(0.5, 2.0, 60))
    features, offset = [np.empty((60, 0)), score[:, None]], np.zeros((60, 2))
    fitted = fit_with_prior(features, offset, labels, np.array([[0.25]]), np.zeros(1))

    def log_posterior(slope):
        log_p = sc.log_softmax(apply(features, np.array([slope]), offset), axis=1)
        return labels.log_likelihood(log_p) + stats.norm.logpdf(slope, scale=2.0)

    top = log_posterior(fitted.coef[0])
    area = integrate.quad(lambda slope: np.exp(log_posterior(slope) - top), -1.0, 3.0, points=[fitted.coef[0]])[0]
    assert fitted.log_evidence == pytest.approx(top + np.log(area), abs=0.03)  # Laplace's is an approximation
    around = [log_posterior(fitted.coef[0] + step) for step in (-1e-3, 1e-3)]
    assert max(around) < top


def test_the_mode_and_the_curvature_of_three_classes():
    logits, y = three_classes(80)
    random = np.random.default_rng(1)
    features = [random.normal(size=(80, width)) for width in (2, 1, 3)]
    root = random.normal(size=(6, 6))
    precision = root @ root.T + np.eye(6)
    labels = Labels(y, random.integers(1, 4, 80).astype(float))
    fitted = fit_with_prior(features, logits, labels, precision, np.ones(6))

    def objective(coef):
        return (
            labels.log_likelihood(sc.log_softmax(apply(features, coef, logits), axis=1)) - 0.5 * coef @ precision @ coef
        )

    step = 1e-4 * np.eye(6)
    gradient = [(objective(fitted.coef + e) - objective(fitted.coef - e)) / 2e-4 for e in step]
    assert_allclose(gradient, 0.0, atol=2e-2)
    at = objective(fitted.coef)
    hessian = np.array(
        [
            [
                (objective(fitted.coef + d + e) - objective(fitted.coef + d) - objective(fitted.coef + e) + at) / -1e-8
                for d in step
            ]
            for e in step
        ]
    )
    volume = 0.5 * (np.linalg.slogdet(precision)[1] - np.linalg.slogdet(hessian)[1])
    assert fitted.log_evidence == pytest.approx(at + volume, abs=1e-3)


def test_the_prior_of_slopes_is_shared_plus_own():
    logits, y = three_classes(50)
    candidate = next(each for each in for_many_classes(logits, Labels(y, np.ones(50))) if each.name == "free own 0.3")
    covariance = np.linalg.inv(candidate.precision).reshape(3, 3, 3, 3)  # class, feature, class, feature
    assert_allclose(covariance[:, 1, :, 1], 25.0 + 0.09 * np.eye(3), rtol=1e-6)
    assert_allclose(covariance[:, 2, :, 2], 1.0 + 0.09 * np.eye(3), rtol=1e-6)
    assert_allclose(covariance[:, 0, :, 0], 0.09 * np.eye(3), atol=1e-9)
    assert_allclose(covariance[:, 0, :, 1], 0.0, atol=1e-9)


def test_bends_have_no_straight_part():
    score, y = two_classes(300, scale=5.0)
    logits = np.column_stack([np.zeros(300), score])
    labels = Labels(y, np.ones(300))
    for candidate in for_two_classes(logits, labels, Waves.of(score, labels)):
        X = candidate.features(logits)[1]
        if X.shape[1] > 2:
            assert_allclose(X[:, :2].T @ X[:, 2:] / 300, 0.0, atol=1e-9)
            assert np.square(X[:, 2:]).mean(axis=0).max() == pytest.approx(1.0)


# --- what it decides -----------------------------------------------------------------


def test_scores_that_are_right_are_left_nearly_alone():
    changes, plain = [], []
    for seed in range(20):
        score, y = two_classes(200, seed)
        p = AutoCalibration().fit(score, y).predict_proba(score)[:, 1]
        changes.append(np.abs(p - sc.expit(score)).mean())
        plain.append(np.abs(PlattScaling().fit(score, y).predict_proba(score)[:, 1] - sc.expit(score)).mean())
    assert np.mean(changes) < 0.4 * np.mean(plain)


TRUTHS = {
    "straight": lambda s: 0.4 * s - 1.0,
    "flattened": lambda s: 2.0 * np.tanh(s),
    "steep": lambda s: 3.0 * np.tanh(2.0 * s + 2.0),
    "unrelated": lambda s: np.full_like(s, -1.0),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_many_rows_find_the_curve(truth):
    score, y = two_classes(20_000, log_odds=TRUTHS[truth], scale=4.0)
    model = AutoCalibration().fit(score, y)
    new, _ = two_classes(5_000, 1, scale=4.0)
    eta = sc.expit(TRUTHS[truth](new))
    p = model.predict_proba(new)[:, 1]
    regret = sc.rel_entr(eta, p) + sc.rel_entr(1.0 - eta, 1.0 - p)
    assert regret.mean() < 0.003
    assert model.weights_["identity"] < 1e-6


@pytest.mark.parametrize("n", [60, 300, 2000])
def test_it_beats_or_ties_fixed_methods_on_average(n):
    others = {"identity": 0.0, "platt": 0.0, "temperature": 0.0, "isotonic": 0.0}
    ours = 0.0
    for seed, truth in enumerate([lambda s: s, *TRUTHS.values()] * 3):
        score, y = two_classes(n, seed, truth)
        new, labels = two_classes(4_000, 100 + seed, truth)
        ours += log_loss(labels, AutoCalibration().fit(score, y).predict_proba(new))
        others["identity"] += log_loss(labels, sc.expit(new))
        for name, model in (
            ("platt", PlattScaling()),
            ("temperature", TemperatureScaling()),
            ("isotonic", IsotonicCalibration()),
        ):
            p = np.clip(model.fit(score, y).predict_proba(new), 1e-15, 1.0)
            others[name] += log_loss(labels, p / p.sum(axis=1, keepdims=True))
    assert ours <= min(others.values()) + 0.03  # over 15 tasks


def test_attributes_tell_how_it_decided():
    score, y = two_classes(500, log_odds=lambda s: 0.3 * s)
    model = AutoCalibration().fit(score, y)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert model.weights_.keys() == model.scores_.keys()
    assert model.best_ == max(model.weights_, key=model.weights_.__getitem__)
    assert model.scores_["identity"] == pytest.approx(-500 * log_loss(y, sc.expit(score)))
    # Half of the belief is the identity's, the rest is shared by both kinds of maps.
    for kind in ("near", "free"):
        names = [name for name in model.weights_ if name.startswith(kind)]
        for name in names:
            ratio = np.log(model.weights_[name]) - np.log(model.weights_["identity"])
            expected = model.scores_[name] - model.scores_["identity"] - np.log(2.0 * len(names))
            assert ratio == pytest.approx(expected, abs=1e-6)


def test_three_classes_are_sharpened_and_left_alone_where_right():
    logits, y = three_classes(1500)
    assert AutoCalibration().fit(logits, y).weights_["identity"] > 0.5
    stretched, _ = three_classes(1500, stretch=3.0)
    model = AutoCalibration().fit(stretched, y)
    assert model.weights_["identity"] < 1e-6
    assert np.abs(model.predict_proba(stretched) - sc.softmax(logits, axis=1)).mean() < 0.03


def test_classes_that_help_each_other():
    random = np.random.default_rng(0)
    logits = random.normal(size=(3000, 3))
    truth = sc.softmax(logits @ np.array([[1.0, 0.8, -0.8], [0.0, 1.0, 0.0], [0.0, -0.8, 1.8]]), axis=1)
    y = (random.random(3000)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1)
    model = AutoCalibration().fit(logits, y)
    assert "others" in model.best_
    assert np.abs(model.predict_proba(logits) - truth).mean() < 0.03


# --- what holds whatever the data ----------------------------------------------------


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_weights_are_repetitions_and_order_is_nothing(data):
    scores, y = data(120)
    weight = np.random.default_rng(1).integers(0, 4, 120)
    p = AutoCalibration().fit(scores, y, weight).predict_proba(scores)
    again = AutoCalibration().fit(np.repeat(scores, weight, axis=0), np.repeat(y, weight)).predict_proba(scores)
    assert_allclose(p, again, atol=1e-8)
    order = np.random.default_rng(2).permutation(120)
    assert_allclose(
        AutoCalibration().fit(scores[order], y[order]).predict_proba(scores),
        AutoCalibration().fit(scores, y).predict_proba(scores),
        atol=1e-8,
    )


def test_classes_are_treated_alike():
    score, y = two_classes(150, log_odds=lambda s: np.tanh(s) - 0.5)
    p = AutoCalibration().fit(score, y).predict_proba(score)
    assert_allclose(AutoCalibration().fit(-score, 1 - y).predict_proba(-score), p[:, ::-1], atol=1e-7)
    logits, y = three_classes(150, stretch=2.0)
    turned = [2, 0, 1]
    p = AutoCalibration().fit(logits, y).predict_proba(logits)
    assert_allclose(
        AutoCalibration().fit(logits[:, turned], np.argsort(turned)[y]).predict_proba(logits[:, turned]),
        p[:, turned],
        atol=1e-7,
    )


def test_logits_count_up_to_a_constant_in_every_row():
    logits, y = three_classes(150, stretch=2.0)
    shifted = logits + np.linspace(-50.0, 50.0, 150)[:, None]
    p = AutoCalibration().fit(logits, y).predict_proba(logits)
    assert_allclose(AutoCalibration().fit(shifted, y).predict_proba(shifted), p, atol=1e-7)


def test_probabilities_as_input():
    score, y = two_classes(150)
    p = AutoCalibration().fit(score, y).predict_proba(score)
    model = clone(AutoCalibration(input="probability")).fit(sc.expit(score), y)
    assert_allclose(model.predict_proba(sc.expit(score)), p, atol=1e-7)
    certain = np.repeat([0.0, 0.2, 0.8, 1.0], 10)
    assert np.all(np.isfinite(model.fit(certain, np.arange(40) % 3 == 0).predict_proba([0.0, 1e-300, 1.0])))


def test_no_answer_is_quite_certain():
    score, y = two_classes(400)
    p = AutoCalibration().fit(score, y).predict_proba([-1e300, 1e300])
    doubt = 0.01 / 400.01
    assert p[0, 1] == pytest.approx(doubt * y.mean(), rel=1e-6)
    assert p[1, 0] == pytest.approx(doubt * (1.0 - y.mean()), rel=1e-6)


DEGENERATE = {
    "all scores equal": (np.ones(40), np.arange(40) % 5 == 0),
    "all scores zero": (np.zeros(40), np.arange(40) % 5 == 0),
    "separated": (np.arange(10.0), np.arange(10) > 6),
    "separated, falling": (-np.arange(10.0), np.arange(10) > 6),
    "two rows": (np.array([0.0, 1.0]), np.array([0, 1])),
    "two scores": (np.repeat([-27.6, 27.6], 20), np.arange(40) % 4 == 0),
    "huge": (np.array([-1e300, -1.0, 0.0, 2.0, 1.0, 1e300, 1e308, -1e308]), np.array([0, 0, 1, 0, 1, 1, 1, 0])),
    "tiny": (np.array([-1e-300, -1e-301, 0.0, 2e-300, 1e-300, 1e-305]), np.array([0, 0, 1, 0, 1, 1])),
    "one far away": (np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1e12]), np.array([0, 1, 0, 1, 1, 0])),
    "huge logits": (np.array([[1e300, 0.0, -1e308], [0.0, 1e308, 5.0], [1.0, 2.0, 3.0], [0.0] * 3]), np.arange(4) % 3),
    "equal logits": (np.zeros((9, 3)), np.arange(9) % 3),
}


@pytest.mark.filterwarnings("ignore:.*scores are larger than 1e100:UserWarning")
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_have_finite_answers(case):
    scores, y = DEGENERATE[case]
    model = AutoCalibration(input="score").fit(scores, y)
    p = model.predict_proba(scores)
    assert np.all(np.isfinite(p))
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.all(np.isfinite(list(model.weights_.values())))
    if scores.ndim == 1:
        assert np.all(np.isfinite(model.predict_proba([-1.7e308, -1.0, 0.0, 1e-300, 1.7e308])))
    if case.startswith("separated"):
        assert np.all(p[~y, 0] > 0.5)
        assert p.min() > 0.0
    if case.startswith("all scores"):
        assert p[:, 1] == pytest.approx(0.2, abs=0.06)
    if case == "equal logits":
        assert p == pytest.approx(1.0 / 3.0, abs=1e-6)


@pytest.mark.parametrize("n_rows", [400, 30_000])
def test_last_digits_of_scores_do_not_matter(n_rows):
    """Even if many rows have one score, whose rank is far from that of the next."""
    random = np.random.default_rng(0)
    score = random.integers(-20, 20, n_rows) / 7.0
    y = random.random(n_rows) < sc.expit(2.0 * np.sin(2.0 * score))
    model = AutoCalibration().fit(score, y)
    assert "waves" in model.best_
    above, below = np.nextafter(score, np.inf), np.nextafter(score, -np.inf)
    for fitted in (model, AutoCalibration().fit(np.where(random.random(n_rows) < 0.5, above, below), y)):
        for at in (score, above, below):
            assert_allclose(fitted.predict_proba(at), model.predict_proba(score), rtol=0.0, atol=1e-9)


# --- compression ---------------------------------------------------------------------


def _normal(random, n):
    return 2.0 * random.normal(size=n)


SHAPES = {
    "gaussian": (_normal, lambda s: 2.0 * np.tanh(s)),
    "steep": (_normal, lambda s: 3.0 * np.tanh(4.0 * s + 2.0)),
    "calibrated": (_normal, lambda s: s),
    "heavy tails": (lambda random, n: random.standard_cauchy(n), np.arcsinh),
    "skewed": (lambda random, n: np.exp(3.0 * random.normal(size=n)), lambda s: np.log(s) / 2.0 - 1.0),
    "discrete": (lambda random, n: np.round(_normal(random, n), 1), lambda s: 0.7 * s),
    "ties": (lambda random, n: np.round(_normal(random, n), 3), lambda s: 0.7 * s + 0.3 * np.sin(3.0 * s)),
    "rare": (lambda random, n: _normal(random, n) - 10.0, lambda s: 1.2 * s + np.sin(s)),
    "a gap": (lambda random, n: random.normal(size=n) + 6.0 * random.choice([-1, 1], n), lambda s: s / 2 + np.cos(s)),
    "an atom": (lambda random, n: np.where(random.random(n) < 0.3, -27.6, _normal(random, n)), lambda s: 0.5 * s),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_compressed_rows_give_the_probabilities_of_all_rows(shape, weighted, monkeypatch):
    random, (scores, log_odds) = np.random.default_rng(0), SHAPES[shape]
    score = scores(random, 22_000)
    y = random.random(len(score)) < sc.expit(log_odds(score))
    weight = np.exp(random.normal(size=len(score))) if weighted else None
    at = np.concatenate([score, np.linspace(1.2 * score.min(), 1.2 * score.max() + 1.0, 500)])
    compressed = AutoCalibration(input="score").fit(score, y, weight)
    monkeypatch.setattr(module, "_MOST_ROWS", 30_000)
    exact = AutoCalibration(input="score").fit(score, y, weight)
    rounding_only = shape == "discrete"
    assert_allclose(
        compressed.predict_proba(at), exact.predict_proba(at), rtol=0.0, atol=1e-10 if rounding_only else 1e-5
    )
    assert compressed.best_ == exact.best_
    for name, weight_of in exact.weights_.items():
        assert compressed.weights_[name] == pytest.approx(weight_of, abs=1e-3)


def test_compression_sees_every_row(monkeypatch):
    """Cells and knots far fewer than rows still give nearly the same."""
    score, y = two_classes(60_000, log_odds=np.tanh)
    p = AutoCalibration().fit(score, y).predict_proba(score)
    for name, number in (("_CELLS", 500), ("_FINE_CELLS", 2_000), ("_KNOTS", 2_000)):
        monkeypatch.setattr(module, name, number)
    assert np.abs(AutoCalibration().fit(score, y).predict_proba(score) - p).max() < 1e-3


def test_compressed_weights_are_repetitions_and_order_is_nothing():
    score, y = two_classes(25_000, log_odds=np.tanh)
    weight = np.random.default_rng(1).integers(1, 4, len(score))
    p = AutoCalibration().fit(score, y, weight).predict_proba(score)
    again = AutoCalibration().fit(np.repeat(score, weight), np.repeat(y, weight)).predict_proba(score)
    assert_allclose(p, again, atol=1e-8)
    order = np.random.default_rng(2).permutation(len(score))
    assert_allclose(AutoCalibration().fit(score[order], y[order], weight[order]).predict_proba(score), p, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*scores are larger than 1e100:UserWarning")
def test_compressed_extremes_are_finite():
    score, y = two_classes(25_000)
    score[:4] = [-1e308, 1e308, -1e-310, 1e-310]
    weight = np.where(np.arange(len(score)) < 2, 1e100, 1.0)
    for each in (None, weight):
        p = AutoCalibration(input="score").fit(score, y, each).predict_proba([-1e308, -1.0, 0.0, 2.0, 1e308])
        assert np.all(np.isfinite(p))
        assert p.sum(axis=1) == pytest.approx(1.0)


def test_scores_that_are_too_large_to_be_told_apart_are_told():
    score, y = two_classes(300)
    with pytest.warns(UserWarning, match="300 scores are larger than 1e100 in size.*divide all scores by a constant"):
        AutoCalibration(input="score").fit(5e101 + 1e100 * score, y)
    with pytest.warns(UserWarning, match="scores are larger than 1e100"):
        AutoCalibration(input="score").fit(np.tile(5e101 + 1e100 * score, 80), np.tile(y, 80))
    AutoCalibration(input="score").fit(1e98 * score, y)
    AutoCalibration(input="probability").fit(np.where(score > 1.0, 1.0, sc.expit(score)), y)  # log-odds of ∞


def test_predictions_in_blocks_are_those_of_single_rows(monkeypatch):
    for scores, y in (two_classes(300), three_classes(300)):
        model = AutoCalibration().fit(scores, y)
        p = model.predict_proba(scores)
        monkeypatch.setattr(module, "_BLOCK", 100)
        assert_allclose(model.predict_proba(scores), p, rtol=1e-13)
        monkeypatch.undo()


@pytest.mark.slow
def test_ten_thousand_rows_take_less_than_a_second():
    score, y = two_classes(10_000, log_odds=lambda s: np.tanh(s))
    begin = time.process_time()
    AutoCalibration().fit(score, y)
    assert time.process_time() - begin < 1.0
