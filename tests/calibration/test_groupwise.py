"""Maps by group: what differs is told apart, what does not is left alone."""

import numpy as np
import pytest
from scipy import optimize
from scipy import special as sc
from sklearn.base import clone

from properly.calibration import GroupwiseCalibration, IsotonicCalibration, PlattScaling, TemperatureScaling
from properly.calibration.groupwise import SPREADS, GroupRows, _fitted_lines, _Posterior


def grouped(sizes, intercept, slope, seed=0):
    """Scores, labels, groups and true log-odds, which are intercept + slope · score in every group."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    scores = 2.0 * rng.normal(size=len(groups)) - 0.5
    truth = np.asarray(intercept)[groups] + np.asarray(slope)[groups] * scores
    return scores, rng.random(len(groups)) < sc.expit(truth), groups, truth


def excess(truth, p):
    """Expected log loss beyond that of the true probabilities."""
    p = np.asarray(p)
    return np.mean(sc.rel_entr(sc.expit(truth), p) + sc.rel_entr(sc.expit(-truth), 1.0 - p))


def both(model, scores, groups):
    return model.predict_proba(scores, groups)[:, 1], model.pooled_.predict_proba(scores)[:, 1]


@pytest.mark.parametrize("method", ["auto", "platt", "isotonic", "beta"])
def test_groups_that_differ(method):
    setting = [3000, 3000], [1.0, -1.0], [1.0, 0.4]
    scores, y, groups, _ = grouped(*setting)
    model = GroupwiseCalibration(method).fit(scores, y, groups)
    scores, _, groups, truth = grouped(*setting, seed=1)
    own, pooled = (np.clip(p, 1e-4, 1.0 - 1e-4) for p in both(model, scores, groups))  # isotonic says 0 and 1
    assert excess(truth, own) < 0.1 * excess(truth, pooled)
    assert min(model.weights_.values()) > 0.95


def test_large_groups_have_the_line_of_their_own_rows():
    scores, y, groups, _ = grouped([5000, 5000], [1.0, -1.0], [1.0, 0.4])
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    for group in (0, 1):
        rows = groups == group
        own = PlattScaling(noisy_labels=False).fit(scores[rows], y[rows])
        grid = np.linspace(-4.0, 4.0, 9)
        ours = model.predict_proba(grid, np.full(9, group))
        assert ours == pytest.approx(own.predict_proba(grid), abs=0.01)


@pytest.mark.parametrize("sizes", [[10] * 100, [3] * 200, [50] * 20, [500] * 4, [1000]])
def test_groups_that_do_not_differ_are_not_harmed(sizes):
    n = len(sizes)
    losses = []
    for seed in range(10):
        scores, y, groups, _ = grouped(sizes, np.zeros(n), np.full(n, 0.7), seed)
        model = GroupwiseCalibration("platt").fit(scores, y, groups)
        scores, _, groups, truth = grouped([2000 // n + 1] * n, np.zeros(n), np.full(n, 0.7), seed + 100)
        losses.append([excess(truth, p) for p in both(model, scores, groups)])
    own, pooled = np.mean(losses, axis=0)
    assert own < pooled + 3e-4


def test_small_groups_share_what_they_have():
    """Better than the pooled map, and than every group by itself."""
    rng = np.random.default_rng(3)
    n = 100
    setting = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
    scores, y, groups, _ = grouped([15] * n, *setting)
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    new_scores, _, new_groups, truth = grouped([100] * n, *setting, seed=1)
    own, pooled = both(model, new_scores, new_groups)
    alone = np.empty(len(truth))
    for group in range(n):
        rows, new = groups == group, new_groups == group
        mixed = 0 < y[rows].sum() < rows.sum()
        map_ = PlattScaling().fit(scores[rows], y[rows]) if mixed else model.pooled_
        alone[new] = map_.predict_proba(new_scores[new])[:, 1]
    assert excess(truth, own) < 0.8 * excess(truth, pooled)
    assert excess(truth, own) < 0.8 * excess(truth, alone)


def test_weights_grow_with_the_group():
    sizes = [2000, 2000, 200, 20, 2]
    scores, y, groups, _ = grouped(sizes, [1.5, -1.5, 1.0, -1.0, 1.0], [1.0] * 5)
    weights = list(GroupwiseCalibration("platt").fit(scores, y, groups).weights_.values())
    assert weights[:2] == pytest.approx([1.0, 1.0], abs=0.05)
    assert np.all(np.diff(weights[1:]) < 0.0)
    assert 0.0 < weights[-1] < 0.5


def test_the_lines_are_the_most_probable_ones():
    scores, y, groups, _ = grouped([80, 40, 8], [2.0, -2.0, 0.5], [1.5, 0.3, 1.0])
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    model = GroupwiseCalibration("platt").fit(scores, y, groups, weight)
    lines = model.lines_[0]
    sigma, tau = lines.spread
    pooled = model.pooled_.maps_[0].log_odds(scores)
    z = (pooled - np.average(pooled, weights=weight)) / np.sqrt(np.cov(pooled, aweights=weight, ddof=0))
    assert min(sigma, tau) > 0.0

    def posterior(u, rows):
        v = pooled[rows] + sigma * u[0] + tau * u[1] * z[rows]
        return -weight[rows] @ sc.log_expit(np.where(y[rows], v, -v)) + 0.5 * np.sum(u**2)

    for group in range(3):
        found = optimize.minimize(posterior, np.zeros(2), args=(groups == group,), tol=1e-10).x
        assert lines.intercept[group] == pytest.approx(sigma * found[0], abs=1e-3)
        assert lines.slope[group] == pytest.approx(tau * found[1], abs=1e-3)


def test_the_spread_is_the_most_probable_one():
    """Laplace's approximation against numerical integration over the intercepts, slopes being equal."""
    rng = np.random.default_rng(0)
    n = 30
    scores, y, groups, _ = grouped([20] * n, 1.2 * rng.normal(size=n), np.ones(n))
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    sigma, tau = model.lines_[0].spread
    assert tau == 0.0
    pooled = model.pooled_.maps_[0].log_odds(scores)
    grid, mass = np.polynomial.hermite_e.hermegauss(60)
    evidence = []
    for spread in SPREADS:
        v = pooled[:, None] + spread * grid
        log_p = sc.log_expit(np.where(y[:, None], v, -v))
        by_group = np.add.reduceat(log_p, np.arange(0, len(y), 20), axis=0)
        evidence.append(sc.logsumexp(by_group, b=mass, axis=1).sum() - np.log(1.0 if spread == 0.0 else 7.0))
    assert SPREADS[int(np.argmax(evidence))] == sigma


def test_three_classes():
    rng = np.random.default_rng(0)
    n = 6000
    groups = np.array(["a", "b"])[np.arange(n) % 2]
    truth = 1.5 * rng.normal(size=(n, 3))
    p = sc.softmax(truth, axis=1)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    logits = truth - np.where(groups == "a", 1.0, -1.0)[:, None] * [0.0, 0.0, 1.0]  # the third class is mistaken
    model = GroupwiseCalibration("temperature").fit(logits[:3000], y[:3000], groups[:3000])
    own, pooled = model.predict_proba(logits[3000:], groups[3000:]), model.pooled_.predict_proba(logits[3000:])
    assert own.sum(axis=1) == pytest.approx(1.0)
    losses = [np.mean(np.sum(sc.rel_entr(p[3000:], each), axis=1)) for each in (own, pooled)]
    assert losses[0] < 0.2 * losses[1]
    assert np.array_equal(model.predict(logits, groups), model.predict_proba(logits, groups).argmax(axis=1))


def test_classes_too_improbable_for_float64_are_still_compared():
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(600, 3)) * rng.choice([0.3, 1.0, 3.0])
    groups = rng.integers(0, 3, 600)
    shapes = np.array([[1.0, 1.0, 1.0], [-2.0, -2.0, -2.0], [-3.0, 3.0, 1.0]])
    noise = np.array([0.5, 1.0, 1.0])[:, None, None] * rng.gumbel(size=(3, 600, 3))
    y = (shapes[groups] * logits + noise[groups, np.arange(600)]).argmax(axis=1)
    model = GroupwiseCalibration("platt").fit(logits, y, groups)
    far = rng.normal(size=(300, 3)) * 10.0 ** rng.uniform(0.0, 300.0, (300, 1))
    far[0] = [1666.0, 678.0, -454.0]
    p = model.predict_proba(far, np.arange(2, 302) % 3)
    assert np.all(np.isfinite(p))
    assert p.sum(axis=1) == pytest.approx(1.0)
    # By hand: the lines added to the pooled log-odds, and the largest of the three taken out.
    log_p = model.pooled_.predict_log_proba(far[:1])[0]
    pooled = [log_p[k] - sc.logsumexp(np.delete(log_p, k)) for k in range(3)]
    each = [line.log_odds(np.array([v]), np.array([2]))[0] for line, v in zip(model.lines_, pooled, strict=True)]
    assert max(each) < -750.0
    assert p[0] == pytest.approx(np.exp(each - max(each)) / np.exp(each - max(each)).sum())


def test_no_step_makes_a_line_less_probable(monkeypatch):
    """Newton's full step overshoots from here; without a chance to halve it there is none."""
    rows = GroupRows(np.zeros(200), np.zeros(200), np.arange(200) < 100, np.full(200, 50.0), np.repeat([0, 1], 100))
    spread, start = (3.2, 0.0), np.array([[-12.0, 0.0], [0.5, 0.0]])
    best = _fitted_lines(rows, spread, start).coef
    monkeypatch.setattr("properly.solvers.dense._HALVINGS", 1)
    found = _fitted_lines(rows, spread, start).coef
    before, after = (_Posterior(rows, np.array(spread), coef / [3.2, 1.0]).value for coef in (start, found))
    assert np.all(after <= before)
    assert found[0, 0] == start[0, 0]
    assert np.all(best[:, 0] != start[:, 0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logarithms_and_decisions_are_those_of_the_probabilities(n_classes):
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, n_classes, 200), rng.integers(0, 3, 200)
    scores = 2.0 * y + rng.normal(size=200) if n_classes == 2 else 2.0 * np.eye(3)[y] + rng.normal(size=(200, 3))
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    p, log_p, decision = (
        method(scores, groups) for method in (model.predict_proba, model.predict_log_proba, model.decision_function)
    )
    assert log_p == pytest.approx(np.log(p), abs=1e-9)
    assert decision == pytest.approx(log_p[:, 1] - log_p[:, 0] if n_classes == 2 else log_p, abs=1e-9)
    assert np.array_equal(model.predict(scores, groups), p.argmax(axis=1))


def test_alike_groups_keep_the_pooled_map_exactly():
    scores, y, groups, _ = grouped([100, 100, 100], [0.0] * 3, [1.0] * 3, seed=1)
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    own, pooled = both(model, scores, groups)
    assert np.array_equal(own, pooled)
    assert model.weights_ == {0: 0.0, 1: 0.0, 2: 0.0}


def test_new_groups_have_the_pooled_map():
    scores, y, groups, _ = grouped([300, 300], [1.5, -1.5], [1.0, 1.0])
    names = np.array(["north", "south"])[groups]
    model = GroupwiseCalibration().fit(scores, y, names)
    assert model.groups_.tolist() == ["north", "south"]
    pooled = model.pooled_.predict_proba(scores)
    with pytest.warns(UserWarning, match=r"none of the groups was seen in fit: got groups such as 'west'.* as 'north'"):
        assert model.predict_proba(scores, np.full(600, "west")) == pytest.approx(pooled)
    with pytest.warns(UserWarning, match=r"got groups such as 0\.0"):  # of another type, too
        assert model.predict_proba(scores, np.zeros(600)) == pytest.approx(pooled)
    one_known = np.append("north", np.full(599, "west"))
    assert model.predict_proba(scores, one_known)[1:] == pytest.approx(pooled[1:])
    assert np.abs(model.predict_proba(scores, names) - pooled).max() > 0.1


def test_a_group_of_one_class():
    scores, y, groups, _ = grouped([300, 300], [1.5, -1.5], [1.0, 1.0])
    y = np.append(y, np.zeros(40, dtype=bool))
    groups, scores = np.append(groups, np.full(40, 2)), np.append(scores, np.full(40, 1.0))
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    p = model.predict_proba([1.0, 1.0], [2, 3])[:, 1]  # the latter is pooled
    assert 0.005 < p[0] < 0.5 * p[1]


def test_weights_are_repetitions_and_order_does_not_matter():
    scores, y, groups, _ = grouped([60, 60, 30], [1.5, -1.5, 0.0], [1.0] * 3)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    model = GroupwiseCalibration("platt").fit(scores, y, groups, sample_weight=weight)
    again = clone(model).fit(scores[rows], y[rows], groups[rows])
    assert model.predict_proba(scores, groups) == pytest.approx(again.predict_proba(scores, groups), abs=1e-6)
    absent = clone(model).fit(scores, y, groups, sample_weight=(groups < 2).astype(float))
    assert absent.groups_.tolist() == [0, 1]


def test_certainty_stays():
    scores = np.arange(40.0)
    y = scores > 19
    model = GroupwiseCalibration(IsotonicCalibration()).fit(scores, y, np.arange(40) % 2)
    assert model.predict_proba([0.0, 39.0], [0, 1]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    y = np.arange(30) % 3
    three = GroupwiseCalibration("isotonic").fit(10.0 * np.eye(3)[y], y, np.arange(30) % 2)
    assert np.array_equal(three.predict_proba(10.0 * np.eye(3), [0, 1, 0]), np.eye(3))


@pytest.mark.filterwarnings("ignore:.*scores are larger than 1e100:UserWarning")
@pytest.mark.parametrize("method", ["platt", "auto", "isotonic", "temperature"])
def test_degenerate_data_have_finite_answers(method):
    cases = [
        (np.ones(10), np.arange(10) % 5 == 0, np.arange(10) % 2),
        (np.arange(10.0), np.arange(10) > 6, np.arange(10)),  # separated, and every row its own group
        (np.array([-1e300, -1.0, 0.0, 2.0, 1.0, 1e300]), np.array([0, 0, 1, 0, 1, 1]), np.zeros(6)),
        (np.array([0.0, 1.0]), np.array([0, 1]), ["a", "b"]),
    ]
    for scores, y, groups in cases:
        model = GroupwiseCalibration(method, input="score").fit(scores, y, groups)
        p = model.predict_proba(np.append(scores, [-1e308, 1e308]), np.append(groups, groups[:2]))
        assert np.all(np.isfinite(p))
        assert p.sum(axis=1) == pytest.approx(1.0)


def test_probabilities_as_input():
    scores, y, groups, _ = grouped([200, 200], [1.0, -1.0], [1.0, 1.0])
    expected = GroupwiseCalibration("platt").fit(scores, y, groups).predict_proba(scores, groups)
    model = GroupwiseCalibration(PlattScaling(), input="probability").fit(sc.expit(scores), y, groups)
    assert model.predict_proba(sc.expit(scores), groups) == pytest.approx(expected, abs=1e-6)
    unsaid = GroupwiseCalibration("platt").fit(sc.expit(scores), y, groups)
    assert unsaid.input_ == "probability"
    assert np.array_equal(unsaid.predict_proba(sc.expit(scores), groups), model.predict_proba(sc.expit(scores), groups))
    assert clone(GroupwiseCalibration(TemperatureScaling())).get_params()["method__input"] == "auto"


def test_bad_groups_are_refused():
    scores, y, groups, _ = grouped([20, 20], [1.0, -1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="groups has 39 entries, scores has 40 rows"):
        GroupwiseCalibration().fit(scores, y, groups[:-1])
    with pytest.raises(ValueError, match="groups must have one entry for each row, got None; without groups, use a"):
        GroupwiseCalibration().fit(scores, y, None)
    with pytest.raises(ValueError, match="groups must not contain nan; give rows of unknown group a name"):
        GroupwiseCalibration().fit(scores, y, np.where(groups == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="all numbers or all strings"):
        GroupwiseCalibration().fit(scores, y, np.array([None, "a"], dtype=object)[groups])
    with pytest.raises(ValueError, match="method must be one of"):
        GroupwiseCalibration("best").fit(scores, y, groups)
    model = GroupwiseCalibration("platt").fit(scores, y, groups)
    with pytest.raises(ValueError, match="groups has 1 entries, scores has 2 rows"):
        model.predict_proba([0.0, 1.0], [0])
