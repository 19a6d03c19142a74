"""BestProbabilities: what is chosen, averaged and reported, and what is left when something ends early."""

import signal
import subprocess
import sys
import time
from copy import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

import properly
from properly.comparison import AVERAGE, BestProbabilities, compare
from properly.comparison.averaging import average, average_weights
from properly.comparison.candidates import CANDIDATES, Candidate, Option, Setting
from properly.comparison.rows import Rows
from properly.comparison.search import Data
from properly.comparison.tuning import tune, with_folds
from properly.linear import GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.tables import WithFeatures

FAST = "logistic,tree,additive"


@pytest.fixture(scope="module")
def rows():
    """A curved effect that a straight line misses, and a category."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 3))
    X[:, 2] = random.integers(0, 3, 1200)
    v = 2.0 * np.abs(X[:, 0]) - 2.0 + X[:, 1] + (X[:, 2] == 1)
    return X, np.where(random.random(1200) < 1 / (1 + np.exp(-v)), "yes", "no")


@pytest.fixture(scope="module")
def fitted(rows):
    """Models of which each finds something that others miss, so that they are averaged."""
    X, y = rows
    v = X[:, 1] + np.abs(X[:, 0]) - 1.0 + 0.5 * X[:, 0] * X[:, 1]
    y = np.where(np.random.default_rng(4).random(1200) < 1 / (1 + np.exp(-v)), "yes", "no")
    return BestProbabilities(FAST, categorical_features=[2]).fit(X, y)


def test_models_that_complement_one_another_are_averaged(fitted):
    assert fitted.comparison_.choice == AVERAGE
    assert len(fitted.parts_) > 1
    assert {part.name for part in fitted.parts_} <= set(FAST.split(","))
    assert all(np.isfinite(part.cost) for part in fitted.parts_)
    assert [part.weight for part in fitted.parts_] == sorted((part.weight for part in fitted.parts_), reverse=True)


def test_what_is_reported_holds_on_new_rows(rows):
    X, y = rows
    model = BestProbabilities(FAST, categorical_features=[2]).fit(X[:900], y[:900])
    held_out = dict(zip(model.comparison_.names, model.comparison_.scores, strict=True))
    assert held_out["additive"] < held_out["logistic"] - 0.02
    new = log_loss(y[900:], model.predict_proba(X[900:]))
    plain = log_loss(y[900:], ProperLinearClassifier().fit(X[:900], y[:900]).predict_proba(X[900:]))
    assert new < plain - 0.02
    assert abs(new - held_out[model.comparison_.choice]) < 0.06


def test_probabilities_are_those_of_the_parts(rows, fitted):
    X, _ = rows
    matrix = fitted._read(X)
    log_p = np.array([part.model.log_probabilities(matrix) for part in fitted.parts_])
    total = np.tensordot([part.weight for part in fitted.parts_], log_p, axes=1)
    expected = np.exp(total) / np.exp(total).sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(X), expected, rtol=1e-10)
    assert_array_equal(fitted.predict(X), fitted.classes_[expected.argmax(axis=1)])


def test_weights_minimise_the_penalised_log_loss():
    """Against a direct minimisation over a grid, and the gradient at the optimum."""
    random = np.random.default_rng(1)
    v = random.normal(size=300)
    y = (random.random(300) < 1 / (1 + np.exp(-2 * v))).astype(int)
    scores = np.array([v + random.normal(size=300), v + 0.5 * random.normal(size=300)])
    log_p = -np.logaddexp(0.0, np.stack([scores, -scores], axis=2))
    b = average_weights(log_p, y)

    prior = (-log_p[:, np.arange(300), y].mean(axis=1)) ** (-4 * 300 / 500)
    prior /= prior.sum()

    def objective(b):
        return -average(log_p, b)[np.arange(300), y].sum() + 30.0 * np.sum((b - prior) ** 2)

    grid = np.stack(np.meshgrid(np.linspace(0, 3, 61), np.linspace(0, 3, 61)), axis=-1).reshape(-1, 2)
    assert objective(b) <= min(map(objective, grid)) + 1e-9
    slope = [(objective(b + step) - objective(b - step)) / 2e-5 for step in 1e-5 * np.eye(2)]
    assert_allclose(slope, 0.0, atol=1e-3)
    assert b[1] > b[0]  # the less noisy model
    assert_allclose(average_weights(log_p[:, :1], y[:1]), 0.5, atol=0.05)  # one row says nothing


def test_models_that_miss_a_rule_without_exceptions_do_not_count():
    """Equal prior weights would spoil what the one that has found it says: a few rows hardly change weights."""
    y = np.arange(200) % 2
    sure, rough = (np.log(np.where(np.eye(2)[y] == 1, p, 1 - p)) for p in (0.999, 0.8))
    log_p = np.stack([sure, rough, rough, rough])
    together = -average(log_p, average_weights(log_p, y))[np.arange(200), y].mean()
    assert together < 1.2 * -np.log(0.999)


def test_one_model_alone_is_itself(rows):
    X, y = rows
    model = BestProbabilities("logistic", calibration="none").fit(X, y)
    (part,) = model.parts_
    assert part.name == "logistic"
    assert part.weight == 1.0
    C = part.model.classifier.classifier_.C
    scale = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = ProperLinearClassifier(C=C).fit(scale, y).predict_proba(scale)
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_settings_are_chosen_on_the_other_folds(rows):
    """By hand: the log loss of every penalty on every fold, and for each fold the best penalty of the others."""
    X, y = rows
    X, codes = X[:400], np.searchsorted(["no", "yes"], y[:400])
    divided = Rows.divided(np.unique(codes), codes, 3, None, 0, None, None, True)
    options = list(CANDIDATES["logistic"].options(_setting(divided)))[:4]  # none of which is left early
    folds, found = divided.folds[0], []
    for option in options:
        log_p = np.empty((400, 2))
        for k in range(3):
            model = WithFeatures(option.features, option.classifier).fit(X[folds != k], codes[folds != k])
            log_p[folds == k] = model.predict_log_proba(X[folds == k])
        found.append(log_p)
    losses = -np.array(found)[:, np.arange(400), codes]
    tuned = tune(options, X, divided, lambda share: None)
    for k in range(3):
        best = losses[:, folds != k].mean(axis=1).argmin()
        assert_allclose(tuned.log_p[folds == k], found[best][folds == k], rtol=1e-9)
    assert tuned.option is options[losses.mean(axis=1).argmin()]


def _setting(rows):
    return Setting(np.bincount(rows.codes).tolist(), [], 0, 3)


def test_single_keeps_the_simplest_within_the_noise(rows):
    X, y = rows
    linear = np.where(np.random.default_rng(2).random(len(y)) < 1 / (1 + np.exp(-X[:, 1])), "yes", "no")
    model = BestProbabilities(FAST, single=True).fit(X, linear)
    assert model.comparison_.choice == "logistic"
    assert [part.name for part in model.parts_] == ["logistic"]
    assert AVERAGE not in model.comparison_.names
    usual = compare({"logistic": ProperLinearClassifier()}, X, linear)
    assert_allclose(dict(zip(model.comparison_.names, model.comparison_.scores, strict=True))["logistic"],
                    usual.scores[0], atol=0.01)  # fmt: skip


def test_groups_and_times_are_honoured_inside(rows, monkeypatch):
    X, y = rows
    seen = []

    class Watch(ProperLinearClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(X[:, 2].astype(int))
            return super().fit(X, y, sample_weight)

    monkeypatch.setitem(CANDIDATES, "watch", Candidate("", lambda setting: iter([Option(None, Watch())])))
    group = np.arange(len(y)) // 10
    X = np.column_stack([X[:, :2], group])
    model = BestProbabilities("watch").fit(X, y, group=group)
    folds = model.comparison_.folds
    for learned in seen[:5]:
        outside = np.setdiff1d(group, learned)
        assert len(set(folds[np.isin(group, outside)])) == 1
    seen.clear()
    time = np.arange(len(y))
    X[:, 2] = time
    model = BestProbabilities("watch").fit(X, y, time=time)
    assert all(np.array_equal(each, np.arange(len(each))) for each in seen)
    assert not model.comparison_.judged[:300].any()


def test_inner_folds_follow_groups():
    """GEV regression chooses its shape on folds of its own: rows of a group stay together there, too."""
    random = np.random.default_rng(0)
    codes, group = random.integers(0, 2, 300), np.arange(300) // 6
    rows = Rows.divided(np.unique(codes), codes, 5, None, 0, group, None, True)
    at = np.flatnonzero(rows.folds[0] != 2)
    splits = with_folds(GEVCanonicalRegressionCV(), rows, at).cv
    assert len(splits) == 4
    for train, test in splits:
        assert not set(group[at][train]) & set(group[at][test])
    assert with_folds(GEVCanonicalRegressionCV(), rows._replace(groups=None), at).cv == 5


def test_weights_count_rows(rows):
    X, y = rows
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    model = BestProbabilities("logistic", calibration="none").fit(X, y, weight)
    kept = weight > 0
    without = BestProbabilities("logistic", calibration="none").fit(X[kept], y[kept], weight[kept])
    assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-6)


def test_few_rows_are_divided_twice(rows):
    X, y = rows
    model = BestProbabilities("logistic").fit(X[:300], y[:300])
    comparison = model.comparison_
    assert comparison.repeats == 2
    assert comparison.probabilities["logistic"].shape == (600, 2)
    assert np.any(comparison.folds[:300] != comparison.folds[300:])
    own = comparison.probabilities["logistic"][np.arange(600), np.tile(y[:300] == "yes", 2).astype(int)]
    losses = -np.log(own).reshape(2, 300).mean(axis=0)
    place = comparison.names.index("logistic")
    assert_allclose(comparison.scores[place], losses.mean())
    assert_allclose(comparison.errors[place], losses.std() / np.sqrt(300))


def test_many_rows_are_compared_on_a_sample(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr("properly.comparison.search._MANY_ROWS", 1000)
    monkeypatch.setattr("properly.comparison.search._MOST_ROWS", 400)
    monkeypatch.setattr("properly.comparison.rows._ENOUGH_OF_A_CLASS", 1)
    model = BestProbabilities("logistic,tree").fit(X, y)
    assert f"models were compared on a sample of 401 rows, and fitted to {len(y):,}" in model.notes_
    assert model.comparison_.n_rows == 401
    whole = next(part.model.classifier for part in model.parts_ if part.name == "logistic").features_
    assert_allclose(whole.mean_, X.mean(axis=0))


def test_population_rate(rows):
    X, y = rows
    model = BestProbabilities("logistic,tree", population_rate=0.01).fit(X, y)
    plain = BestProbabilities("logistic,tree").fit(X, y)
    share = np.mean(y == "yes")
    shift = np.log(0.01 / 0.99) - np.log(share / (1 - share))
    assert_allclose(model.decision_function(X), plain.decision_function(X) + shift, atol=1e-9)
    fraud = np.where(y == "yes", "fraud", "ok")
    with pytest.raises(ValueError, match="population_rate"):
        BestProbabilities("logistic", population_rate=0.01).fit(X, fraud)
    named = BestProbabilities("logistic", population_rate={"fraud": 0.01}).fit(X, fraud)
    assert named.predict_proba(X)[:, 0].mean() < 0.1


def test_a_saved_model_predicts_the_same(rows, fitted, tmp_path):
    X, _ = rows
    properly.save(fitted, tmp_path / "best.skops")
    loaded = properly.load(tmp_path / "best.skops")
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(loaded, "comparison_")
    assert [part.name for part in loaded.parts_] == [part.name for part in fitted.parts_]
    assert clone(loaded).method == FAST


def test_three_classes(rows):
    X, _ = rows
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.7, 0.7])
    model = BestProbabilities("logistic,tree,additive", cv=3).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (1200, 3)
    assert_allclose(p.sum(axis=1), 1.0)
    assert log_loss(y, p) < 0.3


def test_the_time_budget_ends_the_search(rows):
    X, y = rows
    model = BestProbabilities(FAST, time_budget=1e-6).fit(X, y)
    assert [part.name.removesuffix(" + calibration") for part in model.parts_] == ["logistic"]
    assert "tree was not tried: the time budget would not have lasted" in model.notes_


@pytest.mark.parametrize("keep_best", [False, True])
def test_ctrl_c(rows, monkeypatch, keep_best):
    X, y = rows

    class Interrupted(ProperLinearClassifier):
        def fit(self, *args, **kwargs):
            raise KeyboardInterrupt

    dear = Candidate("", lambda setting: iter([Option(None, Interrupted())]), effort=99.0)
    monkeypatch.setitem(CANDIDATES, "dear", dear)
    model = BestProbabilities("logistic,dear", keep_best=keep_best)
    if not keep_best:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.interrupted_
    assert "the search was interrupted" in model.notes_
    assert model.predict_proba(X).shape == (1200, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"calibration": "magic"}, "calibration must be one of 'auto', 'none'"),
        ({"cv": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"time_budget": -1}, "time_budget must be above 0"),
        ({"single": "yes"}, "single must be True or False, got 'yes'"),
        ({"population_rate": 2.0}, "population_rate"),
    ],
)
def test_wrong_options(rows, options, message):
    X, y = rows
    with pytest.raises(ValueError, match=message):
        BestProbabilities(**({"method": "logistic"} | options)).fit(X, y)


def test_data_that_say_nothing():
    model = BestProbabilities("logistic,tree", cv=2).fit(np.zeros((40, 2)), np.arange(40) % 2)
    assert_allclose(model.predict_proba(np.zeros((1, 2))), 0.5, atol=0.05)
    assert [part.name for part in model.parts_] == ["logistic"]  # not an average of equal models
    with pytest.raises(ValueError, match="class"):
        BestProbabilities("logistic").fit(np.zeros((5, 1)), np.zeros(5))


@pytest.mark.parametrize("error", [ValueError("no luck"), np.linalg.LinAlgError("no luck"), TypeError("a fault")])
def test_a_failing_candidate_of_auto_is_left_out(rows, monkeypatch, error):
    """If the data are the cause; a fault of the code must come to light."""
    X, y = rows

    class Failing(ProperLinearClassifier):
        def fit(self, *args, **kwargs):
            raise error

    monkeypatch.setattr("properly.comparison.candidates.AUTO", ("logistic", "failing"))
    monkeypatch.setitem(CANDIDATES, "failing", Candidate("", lambda setting: iter([Option(None, Failing())])))
    if isinstance(error, TypeError):
        for method in ("auto", "failing"):
            with pytest.raises(TypeError, match="a fault"):
                BestProbabilities(method).fit(X, y)
        return
    model = BestProbabilities().fit(X, y)
    assert "failing was left out: no luck" in model.notes_
    with pytest.raises(ValueError, match="failing: no luck"):
        BestProbabilities("failing").fit(X, y)


def test_a_part_that_cannot_be_checked_is_not_saved(rows, tmp_path, monkeypatch):
    X, y = rows
    toy = Candidate("", lambda setting: iter([Option(None, ProperLinearClassifier())]), saved=False)
    monkeypatch.setitem(CANDIDATES, "foreign", toy)
    model = BestProbabilities("foreign").fit(X, y)
    with pytest.raises(ValueError, match="the part foreign of this BestProbabilities cannot be saved"):
        properly.save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_unseen_categories_are_told(rows, fitted):
    X, _ = rows
    new = X[:4].copy()
    new[:2, 2] = 7.0
    new[3, 2] = np.nan
    with pytest.warns(UserWarning, match="column '2': 2 rows have a category that did not occur in training, first '7"):
        told = fitted.predict_proba(new)
    with pytest.raises(ValueError, match=r"column '2': the category '7\.0' did not occur in training"):
        copy(fitted).set_params(unseen="refuse").predict_proba(new)
    new[:2, 2] = np.nan
    assert_array_equal(told, fitted.predict_proba(new))


@pytest.mark.slow
def test_ctrl_c_saves_the_best_while_compiled_code_is_at_work(tmp_path):
    """Python hears nothing during a long factorisation; the best model is saved within seconds nevertheless."""
    program = """
import numpy as np, sys
from properly.cli import main
from properly.comparison.candidates import CANDIDATES, Candidate, Option
from properly.linear import ProperLinearClassifier

class Long(ProperLinearClassifier):
    def fit(self, *args, **kwargs):
        print("at work", flush=True)
        np.linalg.svd(np.random.default_rng(0).normal(size=(6000, 6000)))
        raise RuntimeError("too late")

CANDIDATES["long"] = Candidate("", lambda setting: iter([Option(None, Long())]), effort=99.0)
sys.exit(main(["fit", "train.csv", "--target", "y", "--method", "logistic,long", "--keep-best"]))
"""
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    lines = [f"{value},{int(value + random.normal() > 0)}" for value in x]
    (tmp_path / "train.csv").write_text("\n".join(["x,y", *lines]))
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "at work\n"
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert time.monotonic() - start < 20.0  # on a busy machine; the model is saved first
    assert process.returncode == 0
    assert "Model:  model.skops" in out
    assert properly.load(tmp_path / "model.skops").predict_proba({"x": [0.0]}).shape == (1, 2)


def test_weights_of_the_average_follow_time(rows):
    """Calibrated predictions begin a period later than others; no fold learns from what is not there."""
    X, y = rows
    model = BestProbabilities("logistic,tree", calibration="platt").fit(X, y, time=np.arange(len(y)))
    comparison = model.comparison_
    at = comparison.judged
    assert np.isfinite(comparison.probabilities[AVERAGE][at]).all()
    second = comparison.folds == comparison.folds[at].min() + 1
    parts = [np.log(comparison.probabilities[f"{name} + calibration"]) for name in ("logistic", "tree")]
    first = comparison.folds == comparison.folds[at].min()
    codes = np.searchsorted(["no", "yes"], y)
    weights = average_weights(np.array([part[first] for part in parts]), codes[first])
    expected = average(np.array([part[second] for part in parts]), weights)
    assert_allclose(np.log(comparison.probabilities[AVERAGE][second]), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="time must be numbers or dates"):
        BestProbabilities("logistic").fit(X, y, time=["soon"] * len(y))


def test_rows_of_weight_zero_change_nothing(rows):
    X, y = rows
    outliers = np.full((100, 3), 50.0)
    given = {"calibration": "none", "cv": 3}
    plain = BestProbabilities("logistic", **given).fit(X[:400], y[:400], np.ones(400))
    weight = np.repeat([1.0, 0.0], [400, 100])
    both = np.vstack([X[:400], outliers]), np.append(y[:400], ["yes"] * 100)
    assert_allclose(
        BestProbabilities("logistic", **given).fit(*both, weight).predict_proba(X), plain.predict_proba(X), atol=1e-9
    )


def test_ctrl_c_in_the_last_fits_keeps_the_best(rows):
    X, y = rows

    def stop(share, note):
        if share > 0.955:
            raise KeyboardInterrupt

    model = BestProbabilities("logistic,additive", keep_best=True, progress=stop).fit(X, y)
    if not model.interrupted_:  # the best single model needed no further fit
        assert len(model.parts_) == 1
    assert model.predict_proba(X).shape == (1200, 2)
    assert not hasattr(model, "_ongoing")


@pytest.mark.parametrize("method", [[], None, 5])
def test_methods_must_be_names(rows, method):
    X, y = rows
    with pytest.raises(ValueError, match="method must be a name or a list of names"):
        BestProbabilities(method).fit(X, y)


def test_a_rule_without_exceptions_is_found():
    """Of two categories that must be equal, in arbitrary codes: boosting must not be shrunk, nor spoiled by others."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(900, 5)).astype(np.float64)
    y = np.array([2, 0, 3, 1])[X[:, 0].astype(int)] == X[:, 1]
    model = BestProbabilities("logistic,boosting,forest", categorical_features=range(5), cv=3).fit(X[:600], y[:600])
    assert log_loss(y[600:], model.predict_proba(X[600:])) < 0.01


def test_messages_name_the_classes(rows):
    X, y = rows
    codes, names = (y == "yes").astype(int), ["stays", "leaves"]
    for given in ({"group": codes}, {"time": np.argsort(np.argsort(codes, kind="stable"))}):
        with pytest.raises(ValueError, match=r"class '(stays|leaves)'"):
            BestProbabilities("logistic").fit(X, codes, **given, class_names=names)
    with pytest.raises(ValueError, match="class_names must name the 2 classes, got 1 names"):
        BestProbabilities("logistic").fit(X, codes, class_names=["stays"])


def test_few_rows_do_not_tell_models_apart():
    """The best of nine models on ten rows is the luckiest, and may be far worse than the base rate on new rows."""
    random = np.random.default_rng(1)
    model = BestProbabilities().fit(random.normal(size=(10, 3)), [0, 1] * 5)
    assert [part.name.removesuffix(" + calibration") for part in model.parts_] == ["logistic"]
    assert model.notes_ == ["auto tried logistic only: 10 rows are too few to tell models apart"]


def test_standard_errors_do_not_depend_on_the_size_of_weights(rows):
    X, y = rows
    given = {"bayes": GaussianNB(), "rates": DummyClassifier(strategy="prior")}
    plain = compare(given, X, y, sample_weight=np.ones(1200))
    scaled = compare(given, X, y, sample_weight=np.full(1200, 1e200))
    assert_allclose(scaled.errors, plain.errors, rtol=1e-6)
    assert_allclose(scaled.p_values, plain.p_values, rtol=1e-6)


def test_times_with_a_zone(rows):
    X, y = rows
    when = pd.date_range("2024-01-01", periods=1200, tz="Europe/Rome")
    zoned = BestProbabilities("logistic").fit(X, y, time=when).comparison_
    assert_array_equal(zoned.scores, BestProbabilities("logistic").fit(X, y, time=np.arange(1200)).comparison_.scores)


def test_trees_of_a_forest_see_at_most_20_000_rows():
    """As many when models are compared on a sample as when the result is fitted."""
    codes = np.arange(50_000) % 2
    rows = Rows.divided(np.array([0, 1]), codes, 5, None, 0, None, None, True)
    shares = [with_folds(RandomForestClassifier(), rows, np.arange(n)).max_samples for n in (20_000, 40_000, 50_000)]
    assert shares == [None, 0.5, 0.4]
    assert with_folds(ExtraTreesClassifier(), rows, np.arange(40_000)).bootstrap


def test_what_is_compared_and_fitted_of_large_tables():
    codes = np.arange(300_000) % 2
    X = np.lib.stride_tricks.as_strided(np.zeros(1), (300_000, 50), (0, 0))  # takes no memory
    rows = Rows.divided(np.array([0, 1]), codes, 5, None, 0, None, None, True)
    data = Data.drawn(X, rows, 60, 0)
    assert (len(data.X), len(data.rows.codes), data.most_fitted) == (20_000, 20_000, 166_666)
    few = rows._replace(codes=codes[:9000], folds=rows.folds[:, :9000])
    data = Data.drawn(np.lib.stride_tricks.as_strided(np.zeros(1), (9000, 4000), (0, 0)), few, 4000, 0)
    assert data.X.shape == (2500, 4000)
    data = Data.drawn(np.zeros((9000, 5)), few, 5, 0)
    assert data.sample is None
    assert data.X is data.whole_X
