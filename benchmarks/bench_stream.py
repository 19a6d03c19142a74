"""A fit to Parquet files in passes, beside one plain decode of the files and the fit in memory.

    python benchmarks/bench_stream.py [ROWS ...] [--against TREE] [--folder FOLDER]

writes benchmarks/results/stream.md. TREE is a checkout of another version, whose fit is measured in the same run.
Columns of float32, 2 % positives, row groups of 262,144 rows in five files. Every measurement has a process of its own;
"memory" is its peak above the interpreter with all imports. The CPU time is that of all threads. Other programs on the
same cores lengthen the times on the clock, so compare CPU times, or ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from properly.engines import Stream
from properly.linear import ProperLinearClassifier

RESULTS = Path(__file__).parent / "results" / "stream.md"
FEATURES, FILES, GROUP = 20, 5, 2**18
_MOST_IN_MEMORY = 5_000_000
ROUNDS = 2  # of which that with the least CPU counts; the other tree has one


def write(folder: str, rows: int) -> None:
    random = np.random.default_rng(0)
    weights = random.normal(size=FEATURES) / 2.0
    for number in range(FILES):
        X = random.normal(size=(rows // FILES, FEATURES)).astype(np.float32)
        y = random.random(len(X)) < 1.0 / (1.0 + np.exp(5.2 - X @ weights))
        table = pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {"y": y.astype(np.int8)})
        pq.write_table(table, f"{folder}/{number}.parquet", row_group_size=GROUP)


def decode(folder: str) -> dict[str, float]:
    for _ in ds.dataset(folder).to_batches(batch_size=2**17, batch_readahead=2, fragment_readahead=1):
        pass
    return {}


def stream(folder: str) -> dict[str, float]:
    model = ProperLinearClassifier().fit(Stream(folder, target="y"))
    return {"passes": getattr(model, "n_passes_", np.nan), "coef": model.coef_[0].tolist()}


def cached(folder: str) -> dict[str, float]:
    with TemporaryDirectory() as scratch:
        model = ProperLinearClassifier().fit(Stream(folder, target="y", cache=scratch))
    return {"passes": model.n_passes_, "coef": model.coef_[0].tolist()}


def memory(folder: str) -> dict[str, float]:
    """The time counts from here on, with the rows in memory."""
    table = ds.dataset(folder).to_table()
    X = np.column_stack([table[f"x{j}"].to_numpy() for j in range(FEATURES)])
    y = table["y"].to_numpy()
    begin, cpu = time.perf_counter(), time.process_time()
    model = ProperLinearClassifier().fit(X, y)
    taken = {"clock": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    return taken | {"coef": model.coef_[0].tolist()}


def peak() -> float:
    """Of this process in MB; `getrusage` would begin with the peak of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024.0


def measured(what: str, folder: str, tree: Path | None = None) -> dict[str, float]:
    """In a process of its own, with the code of this tree or of another."""
    environment = os.environ | ({} if tree is None else {"PYTHONPATH": str(tree / "src")})
    command = [sys.executable, __file__, what, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout))


def main(sizes: list[int], tree: Path | None, folder: str | None) -> None:
    lines = [
        "# Fits to files",
        "",
        f"`ProperLinearClassifier()` on {FEATURES} columns of float32 in Parquet; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.0f} at the beginning, Python {platform.python_version()}, NumPy {version('numpy')}, "
        f"pyarrow {version('pyarrow')}. The better of {ROUNDS} runs, by CPU; the old version has one. Coefficients are "
        "compared with those of memory, or of the stream where memory was not measured.",
        "",
        "| rows | | clock, s | CPU, s | CPU, decodes | passes | memory, MB | coefficients differ by |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for rows in sizes:
        results = {}
        with nullcontext(f"{folder}/{rows}") if folder else TemporaryDirectory() as place:
            os.makedirs(place, exist_ok=True)
            if not os.listdir(place):
                write(place, rows)
            wanted = {"decode": ("decode", None), "stream": ("stream", None), "stream, cached": ("cached", None)}
            if tree is not None:
                wanted[f"stream of commit {tree.name}"] = ("stream", tree)
            if rows <= _MOST_IN_MEMORY:
                wanted["memory"] = ("memory", None)
            for name, (what, code) in wanted.items():
                record = Path(f"{folder}/{rows} {name}.json")
                if folder and record.exists():
                    results[name] = json.loads(record.read_text(encoding="ascii"))
                    continue
                runs = [measured(what, place, code) for _ in range(1 if code else ROUNDS)]
                results[name] = min(runs, key=lambda run: run["cpu"])
                if folder:
                    record.write_text(json.dumps(results[name]), encoding="ascii")
                print(f"{rows:,} {name}: {results[name]['cpu']:.1f} s of CPU", flush=True)
        for what, found in results.items():
            other = results.get("memory", results["stream"])["coef"]
            error = np.max(np.abs(np.subtract(found["coef"], other))) if "coef" in found else np.nan
            numbers = (found["clock"], found["cpu"], found["cpu"] / results["decode"]["cpu"])
            cells = [*(f"{number:.1f}" for number in numbers), f"{found.get('passes', np.nan):.0f}"]
            cells += [f"{found['memory']:.0f}", f"{error:.0e}"]
            lines.append(f"| {rows:,} | {what} | {' | '.join(cells)} |".replace("nan", ""))
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] in ("decode", "stream", "cached", "memory"):
        before, begin, cpu = peak(), time.perf_counter(), time.process_time()
        found = globals()[sys.argv[1]](sys.argv[2])
        spent = {"clock": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "memory": peak() - before}
        print(json.dumps(spent | found))
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("rows", nargs="*", type=float, default=[1e6, 5e6])
        parser.add_argument("--against", type=Path)
        parser.add_argument("--folder", help="keeps files and measurements there, so that a run can be continued")
        given = parser.parse_args()
        main([int(rows) for rows in given.rows], given.against, given.folder)
