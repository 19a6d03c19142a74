"""Calibrators, metrics and audits of rows anywhere: equal to memory, exactly while all scores are told apart."""

import itertools

import numpy as np
import pandas as pd
import pytest

import properly.metrics as metrics
from properly import score_counts
from properly.audit import audit, verdict
from properly.calibration.methods import METHODS
from properly.diagnostics import by_group, decision_curve, murphy, reliability
from properly.engines import Spark, Stream
from properly.forecasts.counting import MOST_GROUPS
from properly.inputs.misuse import Misuse
from properly.prevalence import estimate_prior

RNG = np.random.default_rng(7)
N = 3000
SCORE = 2.0 * RNG.normal(size=N) - 1.0
P = 1.0 / (1.0 + np.exp(-SCORE))
Y = (RNG.random(N) < P**1.3).astype(int)
WEIGHT = RNG.integers(0, 3, N).astype(float)
TIED = np.clip(np.round(P, 2), 0.01, 0.99)
UNEQUAL = np.random.default_rng(8).exponential(size=N)
WEIGHTS = {"plain": None, "whole": WEIGHT, "unequal": UNEQUAL}
GROUP = np.array(["north", "south", None], dtype=object)[RNG.integers(0, 3, N)]
EDGES = [0, 0, 700, 2500, 2500, N]


def blocks(score, y, weight=None, group=None):
    columns = (score[:, None], y, weight, None, group)
    return {"p": Stream([tuple(None if c is None else c[i:j] for c in columns) for i, j in itertools.pairwise(EDGES)])}


def frame(score, y, weight, group):
    columns = {"score": score, "y": y, "w": weight, "g": group}
    return pd.DataFrame({name: column for name, column in columns.items() if column is not None})


def roles(weight, group):
    columns = {"sample_weight": ("w", weight), "group": ("g", group)}
    return {"target": "y"} | {role: name for role, (name, given) in columns.items() if given is not None}


@pytest.fixture(params=["blocks", "files", pytest.param("dask", marks=pytest.mark.xdist_group("dask"))])
def elsewhere(request, tmp_path):
    """What makes rows elsewhere of arrays: the arguments y, p, sample_weight and group."""
    if request.param == "blocks":
        return blocks
    if request.param == "files":

        def files(score, y, weight=None, group=None):
            for number, (i, j) in enumerate(itertools.pairwise(EDGES)):
                frame(score, y, weight, group)[i:j].to_parquet(tmp_path / f"{number}.parquet", row_group_size=400)
            return {"p": Stream(tmp_path, features=["score"], **roles(weight, group))}

        return files
    request.getfixturevalue("dask_client")
    array = pytest.importorskip("dask.array")

    def brought_here(*_, **__):
        raise AssertionError("the data were brought to the client")

    request.getfixturevalue("monkeypatch").setattr(array.Array, "__array__", brought_here)

    def arrays(score, y, weight=None, group=None):
        given = {"p": score, "y": y, "sample_weight": weight, "group": group}
        return {name: array.from_array(each, chunks=900) for name, each in given.items() if each is not None}

    return arrays


def at(rows):
    """Arguments by position."""
    return rows.get("y"), rows["p"], rows.get("sample_weight")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_calibrators(method, elsewhere):
    for score, given in ((SCORE, WEIGHT), (P, WEIGHT), (TIED, UNEQUAL)):
        y, rows, weight = at(elsewhere(score, Y, given))
        model, whole = METHODS[method]().fit(rows, y, weight), METHODS[method]().fit(score, Y, given)
        assert model.input_ == whole.input_
        np.testing.assert_allclose(model.predict_proba(score), whole.predict_proba(score), atol=1e-9)
        predicted = model.predict_proba(rows)
        predicted = predicted.compute() if hasattr(predicted, "compute") else predicted
        np.testing.assert_allclose(predicted, whole.predict_proba(score), atol=1e-9)


def test_many_zeros_and_ones_are_no_scaled_scores():
    p, y = np.repeat([0.0, 0.3, 0.7, 1.0], 50), np.repeat([0, 0, 1, 1], 50)
    model = METHODS["platt"]().fit(Stream([(p[:, None], y)]))  # without a warning
    assert model.input_ == "probability"
    np.testing.assert_allclose(model.predict_proba(p), METHODS["platt"]().fit(p, y).predict_proba(p), atol=1e-9)


@pytest.mark.xdist_group("dask")
def test_columns_of_a_dask_frame(dask_client):
    dask = pytest.importorskip("dask.dataframe")
    rows = dask.from_pandas(frame(TIED, Y, UNEQUAL, GROUP), npartitions=3)
    found = audit(rows["y"], rows["score"], sample_weight=rows["w"], group=rows["g"])
    same_audit(found, audit(Y, TIED, sample_weight=UNEQUAL, group=GROUP))


SCORES3 = RNG.normal(size=(N, 3)) * [1.0, 2.0, 1.5]
Y3 = np.array(["a", "b", "c"])[(0.7 * SCORES3 + RNG.gumbel(size=(N, 3))).argmax(axis=1)]
BY_SUMS = ("temperature", "vector", "matrix", "structured_matrix", "dirichlet")


@pytest.mark.parametrize("method", BY_SUMS)
@pytest.mark.parametrize("input", ["score", "probability"])
def test_calibrators_of_several_classes(method, input):
    scores = SCORES3
    if input == "probability":
        scores = np.exp(SCORES3) / np.exp(SCORES3).sum(axis=1, keepdims=True)
        scores[5] = [0.0, 0.25, 0.75]
    columns = (scores, Y3, WEIGHT)
    rows = Stream([tuple(column[i:j] for column in columns) for i, j in itertools.pairwise(EDGES)])
    model, whole = METHODS[method]().fit(rows), METHODS[method]().fit(*columns)
    assert model.input_ == whole.input_ == input
    np.testing.assert_allclose(model.predict_proba(scores), whole.predict_proba(scores), atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(scores), atol=1e-8)


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("method", BY_SUMS)
def test_several_classes_on_dask(method, dask_client):
    array = pytest.importorskip("dask.array")
    columns = {"scores": SCORES3, "y": Y3, "sample_weight": WEIGHT}
    scores, y, weight = (array.from_array(each, chunks=(900, *each.shape[1:])) for each in columns.values())
    model, whole = METHODS[method]().fit(scores, y, weight), METHODS[method]().fit(**columns)
    np.testing.assert_allclose(model.predict_proba(scores).compute(), whole.predict_proba(SCORES3), atol=1e-8)


EXACT = {
    "log loss": metrics.log_loss,
    "Brier score": metrics.brier_score,
    "decomposition": metrics.score_decomposition,
    "skill": metrics.skill_score,
    "binned error": metrics.expected_calibration_error,
    "bins of equal mass": lambda *data, **more: metrics.expected_calibration_error(*data, strategy="mass", **more),
    "smooth error": metrics.smooth_calibration_error,
    "AUC": metrics.auc,
    "test": lambda *data, **more: [each[1:] for each in metrics.calibration_test(*data, **more).tests],
    "reliability": lambda *data, **more: reliability(*data, **more).recalibrated,
    "band": lambda *data, **more: reliability(*data, **more).frame()[["low", "high"]].to_numpy(),
    "Murphy": lambda *data, **more: murphy(*data, thresholds=[0.1, 0.5], **more).errors,
    "decisions": lambda *data, **more: decision_curve(*data, thresholds=[0.1, 0.5], **more).frame().to_numpy(),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("score", [P, TIED], ids=["distinct", "tied"])
def test_metrics(name, weight, score, elsewhere):
    y, p, sample_weight = at(elsewhere(score, Y, weight))
    found = EXACT[name](y, p, sample_weight=sample_weight)
    np.testing.assert_allclose(found, EXACT[name](Y, score, sample_weight=weight), rtol=1e-10)


def test_tests_of_counted_rows_keep_their_level():
    """Ties count as their effective number of rows: as equally weighted they rejected most right probabilities."""
    random, rejected = np.random.default_rng(9), 0
    for _ in range(200):
        y, weight = (random.random(1000) < TIED[:1000]).astype(int), random.exponential(size=1000) ** 2
        rejected += metrics.calibration_test(None, blocks(TIED[:1000], y, weight)["p"]).p_value < 0.05
    assert rejected <= 20


def test_recalibration_is_not_judged_by_rows_that_it_learned_from():
    """A row that has most of the weight of its cell is in one fold; in parts it promised gains of 0.0014 here."""
    random, p, gains = np.random.default_rng(10), np.clip(np.round(P[:1000], 1), 0.05, 0.95), []
    for _ in range(40):
        y, weight = (random.random(1000) < p).astype(int), random.exponential(size=1000) ** 2
        gains.append(audit(None, blocks(p, y, weight)["p"]).scores["log loss"].gain)
    assert np.mean([gain.difference for gain in gains]) < 0.0
    assert np.mean([gain.low > 0.0 for gain in gains]) <= 0.05


def test_prior(elsewhere):
    for method in ("em", "bbse-soft"):
        held_out = (P[:900], Y[:900]) if method != "em" else (None, None)
        whole = estimate_prior(P, 0.3, *held_out, method=method, random_state=0)
        found = estimate_prior(elsewhere(P, Y)["p"], 0.3, *held_out, method=method, random_state=0)
        np.testing.assert_allclose(found.prior, whole.prior, rtol=1e-9)
        np.testing.assert_allclose(found.interval, whole.interval, atol=0.02)


def test_groups(elsewhere):
    rows = elsewhere(P, Y, WEIGHT, GROUP)
    found = by_group(*at(rows)[:2], rows.get("group"), sample_weight=rows.get("sample_weight"))
    whole = by_group(Y, P, GROUP, sample_weight=WEIGHT)
    assert found.groups == whole.groups
    for name in ("weight", "base_rate", "mean_p", "low", "high", "p_value", "score", "miscalibration"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-9)


def same_audit(found, whole):
    assert found.n_rows == whole.n_rows
    assert found.total == pytest.approx(whole.total, rel=1e-13)
    assert verdict(found) == verdict(whole)
    assert found.test.p_value == pytest.approx(whole.test.p_value, rel=1e-8)
    assert found.auc == pytest.approx(whole.auc, rel=1e-11)
    for name in ("low", "high"):
        np.testing.assert_allclose(getattr(found.reliability, name), getattr(whole.reliability, name), rtol=1e-9)
    assert found.detectable.shift == pytest.approx(whole.detectable.shift, rel=1e-9)
    for name, score in whole.scores.items():
        other = found.scores[name]
        assert other.before == pytest.approx(score.before, rel=1e-12)
        assert other.parts.miscalibration == pytest.approx(score.parts.miscalibration, rel=1e-8)
        # The folds are others, and so is the way to the interval.
        assert other.gain.difference == pytest.approx(score.gain.difference, abs=2.0 * score.gain.standard_error)
        assert other.gain.standard_error == pytest.approx(score.gain.standard_error, rel=0.15)
    for name, size in whole.sizes.items():
        np.testing.assert_allclose(found.sizes[name], size, rtol=1e-6)
    if whole.groups is not None:
        assert found.groups.groups == whole.groups.groups
        np.testing.assert_allclose(found.groups.p_value, whole.groups.p_value, rtol=1e-7)
        np.testing.assert_allclose(found.groups.weight, whole.groups.weight)
        np.testing.assert_allclose(found.groups.deviation, whole.groups.deviation, rtol=1e-9)


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("p", [P, TIED], ids=["distinct", "tied"])
def test_audits(p, weight, elsewhere):
    rows = elsewhere(p, Y, weight, GROUP)
    whole = audit(Y, p, sample_weight=weight, group=GROUP, costs=(1, 5))
    found = audit(rows.pop("y", None), rows.pop("p"), **rows, costs=(1, 5))
    same_audit(found, whole)
    assert found.decision.before == pytest.approx(whole.decision.before, rel=1e-12)


@pytest.mark.parametrize("unequal", [0, 1, 4])
def test_one_part_with_weights_that_are_not_whole(unequal):
    """Whether weights are numbers of rows is decided for all parts; where a part has none they are 1."""
    weight, parts = np.ones(N), []
    for number, (i, j) in enumerate(itertools.pairwise(EDGES)):
        weight[i:j] = UNEQUAL[i:j] if number == unequal else WEIGHT[i:j] if number == 2 else 1.0
        parts.append((TIED[i:j, None], Y[i:j], weight[i:j] if number in (2, unequal) else None))
    same_audit(audit(None, Stream(parts)), audit(Y, TIED, sample_weight=weight))


def test_equal_weights_are_the_same_as_none():
    found, plain = (audit(None, blocks(TIED, Y, weight)["p"]) for weight in (np.full(N, 0.3), None))
    same_audit(found, plain)
    assert found.scores["log loss"].gain == pytest.approx(plain.scores["log loss"].gain)


@pytest.mark.parametrize("days", [["2024-01-01", "2024-02-29"], ["2024-01-01", "2024-01-01T12:30:00.5", "NaT"]])
def test_times_as_groups(days):
    """A day is one group, whatever the unit of its part."""
    group = np.array(days, dtype="M8[ms]")[RNG.integers(0, len(days), N)]
    parts = zip(itertools.pairwise([0, 900, 1800, N]), ["ns", "us", "ms"], strict=True)
    rows = Stream([(P[i:j, None], Y[i:j], None, None, group[i:j].astype(f"M8[{unit}]")) for (i, j), unit in parts])
    found, whole = audit(None, rows), audit(Y, P, group=group.astype("M8[ns]"))
    same_audit(found, whole)
    assert whole.groups.groups[0] == "2024-01-01"


def test_parts_without_groups_beside_one_with():
    """Their rows count as those whose group is missing."""
    group = np.where(np.arange(N) < 900, GROUP, None)
    rows = Stream([(P[:900, None], Y[:900], None, None, group[:900]), (P[900:, None], Y[900:])])
    same_audit(audit(None, rows), audit(Y, P, group=group))


def test_times_as_labels():
    day, scores = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="M8[D]"), np.exp(SCORES3)
    y, p = day[np.searchsorted(["a", "b", "c"], Y3)], scores / scores.sum(axis=1, keepdims=True)
    parts = [(p[i:j], y[i:j].astype(f"M8[{unit}]")) for i, j, unit in [(0, 900, "ns"), (900, N, "us")]]
    found, whole = audit(None, Stream(parts)), audit(y.astype("M8[ns]"), p)
    assert found.classes == whole.classes == tuple(f"{each} 00:00:00" for each in day)
    np.testing.assert_allclose(found.rates, whole.rates)
    assert audit(None, Stream(parts), classes=day).classes == whole.classes
    two = y < day[2]
    parts = [(p[:, 1][part, None], y[part].astype(f"M8[{unit}]")) for part, unit in ((two, "ns"), (two, "us"))]
    model = METHODS["platt"]().fit(Stream(parts))
    np.testing.assert_array_equal(model.classes_, day[:2])


def test_compressed_scores_have_a_small_error(monkeypatch):
    monkeypatch.setattr(score_counts, "ROOM", 1000)
    y, p, _ = at(blocks(P, Y))
    found = audit(y, p)
    whole = audit(Y, P)
    assert found.n_rows == N
    for name, score in whole.scores.items():
        assert found.scores[name].before == pytest.approx(score.before, rel=2e-4)
    assert found.auc.area == pytest.approx(whole.auc.area, abs=1e-4)
    weighted = [audit(None, blocks(P, Y, UNEQUAL)["p"]), audit(Y, P, sample_weight=UNEQUAL)]
    assert weighted[0].total == pytest.approx(weighted[1].total, rel=1e-12)
    assert weighted[0].auc.standard_error == pytest.approx(weighted[1].auc.standard_error, rel=1e-3)
    assert weighted[0].test.p_value == pytest.approx(weighted[1].test.p_value, rel=0.02)
    for method, error in {"platt": 1e-4, "auto": 1e-3, "isotonic": 0.05, "venn_abers": 0.05, "gaussian": 1e-4}.items():
        model, exact = METHODS[method]().fit(p, y), METHODS[method]().fit(P, Y)
        difference = np.abs(model.predict_proba(P) - exact.predict_proba(P))[:, 1]
        assert difference.mean() < error / 5.0
        assert np.quantile(difference, 0.99) < error


def test_groups_keep_their_mean_probability_in_cells(monkeypatch):
    """A group whose probabilities all lie at one end of a cell is not judged by the mean of the cell."""
    monkeypatch.setattr(score_counts, "ROOM", 1000)
    group = np.arange(N) % 2
    p = np.where(group == 1, 0.1, P)
    found, whole = audit(None, blocks(p, Y, None, group)["p"]), audit(Y, p, group=group)
    assert found.cell_width > 1e-3
    np.testing.assert_allclose(found.groups.mean_p, whole.groups.mean_p, rtol=1e-12)
    np.testing.assert_allclose(found.groups.p_value, whole.groups.p_value, rtol=1e-3)


def test_isotonic_regressions_of_parts_are_not_merged():
    order = np.argsort(SCORE)[::-1]  # parts of falling scores, of very different sizes
    rows = Stream([(SCORE[order][i:j, None], Y[order][i:j]) for i, j in itertools.pairwise([0, 10, 40, 2990, N])])
    whole = METHODS["isotonic"]().fit(SCORE, Y)
    np.testing.assert_array_equal(METHODS["isotonic"]().fit(rows).predict_proba(SCORE), whole.predict_proba(SCORE))


def test_what_is_refused():
    y, p, _ = at(blocks(P, Y))
    with pytest.raises(ValueError, match="but rows must be in memory here"):
        metrics.row_losses(y, p)
    with pytest.raises(ValueError, match="but rows must be in memory here"):
        metrics.auc_difference(Y, p, P)
    with pytest.raises(ValueError, match="but rows must be in memory here"):
        metrics.skill_score(y, p, reference=0.5)
    with pytest.raises(ValueError, match="group must be a label for each row of y"):
        by_group(y, p, None)
    with pytest.raises(ValueError, match="cluster needs all rows in memory"):
        audit(y, p, cluster=Y)
    with pytest.raises(ValueError, match=r"two classes, but there are 3 columns.*in block 0"):
        metrics.log_loss(None, Stream([(np.full((4, 3), 1 / 3), [0, 1, 2, 0])]))
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\].*in block 0"):
        metrics.log_loss(None, Stream([(np.array([[1.5]]), [1])]))
    with pytest.raises(ValueError, match="block 0 has no labels"):
        metrics.log_loss(None, Stream([(P[:, None],)]))
    with pytest.raises(ValueError, match="no rows of a positive weight"):
        metrics.log_loss(None, Stream([(P[:0, None], Y[:0])]))
    with pytest.raises(ValueError, match=r"two classes, by one column; pass that of the second class\. For more"):
        METHODS["platt"]().fit(Stream([(np.ones((4, 3)), [0, 1, 2, 0])]))
    with pytest.raises(ValueError, match="a column for each of the 2 sorted classes, but have 3"):
        METHODS["vector"]().fit(Stream([(np.ones((4, 3)), [0, 1, 1, 0])]))
    with pytest.raises(Misuse, match=f"more than {MOST_GROUPS:,} different values"):
        audit(None, blocks(P, Y, None, np.arange(N))["p"])


@pytest.mark.xdist_group("spark")
def test_spark(spark):
    rows = spark.createDataFrame(frame(TIED, Y, UNEQUAL, GROUP)).repartition(3)
    data = Spark(rows, features=["score"], **roles(UNEQUAL, GROUP))
    same_audit(audit(None, data), audit(Y, TIED, sample_weight=UNEQUAL, group=GROUP))
    for method in ("platt", "isotonic", "auto"):
        model, whole = METHODS[method]().fit(data), METHODS[method]().fit(TIED, Y, UNEQUAL)
        np.testing.assert_allclose(model.predict_proba(P), whole.predict_proba(P), atol=1e-9)


@pytest.mark.parametrize("kind", ["blocks", "dask"])
@pytest.mark.parametrize("drawn", [2**17, 1500])
@pytest.mark.parametrize("weight", [WEIGHT, UNEQUAL], ids=["whole", "unequal"])
def test_audits_of_several_classes(request, monkeypatch, kind, drawn, weight):
    """With few rows nothing is lost; with more, only what needs whole rows comes from drawn ones."""
    random = np.random.default_rng(11)
    scores = random.normal(size=(N, 3))
    p = np.round(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), 2)
    p[:, 0] = np.maximum(0.0, 1.0 - p[:, 1] - p[:, 2])
    y = np.array(["low", "mid", "top"])[(random.random((N, 1)) > (p**1.2 / (p**1.2).sum(1)[:, None]).cumsum(1)).sum(1)]
    monkeypatch.setattr("properly.forecasts.several._SAMPLE_ROWS", drawn)
    costs = [[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]
    given = {"y": y, "p": p, "sample_weight": weight, "group": GROUP.astype(str)}
    if kind == "blocks":
        columns = (p, y, weight, None, given["group"])
        parts = [tuple(None if c is None else c[i:j] for c in columns) for i, j in itertools.pairwise(EDGES)]
        elsewhere = {"y": None, "p": Stream(parts)}
    else:
        request.getfixturevalue("dask_client")
        array = pytest.importorskip("dask.array")
        elsewhere = {name: array.from_array(c, chunks=(700, *c.shape[1:])) for name, c in given.items()}
    whole, found = audit(**given, costs=costs), audit(**elsewhere, costs=costs)
    assert found.n_rows == whole.n_rows
    for name in ("total", "rates", "means", "hit_rate", "confidence", "surprises", "smooth_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(found.confusion.counts, whole.confusion.counts)
    for one, two in zip(found.test.tests, whole.test.tests, strict=True):
        if drawn > N or one.name != "whole vector":
            np.testing.assert_allclose(one[1:], two[1:], rtol=1e-7, err_msg=one.name)
    for name, size in whole.sizes.items():
        np.testing.assert_allclose(found.sizes[name], size, rtol=1e-7)
    for name, score in whole.scores.items():
        np.testing.assert_allclose(found.scores[name].before, score.before, rtol=1e-12)
        np.testing.assert_allclose(found.scores[name].parts.uncertainty, score.parts.uncertainty, rtol=1e-12)
        within = {"rtol": 1e-9} if drawn > N else {"atol": 0.02}
        np.testing.assert_allclose(found.scores[name].gain.difference, score.gain.difference, **within)
    np.testing.assert_allclose(found.groups.p_value, whole.groups.p_value, rtol=1e-7)
    for one, two in zip(found.multiclass_reliability.by_class, whole.multiclass_reliability.by_class, strict=True):
        np.testing.assert_allclose(one.recalibrated, two.recalibrated, atol=1e-12)


@pytest.mark.parametrize("weighted", [0, 1, 2])
def test_parts_of_several_classes_without_weights_beside_one_with(weighted):
    """Where a part has no weights they are 1, whichever part comes first."""
    p = np.exp(SCORES3) / np.exp(SCORES3).sum(axis=1, keepdims=True)
    parts = np.arange(N).reshape(3, -1)
    weight = np.where(np.isin(np.arange(N), parts[weighted]), WEIGHT, 1.0)
    blocks = [(p[rows], Y3[rows], weight[rows] if k == weighted else None) for k, rows in enumerate(parts)]
    found, whole = audit(None, Stream(blocks)), audit(Y3, p, sample_weight=weight)
    for name, score in whole.scores.items():
        assert found.scores[name].before == pytest.approx(score.before, rel=1e-12)
        assert found.scores[name].gain.difference == pytest.approx(score.gain.difference, rel=1e-9)
    for one, two in zip(found.test.tests, whole.test.tests, strict=True):
        np.testing.assert_allclose(one[1:], two[1:], rtol=1e-7, err_msg=one.name)


def test_what_audits_of_several_classes_refuse():
    p = np.full((6, 3), 1.0 / 3.0)
    with pytest.raises(ValueError, match=r"classes|labels"):
        audit(None, Stream([(p, np.array([0, 1, 0, 1, 0, 1]))]))
    with pytest.raises(ValueError, match="parts with 3 columns and parts with 4"):
        audit(None, Stream([(p, np.array([0, 1, 2] * 2)), (np.full((4, 4), 0.25), np.arange(4))]))
    with pytest.raises(ValueError, match=r"add up to 1.* \(in block 1\)"):
        audit(None, Stream([(p, np.array([0, 1, 2] * 2)), (p + 0.1, np.array([0, 1, 2] * 2))]))
    with pytest.raises(ValueError, match="block 0 has no labels"):
        audit(None, Stream([(p, None)]))
