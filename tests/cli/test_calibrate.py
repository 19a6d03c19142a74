"""``properly calibrate``."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from properly import load
from properly.calibration import AutoCalibration, PlattScaling
from properly.tables import read_table


@pytest.fixture
def scores(write):
    """Twice the log-odds, and the same as probabilities; the target is a number."""
    random = np.random.default_rng(0)
    v = random.normal(size=800) * 2 - 1
    y = (random.random(800) < 1 / (1 + np.exp(-v))).astype(int)
    return write("scores.csv", {"s": 2 * v, "p": 1 / (1 + np.exp(-2 * v)), "y": y})


def test_scores(properly, scores):
    done = properly("calibrate", scores, "--target", "y", "--score", "s", "--json")
    assert done.code == 0, done.err
    assert (done.summary["input"], done.summary["log_loss_before"]) == ("score", None)
    table = read_table(scores)
    s, y = table["s"].to_numpy(), table["y"].to_numpy()
    p = load("calibrator.skops").predict_proba(table)
    assert_allclose(p, AutoCalibration().fit(s, y).predict_proba(s), rtol=1e-12)
    share = y.mean()
    assert_allclose(done.summary["log_loss_constant"], -(share * np.log(share) + (1 - share) * np.log(1 - share)))
    assert abs(done.summary["log_loss_after"] - log_loss(y, p)) < 0.02


def test_probabilities_are_recognised(properly, scores):
    words = ("calibrate", scores, "--target", "y", "--score", "p", "--json")
    done = properly(*words, "--method", "platt", "-o", "c.skops")
    assert done.summary["input"] == "probability"
    table = read_table(scores)
    p, y = table["p"].to_numpy(), table["y"].to_numpy()
    assert_allclose(done.summary["log_loss_before"], log_loss(y, p))
    assert done.summary["log_loss_after"] < done.summary["log_loss_before"] - 0.05
    expected = PlattScaling(input="probability").fit(p, y).predict_proba(p)
    assert_allclose(load("c.skops").predict_proba(table), expected, rtol=1e-12)
    forced = properly(*words, "--input", "score")
    assert forced.summary["input"] == "score"


def test_progress_moves(properly, scores, monkeypatch):
    told = []

    @contextmanager
    def progress(label, total):
        yield lambda done, note: told.append((done / total, note))

    monkeypatch.setattr("properly.cli.calibrate.progress", progress)
    properly("calibrate", scores, "--target", "y", "--score", "s")
    shares = [share for share, _ in told]
    assert shares == sorted(set(shares)), "it only moves forward"
    assert told[0] == (0.0, "auto, all rows")
    assert shares[-1] > 0.8


def test_the_map_predicts(properly, scores):
    properly("calibrate", scores, "--target", "y", "--score", "s")
    done = properly("predict", "calibrator.skops", scores, "-o", "scored.parquet")
    assert done.code == 0, done.err
    scored = read_table("scored.parquet")
    assert_allclose(scored["probability_1"].to_numpy(), load("calibrator.skops").predict_proba(scored)[:, 1])
    assert scored["s"].to_pylist() == read_table(scores)["s"].to_pylist()


def test_what_is_shown(properly, scores):
    shown = properly("calibrate", scores, "--target", "y", "--score", "p").out
    assert "800 rows; p read as probabilities of 1; method auto." in shown
    assert "Calibrator: calibrator.skops" in shown


def test_several_classes_in_any_order(properly, write):
    random = np.random.default_rng(0)
    v = random.normal(size=(900, 3))
    kind = np.array([random.choice(["ash", "elm", "oak"], p=np.exp(row) / np.exp(row).sum()) for row in v])
    path = write("trees.parquet", {"v_oak": 3 * v[:, 2], "v_ash": 3 * v[:, 0], "v_elm": 3 * v[:, 1], "kind": kind})
    words = ["calibrate", path, "--target", "kind", "--method", "temperature", "--json", "--score"]
    done = properly(*words, "v_oak", "v_ash", "v_elm")
    assert properly(*words, "v_oak,v_ash", "v_elm").summary == done.summary
    assert done.code == 0, done.err
    assert done.summary["scores"] == ["v_ash", "v_elm", "v_oak"]
    model = load("calibrator.skops")
    assert_allclose(model.classifier.temperature_, 3.0, rtol=0.15)
    assert log_loss(kind, model.predict_proba(read_table(path))) < log_loss(kind, np.full((900, 3), 1 / 3)) - 0.1


def test_weights_count_rows(properly, scores, write):
    table = read_table(scores)
    weight = np.random.default_rng(1).integers(0, 3, 800)
    weighted = write("weighted.csv", table.to_pydict() | {"times": weight})
    rows = np.repeat(np.arange(800), weight)
    repeated = write("repeated.csv", table.take(rows).to_pydict())
    options = ("--target", "y", "--score", "s", "--method", "platt")
    properly("calibrate", weighted, *options, "--weight", "times", "-o", "a.skops")
    properly("calibrate", repeated, *options, "-o", "b.skops")
    assert_allclose(load("a.skops").predict_proba(table), load("b.skops").predict_proba(table), atol=1e-6)


def test_copies_of_rows_are_divided_among_folds_as_rows_are(properly, write, tmp_path):
    """A few scores with their counts: held-out losses are those of the rows, and the page says how many lines."""
    random = np.random.default_rng(7)
    p = random.choice([0.05, 0.2, 0.4, 0.7], 4_000)
    y = (random.random(4_000) < p).astype(int)
    (p, y), count = np.unique([p**1.5, y], axis=1, return_counts=True)
    added = write("added.csv", {"p": p, "y": y.astype(int), "n": count})
    rows = write("rows.csv", {"p": np.repeat(p, count), "y": np.repeat(y.astype(int), count)})
    options = ("--target", "y", "--score", "p", "--method", "isotonic", "--json")
    one = properly("calibrate", added, *options, "--weight", "n", "--report", "page.html").summary
    other = properly("calibrate", rows, *options).summary
    assert one["log_loss_before"] == pytest.approx(other["log_loss_before"], rel=1e-9)
    assert one["log_loss_after"] == pytest.approx(other["log_loss_after"], abs=1e-3)
    page = re.sub(r"<[^>]*>|\s", "", (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "rows8weightedtocountas4,000" in page


def test_scores_the_wrong_way_round(properly, scores, write, tmp_path):
    table = read_table(scores).to_pydict()
    upside_down = write("down.csv", table | {"s": [-score for score in table["s"]]})
    words = ("--target", "y", "--score", "s", "--method", "platt", "--report", "page.html")
    done = properly("calibrate", upside_down, *words)
    assert "Warning: column 's' is the wrong way round: the higher the score, the rarer the class 1" in done.out
    assert "--positive 0" in done.out
    assert "is the wrong way round" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert properly("calibrate", scores, *words, "--json").summary["warnings"] == []
    assert properly("calibrate", upside_down, *words, "--positive", "0", "--json").summary["warnings"] == []


def test_an_infinite_log_loss_is_called_infinite(properly, write):
    path = write("certain.csv", {"y": [0, 1] * 50, "p": [0.0, 1.0] * 49 + [1.0, 0.0]})
    assert (
        "before calibration               infinite" in properly("calibrate", path, "--target", "y", "--score", "p").out
    )


def test_bad_input(properly, fails, scores, write):
    table = read_table(scores).to_pydict()
    words = ("--target", "y", "--score")
    assert "has no column 't'" in fails("calibrate", scores, *words, "t", code=2)
    assert "score must name one column, got 2" in fails("calibrate", scores, *words, "s", "p", code=2)
    assert "target and score name the same column, 'y'" in fails("calibrate", scores, *words, "y", code=2)
    done = properly("calibrate", scores, *words, "s", "--method", "magic")
    assert done.code == 2
    assert "argument --method: must be one of 'auto', " in done.err
    bad = [*table["s"][:-1], "high"]
    path = write("text.csv", table | {"s": [str(value) for value in bad]})
    assert "text.csv, column 's', row 800: a number is needed, got 'high'" in fails("calibrate", path, *words, "s")
    path = write("hole.csv", table | {"s": [None, *table["s"][1:]]})
    assert "hole.csv, column 's', row 1: the value is missing; fill it in" in fails("calibrate", path, *words, "s")
    path = write("one.csv", table | {"y": [1] * 800})
    assert "one class only, 1" in fails("calibrate", path, *words, "s")
    assert "the input probability is for scores in [0, 1]" in fails(
        "calibrate", scores, *words, "s", "--input", "probability", code=2
    )
    three = write("three.csv", table | {"y": np.arange(800) % 3})
    assert "score must name 3 columns, one for every class, got 1" in fails("calibrate", three, *words, "s", code=2)
    assert "there is no folder" in fails("calibrate", scores, *words, "s", "-o", "gone/c.skops", code=2)
