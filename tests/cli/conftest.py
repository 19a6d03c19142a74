"""Tables to try the commands on, and a way to run them."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from properly.cli import main
from properly.tables import write_batches


@pytest.fixture
def properly(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder; returns exit code, what it printed, and its summary if there is one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROPERLY_DEBUG", raising=False)

    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        summary = json.loads(out) if "--json" in words and out else None
        return SimpleNamespace(code=code, out=out, err=err, summary=summary)

    return run


@pytest.fixture
def fails(properly, tmp_path):
    """Run a command that must fail: exit code 1 (or another), one line of explanation, and no new file."""

    def run(*words, code=1):
        before = sorted(tmp_path.rglob("*"))
        done = properly(*words)
        assert done.code == code
        assert done.out == ""
        assert done.err.startswith("properly: error: ")
        assert done.err.count("\n") == 1
        assert "a bug in properly" not in done.err
        assert sorted(tmp_path.rglob("*")) == before
        return done.err

    return run


def write_table(path, columns):
    table = pa.table(columns)
    write_batches(path, table.schema, table.to_batches())
    return path


@pytest.fixture
def write(tmp_path):
    """Write columns to a file of this name."""
    return lambda name, columns: write_table(tmp_path / name, columns)


@pytest.fixture
def customers():
    return make_customers


def make_customers(n=600, seed=0, **changed):
    """Columns of every kind, with missing values, and a target that depends on some of them."""
    random = np.random.default_rng(seed)
    age, income = random.normal(50, 10, n), random.normal(size=n)
    town = np.array(["Bath", "Rome", "Ulm"])[random.integers(0, 3, n)]
    member = random.random(n) < 0.4
    since = np.datetime64("2020-01-01") + random.integers(0, 1000, n)
    v = -1.5 + 0.08 * (age - 50) + income + (town == "Rome") - 0.5 * member
    return {
        "age": pa.array(age.round().astype(int)),
        "income": pa.array(income, mask=random.random(n) < 0.1),
        "town": pa.array(town, mask=random.random(n) < 0.05),
        "member": pa.array(member),
        "since": pa.array(since),
        "left": pa.array(np.where(random.random(n) < 1 / (1 + np.exp(-v)), "yes", "no")),
    } | changed


@pytest.fixture
def train(tmp_path):
    return write_table(tmp_path / "train.csv", make_customers())
