"""What a stranger relies on: types that their mypy sees, a wheel that holds what it needs, versions that agree."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import properly

ROOT = Path(__file__).parents[1]

SCRIPT = """
import numpy as np

from properly.audit import Audit, audit
from properly.calibration import CalibratedClassifier, PlattScaling
from properly.linear import ProperLinearClassifier
from properly.metrics import log_loss

y = np.array([0, 1, 1])
p = np.array([0.2, 0.7, 0.9])
found: Audit = audit(y, p, costs=(1, 20))
score: float = log_loss(y, p)
fitted: PlattScaling = PlattScaling().fit(p, y)
reveal_type(fitted.predict_proba(p))
reveal_type(ProperLinearClassifier("log", C=2.0).fit(p[:, None], y).coef_)
wrong: int = audit(y, p)
log_loss(y, p, weight=p)
"""


@pytest.mark.slow
def test_types_are_seen_by_a_users_mypy(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {ROOT / 'src'}\nfollow_untyped_imports = False\n")
    options = ["--config-file", "mypy.ini", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    words = [sys.executable, "-m", "mypy", *options, "script.py"]
    printed = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False).stdout
    errors = [line for line in printed.splitlines() if "script.py" in line and ": error:" in line]
    assert len(errors) == 2, printed  # the two that are wrong, and no other
    assert 'expression has type "Audit", variable has type "int"' in errors[0]
    assert 'Unexpected keyword argument "weight"' in errors[1]
    assert 'Revealed type is "numpy.ndarray' in printed.replace("_ndarray", "ndarray")


def test_the_package_says_that_it_is_typed():
    assert (Path(properly.__file__).parent / "py.typed").exists()


def test_the_table_of_the_readme_names_what_exists():
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Beside the usual packages")[2]
    rows = [line for line in table.partition("Speed,")[0].splitlines() if line.startswith("| ") and "[" in line]
    assert len(rows) > 8
    for row in rows:
        targets = re.findall(r"\]\((tests/[^)]+)\)", row)
        assert targets
        assert all((ROOT / target).exists() for target in targets)
        for path in re.findall(r"`((?:sklearn|imblearn|statsmodels|betacal)\.[\w.]+)`", row):
            module, _, name = path.rpartition(".")
            assert hasattr(pytest.importorskip(module) if "sklearn" in path else _module(module, name), name)


def _module(module, name):
    """The module, or something that has the name if it is not installed here."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return SimpleNamespace(**{name: None})


def test_the_badges_are_true(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    from pictures import IMAGES, badges

    assert {name: (IMAGES / f"{name}.svg").read_text(encoding="utf-8") for name in badges()} == badges()


def test_versions_agree():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(r"^## (\d+\.\d+\.\d+), (\d{4}-\d{2}-\d{2})$", changelog, re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert released is not None
    assert released[1] == properly.__version__
    assert f"version: {released[1]}\ndate-released: {released[2]}" in citation


def test_every_extra_is_in_the_readme_or_for_those_who_work_on_it():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    extras = set(config["project"]["optional-dependencies"]) - {"dev", "docs", "benchmarks", "release"}
    assert [each for each in extras if f"`{each}`" not in readme and f"[{each}]" not in readme] == []
