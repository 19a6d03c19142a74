import inspect
import sys

import numpy as np
import pytest
from scipy import special as sc
from sklearn import metrics as peers

from properly.audit import answer, audit, summary_of, verdict
from properly.audit.auditing import Groups, audit_of
from properly.inputs.forecast import Forecast
from properly.metrics.decisions import binary_costs


def test_scores_are_scikit_learns(forecasts):
    y, p = forecasts(slope=0.5)
    result = audit(y, p)
    assert result.scores["log loss"].before == pytest.approx(peers.log_loss(y, p), rel=1e-9)
    assert result.scores["Brier score"].before == pytest.approx(peers.brier_score_loss(y, p), rel=1e-9)
    assert result.auc.area == pytest.approx(peers.roc_auc_score(y, p), rel=1e-9)
    for score in result.scores.values():
        assert score.parts.score == pytest.approx(score.before, rel=1e-9)
        assert score.before - score.after == pytest.approx(score.gain.difference, rel=1e-6)


@pytest.mark.parametrize(
    ("slope", "intercept", "words"),
    [
        (1.0, 0.0, []),
        (0.5, 0.0, ["overconfident", "too extreme", "0.5"]),
        (2.0, 0.0, ["underconfident"]),
        (1.0, -1.5, ["too high on average"]),
        (1.0, 1.5, ["too low on average"]),
        (-1.0, 0.0, ["wrong order"]),
    ],
)
def test_what_is_wrong_is_said(forecasts, slope, intercept, words):
    y, p = forecasts(6_000, slope, intercept, centre=0.0)
    result = audit(y, p)
    assert verdict(result) == ("wrong" if words else "right")
    right, _, gained = answer(result)
    for word in words:
        assert word in right
    assert ("gains nothing" in gained) != bool(words)
    if words and "average" not in words[0]:
        assert "on average" not in right
    assert ("confident" in right) == any("confident" in word for word in words)


def test_right_probabilities_are_called_right_if_there_is_enough_data(forecasts):
    found = [verdict(audit(*forecasts(2_000, seed=seed))) for seed in range(10)]
    assert found.count("right") >= 9
    small = [verdict(audit(*forecasts(100, seed=seed))) for seed in range(10)]
    assert small.count("unclear") >= 8
    assert "right" not in small


def test_the_gain_is_what_recalibration_brings_on_new_rows(forecasts):
    y, p = forecasts(20_000, 0.5, -0.5)
    gain = audit(y, p).scores["log loss"].gain
    best = peers.log_loss(y, p) - peers.log_loss(y, sc.expit(0.5 * sc.logit(p) - 0.5))
    assert gain.low < best < gain.high


def test_weight_two_is_the_row_twice_and_weight_zero_none(forecasts):
    y, p = forecasts(500, 0.5)
    weight = np.arange(500) % 3
    group = np.where(p > 0.3, "high", "low")
    twice = np.repeat(np.arange(500), weight)
    one = audit(y, p, sample_weight=weight, group=group, costs=(1, 5))
    other = audit(y[twice], p[twice], group=group[twice], costs=(1, 5))
    assert one.total == other.total == len(twice)
    assert one.scores["log loss"].before == pytest.approx(other.scores["log loss"].before, rel=1e-12)
    assert one.decision.choice == pytest.approx(other.decision.choice, rel=1e-12)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    for name, size in one.sizes.items():
        assert size == pytest.approx(other.sizes[name], rel=1e-6)
    np.testing.assert_allclose(one.groups.mean_p, other.groups.mean_p, rtol=1e-12)
    np.testing.assert_allclose(one.thresholds.true_positives[[0, -1]], other.thresholds.true_positives[[0, -1]])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("slope", [0.6, 0.75])
def test_rows_that_were_added_up_have_the_gain_of_the_rows(n_classes, slope):
    """Few entries with large weights: copies are divided among folds, and each counts in the intervals."""
    random = np.random.default_rng(4)
    truth = random.dirichlet(np.full(n_classes, 0.7), 12)[random.integers(12, size=6_000)]
    y = (random.random((6_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = sc.softmax(np.log(truth) / slope, axis=1)
    if n_classes == 2:
        p = p[:, 1]
    entry, first, weight = np.unique(np.column_stack([y, p]), axis=0, return_index=True, return_counts=True)
    assert len(entry) < 40
    options = {"costs": (1, 3)} if n_classes == 2 else {}
    rows = audit(y, p, **options)
    added = audit(y[first], p[first], sample_weight=weight, **options)
    assert added.n_rows == added.n_recalibrated == len(first)
    assert answer(added)[2].split(" by ")[0] == answer(rows)[2].split(" by ")[0]
    for name, score in rows.scores.items():
        gain, other = score.gain, added.scores[name].gain
        assert other.standard_error == pytest.approx(gain.standard_error, rel=0.3)
        assert other.difference == pytest.approx(gain.difference, abs=0.5 * gain.standard_error)
    if n_classes == 2:
        assert added.decision.saving.standard_error == pytest.approx(rows.decision.saving.standard_error, rel=0.3)


def test_all_tests_name_classes_as_the_page_does():
    random = np.random.default_rng(5)
    p = random.dirichlet([1.0, 2.0, 3.0], 300)
    y = (random.random((300, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    names = [test.name for test in audit(y, p, class_names=["ape", "bat", "cat"]).test.tests]
    assert names[-4:] == ["class ape", "class bat", "class cat", "whole vector"]


def test_the_order_of_the_rows_does_not_matter_much(forecasts):
    y, p = forecasts(800, 0.5)
    order = np.random.default_rng(0).permutation(800)
    one, other = audit(y, p, costs="1:4"), audit(y[order], p[order], costs="1:4")
    assert one.scores["log loss"].before == pytest.approx(other.scores["log loss"].before, rel=1e-12)
    assert one.scores["log loss"].after == pytest.approx(other.scores["log loss"].after, abs=2e-3)
    assert one.decision.choice == pytest.approx(other.decision.choice, rel=1e-12)


def test_money_is_counted_row_by_row(forecasts):
    y, p = forecasts(2_000, 0.4)
    decision = audit(y, p, costs=(2.0, 10.0)).decision
    threshold = 2.0 / 12.0
    called = p >= threshold
    cost = np.mean(2.0 * (called & (y == 0)) + 10.0 * (~called & (y == 1)))
    assert decision.choice.theoretical_threshold == pytest.approx(threshold)
    assert decision.before == pytest.approx(cost)
    assert decision.saving.difference == pytest.approx(decision.before - decision.after)
    assert decision.choice.expected_cost <= decision.before


def test_recalibrated_probabilities_may_be_given(forecasts):
    y, p = forecasts(2_000, 0.5)
    truth = sc.expit(0.5 * sc.logit(p))
    result = audit(y, p, calibrated=truth)
    assert (result.n_folds, result.n_recalibrated) == (None, 2_000)
    assert result.scores["log loss"].after == pytest.approx(peers.log_loss(y, truth), rel=1e-9)
    weight = np.arange(2_000) % 2
    assert audit(y, p, calibrated=truth, sample_weight=weight).scores["log loss"].after == pytest.approx(
        peers.log_loss(y, truth, sample_weight=weight), rel=1e-9
    )


def test_several_classes():
    random = np.random.default_rng(0)
    logits = random.normal(size=(3_000, 3)) * 1.5
    truth = sc.softmax(logits, axis=1)
    codes = (random.random((3_000, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    y, p = np.array(["a", "b", "c"])[codes], sc.softmax(2.0 * logits, axis=1)
    result = audit(y, p, group=codes > 0)
    assert result.classes == ("a", "b", "c")
    assert result.scores["log loss"].before == pytest.approx(peers.log_loss(y, p), rel=1e-9)
    brier = np.mean(np.sum((p - (codes[:, None] == np.arange(3))) ** 2, axis=1))
    assert result.scores["Brier score"].before == pytest.approx(brier, rel=1e-9)
    assert result.hit_rate == pytest.approx(np.mean(p.argmax(axis=1) == codes))
    assert verdict(result) == "wrong"
    assert "too extreme" in answer(result)[0]
    assert verdict(audit(y, truth)) == "right"


def test_the_smaller_column_of_two_keeps_its_digits():
    q = np.array([1e-30, 0.2, 0.6, 0.9, 0.7, 0.3])
    y = np.array([0, 1, 0, 0, 1, 1])
    result = audit(y, np.column_stack([q, 1.0 - q]))
    assert result.surprises == 0
    assert result.scores["log loss"].before == pytest.approx(-np.mean(np.log(np.where(y == 0, q, 1.0 - q))))


def test_certain_and_mistaken():
    p = np.tile([0.0, 0.3, 0.7, 1.0], 50)
    y = np.tile([0, 0, 1, 1], 50)
    y[[0, 3]] = [1, 0]
    result = audit(y, p)
    assert result.surprises == 2
    assert result.scores["log loss"].before == np.inf
    assert result.scores["log loss"].gain is None
    assert result.headline.name == "Brier score"
    assert "2 rows, whose class was given a probability of 0" in answer(result)[0]
    assert "Brier score" in answer(result)[-1]


def test_one_row_of_a_class_is_too_few_to_tell():
    y = np.zeros(30, dtype=int)
    y[4] = 1
    result = audit(y, np.linspace(0.01, 0.2, 30), costs=(1, 3))
    assert result.n_recalibrated == 0
    assert verdict(result) == "unclear"
    assert "too little data" in answer(result)[0]
    assert "cannot be measured" in answer(result)[-1]


@pytest.mark.parametrize(("mean", "word"), [(0.001, "unclear"), (0.02, "wrong")])
def test_an_event_that_did_not_occur(mean, word):
    p = np.random.default_rng(0).gamma(2.0, 0.5 * mean, 1000)
    found = audit(np.zeros(1000, dtype=int), p, costs=(1, 20))
    assert verdict(found) == word
    assert answer(found)[2].startswith("What recalibration would gain cannot be measured")
    ratio, intercept = found.sizes["observed/expected"], found.sizes["intercept"]
    assert ratio.estimate == ratio.low == 0.0
    assert intercept.low == intercept.estimate == -np.inf
    # Of right probabilities, more than 0 events occur in 97.5 of 100 cases if 3.7 are expected.
    assert ratio.excludes(1.0) == (p.sum() > 3.7) == (word == "wrong")
    assert found.auc is None
    turned = audit(np.ones(1000, dtype=int), 1.0 - p, costs=(20, 1))
    assert turned.p_value == pytest.approx(found.p_value, rel=1e-6, abs=0.05)  # of few events it is simulated
    assert verdict(turned) == word


def test_few_rows_prove_nothing():
    y = np.array([0, 1, 0, 1, 1, 0])
    assert verdict(audit(y, np.where(y == 1, 0.9, 0.1))) == "unclear"
    assert "rows would do" in answer(audit(y, np.where(y == 1, 0.9, 0.1)))[1]
    assert verdict(audit(np.tile(y, 3), np.tile(0.9 - 0.8 * y, 3))) == "wrong"  # 18 rows, each improbable
    assert verdict(audit(np.tile(y, 30), np.tile(0.9 - 0.8 * y, 30))) == "wrong"


def test_what_is_perfect_can_only_be_made_worse():
    y = np.tile([0, 1], 50)
    result = audit(y, y.astype(float))
    assert verdict(result) == "right"
    assert "worse" in answer(result)[-1]


def test_flags_of_groups(forecasts):
    y, p = forecasts(4_000)
    group = np.random.default_rng(1).integers(20, size=4_000)
    assert not audit(y, p, group=group).groups.off.any()
    shifted = np.where(group == 3, np.minimum(1.5 * p + 0.2, 1.0), p)
    off = audit(y, shifted, group=group, group_names=list("abcdefghijklmnopqrst"))
    assert [name for name, flag in zip(off.groups.groups, off.groups.off, strict=True) if flag] == ["d"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": [0.1, 1.7, 0.2, 0.3]}, r"\[0, 1\], got 1.7 in row 1"),
        ({"p": [0.1, np.nan, 0.2, 0.3]}, "got nan in row 1"),
        ({"p": [0.1, 0.2]}, "2"),
        ({"y": ["ok"] * 4}, "1 of 2 classes only"),
        ({"y": [0, 1, 2, 3]}, "4 classes"),
        ({"p": ["x", "y", "z", "u"]}, "numbers"),
        ({"y": ["ok", "bad"] * 2}, r"labels 'bad' and 'ok' do not tell .* classes=\['ok', 'bad'\]"),
        ({"sample_weight": [0, 0, 0, 0]}, "zero for every row"),
        ({"sample_weight": [1, -1, 1, 1]}, "-1"),
        ({"group": ["a", "b"]}, "group must be a label for each row"),
        ({"costs": (0, 0)}, "costs"),
        ({"costs": "1-20"}, "1:20"),
        ({"calibrated": [0.1, 0.2]}, "calibrated must have"),
        ({"class_names": ["only"]}, "class_names has 1"),
        ({"p": np.full((4, 3), 1 / 3), "y": [0, 1, 2, 0], "costs": (1, 2)}, "the costs of 3 classes must be a matrix"),
        ({"y": [], "p": []}, "at least one row"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    good = {"y": [0, 1, 0, 1], "p": [0.1, 0.6, 0.3, 0.7]}
    with pytest.raises(ValueError, match=message):
        audit(**good | arguments)


def test_groups_of_one_row_each_are_a_mistake(forecasts):
    y, p = forecasts(1_001)
    with pytest.raises(ValueError, match="group has more than 1,000 different values"):
        audit(y, p, group=np.arange(1_001))


@pytest.mark.parametrize(
    "p",
    [
        np.full(40, 0.3),
        np.tile([0.0, 1.0], 20),
        np.full(40, 1e-300),
        np.linspace(1e-310, 1e-308, 40),
        np.tile([1e-12, 1.0 - 1e-12], 20),
    ],
)
def test_odd_probabilities_have_an_answer(p):
    y = np.arange(40) % 4 == 0
    result = audit(y, p, costs=(1, 2), group=np.arange(40) % 2)
    assert verdict(result) in ("wrong", "right", "nearly right", "unclear")
    assert all(sentence.endswith(".") and len(sentence) < 400 for sentence in answer(result))


@pytest.fixture
def count_checks(monkeypatch):
    """How often each function that checks labels, probabilities and weights is called."""
    counts = {}

    def counted(name, function):
        def call(*arguments, **options):
            counts[name] = counts.get(name, 0) + 1
            return function(*arguments, **options)

        return call

    for name in ("read_forecast", "read_probabilities", "forecast_labels", "read_groups"):
        for module in [each for key, each in sys.modules.items() if key.startswith("properly.")]:
            if inspect.isfunction(getattr(module, name, None)):
                monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    forecast = sys.modules["properly.inputs.forecast"]  # calibrators, which check what they are fitted to, do not count
    monkeypatch.setattr(forecast, "checked_weight", counted("checked_weight", forecast.checked_weight))
    return counts


def test_arrays_are_checked_once(forecasts, count_checks):
    y, p = forecasts(400, 0.5)
    audit(y, p, sample_weight=np.ones(400), costs=(1, 5))
    assert count_checks == {"read_forecast": 1, "read_probabilities": 1, "forecast_labels": 1, "checked_weight": 1}


def test_checked_arrays_are_not_checked_again(forecasts, count_checks):
    y, p = forecasts(400, 0.5)
    group = np.arange(400) % 3
    direct = audit(y, p, class_names=["no", "yes"], group=group, group_names=["a", "b", "c"], costs=(1, 5))
    count_checks.clear()
    forecast = Forecast(y.astype(np.int8), p, None, None, np.array(["no", "yes"]))
    found = audit_of(forecast, groups=Groups(("a", "b", "c"), group), costs=binary_costs((1, 5)))
    assert count_checks == {}
    assert summary_of(found) == summary_of(direct)


def test_groups_without_rows_are_left_out(forecasts):
    y, p = forecasts(300)
    weight = np.where(np.arange(300) % 3 == 1, 0.0, 1.0)
    result = audit(y, p, sample_weight=weight, group=np.arange(300) % 3, group_names=["a", "b", "c"])
    assert result.groups.groups == ("a", "c")
    np.testing.assert_array_equal(result.groups.weight, [100.0, 100.0])


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize(("low", "high"), [(1e-300, 1 - 1e-10), (1e-300, 1 - 1e-16), (5e-324, 1 - 1e-16), (0.0, 1.0)])
@pytest.mark.parametrize("right", [True, False])
def test_nearly_certain_forecasts(n, low, high, right):
    for seed in range(3):
        y = np.random.default_rng(seed).integers(0, 2, n)
        y[:2] = [0, 1]
        found = audit(y if right else 1 - y, np.where(y == 1, high, low))
        assert found.fault_found == (not right)
