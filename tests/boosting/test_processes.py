"""Boosting, and averages with it, in other processes and threads than those in which it was used before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="needs the extra boosting")

WAYS = ["fork, then predict", "fork, then fit", "pool by fork", "pool by spawn", "loky", "threads", "asyncio", "end"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("model", ["boosting", pytest.param("average", marks=pytest.mark.slow)])
def test_other_processes_and_threads_end_with_the_same_probabilities(model):
    script = Path(__file__).with_name("processes.py")
    several = {**os.environ, "OMP_NUM_THREADS": "2"}  # with one thread nothing could hang
    done = subprocess.run([sys.executable, script, model], env=several, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == WAYS, done.stderr
