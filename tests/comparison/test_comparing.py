"""Comparisons: scores of held-out rows, and which differences are real."""

import typing

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from properly.calibration import PlattScaling
from properly.comparison import compare
from properly.comparison.comparing import ranked
from properly.comparison.rows import Rows
from properly.linear import ProperLinearClassifier


class Constant(ClassifierMixin, BaseEstimator):
    """Forecasts the same for every row."""

    def __init__(self, p=0.5):
        self.p = p

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([1.0 - self.p, self.p], (len(X), 1))


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 4)) @ (np.eye(4) + 0.7)
    y = np.where(random.random(1000) < 1 / (1 + np.exp(1 - X[:, 0])), "yes", "no")
    return X, y


def test_scores_are_those_of_held_out_rows(rows):
    X, y = rows
    result = compare({"bayes": GaussianNB(), "logistic": LogisticRegression()}, X, y, cv=4)
    assert result.names == ["logistic", "bayes"]
    assert result.best == "logistic"
    for name, model in (("bayes", GaussianNB()), ("logistic", LogisticRegression())):
        p = np.empty((len(y), 2))
        for fold in range(4):
            test = result.folds == fold
            p[test] = clone(model).fit(X[~test], y[~test]).predict_proba(X[test])
        assert_allclose(result.probabilities[name], p)
        assert_allclose(result.scores[result.names.index(name)], log_loss(y, p))
    losses = [-np.log(np.where(y == "yes", p[:, 1], p[:, 0])) for p in result.probabilities.values()]
    assert_allclose(result.errors, [each.std() / np.sqrt(len(y)) for each in losses])
    assert_allclose(
        result.intervals,
        np.array([result.scores - 1.96 * result.errors, result.scores + 1.96 * result.errors]).T,
        rtol=1e-4,
    )
    assert_allclose(result.difference_to_best, result.scores - result.scores[0])
    low, high = result.difference_intervals[1]
    error = (losses[1] - losses[0]).std() / np.sqrt(len(y))
    assert_allclose([low, high], result.difference_to_best[1] + np.array([-1.96, 1.96]) * error, rtol=0.25)


def test_a_difference_is_found_and_chance_is_not(rows):
    X, y = rows
    candidates = {"a": LogisticRegression(), "b": LogisticRegression(C=0.99), "constant": Constant()}
    result = compare(candidates, X, y)
    assert result.names[2] == "constant"
    assert result.significant.tolist() == [False, False, True]
    assert result.p_values[0] == 1.0
    assert result.p_values[2] < 0.01 < result.p_values[1]


def test_few_rows_say_nothing():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    result = compare({"even": Constant(0.5), "sure": Constant(0.999)}, X, y)
    assert result.names == ["even", "sure"]
    assert not result.significant.any()


def test_false_alarms_are_rare():
    """Two forecasts of equal quality differ significantly in about one data set of twenty."""
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(100):
        y = random.integers(0, 2, 200)
        X = random.random((200, 1))

        class Guess(Constant):
            def predict_proba(self, X):
                p = np.clip(0.5 + self.p * (X[:, 0] - 0.5), 0, 1)
                return np.column_stack([1 - p, p])

        alarms += compare({"up": Guess(0.5), "down": Guess(-0.5)}, X, y, cv=2).significant.any()
    assert alarms <= 12


def test_infinite_scores_come_last(rows):
    X, y = rows
    result = compare({"sure": Constant(0.0), "even": Constant(0.5), "logistic": LogisticRegression()}, X, y)
    assert result.names == ["logistic", "even", "sure"]
    assert np.isinf(result.scores[2])
    assert np.isinf(result.difference_to_best[2])
    assert not np.isnan(result.p_values).any()
    both = compare({"one": Constant(0.0), "two": Constant(0.0)}, X, y)
    assert not both.significant.any()
    assert_array_equal(both.difference_to_best, 0.0)


def test_calibrated_candidates(rows):
    X, y = rows
    result = compare({"bayes": GaussianNB(), "logistic": LogisticRegression()}, X, y, calibration="platt")
    assert set(result.names) == {"bayes", "logistic", "bayes + calibration", "logistic + calibration"}
    at = dict(zip(result.names, result.scores, strict=True))
    assert at["bayes + calibration"] < at["bayes"] - 0.01
    p = result.probabilities["bayes"][:, 1]
    test = result.folds == 3
    expected = PlattScaling(input="probability").fit(p[~test], y[~test]).predict_proba(p[test])
    assert_allclose(result.probabilities["bayes + calibration"][test], expected)
    only = compare({"bayes": GaussianNB()}, X, y, calibration="platt", uncalibrated=False)
    assert only.names == ["bayes + calibration"]


def test_weights_count_rows(rows):
    X, y = rows
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    result = compare({"logistic": ProperLinearClassifier()}, X, y, sample_weight=weight)
    own = np.where(y == "yes", result.probabilities["logistic"][:, 1], result.probabilities["logistic"][:, 0])
    assert_allclose(result.scores[0], np.average(-np.log(own), weights=weight))
    kept = weight > 0
    without = compare({"logistic": ProperLinearClassifier()}, X[kept], y[kept], sample_weight=weight[kept])
    assert_allclose(result.scores, without.scores, rtol=1e-6)


def test_several_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = np.array(list("abc"))[np.clip((X[:, 0] + random.normal(size=400)).round().astype(int) + 1, 0, 2)]
    result = compare({"logistic": LogisticRegression(), "bayes": GaussianNB()}, X, y)
    assert result.probabilities["logistic"].shape == (400, 3)
    assert_allclose(result.scores[result.names.index("logistic")], log_loss(y, result.probabilities["logistic"]))


def test_failing_candidates_may_be_left_out(rows):
    X, y = rows

    class Broken(Constant):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no way")

    candidates = {"broken": Broken(), "even": Constant()}
    with pytest.warns(UserWarning, match="broken was left out: no way"):
        assert compare(candidates, X, y, skip_failing=True, calibration="platt").names[-1] == "even"
    with pytest.raises(RuntimeError, match="no way"):
        compare(candidates, X, y)
    with pytest.raises(RuntimeError, match="no way"):
        compare({"broken": Broken()}, X, y, skip_failing=True)


def test_frame(rows):
    pytest.importorskip("pandas")
    X, y = rows
    frame = compare({"bayes": GaussianNB(), "logistic": LogisticRegression()}, X, y).frame()
    assert frame.index.tolist() == ["logistic", "bayes"]
    assert frame.loc["bayes", "significant"]


def test_intervals_and_p_values_say_the_same(rows):
    X, y = rows
    candidates = {f"C = {C:g}": LogisticRegression(C=C) for C in (1e-4, 1e-3, 3e-3, 1e-2, 0.03, 0.1, 1.0)}
    result = compare(candidates, X, y)
    excludes_zero = (result.difference_intervals > 0.0).all(axis=1)
    assert_array_equal(excludes_zero, result.significant)
    assert_array_equal(result.significant, result.p_values <= 0.05)
    assert 0 < result.significant.sum() < len(candidates) - 1


def test_more_candidates_mean_wider_intervals(rows):
    X, y = rows
    few = {"logistic": LogisticRegression(), "bayes": GaussianNB()}
    more = few | {f"constant {p}": Constant(p) for p in (0.2, 0.3, 0.4)}
    alone, among = (compare(each, X, y) for each in (few, more))
    at = among.names.index("bayes")
    assert np.ptp(among.difference_intervals[at]) > np.ptp(alone.difference_intervals[1])
    assert alone.score_name == "log loss"


def test_progress_is_told(rows):
    X, y = rows
    told = []
    compare({"bayes": GaussianNB()}, X, y, progress=lambda done, note: told.append((done, note)))
    assert [done for done, _ in told] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    assert {note for _, note in told} == {"bayes"}


def test_what_cannot_be_compared(rows):
    X, y = rows
    with pytest.raises(ValueError, match="at least one classifier"):
        compare({}, X, y)
    with pytest.raises(ValueError, match="one class only, 'yes'"):
        compare({"a": GaussianNB()}, X, np.full(len(y), "yes"))
    with pytest.raises(ValueError, match="class 'c' has 1 row, but cross-validation needs 2 or more"):
        compare({"a": GaussianNB()}, X, np.where(np.arange(len(y)) == 3, "c", y))
    with pytest.raises(ValueError, match="cv must be at least 2, got 1"):
        compare({"a": GaussianNB()}, X, y, cv=1)
    with pytest.raises(ValueError, match="method must be one of 'auto', "):
        compare({"a": GaussianNB()}, X, y, calibration="magic")
    with pytest.raises(ValueError, match=r"a: .*NaN"):
        compare({"a": GaussianNB()}, np.where(X > 2, np.nan, X), y)


def test_a_group_is_in_one_fold_and_counts_once(rows):
    X, y = rows
    group = np.repeat(np.arange(200), 5)
    models = {"logistic": LogisticRegression(), "bayes": GaussianNB()}
    result = compare(models, X, y, cv=4, group=group)
    assert {len(set(result.folds[group == each])) for each in range(200)} == {1}
    assert len(set(result.folds)) == 4
    assert result.judged.all()
    for fold in range(4):  # every fold has its share of the rarer class
        assert 0.15 < np.mean(y[result.folds == fold] == "yes") < 0.45
    copies = np.repeat(np.arange(len(y)), 5)  # five copies of a row tell no more than one
    once = compare({"half": Constant(0.5), "third": Constant(0.3)}, X, y)
    five = compare({"half": Constant(0.5), "third": Constant(0.3)}, X[copies], y[copies], group=copies)
    assert_allclose(five.errors, once.errors, rtol=1e-10)
    assert_allclose(five.difference_intervals, once.difference_intervals, rtol=1e-10)
    assert_array_equal(compare(models, X, y, cv=4, group=group.astype(str)).judged, result.judged)


class Recorder(LogisticRegression):
    """Remembers which rows it learned from and predicted; the first column is their number."""

    seen: typing.ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0]
        return super().fit(X[:, 1:], y, sample_weight)

    def predict_proba(self, X):
        self.seen.append((self.rows_.max(), X[:, 0].min()))
        return super().predict_proba(X[:, 1:])


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_the_past_predicts_the_future(rows, calibration):
    X, y = rows
    order = np.random.default_rng(1).permutation(len(y))
    when = np.datetime64("2024-01-01") + order
    Recorder.seen.clear()
    result = compare({"logistic": Recorder()}, np.column_stack([order, X]), y, cv=4, time=when, calibration=calibration)
    assert len(Recorder.seen) == (4 if calibration is None else 5)
    assert all(learned < predicted for learned, predicted in Recorder.seen)
    share = 0.8 if calibration is None else 4 / 6
    assert abs(result.judged.mean() - share) < 0.01
    assert order[result.judged].min() > order[~result.judged].max()
    for name, p in result.probabilities.items():
        assert np.isfinite(p[result.judged]).all()
        score = log_loss(y[result.judged], p[result.judged])
        assert_allclose(result.scores[result.names.index(name)], score, rtol=1e-12)


def test_folds_that_cannot_be_made(rows):
    X, y = rows
    models = {"logistic": LogisticRegression()}
    with pytest.raises(ValueError, match="group and time exclude each other"):
        compare(models, X, y, group=y, time=y)
    with pytest.raises(ValueError, match=r"group must have an entry for each of 1000 rows, got shape \(3,\)"):
        compare(models, X, y, group=[1, 2, 3])
    with pytest.raises(ValueError, match="time is missing in row 0"):
        compare(models, X, y, time=np.where(np.arange(1000) > 0, 1.0, np.nan))
    with pytest.raises(ValueError, match="3 different times, too few to divide them into 6 periods"):
        compare(models, X, y, time=np.arange(1000) % 3)
    with pytest.raises(ValueError, match="class 'no' occurs in 1 group only"):
        compare(models, X, y, group=y == "yes")
    with pytest.raises(
        ValueError, match="the oldest 167 rows, from which the first model learns, have 0 of class 'yes'"
    ):
        compare(models, X, y, time=np.where(y == "yes", 2000, 0) + np.arange(1000))


def test_a_tie_goes_to_the_simpler_one():
    random = np.random.default_rng(0)
    y = random.random(4000) < 0.3
    X = np.zeros((4000, 1))
    result = compare({"coarse": Constant(0.305), "fine": Constant(0.3), "poor": Constant(0.5)}, X, y)
    assert result.best != "poor"
    assert result.choice == "coarse"
    result = compare({"poor": Constant(0.5), "fine": Constant(0.3), "coarse": Constant(0.305)}, X, y)
    assert result.choice == "fine"
    result = compare({"impossible": Constant(0.0), "fine": Constant(0.3)}, X, y)
    assert result.choice == "fine"
    calibrated = compare({"poor": Constant(0.5), "fine": Constant(0.3)}, X, y, calibration="platt")
    assert calibrated.choice == "poor + calibration"  # constants become the base rate


def test_a_weight_of_two_is_the_row_twice_in_errors_and_intervals():
    """Of the same held-out probabilities."""
    random = np.random.default_rng(6)
    p = random.beta(2.0, 3.0, 600)
    codes, weight = (random.random(600) < p).astype(np.intp), random.integers(1, 6, 600)
    folds = random.integers(5, size=(1, 600))
    given = {"right": p, "steep": p**2 / (p**2 + (1.0 - p) ** 2), "constant": np.full(600, 0.4)}
    given = {name: np.column_stack([1.0 - each, each]) for name, each in given.items()}
    seconds = dict.fromkeys(given, 0.0)
    weighted = ranked(given, seconds, Rows(np.arange(2), codes, folds, weight.astype(float)))
    at = np.repeat(np.arange(600), weight)
    repeated = ranked(
        {name: each[at] for name, each in given.items()}, seconds, Rows(np.arange(2), codes[at], folds[:, at], None)
    )
    assert weighted.names == repeated.names
    for name in ("scores", "errors", "intervals", "difference_intervals", "p_values"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-12)
