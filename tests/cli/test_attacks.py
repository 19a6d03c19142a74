"""No table, argument, model file or place to write to makes a command crash, or fail without a word; see attack.py."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("skops.io", reason="saving needs the extra save")
pytest.importorskip("lightgbm", reason="needs the extra boosting")
if not Path("/dev/full").exists():
    pytest.skip("needs the devices of Linux", allow_module_level=True)


def attack(number, seed):
    script = Path(__file__).parent / "attack.py"
    done = subprocess.run(
        [sys.executable, script, "--attacks", str(number), "--seed", str(seed)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


def test_attacks():
    assert "0 faults" in attack(36, seed=3)


@pytest.mark.slow
def test_many_attacks():
    assert "0 faults" in attack(600, seed=4)
