"""How soon commands end after a signal, and what they leave behind; and `calibrate` of ten million rows.

    python benchmarks/bench_signals.py [--signals | --calibrate] [--seed 0]

Each command is started in an empty folder and gets SIGINT or SIGTERM after a random time, from its first moments to
nearly its end. It must end within two seconds, without traceback, and leave no temporary file. Results are written to
benchmarks/results/signals.md; a part that is left out keeps what was written before.
"""

import argparse
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results" / "signals.md"
SECONDS = 2.0
ROWS = 10_000_000
TRIALS = 4


def table(path, n, features=1, seed=0):
    """Labels, probabilities that need calibration, and features."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, features))
    v = z.sum(axis=1) / np.sqrt(features) - 3.0
    y = random.random(n) < 1.0 / (1.0 + np.exp(-(1.3 * v + 0.5 * np.sin(v))))
    columns = {f"x{k}": z[:, k] for k in range(features)} if features > 1 else {}
    pq.write_table(pa.table({"y": y.astype(int), "p": 1.0 / (1.0 + np.exp(-v)), **columns}), path)


def properly(*words):
    return [sys.executable, "-m", "properly", *map(str, words)]


def commands(folder):
    """Name, arguments, and after how many seconds it gets its signal at the latest."""
    table(folder / "many.parquet", 3_000_000)
    table(folder / "wide.parquet", 20_000, 20)
    many, wide = folder / "many.parquet", folder / "wide.parquet"
    model = folder / "model.skops"
    fit = ("fit", wide, "--target", "y", "--ignore", "p")
    subprocess.run(properly(*fit, "--method", "boosting", "--single", "-o", model), check=True, cwd=folder)
    for name in ("wide.report.html", "model.html"):
        (folder / name).unlink(missing_ok=True)
    table(folder / "later.parquet", 400_000, 20, seed=1)
    yield "audit", ("audit", many, "--target", "y", "--probability", "p"), 8.0
    yield "calibrate", ("calibrate", many, "--target", "y", "--score", "p"), 8.0
    yield "fit", fit, 20.0
    yield "fit --method logistic", (*fit, "--method", "logistic"), 4.0
    yield "fit --method boosting", (*fit, "--method", "boosting"), 15.0
    yield "predict", ("predict", model, folder / "later.parquet", "-o", "scored.csv"), 8.0
    yield "maxent", ("maxent", "--presence", wide, "--background", wide, "--ignore", "y"), 10.0


def ended(words, by, after):
    """Seconds from the signal to the end, exit code, standard error and hidden files; None if it had ended before."""
    with tempfile.TemporaryDirectory() as name:
        process = subprocess.Popen(properly(*words), cwd=name, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(after)
            process.stderr.close()
            return None
        except subprocess.TimeoutExpired:
            pass
        sent = time.perf_counter()
        process.send_signal(by)
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        seconds = time.perf_counter() - sent
        return seconds, process.returncode, said.decode(errors="replace"), os.listdir(name)


def signals(seed):
    """A table: how soon each command ends."""
    chance = random.Random(seed)
    lines = [
        "| command | signal | signals | median s | most s | over 2 s | tracebacks | files left |",
        "|---" * 8 + "|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for label, words, latest in commands(Path(name)):
            for by in (signal.SIGINT, signal.SIGTERM):
                times, faults, left = [], 0, set()
                for trial in range(TRIALS):  # the first one while it starts
                    after = chance.uniform(0.02, 0.6) if trial < 1 else chance.uniform(0.6, latest)
                    found = ended(words, by, after)
                    if found is None:
                        continue
                    seconds, code, said, files = found
                    times.append(seconds)
                    faults += "Traceback" in said
                    left |= {re.sub(r"-.*\.", "-….", each) for each in files if each.startswith(".")}
                    if "Traceback" in said or seconds > SECONDS:
                        print(label, by.name, f"after {after:.2f} s: {seconds:.2f} s, code {code}: {said[-300:]}")
                over = sum(each > SECONDS for each in times)
                numbers = f"{np.median(times):.2f} | {max(times):.2f} | {over} | {faults}" if times else "– | – | – | –"
                lines.append(
                    f"| {label} | {by.name} | {len(times)} | {numbers} | {', '.join(sorted(left)) or 'none'} |"
                )
                print(lines[-1], flush=True)
    return lines


def calibrate():
    """A table: seconds and memory of `properly calibrate` with ten million rows."""
    lines = ["| file | wall s | processor s | peak memory MB |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "scores.parquet"
        table(path, ROWS)
        began = time.perf_counter()
        process = subprocess.Popen(properly("calibrate", path, "--target", "y", "--score", "p"), cwd=name)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"calibrate ended with {status}")
        wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
        scale = 1024 if resource.RLIMIT_AS else 1  # kilobytes on Linux
        lines.append(f"| Parquet, {ROWS:,} rows | {wall:.1f} | {cpu:.1f} | {used.ru_maxrss / scale:,.0f} |")
    return lines


def kept(title):
    """What the page says under a heading."""
    page = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    found = re.search(rf"## {re.escape(title)}\n\n(.*?)\n*(?=\n## |\Z)", page, re.DOTALL)
    return found[1].splitlines() if found else ["Not run."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--signals", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    both = options.signals == options.calibrate
    first, second = "Signals", "Calibrating ten million rows"
    parts = {
        first: signals(options.seed) if both or options.signals else kept(first),
        second: calibrate() if both or options.calibrate else kept(second),
    }
    page = ["# Signals, and large tables", "", f"Python {platform.python_version()}, {os.cpu_count()} processors."]
    for title, lines in parts.items():
        page += ["", f"## {title}", "", *lines]
    RESULTS.write_text("\n".join([*page, ""]), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
