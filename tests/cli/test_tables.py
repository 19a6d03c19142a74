"""Tables as they come: other notations, the standard input, suspicious columns, customers and dates."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from properly import load
from properly.tables import read_table, write_batches

FAST = ("--method", "logistic", "--calibration", "none")


@pytest.fixture
def stdin(monkeypatch):
    """Give some bytes to the standard input."""
    return lambda content: monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def european(columns):
    """The columns as a text file of semicolons and decimal commas."""
    rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
    lines = [";".join("" if each is None else str(each).replace(".", ",") for each in row) for row in rows]
    return "\n".join([";".join(columns), *lines]) + "\n"


def test_semicolons_and_decimal_commas_are_the_same_table(properly, train, customers):
    Path("europe.csv").write_text(european(customers()))
    first = properly("fit", train, "--target", "left", *FAST, "--json").summary
    second = properly("fit", "europe.csv", "--target", "left", *FAST, "--json").summary
    assert second["leaderboard"][0]["log_loss"] == pytest.approx(first["leaderboard"][0]["log_loss"], rel=1e-12)
    done = properly("predict", "model.skops", "europe.csv", "-o", "scored.csv")
    assert done.code == 0, done.err
    found = read_table("scored.csv")
    assert found["income"].to_pylist() == customers()["income"].to_pylist()
    assert_allclose(found["probability_yes"], load("model.skops").predict_proba(read_table(train))[:, 1], rtol=1e-12)


def test_the_notation_may_be_given(properly, train, customers):
    text = european(customers()).replace(";", "~")
    Path("odd.csv").write_text(text)
    done = properly("fit", "odd.csv", "--target", "left", *FAST, "--separator", "~", "--decimal", ",", "--json")
    assert done.code == 0, done.err
    assert done.summary["features"] == ["age", "income", "town", "member", "since"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".jsonl.zst", ".parquet"])
def test_the_standard_input(properly, customers, stdin, tmp_path, ending):
    table = pa.table(customers(200))
    path = tmp_path / f"piped{ending}"
    write_batches(path, table.schema, table.to_batches())
    stdin(path.read_bytes())
    done = properly("fit", "-", "--target", "left", *FAST, "--json")
    assert done.code == 0, done.err
    assert done.summary["rows"] == 200
    assert done.summary["table"] == "standard input"
    page = Path("fit.html").read_text()
    assert "<dd>standard input</dd>" in page
    assert "/properly-" not in page
    stdin(path.read_bytes())
    done = properly("predict", "model.skops", "-", "-o", "scored.jsonl")
    assert done.code == 0, done.err
    assert read_table("scored.jsonl").num_rows == 200


@pytest.mark.filterwarnings("always")
def test_warnings_and_titles_name_the_standard_input(properly, customers, write, stdin):
    properly("fit", write("train.csv", customers(200)), "--target", "left", "--features", "age", *FAST)
    stdin(b'age\n40\n""\n')
    assert "warning: standard input, column 'age' has missing values" in properly("predict", "model.skops", "-").err
    stdin(b"y,p\n" + b"0,0.2\n1,0.8\n0,0.4\n1,0.6\n" * 10)
    assert properly("audit", "-", "--target", "y", "--probability", "p").code == 0
    assert "<h1>Audit of p in standard input</h1>" in Path("audit.html").read_text()


def test_mistakes_in_the_standard_input(fails, stdin):
    stdin(b"a,b\n1,2\n3\n")
    assert "properly: error: standard input: line 3 has 1 cells" in fails("fit", "-", "--target", "a")
    stdin(b"")
    assert "properly: error: standard input is empty." in fails("fit", "-", "--target", "a")


def test_one_standard_input(properly, stdin):
    stdin(b"")
    done = properly("maxent", "--presence", "-", "--background", "-")
    assert done.code == 2
    assert "can stand for one table only" in done.err


def test_suspicious_columns_are_told_first(properly, write, customers):
    n = 600
    leak = ["closed" if label.as_py() == "yes" else "open" for label in customers()["left"]]
    odd = {"row": pa.array(np.arange(n)), "status": pa.array(leak), "one": pa.array([1] * n)}
    odd["paid"] = pa.array([f"{k % 7},{k % 10}" for k in range(n)])
    path = write("odd.csv", odd | customers())
    done = properly("fit", path, "--target", "left", *FAST)
    assert done.code == 0, done.err
    first = done.out[: done.out.index("600 rows")]
    for name, said in {
        "row": "numbers the rows",
        "status": "alone tells",
        "one": "same value",
        "paid": "'0,0'",
    }.items():
        assert f"Warning: column '{name}' " in first
        assert said in first
    page = Path("fit.html").read_text(encoding="utf-8")
    assert page.index("Column &#x27;row&#x27; numbers the rows") < page.index("The answer")
    clean = properly("fit", write("clean.csv", customers()), "--target", "left", *FAST, "--json").summary
    assert clean["warnings"] == []


def test_customers_are_not_divided(properly, write, customers):
    columns = customers() | {"customer": pa.array([f"c{k // 4}" for k in range(600)])}
    path = write("grouped.csv", columns)
    done = properly("fit", path, "--target", "left", *FAST, "--group", "customer", "--json")
    assert done.code == 0, done.err
    assert "customer" not in done.summary["features"]
    folds = "5 folds by customer, made 2 times: all rows with the same customer are in one fold"
    assert folds in done.summary["validation"]
    page = Path("fit.html").read_text(encoding="utf-8")
    assert "5 folds by customer" in page


@pytest.mark.parametrize("calibration", ["none", "platt"])
def test_the_past_predicts_the_future(properly, write, customers, calibration):
    path = write("dated.csv", customers())
    words = ("--method", "logistic", "--calibration", calibration, "--time", "since", "--folds", 3)
    done = properly("fit", path, "--target", "left", *words, "--json")
    assert done.code == 0, done.err
    assert "since" not in done.summary["features"]
    assert (
        "3 periods by since: models of the rows before a period were judged by the rows in it"
        in (done.summary["validation"])
    )
    assert load("model.skops").predict_proba(read_table(path)).shape == (600, 2)


def test_times_and_groups_that_are_none(fails, write, customers):
    path = write("dated.csv", customers())
    words = ("fit", path, "--target", "left", *FAST)
    assert "column 'town': a time must be a date such as 2024-05-31 or a number" in fails(
        *words, "--time", "town", code=2
    )
    assert "the group is missing" in fails(*words, "--group", "town")
    assert "has no column 'week'" in fails(*words, "--time", "week", code=2)


def test_the_positive_class_is_told(properly, write, customers):
    columns = customers()
    columns["left"] = pa.array(["fraud" if label.as_py() == "yes" else "ok" for label in columns["left"]])
    path = write("fraud.csv", columns)
    done = properly("fit", path, "--target", "left", *FAST, "--population-rate", 0.002, "--positive", "fraud")
    assert done.code == 0, done.err
    assert "2 classes (positive: fraud)" in done.out
    assert load("model.skops").scored(read_table(path))["probability_fraud"].mean() < 0.02
    assert "<dt>positive class</dt><dd>fraud</dd>" in Path("fit.html").read_text(encoding="utf-8")
    done = properly("fit", path, "--target", "left", *FAST)
    assert "(positive: ok, as the second in sorted order; --positive names another)" in done.out


def test_the_simpler_model_is_chosen(properly, train):
    words = ("--method", "additive,logistic", "--calibration", "none", "--single")
    done = properly("fit", train, "--target", "left", *words, "--json")
    assert done.summary["chosen"] == "logistic"
    if done.summary["best"] == "additive":
        assert "logistic is chosen: the simplest model whose score exceeds the best" in done.summary["conclusion"]
    (part,) = load("model.skops").classifier.parts_
    assert type(part.model.classifier.classifier_).__name__ == "ProperLinearClassifier"


def test_a_report_of_the_calibration(properly, write):
    random = np.random.default_rng(0)
    v = random.normal(size=500)
    y = np.where(random.random(500) < 1 / (1 + np.exp(-v)), "fraud", "ok")
    path = write("scores.csv", {"p_fraud": 1 / (1 + np.exp(-3 * v)), "v": v, "y": y})
    words = ("calibrate", path, "--target", "y", "--method", "platt", "--report", "calibrate.html")
    done = properly(*words, "--score", "p_fraud")
    assert done.code == 0, done.err
    assert "Report: calibrate.html" in done.out
    page = Path("calibrate.html").read_text(encoding="utf-8")
    assert "What recalibration changes" in page
    assert "<dt>positive class</dt><dd>fraud</dd>" in page
    assert properly(*words, "--score", "v", "--positive", "fraud").code == 0
    assert "What recalibration changes" not in Path("calibrate.html").read_text(encoding="utf-8")
    misused = properly(*words, "--score", "v")
    assert misused.code == 2
    assert "--positive fraud" in misused.err


def test_codes_that_are_read_as_numbers(properly):
    rows = [f"{k % 7 / 7},{k % 40:03d},{k % 3 % 2}" for k in range(120)]
    Path("codes.csv").write_text("\n".join(["x,code,y", *rows]))
    done = properly("fit", "codes.csv", "--target", "y", *FAST)
    assert "Warning: column 'code' holds numbers with leading zeros, such as 000, which are lost" in done.out
    done = properly("fit", "codes.csv", "--target", "y", *FAST, "--categories", "code", "--json")
    assert done.summary["warnings"] == []
    done = properly("fit", "codes.csv", "--target", "y", *FAST, "--features", "x", "--json")
    assert done.summary["warnings"] == []


def test_a_wrong_separator_is_answered_with_the_right_one(fails):
    Path("commas.csv").write_text("a,b\n1,2\n3,4\n")
    assert "--separator ','" in fails("fit", "commas.csv", "--target", "a", "--separator", ";", code=2)
