"""Every Python block of the README and the guides runs, and what the documentation says of the code is true of it.

The blocks of a guide share their names, as they do for a reader.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "properly"
sys.path.insert(0, str(ROOT / "docs" / "site"))
from blocks import run_blocks  # noqa: E402 - what builds the site runs the blocks in the same way

FOLDERS = ("guides", "tutorials", "gallery", "coming-from", "how-to-add")
GUIDES = [ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "which-tool.md"] + [
    page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))
]


def test_there_are_guides():
    assert len(GUIDES) > 1


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_blocks_run(guide, tmp_path, monkeypatch):
    text = guide.read_text(encoding="utf-8")
    if guide.stem == "gpu":  # the site shows its blocks and does not run them
        pytest.importorskip("torch", reason="PyTorch is not installed")
        text = text.replace("```py\n", "```python\n")
    monkeypatch.chdir(tmp_path)
    assert run_blocks(text, str(guide))


# What a line of the guide begins with, and the lines of the results whose seconds it rounds.
ON_A_CARD = {
    "logistic regression": "fit, logistic, tol 1e-08, s",
    "GEV-canonical regression": "fit, GEV, .*, tol 1e-08, s",
    "the same fits without Triton": "fit, .*, without Triton, s",
    "probabilities of all rows": "probabilities of all rows, .*, s",
    "the whole grid": "GEVCanonicalRegressionCV, .*, s",
    "isotonic calibration": "isotonic, [0-9,]* scores, s",
    "Platt scaling": "Platt, [0-9,]* scores, s",
    "`AutoCalibration`": "AutoCalibration, [0-9,]* scores, s",
}


@pytest.mark.parametrize("what", ON_A_CARD)
def test_the_speeds_on_a_card_are_those_of_the_results(what):
    results = (ROOT / "benchmarks" / "results" / "gpu.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "guides" / "gpu.md").read_text(encoding="utf-8").partition("\n## Speed\n")[2]
    found = [float(each) for each in re.findall(rf"^\| {ON_A_CARD[what]} \|[^|]*\| (\S+) \|", results, re.MULTILINE)]
    shown = re.search(rf"^\| {re.escape(what)}.* \| (\S+) \|$", guide, re.MULTILINE)[1].split("–")
    digits = len(shown[0].partition(".")[2])
    assert {f"{each:.{digits}f}" for each in (min(found), max(found))} == set(shown)


def test_the_table_of_layers_is_the_contract():
    table = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| layer | knows |")[2].partition("\n\n")[0]
    )
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = config["tool"]["importlinter"]["contracts"]
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == [set(row.split(" | ")) for row in contract["layers"]]


WALKS = re.findall(
    r"^## (One \w+), in (\w+) stops\n(.*?)(?=^## )",
    (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
NUMBERS = {"six": 6, "seven": 7, "eight": 8}


def defined_names():
    """Every class, function, method and variable of the package, methods also behind their class."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield node.name
                yield from (f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.id if isinstance(node, ast.Name) else node.attr


def test_there_are_three_walks():
    assert [name for name, *_ in WALKS] == ["One fit", "One calibration", "One audit"]


@pytest.mark.parametrize(("name", "number", "text"), WALKS, ids=[name for name, *_ in WALKS])
def test_a_walk_leads_through_rooms_that_exist(name, number, text):
    stops = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    assert stops == [str(1 + stop) for stop in range(NUMBERS[number])]
    shown = re.findall(r"`([^`]+)`", text[text.index("\n1. ") :])
    paths = [each for each in shown if each.endswith((".py", "/"))]
    assert paths
    assert [each for each in paths if not (SOURCE / each).exists()] == []
    code = " ".join(each for each in shown if each not in paths)
    assert set(re.findall(r"[A-Za-z_][\w.]+", code)) - set(defined_names()) == set()


def expected_failures(source):
    """(check, reason) of every entry of a dict whose keys are names of scikit-learn's checks."""
    tree = ast.parse(source)
    reasons = {
        each.targets[0].id: each.value.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.targets[0], ast.Name)
    }
    for each in ast.walk(tree):
        for key, value in zip(each.keys, each.values, strict=True) if isinstance(each, ast.Dict) else ():
            if isinstance(key, ast.Constant) and str(key.value).startswith("check_"):
                yield key.value, value.value if isinstance(value, ast.Constant) else reasons[value.id]


def test_the_failing_checks_of_scikit_learn_are_listed():
    page = (ROOT / "docs" / "differences-from-scikit-learn.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(check_\w+)` \| (.*) \|$", page, flags=re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert listed == {failure for source in sources for failure in expected_failures(source)}
