"""Model files that were altered to crash, to hang or to eat the machine, by hand and in random places.

    python benchmarks/bench_hostile_files.py [--seed 0]

runs tests/persistence/attack.py with 2,000 random changes and writes benchmarks/results/hostile_files.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "hostile_files.md"

if __name__ == "__main__":
    attack = ROOT / "tests" / "persistence" / "attack.py"
    subprocess.run([sys.executable, attack, "--mutations", "2000", "--output", RESULTS, *sys.argv[1:]], check=True)
