"""Every command is a function that Python can call, with the keywords and defaults of the command line."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose

import properly.cli as commands
from properly import load
from properly.cli import COMMANDS
from properly.cli.main import make_parser
from properly.tables import read_table

OTHERS = {"demo": "run_demo", "export": "export_model"}  # which take no table
FUNCTIONS = {name: getattr(commands, OTHERS.get(name, f"{name}_table")) for name in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_keywords_and_defaults_are_those_of_the_command_line(command):
    parser = make_parser()._subparsers._group_actions[0].choices[command]
    actions = {action.dest: action for action in parser._actions if action.dest not in ("help", "json")}
    parameters = inspect.signature(FUNCTIONS[command]).parameters
    assert set(actions) == set(parameters)
    for name, parameter in parameters.items():
        assert actions[name].required == (parameter.default is inspect.Parameter.empty)
        assert actions[name].required or actions[name].default == parameter.default
        assert actions[name].help, f"--{name} is not documented"
        assert "`" not in actions[name].help


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def scores(write):
    random = np.random.default_rng(0)
    v = random.normal(size=400)
    y = np.where(random.random(400) < 1 / (1 + np.exp(-v)), "yes", "no")
    return write("scores.csv", {"v": v, "p": 1 / (1 + np.exp(-2 * v)), "y": y, "town": ["Bath", "Rome"] * 200})


def test_audit(scores, tmp_path):
    summary = commands.audit_table(
        scores, target="y", probability="p", group="town", costs=(1, 20), report=tmp_path / "audit.html"
    )
    assert summary["decision"]["threshold"] == pytest.approx(1 / 21)
    assert len(summary["groups"]) == 2
    assert summary["report"] == str(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "<dt>costs</dt><dd>1:20</dd>" in page
    same = commands.audit_table(scores, target="y", probability=["p"], group="town", costs="1:20")
    assert same["decision"] == summary["decision"]


def test_fit_and_predict(train, tmp_path):
    summary = commands.fit_table(
        train, target="left", method=["logistic"], calibration="none", ignore=["since"], output=tmp_path / "m.skops"
    )
    assert (summary["best"], summary["model"]) == ("logistic", str(tmp_path / "m.skops"))
    assert "since" not in summary["features"]
    assert (tmp_path / "fit.html").exists()
    done = commands.predict_table(tmp_path / "m.skops", train, prefix="p_")
    assert done == {"output": "train-scored.csv", "rows": 600, "columns": ["p_no", "p_yes"]}
    expected = load(tmp_path / "m.skops").predict_proba(read_table(train))
    assert_allclose(read_table("train-scored.csv")["p_yes"].to_numpy(), expected[:, 1], rtol=1e-14)


def test_calibrate(scores, tmp_path):
    summary = commands.calibrate_table(scores, target="y", score="v", method="platt", output=tmp_path / "c.skops")
    assert summary["input"] == "score"
    assert load(summary["calibrator"]).predict_proba({"v": [0.0]}).shape == (1, 2)


def test_maxent(write, tmp_path):
    random = np.random.default_rng(0)
    warmth = random.normal(size=300)
    region = write("region.csv", {"warmth": warmth})
    seen = write("seen.csv", {"warmth": warmth[warmth > 0.5]})
    summary = commands.maxent_table(seen, region, features="lq", predict=region, scored=tmp_path / "s.csv")
    assert summary["kinds"] == "lq"
    assert summary["scored"] == {"output": str(tmp_path / "s.csv"), "rows": 300, "columns": ["cloglog"]}
    assert load("maxent.skops").output == "cloglog"


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("fit", {"method": "magic"}, "there is no method 'magic'"),
        ("fit", {"calibration": "magic"}, "method must be one of 'auto'"),
        ("fit", {"weight": "y"}, "target and weight name the same column, 'y'"),
        ("calibrate", {"score": "v", "method": "magic"}, "method must be one of 'auto'"),
        ("calibrate", {"score": "v", "input": "logit"}, "input must be one of 'auto', 'score', 'probability'"),
        ("audit", {"probability": "v"}, r"row \d+: a probability must lie in \[0, 1\]"),
        ("audit", {"probability": "p", "costs": "cheap"}, "1:20"),
    ],
)
def test_wrong_values_are_refused(scores, tmp_path, command, options, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[command](scores, target="y", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


def test_a_scale_that_is_none(scores):
    with pytest.raises(ValueError, match="output must be one of 'cloglog', 'logistic', 'raw', 'probability'"):
        commands.maxent_table(scores, scores, output="percent")


def test_a_text_is_one_column(tmp_path):
    """Not a sequence of letters."""
    table = tmp_path / "train.csv"
    table.write_text("g,p,gp,y\n" + "".join(f"{k},{k % 3},{k % 5},{int(k % 7 < 3)}\n" for k in range(60)))
    options = {"target": "y", "method": "logistic", "calibration": "none", "folds": 2}
    outputs = {"output": tmp_path / "model.skops", "report": tmp_path / "fit.html"}
    commands.fit_table(table, ignore="gp", positive=1, **options, **outputs)
    assert [column.name for column in load(tmp_path / "model.skops").encoder.columns_] == ["g", "p"]
    with pytest.raises(ValueError, match="features and ignore exclude each other"):
        commands.fit_table(table, features="g", ignore="p", **options, **outputs)
    with pytest.raises(ValueError, match="predict names no table of sites"):
        commands.maxent_table(table, table, scored=tmp_path / "scored.csv")
