"""Everything that `properly` does often, on every shape, beside its peers in one run.

    python benchmarks/bench_matrix.py [--only WORDS ...] [--rounds R]

Contestants take turns, the best of the rounds counts, and every time is given in seconds on the clock and of the
processor. A peer of a fit runs twice: at the loosest of nine tolerances, 1e-2 to 1e-12, at which the norm of its
gradient is at most ours, and at its default. Where none gets there (marked *), it is the loosest whose norm is within
three times of the smallest.

The rows are kept in results/matrix.csv, the page results/matrix.md is made of them; --only runs the rows whose names
hold one of the words and keeps the others. Peers: scikit-learn (liblinear among its solvers), glum, skglm, celer,
statsmodels, betacal.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import matrix_fits as fits
import numpy as np
from scipy import special

RESULTS = Path(__file__).parent / "results"
FIELDS = [
    "work",
    "peer",
    "tol",
    "ours wall",
    "ours cpu",
    "peer wall",
    "peer cpu",
    "default wall",
    "default cpu",
    "goal",
]
TOLERANCES = fits.TOLERANCES
_LONG = 1.5  # seconds of one fit: tighter tolerances are not tried then
Seconds = tuple[float, float]  # on the clock, of the processor
Run = Callable[[], Any]


class Rival(NamedTuple):
    """A peer, as it is compared and, if that is something else, at its default; the goal is a ratio or seconds."""

    name: str
    goal: str
    run: Run | None = None
    default: Run | None = None
    tol: str = ""


def measured(run: Run, at_least: float = 0.02) -> Seconds:
    """The time of one call, of several together where one is too short for the clock."""
    calls, clock, processor = 0, time.perf_counter(), time.process_time()
    while calls == 0 or time.process_time() - processor < at_least:
        run()
        calls += 1
    return (time.perf_counter() - clock) / calls, (time.process_time() - processor) / calls


def compared(work: str, ours: Run, rivals: list[Rival], rounds: int) -> Iterator[dict[str, str]]:
    runs = {"ours": ours}
    for rival in rivals:
        runs |= {(rival.name, kind): run for kind, run in zip("md", (rival.run, rival.default), strict=True) if run}
    times: dict[Any, list[Seconds]] = {key: [] for key in runs}
    for _ in range(rounds):
        for key, run in runs.items():
            times[key].append(measured(run))
    best = {key: np.min(each, axis=0) for key, each in times.items()}
    for rival in rivals:
        row = {"work": work, "peer": rival.name, "tol": rival.tol, "goal": rival.goal}
        for name, key in (("ours", "ours"), ("peer", (rival.name, "m")), ("default", (rival.name, "d"))):
            wall, cpu = best.get(key, (None, None))
            row |= {
                f"{name} wall": "" if wall is None else f"{wall:.5g}",
                f"{name} cpu": "" if cpu is None else f"{cpu:.5g}",
            }
        yield row


def fit_rivals(
    problem: fits.Problem, peers: dict[str, tuple[fits.Peer, str]], tolerances: tuple[float, ...]
) -> list[Rival]:
    """Every peer at the tolerance at which it is as exact as we are."""
    limit = problem.inexactness(fits.ours(problem), False)
    rivals = []
    for name, (peer, goal) in peers.items():
        peer.fit(problem, None)  # skglm and celer compile what they need
        reached: dict[float, float] = {}
        for tol in tolerances:
            start = time.process_time()
            reached[tol] = problem.inexactness(peer.fit(problem, tol), peer.intercept_penalised)
            if reached[tol] <= limit or time.process_time() - start > _LONG:
                break
        nearest = min(reached.values())
        tol = next(each for each in reached if reached[each] <= (limit if nearest <= limit else 3.0 * nearest))
        mark = "" if nearest <= limit else "*"
        run = lambda peer=peer, tol=tol: peer.fit(problem, tol)  # noqa: E731
        default = lambda peer=peer: peer.fit(problem, None)  # noqa: E731
        rivals.append(Rival(name, goal, run, default, f"{tol:.0e}{mark}"))
    return rivals


lbfgs, cholesky, newton_cg, liblinear = map(fits.scikit_learn, ("lbfgs", "newton-cholesky", "newton-cg", "liblinear"))
FITS: dict[str, tuple[Callable[[], fits.Problem], dict[str, tuple[fits.Peer, str]]]] = {
    "dense 300,000 × 50, 3 % positive": (
        lambda: fits.rare(300_000, 50),
        {"newton-cholesky": (cholesky, "5"), "glum": (fits.glum, "5"), "lbfgs": (lbfgs, "2 at default")},
    ),
    "dense 200 × 5": (lambda: fits.dense(200, 5), {"newton-cholesky": (cholesky, "1.5"), "lbfgs": (lbfgs, "1.5")}),
    "dense 1,000 × 10": (lambda: fits.dense(1000, 10), {"newton-cholesky": (cholesky, "1.5"), "lbfgs": (lbfgs, "1.5")}),
    "dense 10,000 × 20": (lambda: fits.dense(10_000, 20), {"lbfgs": (lbfgs, "1.5")}),
    "dense 10,000 × 20, no penalty": (
        lambda: fits.dense(10_000, 20, np.inf),
        {"statsmodels": (fits.statsmodels, ""), "newton-cholesky": (cholesky, "")},
    ),
    "dense 5,000 × 2,000": (lambda: fits.dense(5000, 2000), {"lbfgs": (lbfgs, "1.2")}),
    "dense 2,000 × 5,000": (lambda: fits.dense(2000, 5000), {"lbfgs": (lbfgs, "1.2")}),
    "softmax 50,000 × 50, 10 classes": (lambda: fits.classes(50_000, 50, 10), {"lbfgs": (lbfgs, "1.5")}),
    "softmax 20,000 × 30, 3 classes": (lambda: fits.classes(20_000, 30, 3), {"lbfgs": (lbfgs, "1.5")}),
    "sparse 20,000 × 50,000, density 1e-3": (
        lambda: fits.scattered(20_000, 50_000, 1e-3),
        {"newton-cg": (newton_cg, "1.2"), "liblinear": (liblinear, "1.2"), "lbfgs": (lbfgs, "1.2")},
    ),
    **{
        f"L1 2,000 × 1,000, C = {C:g}": (
            lambda C=C: fits.lasso(2000, 1000, C),
            {"liblinear": (liblinear, "1.2"), "skglm": (fits.skglm, "1.2"), "celer": (fits.celer, "1.2")},
        )
        for C in (0.05, 1.0)
    },
}


def fitting(work: str, rounds: int) -> Iterator[dict[str, str]]:
    make, peers = FITS[work]
    problem = make()
    rivals = fit_rivals(problem, peers, TOLERANCES)
    yield from compared(work, lambda: fits.ours(problem), rivals, rounds)


def scores(rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    y = (random.random(rows) < 0.1).astype(int)
    return random.normal(size=rows) + 2.0 * y - 3.0, y


def calibrators(work: str, rounds: int) -> Iterator[dict[str, str]]:
    from betacal import BetaCalibration as Betacal
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    from properly.calibration import BetaCalibration, IsotonicCalibration, PlattScaling

    s, y = scores(2_000_000)
    p, weight = special.expit(s), np.random.default_rng(1).random(len(s))
    isotonic = IsotonicRegression(out_of_bounds="clip")
    cases: dict[str, tuple[Run, Rival]] = {
        "isotonic": (lambda: IsotonicCalibration().fit(s, y), Rival("scikit-learn", "5", lambda: isotonic.fit(s, y))),
        "isotonic, weights": (
            lambda: IsotonicCalibration().fit(s, y, sample_weight=weight),
            Rival("scikit-learn", "3", lambda: isotonic.fit(s, y, sample_weight=weight)),
        ),
        "Platt": (
            lambda: PlattScaling().fit(s, y),
            Rival("scikit-learn", "10", lambda: _SigmoidCalibration().fit(s, y)),
        ),
        "beta": (
            lambda: BetaCalibration().fit(s, y),
            Rival("betacal", "8", lambda: Betacal(parameters="abm").fit(p.reshape(-1, 1), y)),
        ),
    }
    for name, (ours, rival) in cases.items():
        yield from compared(f"{name}, {len(s):,}", ours, [rival], rounds)


def automatic(work: str, rounds: int) -> Iterator[dict[str, str]]:
    from properly.calibration import AutoCalibration

    for rows, goal in ((100_000, "0.2 s"), (1_000_000, "0.5 s"), (10_000_000, "5 s")):
        random = np.random.default_rng(0)
        s = random.normal(size=rows)
        y = (random.random(rows) < special.expit(2.0 * np.tanh(s))).astype(int)
        fit = partial(AutoCalibration().fit, s, y)
        yield from compared(f"AutoCalibration, {rows:,}", fit, [Rival("", goal)], 1 if rows > 10**6 else rounds)
        model = AutoCalibration().fit(s, y)
        work = f"AutoCalibration predicts, {rows:,}"
        yield from compared(work, partial(model.predict_proba, s), [Rival("", "")], 1)


def shapes_and_penalties(work: str, rounds: int) -> Iterator[dict[str, str]]:
    from properly.datasets import make_rare_events
    from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV
    from properly.links import GEV

    X, y, _ = make_rare_events(70_000, 30, rate=0.03, link=GEV(0.2), random_state=0)
    single = Rival("one fit", "1/25", lambda: GEVCanonicalRegression(0.2).fit(X, y))
    yield from compared(
        "GEVCanonicalRegressionCV, 70,000 × 30", lambda: GEVCanonicalRegressionCV().fit(X, y), [single], 3
    )
    X, y, _ = make_rare_events(1000, 1000, rate=0.2, link=GEV(0.2), random_state=0)
    work = "GEVCanonicalRegressionCV, 1,000 × 1,000"
    yield from compared(work, lambda: GEVCanonicalRegressionCV().fit(X, y), [Rival("", "10 s")], 1)


def audits(work: str, rounds: int) -> Iterator[dict[str, str]]:
    from properly.audit import audit

    for rows, goal in ((2_000, "0.1 s"), (10_000_000, "10 s")):
        random = np.random.default_rng(0)
        s = random.normal(size=rows) * 1.8 - 4.5
        y, p = (random.random(rows) < special.expit(0.7 * s - 0.3)).astype(int), special.expit(s)
        once = 1 if rows > 10**6 else rounds
        yield from compared(f"audit, {rows:,}", partial(audit, y, p), [Rival("", goal)], once)


def imports(work: str, rounds: int) -> Iterator[dict[str, str]]:
    """Processor seconds of what `properly.calibration` imports beyond `sklearn.linear_model`."""

    def seconds(code: str) -> Seconds:
        timer = (
            f"import time; c, t = time.process_time(), time.perf_counter()\n{code}\n"
            "print(time.perf_counter() - t, time.process_time() - c)"
        )
        printed = subprocess.run([sys.executable, "-c", timer], capture_output=True, text=True, check=True).stdout
        wall, cpu = map(float, printed.split())
        return wall, cpu

    times = [(seconds("import properly.calibration"), seconds("import sklearn.linear_model")) for _ in range(rounds)]
    (wall, cpu), (peer_wall, peer_cpu) = np.min(times, axis=0)
    yield {
        "work": "import properly.calibration",
        "peer": "import sklearn.linear_model",
        "tol": "",
        "goal": "+ 0.2 s",
        "ours wall": f"{wall:.5g}",
        "ours cpu": f"{cpu:.5g}",
        "peer wall": f"{peer_wall:.5g}",
        "peer cpu": f"{peer_cpu:.5g}",
        "default wall": "",
        "default cpu": "",
    }


def predictions(work: str, rounds: int) -> Iterator[dict[str, str]]:
    from sklearn.linear_model import LogisticRegression

    from properly.linear import ProperLinearClassifier

    problem = fits.dense(1_000_000, 20)
    few = slice(5000)
    ours = ProperLinearClassifier().fit(problem.X[few], problem.y[few])
    theirs = LogisticRegression().fit(problem.X[few], problem.y[few])
    for name, X in (("1,000,000 × 20", problem.X), ("one row", problem.X[:1])):
        rival = Rival("scikit-learn", "1.5", lambda X=X: theirs.predict_proba(X))
        yield from compared(f"predict_proba, {name}", lambda X=X: ours.predict_proba(X), [rival], 2 * rounds)


WORKS: dict[str, Callable[[str, int], Iterator[dict[str, str]]]] = {
    **dict.fromkeys(FITS, fitting),
    "isotonic, Platt, beta": calibrators,
    "AutoCalibration": automatic,
    "GEVCanonicalRegressionCV": shapes_and_penalties,
    "audit": audits,
    "import": imports,
    "predict_proba": predictions,
}


def page(rows: list[dict[str, str]]) -> str:
    threads = os.environ.get("OMP_NUM_THREADS", f"as many as cores ({os.cpu_count()})")
    packages = ("numpy", "scipy", "scikit-learn", "glum", "skglm", "celer", "statsmodels", "betacal")
    lines = [
        "# Speed on every shape",
        "",
        f"BLAS threads: {threads}. {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        + ", ".join(f"{package} {version(package)}" for package in packages)
        + ".",
        "",
        "Ratio: the peer's time over ours, on the clock and of the processor; above 1 we are faster. `tol` is the "
        "peer's loosest tolerance at which the norm of its gradient is at most ours (* none gets there, this one gets "
        "nearest); the last ratios are at its default, which is usually less exact.",
        "",
        "| work | ours, s | CPU s | peer | tol | ratio | CPU | at default | CPU | goal |",
        "|---|---:|---:|---|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        ratios = [
            f"{float(row[f'{who} {unit}']) / float(row[f'ours {unit}']):.2g}" if row[f"{who} {unit}"] else ""
            for who in ("peer", "default")
            for unit in ("wall", "cpu")
        ]
        ours = [f"{float(row[f'ours {unit}']):.3g}" for unit in ("wall", "cpu")]
        lines.append("| " + " | ".join([row["work"], *ours, row["peer"], row["tol"], *ratios, row["goal"]]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, nargs="+", help="try these only, where there is little time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.tolerance:
        global TOLERANCES
        TOLERANCES = tuple(arguments.tolerance)
    path, kept = arguments.results / "matrix.csv", dict[tuple[str, str], dict[str, str]]()
    if path.exists():
        with path.open(newline="") as file:
            kept = {(row["work"], row["peer"]): row for row in csv.DictReader(file)}
    for work, run in WORKS.items():
        if any(word in work for word in arguments.only):
            for row in run(work, arguments.rounds):
                kept[row["work"], row["peer"]] = row
                print({key: value for key, value in row.items() if value}, flush=True)
            write(arguments.results, list(kept.values()))


def write(folder: Path, rows: list[dict[str, str]]) -> None:
    with (folder / "matrix.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    (folder / "matrix.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
