"""Every study runs in its quick form on made-up data; missing data and stored results are answered in words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    assert sum(text.count("<!-- ") for text in shown) >= 15
    assert [refreshed(text) == text for text in shown] == [True] * len(shown)


FIGURES = {  # page: its results, and figures that are of the data, of the paper or differences of two results
    "bennett": (["bennett", "bennett_further", "bennett_suspects"], {1999, 3299, 9603, 32990, 296910, 642, 258, 193}),
    "gev": (["gev_synthetic", "gev_real"], {2014, 150}),
    "nceas": (["nceas", "nceas_speed.md"], set()),
}


@pytest.mark.parametrize("page", FIGURES)
def test_figures_in_the_text_of_a_page_are_those_of_its_results(page):
    """Of three digits or more; a figure may be a rounded result."""
    studies, known = FIGURES[page]
    text = (ROOT / "docs" / "studies" / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"^(\||<!--| {4}).*$|\]\([^)]*\)|`[^`]*`", "", text, flags=re.MULTILINE)
    paths = [ROOT / "benchmarks" / "results" / study for study in studies]
    files = [
        file for path in paths for file in ([path] if path.is_file() else [*path.glob("*.md"), *path.glob("*.csv")])
    ]
    number = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
    results = " ".join(file.read_text(encoding="utf-8") for file in files)
    there = {each for line in (results, results.replace(",", " ")) for each in number.findall(line)}
    values = np.array([float(each.replace(",", "")) for each in there])
    unknown = []
    for figure in (found.rstrip(",").replace(",", "") for found in number.findall(text)):
        digits = len(figure.partition(".")[2])
        near = np.abs(values - float(figure)) <= 0.5000001 * 10.0**-digits
        if len(figure.replace(".", "").lstrip("0")) >= 3 and not near.any() and float(figure) not in known:
            unknown.append(figure)
    assert unknown == []


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
