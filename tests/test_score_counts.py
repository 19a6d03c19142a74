"""Counts by distinct score: exact while there is room, and compressed with a known error beyond it."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from properly import score_counts
from properly.score_counts import ScoreCounts

RNG = np.random.default_rng(0)
P = RNG.beta(0.4, 2.0, 40_000)
Y = (RNG.random(40_000) < P).astype(int)
WEIGHT = RNG.integers(0, 4, 40_000) / 2.0


def in_parts(cuts, score=P, weight=None):
    parts = zip(*(np.split(x, cuts) for x in (score, Y)), strict=True)
    weights = [None] * (len(cuts) + 1) if weight is None else np.split(weight, cuts)
    return [ScoreCounts.of(*part, each) for part, each in zip(parts, weights, strict=True)]


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_exact_counts(weight):
    score = np.round(P, 3)
    found = reduce(add, in_parts([0, 17, 17, 30_000], score, weight))
    assert found.exact
    assert found.width == 0.0
    mass = np.ones(len(P)) if weight is None else weight
    for name, counts in found.kinds.items():
        rows = (name == Y) & (mass > 0)
        distinct, place = np.unique(score[rows], return_inverse=True)
        np.testing.assert_array_equal(counts.score, distinct)
        np.testing.assert_array_equal(counts.rows, np.bincount(place))
        np.testing.assert_allclose(counts.weight, np.bincount(place, mass[rows]), rtol=1e-13)
        if weight is not None:
            squares = np.bincount(place, np.square(mass[rows]))
            np.testing.assert_allclose(counts.weight * counts.unit, squares, rtol=1e-13)


@pytest.mark.parametrize("score", [P, np.log(P / (1 - P)), 1e6 + P, 1.0 - P], ids=["p", "log-odds", "far", "1 - p"])
def test_compressed_counts(score, monkeypatch):
    monkeypatch.setattr(score_counts, "ROOM", 2000)
    whole = ScoreCounts.of(score, Y)
    assert sum(len(counts.score) for counts in whole.kinds.values()) <= 2000
    a, b, c = in_parts([9_000, 31_000], score)
    for found in ((a + b) + c, a + (b + c), (c + a) + b):
        assert found.digits == whole.digits
        for name, counts in found.kinds.items():
            np.testing.assert_array_equal(counts.rows, whole.kinds[name].rows)
            np.testing.assert_allclose(counts.score, whole.kinds[name].score, rtol=1e-12)
    for name, counts in whole.kinds.items():
        exact = np.sort(score[name == Y])
        assert counts.rows.sum() == len(exact)
        assert counts.rows @ counts.score == pytest.approx(exact.sum(), rel=1e-12)
        size = np.minimum(exact, 1.0 - exact) if whole.of_probabilities else np.abs(exact)
        assert np.all(np.abs(np.repeat(counts.score, counts.rows.astype(int)) - exact) <= whole.width * size)


@pytest.mark.parametrize("scale", [1.0, 1e-290, 1e290])
def test_squared_weights_of_cells(scale, monkeypatch):
    """Their sums stay what they are, although no float64 could hold a square."""
    monkeypatch.setattr(score_counts, "ROOM", 2000)
    found = reduce(add, in_parts([9_000, 31_000], P, scale * WEIGHT))
    assert not found.exact
    entries = found.entries()
    share = np.square(WEIGHT).sum() / WEIGHT.sum()
    assert entries.weight @ (entries.unit / scale) / entries.weight.sum() == pytest.approx(share, rel=1e-12)
    equal = reduce(add, in_parts([9_000, 31_000], P, np.full(len(P), 0.3))).entries()
    assert np.all(equal.unit == 0.3)


def test_whether_weights_are_numbers_of_rows():
    """All must be whole; a part without weights has weights of 1."""
    kind, cut = np.zeros(4, dtype=int), np.array([0.1, 0.1, 0.2, 0.2])
    weights = None, np.array([2.0, 2.0, 2.0, 2.0]), np.array([1.0, 3.0, 1.0, 1.5])
    none, whole, half = (ScoreCounts.of(cut, kind, weight) for weight in weights)
    assert none.entries().unit is None
    assert (none + whole).whole
    assert (none + whole).entries().unit is None
    for found in (none + half, half + none):
        np.testing.assert_allclose(found.entries().unit, [12.0 / 6.0, 5.25 / 4.5])


def test_no_more_digits_are_dropped_than_necessary(monkeypatch):
    monkeypatch.setattr(score_counts, "ROOM", 2000)
    found = ScoreCounts.of(P, Y)
    finer = sum(len(np.unique(score_counts._cells(P[name == Y], found.digits - 1))) for name in found.kinds)
    assert finer > 2000


def test_both_tails_of_probabilities_are_kept_apart(monkeypatch):
    monkeypatch.setattr(score_counts, "ROOM", 50)
    tail = 10.0 ** -np.linspace(1, 14, 200)
    for p in (tail, 1.0 - tail):
        found = ScoreCounts.of(p, np.zeros(200, dtype=int))
        assert len(found.kinds[0].score) > 25


def test_ranks_from_cells(monkeypatch):
    monkeypatch.setattr(score_counts, "ROOM", 4000)
    found = ScoreCounts.of(P, Y)
    assert not found.exact
    entries = found.entries()
    area = roc_auc_score(entries.kind, entries.score, sample_weight=entries.weight)
    assert area == pytest.approx(roc_auc_score(Y, P), abs=1e-5)


def test_sums_over_groups_and_classes(monkeypatch):
    """In every cell both the groups and the classes lie apart."""
    monkeypatch.setattr(score_counts, "ROOM", 8000)
    group = RNG.integers(0, 2, len(P))
    p = np.minimum(P * (1.0 + 0.01 * group + 0.02 * Y), 0.5)
    found = ScoreCounts.of(p, 2 * Y + group).named([("no", 0), ("no", 1), ("yes", 0), ("yes", 1)])
    assert 0.001 < found.width < 0.01
    entries = found.entries([name for _, name in found.kinds])
    label, name = (np.array(each)[entries.kind] for each in zip(*entries.kinds, strict=True))
    for each in (0, 1):
        rows, places = group == each, name == each
        assert entries.weight[places] @ entries.score[places] == pytest.approx(p[rows].sum(), rel=1e-12)
        # The curvature of ln p is -1/p², the variance within a cell at most a quarter of (width · p)².
        change = entries.weight[places] @ np.log(entries.score[places]) - np.log(p[rows]).sum()
        assert 0.0 < change < 0.5 * rows.sum() * 0.25 * found.width**2
        for code, word in enumerate(["no", "yes"]):
            rows, places = (group == each) & (code == Y), (name == each) & (label == word)
            change = entries.weight[places] @ np.log(entries.score[places]) - np.log(p[rows]).sum()
            assert abs(change) < rows.sum() * found.width


def test_classes_at_the_ends_of_cells(monkeypatch):
    """The sum of the scores of a class changes by nearly all that is allowed."""
    monkeypatch.setattr(score_counts, "ROOM", 3 * 1024)
    kind = np.repeat([0, 1, 2], [9 * 1024, 1024, 8 * 1024])
    score = 1.0 + (np.arange(18 * 1024) % 1024 + 0.1 * RNG.random(18 * 1024) + 0.9 * (kind == 1)) / 1024.0
    score[kind == 2] = 2.0 + np.arange(8 * 1024) / 4096.0  # which leave no room for narrower cells
    found = ScoreCounts.of(score, kind)
    assert found.width == 2.0**-10
    entries = found.entries()
    rare = entries.kind == 1
    change = entries.weight[rare] @ entries.score[rare] - score[kind == 1].sum()
    assert -1.0 < change / (1024 * found.width) < -0.7


def test_order_of_float64():
    values = np.array([-np.inf, -3.0, -1e-300, -0.0, 0.0, 1e-300, 0.25, 0.5, 0.75, 1.0, 7.0, np.inf])
    inside = np.sort(np.concatenate([values, RNG.random(1000), 1 - 1e-9 * P[:99], -P[:99], 1.0 + P[:99]]))
    for digits in (1, 2, 30, 52, 62):
        assert np.all(np.diff(score_counts._cells(inside, digits)) >= 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-3, 1e-9]), st.booleans())
@settings(deadline=None, max_examples=50)
def test_neither_the_parts_nor_their_order_matter(seed, spread, descending):
    """A part within [0, 1] does not know whether others lie outside."""
    random = np.random.default_rng(seed)
    inside = np.abs(random.integers(0, 2, 4000) - spread * random.random(4000))
    score = np.concatenate([inside, random.normal(size=random.integers(0, 3)), 5.0 * random.random(3) ** 9])
    score = -np.sort(-score) if descending else random.permutation(score)
    kind = random.integers(0, 2, len(score))
    cuts = np.sort(random.integers(0, len(score) + 1, random.integers(0, 9)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(score_counts, "ROOM", 500)
        whole = ScoreCounts.of(score, kind)
        parts = [ScoreCounts.of(*part) for part in zip(*(np.split(x, cuts) for x in (score, kind)), strict=True)]
        found = reduce(add, [parts[k] for k in random.permutation(len(parts))])
    assert (found.digits, found.of_probabilities) == (whole.digits, whole.of_probabilities)
    for name, counts in whole.kinds.items():
        np.testing.assert_array_equal(found.kinds[name].rows, counts.rows)
        np.testing.assert_allclose(found.kinds[name].score, counts.score, rtol=1e-12)


@pytest.mark.parametrize("kinds", [2, 10, 40])
def test_certain_forecasts_stay_certain(monkeypatch, kinds):
    monkeypatch.setattr(score_counts, "ROOM", 2000)
    random = np.random.default_rng(kinds)
    p, kind = np.concatenate([random.random(4000), np.zeros(500), np.ones(500)]), random.integers(0, kinds, 5000)
    found = ScoreCounts.of(p, kind, random.random(5000))
    assert not found.exact
    entries = found.entries()
    assert entries.score.min() == 0.0
    assert entries.score.max() == 1.0
    assert entries.rows[entries.score == 1.0].sum() >= 500
