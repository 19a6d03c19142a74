"""The demo runs, and what it says follows from its numbers."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from properly.cli import demo, main, run_demo
from properly.cli.main import terminal
from properly.inputs.misuse import Misuse
from properly.tables import read_table


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """Of a small demo, in whose folder the tests are run."""
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "N_TRAIN", 1500)
    patch.setattr(demo, "N_TEST", 3000)
    patch.chdir(tmp_path_factory.mktemp("demo"))
    with redirect_stdout(io.StringIO()) as printed:
        assert main(["demo", "--output", "out", "--json"]) == 0
    yield json.loads(printed.getvalue())
    patch.undo()


def test_it_leaves_two_reports(summary):
    assert summary["reports"] == ["out/audit.html", "out/fit.html"]
    for path in summary["reports"]:
        assert Path(path).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_it_shows_commands_findings_and_reports(summary, capsys):
    demo.show(summary, terminal())
    shown = capsys.readouterr().out
    for command in ("audit", "fit", "predict"):
        assert f"$ properly {command} out/" in shown
    for finding in summary["findings"]:
        assert finding in shown
    assert shown.rstrip().endswith("Reports: out/audit.html  out/fit.html")


def test_its_numbers_are_those_of_its_files(summary):
    truth, balanced, fitted = summary["comparison"]
    assert truth["rmse"] == 0.0
    assert balanced["rmse"] > 3 * fitted["rmse"]
    assert balanced["mean"] > 5 * truth["mean"]
    scored = read_table("out/scored.parquet")
    assert scored.num_rows == 3000
    assert fitted["mean"] == pytest.approx(np.mean(scored["probability_yes"].to_numpy()))
    y = scored["event"].to_numpy(zero_copy_only=False) == "yes"
    own = np.where(y, scored["probability_yes"].to_numpy(), scored["probability_no"].to_numpy())
    assert fitted["log_loss"] == pytest.approx(-np.mean(np.log(own)))
    assert f"{balanced['mean']:.1%} instead of {truth['mean']:.1%}" in summary["findings"][0]
    times = balanced["rmse"] / fitted["rmse"]
    assert f"{times:.0f} times as close" in summary["findings"][1]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match="is a file; give the name of a folder"):
        run_demo(tmp_path / "file")


def test_files_of_others_are_not_overwritten(tmp_path):
    (tmp_path / "train.csv").write_text("mine")
    with pytest.raises(ValueError, match="other files, which the demo might overwrite; name a new one"):
        run_demo(tmp_path)
    assert (tmp_path / "train.csv").read_text() == "mine"
