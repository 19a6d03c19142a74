"""Calibration by group against the same numbers computed group by group."""

import numpy as np
import pandas as pd
import pytest

from properly.audit import audit
from properly.diagnostics import by_group
from properly.metrics import log_loss, score_decomposition

RANDOM = np.random.RandomState(0)
N = 600
P = RANDOM.beta(1.0, 4.0, N)
Y = (RANDOM.random_sample(N) < P).astype(int)
GROUP = RANDOM.choice(["b", "a", "c"], N)
WEIGHT = RANDOM.randint(0, 4, N).astype(float)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_each_group_as_if_alone(weight):
    result = by_group(Y, P, GROUP, sample_weight=weight, loss="squared", confidence=0.8)
    assert result.groups == ("a", "b", "c")
    for k, name in enumerate("abc"):
        own = name == GROUP
        own_weight = None if weight is None else weight[own]
        n = own.sum() if weight is None else own_weight.sum()
        positive = np.sum(Y[own]) if weight is None else own_weight @ Y[own]
        parts = score_decomposition(Y[own], P[own], "squared", sample_weight=own_weight)
        assert result.weight[k] == n
        assert result.base_rate[k] == pytest.approx(positive / n)
        assert result.mean_p[k] == pytest.approx(np.average(P[own], weights=own_weight))
        assert result.score[k] == pytest.approx(parts.score)
        assert result.miscalibration[k] == pytest.approx(parts.miscalibration)
        assert result.low[k] < result.mean_p[k] < result.high[k]
        outside = not result.low[k] <= positive / n <= result.high[k]
        assert outside == result.off[k] == (result.p_value[k] < 0.2)


def test_p_values_are_those_of_redrawn_labels():
    random = np.random.default_rng(1)
    p = np.concatenate([random.beta(0.3, 6.0, 60), random.beta(5.0, 0.5, 40)])
    group = np.repeat(["rare", "frequent"], [60, 40])
    for positives in ({"rare": 6, "frequent": 33}, {"rare": 0, "frequent": 40}):
        y = np.concatenate([np.arange(60) < positives["rare"], np.arange(40) < positives["frequent"]])
        result = by_group(y, p, group)
        for name, found in zip(result.groups, result.p_value, strict=True):
            own = group == name
            drawn = (random.random((100_000, own.sum())) < p[own]).sum(axis=1)
            here = positives[name]
            tails = [np.mean(drawn < here), np.mean(drawn > here)] + 0.5 * np.mean(drawn == here)
            assert found == pytest.approx(min(1.0, 2.0 * min(tails)), abs=0.03)


def test_groups_know_clusters():
    random = np.random.default_rng(0)
    p, cluster = np.full(400, 0.3), np.arange(400) // 20
    y = (random.random(20) < 0.3)[cluster]
    alone, together = (
        audit(y, p, group=np.zeros(400), cluster=each).groups.p_value[0] for each in (np.arange(400), cluster)
    )
    assert together > alone


def test_a_group_that_is_wrong_is_found():
    p = np.where(GROUP == "b", P / 3, P)
    np.testing.assert_array_equal(by_group(Y, p, GROUP).off, [False, True, False])


def test_what_is_certain_is_wrong_or_right_for_certain():
    result = by_group([0, 1, 0, 1], [0.0, 1.0, 1.0, 1.0], [1, 1, 2, 2])
    assert result.p_value.tolist() == [1.0, 0.0]
    assert result.off.tolist() == [False, True]


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ([2.0, np.nan, 1.0, np.nan], ("1.0", "2.0", "(missing)")),
        (np.array(["b", None, "a", float("nan")], dtype=object), ("a", "b", "(missing)")),
        (["b", float("nan"), "a", float("nan")], ("a", "b", "(missing)")),
        (("b", None, "a", np.nan), ("a", "b", "(missing)")),
        (pd.Series(["b", pd.NA, "a", None], dtype="string"), ("a", "b", "(missing)")),
        (pd.Categorical(["b", None, "a", None]), ("a", "b", "(missing)")),
        (np.array(["b", None, 10, None], dtype=object), ("10", "b", "(missing)")),
        (
            np.array(["2020-01-02", "NaT", "2020-01-01", "NaT"], dtype="M8[D]"),
            ("2020-01-01", "2020-01-02", "(missing)"),
        ),
    ],
)
def test_any_labels(group, names):
    result = by_group([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], group)
    assert result.groups == names
    np.testing.assert_array_equal(result.weight, [1.0, 1.0, 2.0])
    np.testing.assert_allclose(result.mean_p, [0.3, 0.1, 0.3])


def test_more_classes_are_judged_by_the_most_probable():
    p = RANDOM.dirichlet([1.0, 1.0, 1.0], 200)
    y = (p.cumsum(axis=1) > RANDOM.random_sample((200, 1))).argmax(axis=1)
    result = by_group(np.array(["x", "y", "z"])[y], p, np.zeros(200))
    right = p.argmax(axis=1) == y
    assert result.base_rate[0] == pytest.approx(right.mean())
    assert result.mean_p[0] == pytest.approx(p.max(axis=1).mean())
    assert result.score[0] == pytest.approx(log_loss(right, p.max(axis=1)))


def test_both_columns_are_used():
    q = np.array([1e-20, 0.5])
    result = by_group([0, 0], np.column_stack([q, 1 - q]), ["a", "a"])
    assert result.score[0] == pytest.approx(np.mean(-np.log(q)))


def test_frame():
    frame = by_group(Y, P, GROUP).frame()
    assert frame["group"].tolist() == ["a", "b", "c"]
    assert "miscalibration" in frame


@pytest.mark.parametrize("group", [["a"], "a", [["a", "b"], ["a", "b"]]])
def test_errors(group):
    with pytest.raises(ValueError, match="group must be a label for each row of y"):
        by_group([0, 1], [0.1, 0.2], group)
    with pytest.raises(ValueError, match="group must be a label for each row of y"):
        by_group([0, 1], [0.1, 0.2], group, sample_weight=[1.0, 0.0])


def test_labels_that_read_the_same_stay_apart():
    result = by_group([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], np.array([1, "1", 1, "(missing)"], dtype=object))
    assert sorted(result.groups) == ["(missing)", "1", "1 (2)"]
    long = ["a" * 50 + "1", "a" * 50 + "2"] * 2
    axes = by_group([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], long).plot()
    assert len({label.get_text() for label in axes.get_yticklabels()}) == 2


def test_groups_of_one_class_with_fractional_weights():
    rng = np.random.default_rng(0)
    for _ in range(20):
        group, p = rng.integers(0, 40, 2000), 0.01 * rng.random(2000)
        result = by_group(rng.random(2000) < p, p, group, sample_weight=rng.uniform(0.2, 3.0, 2000))
        assert np.all((result.low >= 0.0) & (result.low <= result.mean_p) & (result.mean_p <= result.high))


def test_a_group_of_whole_weights_among_others():
    """Weights are numbers of rows only if all are whole."""
    rng = np.random.default_rng(1)
    group, p = rng.integers(0, 2, 500), rng.random(500)
    y, weight = rng.random(500) < p, np.where(group == 1, rng.integers(1, 4, 500), rng.uniform(0.2, 3.0, 500))
    found, scaled = (by_group(y, p, group, sample_weight=unit * weight) for unit in (1.0, 0.7))
    np.testing.assert_allclose(found.p_value, scaled.p_value, rtol=1e-9)
