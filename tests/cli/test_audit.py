import json
import re
from pathlib import Path

import numpy as np
import pytest

from properly import report


def predictions(n=800, seed=0, **changed):
    random = np.random.default_rng(seed)
    score = random.normal(size=n) * 2.0 - 1.0
    return {
        "p": 1.0 / (1.0 + np.exp(-score)),
        "y": np.where(random.random(n) < 1.0 / (1.0 + np.exp(-0.4 * score)), "yes", "no"),
        "town": np.array(["Bath", "<script>alert(1)</script>"])[random.integers(2, size=n)],
        "n": random.integers(0, 3, n),
    } | changed


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.tsv.gz", "p.arrow"])
def test_a_summary_and_a_report(properly, write, tmp_path, name):
    write(name, predictions())
    done = properly("audit", name, "--target", "y", "--probability", "p", "--group", "town", "--costs", "1:20")
    assert (done.code, done.err) == (0, "")
    assert "The probabilities are not right" in done.out
    assert "too extreme" in done.out
    assert "Report: audit.html" in done.out
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script>alert" not in page
    assert name in page
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["audit.html", name])


def test_numbers_for_machines(properly, write, tmp_path):
    data = predictions()
    write("p.csv", data)
    done = properly(
        "audit", "p.csv", "--target", "y", "--probability", "p", "--costs", "2:10", "--weight", "n",
        "--report", "r.html", "--json",
    )  # fmt: skip
    assert done.code == 0
    summary = done.summary
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    positive, weight = data["y"] == "yes", data["n"]
    loss = -np.average(np.log(np.where(positive, data["p"], 1.0 - data["p"])), weights=weight)
    assert summary["scores"]["log loss"]["as_given"] == pytest.approx(loss)
    assert summary["verdict"] == "wrong"
    assert summary["report"] == "r.html"
    assert summary["decision"]["threshold"] == pytest.approx(1 / 6)
    assert summary["classes"][1]["class"] == "yes"
    assert summary["classes"][1]["share"] == pytest.approx(np.average(positive, weights=weight))
    assert (tmp_path / "r.html").exists()


def test_what_is_infinite_is_null(properly, write):
    write("p.csv", {"y": [0, 1] * 20, "p": [0.0, 0.0] + [0.2, 0.8] * 19})
    summary = properly("audit", "p.csv", "--target", "y", "--probability", "p", "--json").summary
    assert summary["scores"]["log loss"]["as_given"] is None
    assert summary["rows_given_probability_0"] == 1
    shown = properly("audit", "p.csv", "--target", "y", "--probability", "p")
    assert "infinite" in shown.out


def test_several_classes(properly, write):
    random = np.random.default_rng(0)
    p = random.dirichlet([2.0, 1.0, 1.0], 500)
    y = (random.random((500, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    names = ["ant", "bee", "cat"]
    write("p.parquet", {"y": np.array(names)[y]} | {f"p_{name}": p[:, k] for k, name in enumerate(names)})
    done = properly("audit", "p.parquet", "--target", "y", "--probability", "p_cat", "p_ant", "p_bee", "--json")
    assert [each["class"] for each in done.summary["classes"]] == names
    assert done.summary["scores"]["log loss"]["as_given"] == pytest.approx(-np.mean(np.log(p[np.arange(500), y])))
    assert done.summary["decision"] is None
    commas = properly("audit", "p.parquet", "--target", "y", "--probability", "p_cat, p_ant,p_bee", "--json")
    assert commas.summary == done.summary


@pytest.mark.filterwarnings("default:p.csv, column 'y' holds:UserWarning")
@pytest.mark.parametrize(("only", "ends"), [(0, "−infinite  −infinite to −"), (1, "infinite  ")])
@pytest.mark.parametrize("options", [[], ["--costs", "1:20"]])
def test_rows_of_one_class(properly, write, only, ends, options):
    write("p.csv", predictions() | {"y": [only] * 800})
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p", *options)
    assert done.code == 0, done.err
    assert "The probabilities are not right" in done.out
    assert re.search(rf"intercept +{ends}", done.out)
    assert "not determined: every row is of one class" in done.out
    page = Path("audit.html").read_text(encoding="utf-8")
    assert ("the page starts with equal ones" in page) == (not options)
    assert "share of 1" in page
    assert "most probable class is the true one" not in page


def test_brackets_in_names_are_text(properly, write):
    data = predictions()
    data["town"] = np.where(data["p"] > 0.5, "[bold]high[/bold]", "[red]")
    write("p.csv", data)
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p", "--group", "town")
    assert "[bold]high[/bold]" in done.out


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"p": [1.7] * 800}, [], "row 1: a probability must lie in [0, 1], got 1.7"),
        ({"p": ["0.5", *["high"] * 799]}, [], "row 2: a number is needed, got 'high'"),
    ],
)
def test_bad_input_is_one_line(fails, write, changed, options, message):
    write("p.csv", predictions(**changed))
    assert message in fails("audit", "p.csv", "--target", "y", "--probability", "p", *options)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"y": [f"class {k % 17}" for k in range(800)]}, [], "17 classes"),
        ({"p": ["high"] * 800}, [], "column 'p' holds texts such as 'high', but numbers are needed"),
        ({"y": list(range(800))}, [], "800 different values, but a target may have 100 classes"),
        ({}, ["--report", "no/such/folder.html"], "no folder"),
        ({}, ["--target", "z"], "no column 'z'"),
        ({}, ["--group", "z"], "no column 'z'"),
        ({"y": list("abcd") * 200}, ["--probability", "p", "n"], "named by the classes, which are 'a', 'b', 'c', 'd'"),
        ({}, ["--positive", "perhaps"], "no class 'perhaps'"),
        ({"y": ["ok", "fraud"] * 400}, [], "--positive fraud"),
        ({"y": ["ok", "fraud"] * 400}, ["--costs", "1:20"], "--positive fraud"),
    ],
)
def test_options_that_contradict_the_table(fails, write, changed, options, message):
    write("p.csv", predictions(**changed))
    assert message in fails("audit", "p.csv", "--target", "y", "--probability", "p", *options, code=2)


def test_the_class_is_told(properly, write, tmp_path):
    data = predictions()
    write("p.csv", data | {"y": np.where(np.array(data["y"]) == "yes", "fraud", "ok"), "p_fraud": data["p"]})
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p_fraud")
    assert "The probabilities are those of the class fraud." in done.out
    assert "<dt>positive class</dt><dd>fraud</dd>" in (tmp_path / "audit.html").read_text(encoding="utf-8")
    named = properly("audit", "p.csv", "--target", "y", "--probability", "p", "--positive", "fraud", "--json")
    assert named.summary["positive"] == "fraud"


def test_files_that_cannot_be_read(fails, write, tmp_path):
    write("p.parquet", predictions())
    (tmp_path / "half.parquet").write_bytes((tmp_path / "p.parquet").read_bytes()[:2000])
    (tmp_path / "empty.csv").touch()
    words = ("--target", "y", "--probability", "p")
    assert "half.parquet" in fails("audit", "half.parquet", *words)
    assert "empty" in fails("audit", "empty.csv", *words)
    assert "no such file" in fails("audit", "none.csv", *words)


def test_costs_that_are_no_costs(properly, write):
    write("p.csv", predictions())
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p", "--costs", "cheap")
    assert done.code == 2
    assert "1:20" in done.err
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p", "--costs", "-1:3")
    assert done.code == 2
    assert "argument --costs: the costs of a false positive and a false negative must not be negative" in done.err


def test_an_interrupted_audit_leaves_the_old_report(properly, write, tmp_path, monkeypatch):
    write("p.csv", predictions())
    (tmp_path / "audit.html").write_text("old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "audit_page", interrupted)
    done = properly("audit", "p.csv", "--target", "y", "--probability", "p")
    assert done.code == 130
    assert (tmp_path / "audit.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.html", "p.csv"]


def test_a_check_has_an_exit_code_of_its_own(properly, write):
    data = predictions(2_000)
    write("p.csv", data | {"customer": np.arange(2_000) // 2, "half": np.round(data["p"] / 2.0, 6)})
    words = ("audit", "p.csv", "--target", "y", "--probability", "p")
    failed = properly(*words, "--check")
    assert (failed.code, failed.err) == (3, "")
    assert "Check failed" in failed.out
    assert properly(*words).code == 0
    lenient = properly(*words, "--check", "--tolerance", "50", "--cluster", "customer", "--against", "half", "--json")
    assert lenient.code == 0
    assert lenient.summary["check"] == "passed"
    assert lenient.summary["verdict"] == "nearly right"
    assert lenient.summary["against"]["probability"] == "half"
    assert set(lenient.summary["sizes"]) == {"observed/expected", "intercept", "slope", "calibration error"}


def test_options_that_are_no_numbers(properly, write):
    write("p.csv", predictions())
    words = ("audit", "p.csv", "--target", "y", "--probability", "p")
    assert "of at least 0" in properly(*words, "--tolerance", "-1").err
    assert properly(*words, "--against", "p").code == 2


def test_costs_of_three_classes(properly, fails, write, tmp_path):
    random = np.random.default_rng(0)
    p = random.dirichlet([2.0, 1.0, 1.0], 400)
    codes = (random.random((400, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(("cat", "dog", "emu"))}
    write("p.csv", columns | {"y": np.array(["cat", "dog", "emu"])[codes]})
    words = ("audit", "p.csv", "--target", "y", "--probability", *columns, "--costs")
    costs = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    done = properly(*words, "0:1:4,1:0:1,9:1:0")
    expected = 1000.0 * costs[codes, (p @ costs).argmin(axis=1)].mean()
    assert f"Cost per 1,000 rows: {expected:,.0f}" in done.out
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert 'id="confusion"' in page
    assert "0:1:4,1:0:1,9:1:0" in page
    (tmp_path / "audit.html").unlink()
    assert "must be a matrix cost[true, decision] of shape (3, 3)" in fails(*words, "1:20", code=2)


@pytest.mark.parametrize("option", ["--group", "--weight", "--cluster", "--against"])
def test_a_column_without_a_name_is_not_there(fails, write, option):
    path = write("p.csv", predictions())
    assert "has no column ''" in fails("audit", path, "--target", "y", "--probability", "p", option, "", code=2)
