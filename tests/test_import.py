"""`import properly` is cheap, and what is optional stays out until it is asked for."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import properly


def modules_after(statement: str) -> set[str]:
    """Top-level modules loaded in a fresh interpreter by a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


OPTIONAL = {"dask", "distributed", "lightgbm", "matplotlib", "onnx", "pandas", "polars", "pyarrow", "pyspark"}
OPTIONAL |= {"rich", "skops", "statsmodels"}
MODULES = sorted(set(properly.__all__) - {"__version__", "load", "load_metadata", "save"})


def test_import_properly_is_light():
    loaded = modules_after("import properly")
    assert "properly" in loaded
    assert loaded & {"numpy", "scipy", "sklearn", *OPTIONAL} == set()


@pytest.mark.parametrize("module", MODULES)
def test_optional_dependencies_are_not_loaded(module):
    # scikit-learn itself loads pandas where it is installed, so only what comes on top of it is ours.
    ours = modules_after(f"import properly.{module}") - modules_after("import sklearn.linear_model")
    assert "properly" in ours
    assert ours & OPTIONAL == set()


@pytest.mark.parametrize("module", MODULES)
def test_optional_dependencies_are_not_needed(module):
    # None in sys.modules makes an import fail as if the package were not installed.
    missing = f"import sys; sys.modules.update(dict.fromkeys({sorted(OPTIONAL)}))"
    assert "properly" in modules_after(f"{missing}\nimport properly.{module}")


def test_submodules_load_on_first_use():
    assert {"numpy", "scipy"} <= modules_after("import properly; properly.links")


@pytest.mark.parametrize("name", properly.__all__)
def test_public_names_exist_and_are_listed(name):
    assert getattr(properly, name)
    assert name in dir(properly)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'properly' has no attribute 'nonsense'"):
        _ = properly.nonsense


def test_version():
    assert properly.__version__ == version("properly")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", properly.__version__)
