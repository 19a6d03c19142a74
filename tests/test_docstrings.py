"""Every public name has a docstring that describes every parameter, and refers to formulas that exist."""

import importlib
import inspect
import pkgutil
import re
from enum import Enum
from pathlib import Path

import pytest

import properly

MATHEMATICS = Path(__file__).parents[1] / "docs" / "mathematics"
_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE)
# What the methods of scikit-learn take; a method of ours that takes it for something else says so.
USUAL = {"X", "y", "sample_weight", "offset", "input_features"}
# For those who work on the library: their docstrings say what goes in and out, without a list of parameters.
WORKSHOP = ("properly.engines:", "properly.kernels:", "properly.solvers:", "properly.tables:")


def public_modules():
    for each in pkgutil.iter_modules(properly.__path__):
        if not each.name.startswith("_") and (each.name != "spark" or importlib.util.find_spec("pyspark")):
            module = importlib.import_module(f"properly.{each.name}")
            if hasattr(module, "__all__"):
                yield module


NAMES = [f"{module.__name__}:{name}" for module in public_modules() for name in module.__all__]


def thing_of(name):
    path, _, last = name.partition(":")
    return getattr(importlib.import_module(path), last)


def described(doc):
    """The parameters and attributes that a docstring describes: in a section, or by name in its text."""
    found = set(re.findall(r"`(\w+)`", doc)) | set(re.findall(r"``(\w+)[=`]", doc))
    for section in _SECTION.finditer(doc):
        for line in section[1].splitlines():
            if line and not line.startswith(" "):
                found |= {name.strip().lstrip("*") for name in re.split(r" :(?: |$)", line)[0].split(",")}
    return found


def parameters(function):
    every = inspect.signature(function).parameters.values()
    named = [each.name for each in every if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    return [name for name in named if name not in ("self", "cls") and name[0] != "_"]


def gaps(thing):
    """Parameters of a class or function, and of its public methods, that are not described."""
    if inspect.isfunction(thing):
        return set(parameters(thing)) - described(inspect.getdoc(thing))
    if not inspect.isclass(thing) or issubclass(thing, Enum | Exception):
        return set()
    doc = inspect.getdoc(thing)
    missing = set(parameters(thing)) - described(doc)
    for name, method in inspect.getmembers(thing, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("properly"):
            own = described(inspect.getdoc(method) or "") | described(doc) | USUAL
            missing |= {f"{name}({each})" for each in parameters(method) if each not in own}
    return missing


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name):
    thing = thing_of(name)
    if inspect.isfunction(thing) or inspect.isclass(thing):
        assert inspect.getdoc(thing)
        assert name.startswith(WORKSHOP) or gaps(thing) == set()


def test_formulas_that_docstrings_name_exist():
    numbers = set(re.findall(r"\$\$ \((\w+\.\d+)\)$", "\n".join(map(Path.read_text, MATHEMATICS.glob("*.md"))), re.M))
    source = Path(properly.__file__).parent
    named = {
        number for path in source.rglob("*.py") for number in re.findall(r"[Ff]ormula \((\w+\.\d+)\)", path.read_text())
    }
    assert len(numbers) > 40
    assert named
    assert named <= numbers
