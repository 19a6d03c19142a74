"""scikit-learn's own tests, with our classes in place of its own: what fails is listed with its reason, and no more."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

sys.path.insert(0, str(Path(__file__).parent))
from differences import DIFFERENCES, REGRESSORS_TOO, SUITES

SKLEARN = Path(sklearn.__file__).parent


def failures(suite, output):
    """The messages of the tests that failed, by their names, and how many were run."""
    names, files = SUITES[suite]
    environment = {"SUBSTITUTES": names, "SUBSTITUTES_OUTPUT": str(output), "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "substitutes", "-p", "no:cacheprovider", "-c", os.devnull]
    if suite in REGRESSORS_TOO:  # regression is not substituted, and takes most of the time
        command += ["-k", "not regression and not Regressor"]
    command += ["-W", "ignore", "--rootdir", str(output.parent), *(str(SKLEARN / file) for file in files.split())]
    done = subprocess.run(command, env=os.environ | environment, cwd=output.parent, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    found = [json.loads(line) for line in output.read_text().splitlines()]
    return {test: message for test, _, message in found if message is not None}, len(found)


def test_the_page_of_differences_names_every_reason():
    page = (Path(__file__).parents[2] / "docs" / "differences-from-scikit-learn.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \| (.*) \|$", page.partition("## scikit-learn's own tests")[2], re.MULTILINE)
    reasons = [(suite, reason) for suite, known in DIFFERENCES.items() for reason, _ in known]
    assert rows == [("tests of", "what differs"), *reasons]


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_failures_are_those_that_are_explained(suite, tmp_path):
    if not sklearn.__version__.startswith("1.9."):
        pytest.skip("the list of differences is that of the tests of scikit-learn 1.9")
    failed, _ = failures(suite, tmp_path / "output")
    patterns = [pattern for _, known in DIFFERENCES[suite] for pattern in known]
    lines = [f"{test}: {message}" for test, message in failed.items()]
    assert [line[:300] for line in lines if not any(re.search(pattern, line, re.DOTALL) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(re.search(pattern, line, re.DOTALL) for line in lines)] == [], (
        "now passed"
    )
