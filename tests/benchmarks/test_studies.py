"""Every study runs in its quick form on made-up data; missing data and stored results are answered in words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "benchmarks" / "papers"
STUDIES = [
    "bennett_further",
    "bennett_reuters",
    "bennett_suspects",
    "calibration",
    "gev_real",
    "gev_synthetic",
    "nceas",
    "nceas_settings",
    "tailoring",
]
NEED_DATA = [name for name in STUDIES if name != "gev_synthetic"]

pytest.importorskip("joblib")
pytest.importorskip("pandas")


def start(study, *options, data=None):
    settings = {key: value for key, value in os.environ.items() if key != "PROPERLY_DATA"}
    settings |= {"PYTHONPATH": str(ROOT / "src")} | ({} if data is None else {"PROPERLY_DATA": str(data)})
    words = [sys.executable, str(PAPERS / f"{study}.py"), *map(str, options)]
    return subprocess.run(words, env=settings, text=True, capture_output=True, check=False)


def test_the_pages_have_the_tables_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(PAPERS))
    from pages import PAGES, refreshed

    shown = [path.read_text(encoding="utf-8") for path in PAGES]
    assert sum(text.count("<!-- ") for text in shown) >= 8
    assert [refreshed(text) == text for text in shown] == [True] * len(shown)


def test_every_study_is_tested():
    started = {path.stem for path in PAPERS.glob("*.py") if "SystemExit(main(" in path.read_text(encoding="utf-8")}
    assert started == set(STUDIES)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {word for line in makefile.splitlines() if line.startswith("STUDY_") for word in line.split()[2:]} == started


@pytest.mark.parametrize("study", STUDIES)
def test_the_quick_form_runs_on_made_up_data(study, tmp_path):
    done = start(study, "--quick", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "made-up data, whose results mean nothing" in done.stderr
    assert "left" in done.stderr  # progress, with the time left
    assert "|" in (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert (tmp_path / "tables.md").read_text(encoding="utf-8") in done.stdout


@pytest.mark.parametrize("study", NEED_DATA)
def test_missing_data_are_explained(study, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = start(study, "--output", tmp_path / "out", data=empty)
    assert done.returncode == 1
    assert str(empty) in done.stderr
    assert "Traceback" not in done.stderr


def test_stored_results_are_kept(tmp_path):
    (tmp_path / "tables.md").write_text("kept")
    done = start("gev_synthetic", "--quick", "--output", tmp_path)
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert (tmp_path / "tables.md").read_text() == "kept"
