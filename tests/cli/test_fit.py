"""``properly fit``."""

import os
import signal
import time
from inspect import signature
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose

from properly import load, load_metadata
from properly.cli import fit_table, predict_table
from properly.cli.signals import undisturbed
from properly.comparison import BestProbabilities
from properly.comparison.candidates import AUTO, CANDIDATES, Setting, build_candidates, checked_methods
from properly.inputs.misuse import Misuse
from properly.metrics import log_loss
from properly.tables import read_table

TWO = ("--method", "logistic,tree")
FAST = ("--method", "logistic", "--calibration", "none")


def test_the_best_is_fitted_and_saved(properly, train, customers):
    done = properly("fit", train, "--target", "left", *TWO, "--json")
    assert done.code == 0, done.err
    assert done.summary["rows"] == 600
    assert done.summary["classes"] == ["no", "yes"]
    assert done.summary["features"] == ["age", "income", "town", "member", "since"]
    board = done.summary["leaderboard"]
    assert done.summary["best"] == board[0]["name"]
    assert {each["name"].removesuffix(" + calibration") for each in board} == {"logistic", "tree", "average"}
    assert {each["name"] for each in done.summary["parts"]} <= {"logistic", "tree"}
    scores = [np.inf if each["log_loss"] is None else each["log_loss"] for each in board]
    assert scores == sorted(scores)
    model = load("model.skops")
    new = pa.table(customers(2000, seed=1))
    held_out = log_loss(new["left"].to_numpy(zero_copy_only=False), model.predict_proba(new))
    assert abs(held_out - scores[0]) < 0.06
    assert load_metadata("model.skops")["target"] == "left"
    page = Path("fit.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert all(each["name"] in page for each in board)


def test_many_rows_are_compared_on_a_sample(train, customers, tmp_path, monkeypatch):
    """The audit is of the sample, the model of all rows; what is not boosted is fitted to a larger sample."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("properly.comparison.search._MANY_ROWS", 500)
    monkeypatch.setattr("properly.comparison.search._MOST_ROWS", 300)
    monkeypatch.setattr("properly.comparison.search._MOST_FITTED", 400)
    monkeypatch.setattr("properly.comparison.rows._ENOUGH_OF_A_CLASS", 1)
    summary = fit_table(train, target="left", method="logistic,tree")
    note = "compared on a sample of 301 rows, and fitted to 600; only boosting to all, others to about 400"
    assert note in summary["notes"][0]
    assert summary["rows"] == 600
    new = pa.table(customers(2000, seed=1))
    assert log_loss(new["left"].to_numpy(zero_copy_only=False), load("model.skops").predict_proba(new)) < 0.69
    assert ">301<" in Path("fit.html").read_text(encoding="utf-8")


def test_what_is_shown(properly, train):
    done = properly("fit", train, "--target", "left", *TWO, "-o", "m.skops", "--report", "r.html")
    assert "600 rows, 5 features, 2 classes" in done.out
    assert "best" in done.out
    assert "Model:  m.skops\nReport: r.html" in done.out


def test_the_same_seed_gives_the_same_model(properly, train):
    for name in ("a", "b"):
        properly(
            "fit",
            train,
            "--target",
            "left",
            "--method",
            "tree",
            "--calibration",
            "auto",
            "-o",
            f"{name}.skops",
            "--seed",
            3,
        )
    table = read_table(train)
    assert_allclose(load("a.skops").predict_proba(table), load("b.skops").predict_proba(table), rtol=0, atol=0)


LINEAR_AND_TREE = [name for name in CANDIDATES if name not in ("tailored", "boosting", "xgboost", "catboost")]


@pytest.mark.parametrize("method", [*LINEAR_AND_TREE, "tailored:0.2"])
def test_every_method_fits_columns_of_every_kind(properly, train, method):
    done = properly(
        "fit", train, "--target", "left", "--method", method, "--calibration", "none", "--json", "--folds", 2
    )
    assert done.code == 0, done.err
    assert done.summary["best"] == method
    p = load("model.skops").predict_proba(read_table(train))
    assert p.shape == (600, 2)
    assert_allclose(p.sum(axis=1), 1.0)
    assert p[:, 1].std() > 0.05


def test_boosting(properly, train):
    pytest.importorskip("lightgbm")
    done = properly("fit", train, "--target", "left", "--method", "boosting", "--json", "--folds", 2)
    assert done.code == 0, done.err
    assert load("model.skops").predict_proba(read_table(train))[:, 1].std() > 0.05


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_calibration_by_name_is_for_all(properly, train, calibration):
    done = properly("fit", train, "--target", "left", *TWO, "--calibration", calibration, "--json")
    assert done.code == 0, done.err
    names = {each["name"] for each in done.summary["leaderboard"]}
    assert names - {"average"} == {"logistic + calibration", "tree + calibration"}  # isotonic says 0: no average
    assert ("average" in names) == (calibration == "platt")
    assert load("model.skops").predict_proba(read_table(train)).shape == (600, 2)


def test_population_rate(properly, train):
    properly("fit", train, "--target", "left", *FAST, "-o", "sample.skops")
    done = properly("fit", train, "--target", "left", *FAST, "--population-rate", 0.002, "-o", "population.skops")
    note = "the saved model is for a share of 0.002 of yes; comparison and audit are of its probabilities before"
    assert f"Note: {note}" in done.out
    assert note[1:] in Path("fit.html").read_text(encoding="utf-8").partition("<table")[0]  # begins with a capital
    assert done.code == 0, done.err
    table = read_table(train)
    share = np.mean(table["left"].to_numpy(zero_copy_only=False) == "yes")
    before, after = (load(f"{name}.skops").predict_proba(table)[:, 1] for name in ("sample", "population"))
    shift = np.log(0.002 / 0.998) - np.log(share / (1 - share))
    assert_allclose(np.log(after / (1 - after)), np.log(before / (1 - before)) + shift, atol=1e-9)


def test_the_positive_class_is_for_the_user_to_say(properly, train):
    done = properly("fit", train, "--target", "left", *FAST, "--positive", "no", "--population-rate", 0.001, "--json")
    assert done.summary["classes"] == ["yes", "no"]
    scored = load("model.skops").scored(read_table(train))
    assert scored["probability_no"].mean() < 0.1


def test_weights(properly, write, customers):
    columns = customers()
    weight = np.random.default_rng(5).integers(0, 3, 600)
    weighted = write("weighted.csv", columns | {"times": weight})
    rows = np.repeat(np.arange(600), weight)
    repeated = write("repeated.csv", {name: pa.array(values).take(rows) for name, values in columns.items()})
    plain = ("--method", "firth", "--calibration", "none")  # a penalty would be chosen on other folds
    properly("fit", weighted, "--target", "left", *plain, "--weight", "times", "-o", "a.skops")
    properly("fit", repeated, "--target", "left", *plain, "-o", "b.skops")
    table = pa.table(columns)
    assert_allclose(load("a.skops").predict_proba(table), load("b.skops").predict_proba(table), atol=1e-6)


def test_columns_are_chosen(properly, train):
    for option, features in (
        (["--features", "age,town"], ["age", "town"]),
        (["--ignore", "since, member"], ["age", "income", "town"]),
    ):
        done = properly("fit", train, "--target", "left", *FAST, *option, "--json")
        assert done.summary["features"] == features
    done = properly("fit", train, "--target", "left", *FAST, "--categories", "age", "--json")
    assert done.code == 0, done.err
    assert load("model.skops").encoder.columns_[0].kind == "category"


def test_names_of_rows_are_noted(properly, write, customers):
    path = write("named.csv", customers() | {"id": [f"customer {k}" for k in range(600)]})
    done = properly("fit", path, "--target", "left", *FAST)
    assert "Note: column 'id' was left out: 600 different texts in 600 rows." in done.out


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1.0, 2.0], ["a", "b"]])
def test_labels_of_any_type(properly, write, customers, labels):
    columns = customers()
    target = np.array(labels)[(columns.pop("left").to_numpy(zero_copy_only=False) == "yes").astype(int)]
    done = properly("fit", write("t.parquet", columns | {"y": target}), "--target", "y", *FAST, "--json")
    assert done.code == 0, done.err
    assert done.summary["classes"] == labels


def test_seventeen_classes(properly, write):
    random = np.random.default_rng(0)
    X = random.normal(size=(850, 4))
    kind = np.digitize(X[:, 0] + 0.3 * random.normal(size=850), np.linspace(-1.5, 1.5, 16))
    path = write("many.csv", {f"x{j}": X[:, j] for j in range(4)} | {"kind": [f"k{k:02}" for k in kind]})
    done = properly("fit", path, "--target", "kind", *TWO, "--json", "--folds", 2, "--calibration", "none")
    assert done.code == 0, done.err
    assert len(done.summary["classes"]) == 17
    assert load("model.skops").predict_proba(read_table(path)).shape == (850, 17)
    assert "k16" in Path("fit.html").read_text(encoding="utf-8")


def test_auto_leaves_out_what_does_not_suit(monkeypatch):
    found, notes = build_candidates(["auto"], Setting([50, 40, 10], [], 0))
    assert set(found) == set(AUTO) - {"gev"}
    assert notes == ["gev is for two classes, the target has 3"]
    monkeypatch.setattr("properly.comparison.candidates.find_spec", lambda name: None)
    found, notes = build_candidates(["auto"], Setting([50, 50], [], 0))
    assert "boosting" not in found
    assert 'pip install "properly[cli]"' in notes[0]
    with pytest.raises(ValueError, match="boosting needs lightgbm"):
        build_candidates(["boosting"], Setting([50, 50], [], 0))
    with pytest.raises(ValueError, match="catboost needs catboost, which is not installed: pip install catboost"):
        build_candidates(["catboost"], Setting([50, 50], [], 0))
    found, notes = build_candidates(["auto"], Setting([500, 9], [], 0))
    assert "gev" not in found
    assert notes[0] == "gev needs 10 rows of every class, the rarest has 9"
    with pytest.raises(ValueError, match="firth is for two classes, the target has 3"):
        build_candidates(["firth"], Setting([50, 40, 10], [], 0))
    found, notes = build_candidates(["auto"], Setting([500_000, 500_000], [], 0, n_features=30))
    assert not {"kernel", "products", "additive"} & set(found)
    assert "kernel was not tried, since it takes long with 1,000,000 rows, 30 features and 2 classes" in " ".join(notes)
    assert build_candidates(["kernel"], Setting([500_000, 500_000], [], 0, n_features=30))[0]


@pytest.mark.filterwarnings("default")
def test_a_table_that_says_nothing(properly, write):
    done = properly("fit", write("same.csv", {"a": [1.0] * 60, "y": [0, 1, 0] * 20}), "--target", "y", "--json")
    assert done.code == 0, done.err
    assert_allclose(done.summary["leaderboard"][0]["log_loss"], -np.log(2 / 3) * 2 / 3 - np.log(1 / 3) / 3, atol=0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("magic", "there is no method 'magic'; the methods are auto, logistic"),
        (
            "tailored",
            "the method tailored needs the threshold after a colon, such as tailored:0.1, which must be a",
        ),
        ("tailored:2", "got '2'"),
        ("logistic:2", "logistic takes no number"),
    ],
)
def test_methods_that_are_none(properly, train, text, message):
    done = properly("fit", train, "--target", "left", "--method", text)
    assert done.code == 2
    assert message in done.err
    assert checked_methods("auto,tailored:0.3") == ["auto", "tailored:0.3"]


def test_bad_tables(fails, write, customers, train, tmp_path):
    columns = customers()
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "empty.csv is empty" in fails("fit", empty, "--target", "left")
    assert "has no column 'gone'; it has 'age', " in fails("fit", train, "--target", "gone", code=2)
    assert "there is no such file" in fails("fit", "none.csv", "--target", "left")
    one = write("one.csv", columns | {"left": ["yes"] * 600})
    assert "column 'left' holds one class only, 'yes'" in fails("fit", one, "--target", "left")
    labels = columns["left"].to_pylist()
    labels[9] = None
    hole = write("hole.parquet", columns | {"left": labels})
    assert "column 'left', row 10: the class is missing" in fails("fit", hole, "--target", "left")
    labels[9] = "perhaps"
    single = write("single.csv", columns | {"left": labels})
    assert "column 'left': the class 'perhaps' has only one row, but two are needed" in fails(
        "fit", single, "--target", "left", *FAST
    )
    ages = columns["age"].cast(pa.string()).to_pylist()
    ages[99] = "old"
    text = write("text.csv", columns | {"age": ages})
    assert "column 'age', row 100: 'old' is no number" in fails("fit", text, "--target", "left")
    assert "600 different values, but a target may have 100 classes" in fails(
        "fit", write("number.csv", columns | {"left": np.arange(600) / 7}), "--target", "left", code=2
    )


def test_contradictory_options(fails, train, write, customers):
    fit = ("fit", train, "--target", "left")
    assert "target and features name the same column, 'left'" in fails(*fit, "--features", "age,left", code=2)
    assert "target and weight name the same column, 'left'" in fails(*fit, "--weight", "left", code=2)
    assert "has no column 'zip'" in fails(*fit, "--ignore", "zip", code=2)
    assert "has no column 'zip'" in fails(*fit, "--categories", "zip", code=2)
    assert "no column left to learn from" in fails(*fit, "--ignore", "age,income,town,member,since", code=2)
    assert "has no class 'maybe'; it has 'no', 'yes'" in fails(*fit, "--positive", "maybe", code=2)
    three = write("three.csv", customers() | {"left": np.array(list("abc"))[np.arange(600) % 3]})
    assert "a population rate is for two classes, the target has 3" in fails(
        "fit", three, "--target", "left", "--population-rate", 0.1, code=2
    )
    fraud = write("fraud.csv", customers() | {"left": np.array(["ok", "fraud"])[np.arange(600) % 2]})
    for option in (("--population-rate", 0.1), ("--method", "tailored:0.1")):
        assert "--positive fraud" in fails("fit", fraud, "--target", "left", *option, code=2)


def test_a_column_without_a_name_is_not_learned_from(properly, fails, write, customers):
    path = write("index.csv", {"": np.arange(600)} | customers())
    assert "index.csv has a column without a name, perhaps the row numbers" in fails("fit", path, "--target", "left")
    done = properly("fit", path, "--target", "left", *FAST, "--ignore", '""', "--json")
    assert done.summary["features"] == ["age", "income", "town", "member", "since"]


def test_names_with_commas_and_spaces(properly, write, customers):
    columns = customers()
    path = write("names.csv", {"age, years": columns["age"], " income ": columns["income"], "left": columns["left"]})
    done = properly("fit", path, "--target", "left", *FAST, "--features", '" income ","age, years"', "--json")
    assert done.summary["features"] == [" income ", "age, years"]


def test_fewer_folds_are_told(properly, write, customers):
    columns = customers(60)
    columns["left"] = ["yes" if k < 3 else "no" for k in range(60)]
    path = write("few.csv", columns)
    done = properly("fit", path, "--target", "left", *FAST, "--categories", "town", "--positive", "no")
    note = "there are 3 folds instead of 5, because the rarest class, yes, has 3 rows"
    assert f"Note: {note}." in done.out
    page = Path("fit.html").read_text()
    for name, value in {"notes": note, "methods": FAST[1], "positive class": "no", "categories": "town"}.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "<dt>calibration</dt>" in page


def test_outputs_are_checked_first(fails, train, monkeypatch):
    monkeypatch.setattr("properly.comparison.BestProbabilities", None)
    fit = ("fit", train, "--target", "left")
    assert "there is no folder" in fails(*fit, "-o", "gone/model.skops", code=2)
    assert "there is no folder" in fails(*fit, "--report", "gone/fit.html", code=2)
    Path("rows").mkdir()
    with pytest.raises(Misuse, match=r"^output: 'rows' is a folder; give the name of a file in it\."):
        fit_table(train, target="left", output="rows")
    Path("model.skops").mkdir()
    with pytest.raises(Misuse, match=r"^model\.skops is a folder; give the name of a file in it\."):
        fit_table(train, target="left")
    Path("model.skops").rmdir()
    Path("fixed.html").write_text("old")
    monkeypatch.setattr("properly.files.os.access", lambda path, mode: Path(path).is_dir())
    assert "fixed.html cannot be written: the file is read-only" in fails(*fit, "--report", "fixed.html")


@pytest.mark.parametrize("where", ["comparison.BestProbabilities.fit", "persistence.save", "report.fit_page"])
def test_an_interruption_leaves_nothing(properly, train, tmp_path, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"properly.{where}", interrupted)
    done = properly("fit", train, "--target", "left", *FAST)
    assert done.code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_a_full_disk(properly, train, tmp_path):
    full = tmp_path / "full.skops"
    try:
        full.symlink_to("/dev/full")
    except OSError:
        pytest.skip("no symbolic links here")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    done = properly("fit", train, "--target", "left", *FAST, "-o", full)
    assert done.code == 1
    assert "full" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "fit.html").exists()


def test_every_option_is_there_in_python_and_on_the_command_line():
    """`BestProbabilities` is told about rows and classes by its data, the command by names of columns."""
    same = {"folds": "cv", "categories": "categorical_features", "seed": "random_state", "weight": "sample_weight"}
    files = {"table", "output", "report", "key_file", "separator", "decimal", "cache", "dask"}
    columns = {"target", "features", "ignore", "positive"}  # y, X, and the order or the dict of the classes
    command = {*signature(fit_table).parameters} - files - columns
    command |= {*signature(predict_table).parameters} & {"unseen"}
    python = {*signature(BestProbabilities).parameters, *signature(BestProbabilities.fit).parameters}
    own = {"self", "X", "y", "progress", "class_names"}
    assert {same.get(name, name) for name in command} == python - own


def _odd_tables():
    random = np.random.default_rng(0)
    x, words = random.normal(size=3000), [f"word {k}" for k in random.integers(0, 10_000, 3000)]
    wide = random.normal(size=(300, 2000))
    return {
        "10 rows": {"x": x[:10], "c": list("abcdeabcde"), "y": [0, 1] * 5},
        "constant columns": {"x": np.ones(200), "c": ["same"] * 200, "y": [0, 1, 1, 1] * 50},
        "a class of 3 rows": {"x": x[:203], "y": ["c"] * 3 + ["a", "b"] * 100},
        "2,000 columns": {f"x{j}": wide[:, j] for j in range(2000)} | {"y": (wide[:, 0] > 0).astype(int)},
        "10,000 words": {"t": words, "u": words[::-1], "x": x, "y": (x + random.normal(size=3000) > 0).astype(int)},
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", _odd_tables())
def test_odd_tables_have_honest_models(tmp_path, name):
    """In bounded time, no worse than the shares of the classes beyond the noise, and with whole probabilities."""
    table = _odd_tables()[name]
    path, model = tmp_path / "table.parquet", tmp_path / "model.skops"
    pa.parquet.write_table(pa.table(table), path)
    start = time.process_time()
    summary = fit_table(path, target="y", output=model, report=tmp_path / "fit.html")
    assert time.process_time() - start < 300.0
    chosen = next(each for each in summary["leaderboard"] if each["name"] == summary["chosen"])
    share = np.unique(table["y"], return_counts=True)[1] / len(table["y"])
    base = -share @ np.log(share)
    assert chosen["log_loss"] < base + 2.0 * chosen["standard_error"] + 0.01
    p = load(model).predict_proba(read_table(path))
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


def test_ctrl_c_while_files_are_written_is_only_answered(capsys):
    """The first time; the second ends it, as any Ctrl-C does."""
    with undisturbed("It is being saved."):
        signal.raise_signal(signal.SIGINT)
        assert capsys.readouterr().err == "It is being saved.\n"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device of Linux that is always full")
def test_without_a_page_there_is_no_model(properly, train, tmp_path):
    done = properly("fit", train, "--target", "left", "--method", "logistic", "--folds", 2, "--report", "/dev/full")
    assert (done.code, done.err) == (1, "properly: error: /dev/full cannot be written: the disk is full.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
