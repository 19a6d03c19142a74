"""Class proportions of unlabelled data: known truth, brute force, and what is said where there is nothing to say."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from sklearn.exceptions import ConvergenceWarning

from properly.prevalence import PriorEstimate, adjust_prior, estimate_prior
from properly.prevalence import label_shift as mixture
from properly.prevalence.label_shift import mixing_proportions

METHODS = ["em", "bbse-hard", "bbse-soft"]


def gaussian_classes(n, prior, means, train, random, spread=1.0):
    """Labels, and the probabilities of the true model at the training prior; `spread` ≠ 1 makes them wrong."""
    y = random.choice(len(prior), n, p=prior)
    x = means[y] + random.normal(size=(n, means.shape[1]))
    log_density = x @ means.T - 0.5 * (means**2).sum(axis=1)
    return y, softmax(spread * log_density + np.log(train), axis=1)


MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5]])
TRAIN = np.array([0.4, 0.35, 0.25])


def three_classes(n=1000, prior=(0.7, 0.05, 0.25), seed=0, spread=1.0, n_validation=800):
    random = np.random.default_rng(seed)
    y_validation, p_validation = gaussian_classes(n_validation, TRAIN, MEANS, TRAIN, random, spread)
    y, p = gaussian_classes(n, prior, MEANS, TRAIN, random, spread)
    return y, p, p_validation, y_validation


def validation_of(method, p_validation, y_validation):
    return () if method == "em" else (p_validation, y_validation)


# ---------------------------------------------------------------- estimates


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prior", [(0.7, 0.05, 0.25), (0.1, 0.8, 0.1)])
def test_three_classes(method, prior):
    y, p, *validation = three_classes(20_000, prior, n_validation=20_000)
    result = estimate_prior(p, TRAIN, *validation_of(method, *validation), method=method, random_state=0)
    assert result.prior == pytest.approx(np.bincount(y) / len(y), abs=0.015)
    assert result.prior.sum() == pytest.approx(1.0)
    assert np.all((result.interval[:, 0] <= result.prior) & (result.prior <= result.interval[:, 1]))
    assert 1.0 < result.condition < 20.0


def test_the_likelihood_is_at_its_maximum():
    _, p, *_ = three_classes(300)

    def objective(free):
        return -np.mean(np.log(p / TRAIN @ softmax([0.0, *free])))

    found = estimate_prior(p, TRAIN, n_bootstrap=0).prior
    starts = [np.zeros(2), np.array([2.0, -2.0]), np.array([-3.0, 1.0])]
    best = min((minimize(objective, start, tol=1e-12) for start in starts), key=lambda each: each.fun)
    assert found == pytest.approx(softmax([0.0, *best.x]), abs=1e-5)
    assert -np.mean(np.log(p / TRAIN @ found)) <= best.fun + 1e-14


def test_two_classes_by_a_grid_and_by_their_fixed_point():
    random = np.random.default_rng(1)
    p = expit(random.normal(size=200) * 2.0)
    found = estimate_prior(p, 0.3, n_bootstrap=0).prior
    grid = np.linspace(0.0, 1.0, 10_001)
    likelihood = np.log(np.outer(grid, p / 0.3) + np.outer(1.0 - grid, (1.0 - p) / 0.7)).sum(axis=1)
    assert found[1] == pytest.approx(grid[likelihood.argmax()], abs=1e-4)
    # Saerens' iteration stands still: the mean of the corrected probabilities is the prior they are corrected to.
    assert adjust_prior(p, 0.3, found[1]).mean() == pytest.approx(found[1], abs=1e-10)
    assert estimate_prior(np.column_stack([1.0 - p, p]), [0.7, 0.3], n_bootstrap=0).prior == pytest.approx(found)


def test_the_likelihood_of_a_class_that_is_absent():
    """At the boundary the gradient of an absent class is below that of the others."""
    _, p, *_ = three_classes(500, (0.8, 0.0, 0.2))
    p = p[p[:, 1] < 0.2]  # so that even what looks like class 1 by chance is gone
    found = estimate_prior(p, TRAIN, n_bootstrap=0).prior
    gradient = np.mean(p / TRAIN / (p / TRAIN @ found)[:, None], axis=0)
    assert found[1] < 1e-9
    assert gradient[1] < 1.0
    assert gradient[[0, 2]] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_mixing_proportions_are_certified(seed):
    """Overlap, separation, few rows, many classes; against many steps of expectation maximisation."""
    random = np.random.default_rng(seed)
    k, n = random.integers(2, 7), random.integers(1, 500)
    means = random.normal(size=(k, 2)) * 10.0 ** random.uniform(-1.0, 1.0)
    train = random.dirichlet(np.ones(k))
    _, p = gaussian_classes(n, random.dirichlet(np.full(k, 0.5)), means, train, random)
    weight = random.integers(1, 4, n).astype(float)
    weight /= weight.sum()
    found = mixing_proportions(p / train, weight, train)
    assert found.gap < 1e-9
    assert found.coef.min() >= 0.0
    assert found.coef.sum() == pytest.approx(1.0)
    x = train
    for _ in range(300):
        x = x * (weight @ (p / train / (p / train @ x)[:, None]))
    assert weight @ np.log(p / train @ found.coef) >= weight @ np.log(p / train @ x) - 1e-12


def test_equations_are_solved():
    _, p, p_validation, y_validation = three_classes()
    for method, predict in [("bbse-soft", lambda p: p), ("bbse-hard", lambda p: np.eye(3)[p.argmax(axis=1)])]:
        confusion = np.column_stack([predict(p_validation)[y_validation == k].mean(axis=0) for k in range(3)])
        expected = np.linalg.solve(confusion, predict(p).mean(axis=0))
        assert expected.min() > 0.0
        result = estimate_prior(p, TRAIN, p_validation, y_validation, method=method, n_bootstrap=0)
        assert result.prior == pytest.approx(expected, rel=1e-12)
        assert result.condition == pytest.approx(np.linalg.cond(confusion))
        # In the words of the paper: the ratio of target to validation proportions from the joint confusion matrix.
        joint = predict(p_validation).T @ np.eye(3)[y_validation] / 800
        ratio = np.linalg.solve(joint, predict(p).mean(axis=0))
        assert result.prior == pytest.approx(ratio * np.bincount(y_validation) / 800)


def test_a_solution_outside_is_brought_to_the_nearest_distribution():
    y = np.repeat([0, 1, 2], 10)
    p_validation = np.full((30, 3), 0.25)
    p_validation[np.arange(30), y] = 0.5
    p = np.tile([0.7, 0.2, 0.1], (5, 1))  # more of class 0 than even its own rows have
    result = estimate_prior(p, np.full(3, 1 / 3), p_validation, y, method="bbse-soft", n_bootstrap=0)
    raw = np.linalg.solve(np.full((3, 3), 0.25) + 0.25 * np.eye(3), p[0])
    nearest = minimize(
        lambda x: np.sum((x - raw) ** 2),
        np.full(3, 1 / 3),
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
        tol=1e-12,
    )
    assert raw.min() < 0.0
    assert result.prior == pytest.approx(nearest.x, abs=1e-6)


def test_black_boxes_need_no_calibration():
    """Probabilities three times too sure: the equations do not mind, the likelihood does."""
    y, p, *validation = three_classes(20_000, spread=3.0, n_validation=20_000)
    truth = np.bincount(y) / len(y)
    soft = estimate_prior(p, TRAIN, *validation, method="bbse-soft", n_bootstrap=0).prior
    likelihood = estimate_prior(p, TRAIN, n_bootstrap=0).prior
    assert np.abs(soft - truth).max() < 0.015
    assert np.abs(likelihood - truth).max() > 0.04


def test_a_perfect_classifier_counts():
    y = np.array([0] * 6 + [1] * 3 + [2])
    result = estimate_prior(np.eye(3)[y], TRAIN, n_bootstrap=0)
    assert result.prior == pytest.approx([0.6, 0.3, 0.1])
    assert result.condition == pytest.approx(1.0)
    absent = estimate_prior(np.eye(3)[y[:9]], TRAIN, n_bootstrap=0)
    assert absent.prior == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert absent.condition == pytest.approx(1.0)


# ---------------------------------------------------------------- intervals


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_intervals_cover_the_truth_as_often_as_they_say(method):
    covered = []
    for seed in range(200):
        _, p, *validation = three_classes(500, (0.5, 0.2, 0.3), seed)
        data = p, TRAIN, *validation_of(method, *validation)
        result = estimate_prior(*data, method=method, level=0.9, random_state=seed)
        covered.append((result.interval[:, 0] <= [0.5, 0.2, 0.3]) & (result.interval[:, 1] >= [0.5, 0.2, 0.3]))
    assert np.mean(covered, axis=0) == pytest.approx(0.9, abs=0.065)  # three standard errors


@pytest.mark.parametrize("method", METHODS)
def test_an_interval_is_as_wide_as_the_estimate_varies(method):
    results = []
    for seed in range(60):
        _, p, *validation = three_classes(400, (0.5, 0.2, 0.3), seed)
        data = p, TRAIN, *validation_of(method, *validation)
        results.append(estimate_prior(*data, method=method, n_bootstrap=100 if seed < 5 else 0, random_state=0))
    spread = np.std([each.prior for each in results], axis=0)
    width = np.mean([each.interval[:, 1] - each.interval[:, 0] for each in results[:5]], axis=0)
    assert width / (2.0 * 1.96 * spread) == pytest.approx(1.0, abs=0.35)


@pytest.mark.parametrize("method", METHODS)
def test_intervals_repeat_and_grow_with_the_level(method):
    _, p, *validation = three_classes()
    first, again, other, wide = (
        estimate_prior(p, TRAIN, *validation_of(method, *validation), method=method, random_state=seed, level=level)
        for seed, level in [(0, 0.8), (0, 0.8), (1, 0.8), (0, 0.99)]
    )
    assert np.array_equal(first.interval, again.interval)
    assert not np.array_equal(first.interval, other.interval)
    assert np.all(wide.interval[:, 0] < first.interval[:, 0])
    assert np.all(wide.interval[:, 1] > first.interval[:, 1])


def test_resamples_that_say_nothing_widen_the_interval():
    """One of six rows of class 1 is predicted, so that a third of the resamples never predict it."""
    p_validation = np.r_[np.full(40, 0.1), np.full(5, 0.2), 0.9]
    y_validation = np.r_[np.zeros(40), np.ones(6)]
    p = np.r_[np.full(90, 0.1), np.full(10, 0.9)]
    with pytest.warns(UserWarning, match=r"hardly determine the class proportions: the widest interval is \[0, 1\]"):
        result = estimate_prior(p, 0.1, p_validation, y_validation, method="bbse-hard", random_state=0)
    assert result.prior[1] == pytest.approx(0.6)
    assert result.interval.tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(100, 0.03), (100, 0.97), (300, 0.03)])
def test_intervals_of_a_rare_class_cover_it(n, share):
    """Percentiles alone cover 86 % of the first two: of 100 rows, often no row looks like the rare class."""
    covered = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        x = random.normal(2.0 * (random.random(n) < share))
        low, high = estimate_prior(expit(2.0 * x - 2.0 + logit(0.3)), 0.3, n_bootstrap=100, random_state=seed).interval[
            1
        ]
        covered.append(low <= share <= high)
    assert np.mean(covered) >= 0.92


def test_a_class_that_was_not_seen_may_still_exist():
    """A perfect classifier: n rows of other classes have the probability (1 - share)ⁿ."""
    high = 1.0 - np.exp(-0.5 * 1.959964**2 / 50)
    two = estimate_prior(np.zeros(50), 0.3, n_bootstrap=20)
    assert two.prior.tolist() == [1.0, 0.0]
    assert two.interval == pytest.approx(np.array([[1.0 - high, 1.0], [0.0, high]]), rel=1e-5)
    three = estimate_prior(np.eye(3)[np.arange(50) % 2], TRAIN, n_bootstrap=20, random_state=0)
    assert three.interval[2] == pytest.approx([0.0, high], rel=1e-5)


@pytest.mark.parametrize("method", ["bbse-hard", "bbse-soft"])
def test_equations_do_not_exclude_a_class_that_was_not_seen(method):
    """Of a perfect classifier the share t is rejected if t² > χ² t(1 - t)/n, Wilson's interval."""
    labels = np.arange(90) % 3
    high = 1.959964**2 / (50 + 1.959964**2)
    seen = np.eye(3)[np.arange(50) % 2]
    result = estimate_prior(seen, TRAIN, np.eye(3)[labels], labels, method=method, n_bootstrap=20, random_state=0)
    assert result.interval[2] == pytest.approx([0.0, high], rel=1e-5)
    two = estimate_prior(np.ones(50), 0.3, labels[:2] * 1.0, labels[:2], method=method, n_bootstrap=20, random_state=0)
    assert two.interval == pytest.approx(np.array([[0.0, high], [1.0 - high, 1.0]]), rel=1e-5)


def test_equations_with_a_solution_below_zero():
    """Fewer rows are predicted than false alarms alone should give: all resamples may end at 0."""
    p_validation, y_validation = np.r_[np.full(30, 0.9), np.full(70, 0.1), np.full(100, 0.9)], np.repeat([0, 1], 100)
    p = np.r_[np.full(20, 0.9), np.full(180, 0.1)]
    result = estimate_prior(p, 0.3, p_validation, y_validation, method="bbse-hard", random_state=0)
    assert result.prior.tolist() == [1.0, 0.0]
    raw, n = (0.1 - 0.3) / 0.7, 200

    def statistic(t):
        alarms = 0.3 + 0.7 * t
        variance = (alarms * (1 - alarms) / n + (1 - t) ** 2 * 0.3 * 0.7 / 100) / 0.7**2
        return (raw - t) ** 2 / variance

    low, high = result.interval[1]
    assert low == 0.0
    assert 0.005 < high < 0.2
    assert (raw - high) ** 2 / (statistic(0.0) + 1.959964**2) == pytest.approx((raw - high) ** 2 / statistic(high))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bbse-hard", "bbse-soft"])
def test_intervals_of_equations_cover_a_rare_class(method):
    """Percentiles alone are [0, 0] in three cases of the one method and six of the other."""
    covered = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        y = np.r_[random.random(200) < 0.01, random.random(500) < 0.3]
        p = expit(2.0 * random.normal(2.0 * y) - 2.0 + logit(0.3))
        data = p[:200], 0.3, p[200:], y[200:]
        low, high = estimate_prior(*data, method=method, n_bootstrap=100, random_state=seed).interval[1]
        covered.append(low <= 0.01 <= high)
        assert high > 0.0
    assert np.mean(covered) >= 0.92


def test_shares_up_to_the_upper_end_are_not_rejected():
    """The likelihood with the share of class 1 fixed, by brute force over those of the others."""
    _, p, *_ = three_classes(150, (0.7, 0.01, 0.29), seed=3)
    result = estimate_prior(p, TRAIN, level=0.9, random_state=0)
    low, high = result.interval[1]
    density = p / TRAIN
    grid = np.linspace(0.0, 1.0 - high, 2001)[:, None]
    mixed = grid * density[:, 0] + high * density[:, 1] + (1.0 - high - grid) * density[:, 2]
    with np.errstate(divide="ignore"):
        fixed = np.log(mixed).sum(axis=1).max()
    fall = np.log(density @ result.prior).sum() - fixed
    assert low == 0.0
    assert 2.0 * fall == pytest.approx(1.644854**2, abs=1e-3)


# ---------------------------------------------------------------- where there is nothing to say


@pytest.mark.parametrize("constant", [0.3, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_probabilities_that_are_all_equal(method, constant):
    p = np.full(50, constant)
    with pytest.warns(UserWarning, match=r"do not determine .* The prior is train_prior\. Get more rows"):
        result = estimate_prior(p, 0.3, *validation_of(method, p, np.arange(50) % 2), method=method)
    assert result.prior == pytest.approx([0.7, 0.3])
    assert result.interval.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert result.condition == np.inf


def test_a_class_that_is_never_predicted():
    _, p, p_validation, y_validation = three_classes(5000)
    rare = np.array([0.02, 0.58, 0.40])
    p, p_validation = (adjust_prior(each, TRAIN, rare) for each in (p, p_validation))
    p_validation[:, 0] *= 0.2  # so that class 0 never has the largest probability
    p_validation /= p_validation.sum(axis=1, keepdims=True)
    keep = p_validation.argmax(axis=1) > 0
    with pytest.warns(UserWarning, match='do not determine .*Get more rows, use method="bbse-soft", merge'):
        estimate_prior(p, rare, p_validation[keep], y_validation[keep], method="bbse-hard")


def test_classes_that_look_the_same():
    p = np.random.default_rng(0).uniform(0.1, 0.9, 100)
    same = np.column_stack([1.0 - p, 0.5 * p, 0.5 * p])
    with pytest.warns(UserWarning, match="merge classes that look alike"):
        result = estimate_prior(same, [0.5, 0.25, 0.25])
    assert result.prior == pytest.approx([0.5, 0.25, 0.25])


def test_hardly_any_information():
    p = 0.3 + 0.01 * np.random.default_rng(0).normal(size=1000)
    with pytest.warns(UserWarning, match="hardly determine .*: the condition number of the confusion matrix is"):
        result = estimate_prior(p, 0.3)
    assert result.condition > 1e3


def test_few_rows():
    p = np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.9])
    with pytest.warns(UserWarning, match="hardly determine .*: the widest interval is"):
        estimate_prior(p, 0.5, random_state=0)
    with pytest.warns(UserWarning, match="do not determine"):
        assert estimate_prior([0.9], 0.5).prior.tolist() == [0.5, 0.5]


def test_a_search_that_did_not_end_is_told(monkeypatch):
    monkeypatch.setattr(mixture, "_MAX_ITER", 1)
    _, p, *_ = three_classes(100)
    with pytest.warns(ConvergenceWarning, match="log-likelihood of a row may be .* below its maximum"):
        estimate_prior(p, TRAIN, n_bootstrap=0)


def test_rare_classes_do_not_alarm():
    """The condition of the likelihood is that of the classifier, however rare a class is."""
    random = np.random.default_rng(0)
    x = random.normal(2.0 * (random.random(20_000) < 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = estimate_prior(expit(2.0 * x - 2.0 + logit(1e-5)), 1e-5, n_bootstrap=50, random_state=0)
    assert result.prior[1] == pytest.approx(0.01, abs=0.004)
    assert result.condition < 10.0


# ---------------------------------------------------------------- results and errors


def test_frame():
    _, p, p_validation, y_validation = three_classes()
    labels = np.array(["cat", "dog", "owl"])[y_validation]
    result = estimate_prior(p, TRAIN, p_validation, labels, method="bbse-soft", random_state=0)
    frame = result.frame()
    assert isinstance(result, PriorEstimate)
    assert frame.columns.tolist() == ["prior", "low", "high"]
    assert frame.index.tolist() == ["cat", "dog", "owl"]
    assert frame.loc["dog", "prior"] == result.prior[1]
    assert frame[["low", "high"]].to_numpy().tolist() == result.interval.tolist()
    plain = estimate_prior(p, TRAIN, n_bootstrap=0)
    pd.testing.assert_frame_equal(
        plain.frame(), pd.DataFrame({"prior": plain.prior}, index=pd.Index([0, 1, 2], name="class"))
    )
    assert plain.interval is None
    assert estimate_prior(p, TRAIN, n_bootstrap=None).interval is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": []}, "at least one row"),
        ({"p": [0.5, 1.2]}, r"p must lie in \[0, 1\], got 1\.2"),
        ({"train_prior": 0.0}, "train_prior must lie strictly between 0 and 1"),
        ({"train_prior": [0.2, 0.3, 0.5]}, "train_prior has 3 entries, but there are 2 classes"),
        ({"method": "acc"}, "method must be one of 'em', 'bbse-hard', 'bbse-soft', got 'acc'"),
        ({"method": "bbse-soft"}, 'the "bbse" methods need p_validation and y_validation; method="em" does not'),
        ({"p_validation": [0.5, 0.2], "y_validation": [0, 1]}, 'method="em" takes no validation data; leave them out'),
        ({"p_validation": [0.5, 0.2]}, "p_validation and y_validation belong together"),
        ({"p_validation": [0.5, 0.2], "y_validation": [0, 1, 1]}, "p_validation has 2 rows, y_validation has 3"),
        (
            {"p_validation": [0.5, 0.2, 0.1], "y_validation": [0, 1, 2]},
            r"holds \[0, 1, 2\]; all must have",
        ),
        ({"n_bootstrap": -1}, "n_bootstrap, if not 0, must be a whole number of at least 2, got -1"),
        ({"n_bootstrap": 1}, "n_bootstrap, if not 0, must be a whole number of at least 2, got 1"),
        ({"n_bootstrap": True}, "n_bootstrap, if not 0, must be a whole number of at least 2, got True"),
        ({"n_bootstrap": 10.0}, "n_bootstrap, if not 0, must be a whole number"),
        ({"level": 1.0}, r"level must be above 0 and below 1, got 1\.0"),
        ({"level": np.nan}, "level must be above 0 and below 1, got nan"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        estimate_prior(**{"p": [0.2, 0.6], "train_prior": 0.3, **options})
