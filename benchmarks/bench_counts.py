"""Audits and calibrators of up to 10⁸ rows that are generated on the fly, in one pass and bounded memory.

    python benchmarks/bench_counts.py [ROWS ...]

writes benchmarks/results/counts.md. Every measurement has a process of its own; "memory" is its peak above the
interpreter with all imports. "generating" is the time for the rows alone. Up to 10⁷ rows the audit in memory stands
beside it, and the largest relative difference of its log loss, Brier score and AUC. "cell width" is by how much of
their size probabilities may differ that are counted as one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from properly.audit import audit
from properly.calibration import AutoCalibration, IsotonicCalibration
from properly.engines import Stream

RESULTS = Path(__file__).parent / "results" / "counts.md"
BLOCK, MOST_IN_MEMORY, GROUPS = 1_000_000, 10_000_000, 50


def blocks(rows: int, grouped: bool = False) -> Iterator[tuple[Any, ...]]:
    for number in range(0, rows, BLOCK):
        random = np.random.default_rng(number)
        score = 1.5 * random.standard_normal(min(BLOCK, rows - number)) - 3.0
        p = 1.0 / (1.0 + np.exp(-score))
        y = random.random(len(p)) < 1.0 / (1.0 + np.exp(0.1 - 1.1 * score))
        yield p[:, None], y, None, None, random.integers(0, GROUPS, len(p)) if grouped else None


def generating(rows: int) -> dict[str, float]:
    for _ in blocks(rows):
        pass
    return {}


def _numbers(found: Any) -> dict[str, Any]:
    scores = {name: score.before for name, score in found.scores.items()}
    return {"numbers": [*scores.values(), found.auc.area], "width": found.cell_width}


def counted_audit(rows: int) -> dict[str, Any]:
    return _numbers(audit(None, Stream(lambda: blocks(rows))))


def counted_audit_of_groups(rows: int) -> dict[str, Any]:
    return _numbers(audit(None, Stream(lambda: blocks(rows, grouped=True))))


def audit_in_memory(rows: int) -> dict[str, Any]:
    p, y = (np.concatenate(column) for column in zip(*(block[:2] for block in blocks(rows)), strict=True))
    return _numbers(audit(y, p[:, 0]))


def isotonic(rows: int) -> dict[str, Any]:
    IsotonicCalibration().fit(Stream(lambda: blocks(rows)))
    return {}


def auto(rows: int) -> dict[str, Any]:
    AutoCalibration().fit(Stream(lambda: blocks(rows)))
    return {}


def peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024.0


MEASURED = (generating, counted_audit, counted_audit_of_groups, audit_in_memory, isotonic, auto)


def main(sizes: list[int]) -> None:
    lines = [
        "# Rows counted by score",
        "",
        f"Rows generated on the fly; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the beginning, Python "
        f"{platform.python_version()}, NumPy {version('numpy')}. The CPU time includes that of generating.",
        "",
        "| rows | | CPU, s | clock, s | rows per CPU second, generating excluded | memory, MB | cell width "
        "| numbers differ by |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for rows in sizes:
        results = {}
        for what in MEASURED:
            if what is audit_in_memory and rows > MOST_IN_MEMORY:
                continue
            command = [sys.executable, __file__, what.__name__, str(rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = results[what.__name__] = json.loads(done.stdout)
            apart = found["cpu"] - results["generating"]["cpu"]
            rate = f"{rows / apart:,.2g}".replace("e+0", "e") if what is not generating else ""
            width, error = "", ""
            if what in (counted_audit, counted_audit_of_groups):
                width = f"{found['width']:.2g}"
            if what is audit_in_memory:
                one, two = np.array(found["numbers"]), np.array(results["counted_audit"]["numbers"])
                error = f"{np.max(np.abs(two / one - 1.0)):.0e}"
            name = what.__name__.replace("_of_groups", f", {GROUPS} groups").replace("_", " ")
            lines.append(
                f"| {rows:,} | {name} | {found['cpu']:.1f} | {found['clock']:.1f} | {rate} | {found['memory']:.0f} | "
                f"{width} | {error} |"
            )
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in (what.__name__ for what in MEASURED):
        before, begin, cpu = peak(), time.perf_counter(), time.process_time()
        result = globals()[sys.argv[1]](int(sys.argv[2]))
        spent = {"clock": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "memory": peak() - before}
        print(json.dumps(spent | result))
    else:
        main([int(float(size)) for size in sys.argv[1:]] or [1_000_000, 10_000_000, 100_000_000])
