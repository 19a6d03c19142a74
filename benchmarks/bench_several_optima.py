"""Losses that are not convex: how often a fit ends above the best optimum, and whether a warning says that it may.

Random tables, losses (tailored Beta and squared loss, with the logit), penalties, and offsets of several kinds. The
best optimum is the lowest objective that SciPy's L-BFGS finds from many random starts, or that the fit itself found.

    OMP_NUM_THREADS=1 python benchmarks/bench_several_optima.py [--first 50000] [--cases 400]

writes benchmarks/results/several_optima.md. None of these cases was used to settle the starts or the warning.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from properly.linear import ProperLinearClassifier
from properly.links import Logit
from properly.losses import BetaLoss, Composite, SquaredLoss

RESULTS = Path(__file__).parent / "results" / "several_optima.md"
STARTS, ABOVE = 60, 1e-6  # random starts; what counts as above the best, in units of the loss of a constant forecast

Random = np.random.Generator
OFFSETS: dict[str, Callable[[Random, Any], Any]] = {
    "none": lambda rng, X: np.zeros(len(X)),
    "small, normal": lambda rng, X: rng.normal(size=len(X)),
    "normal": lambda rng, X: rng.uniform(2.0, 30.0) * rng.normal(size=len(X)),
    "uniform": lambda rng, X: rng.uniform(5.0, 50.0) * rng.random(len(X)),
    "two groups": lambda rng, X: rng.uniform(5.0, 30.0) * rng.integers(2, size=len(X)),
    "five groups": lambda rng, X: rng.uniform(5.0, 40.0) * rng.normal(size=5)[rng.integers(5, size=len(X))],
    "heavy tails": lambda rng, X: 3.0 * rng.standard_t(1.5, size=len(X)),
    "one row far away": lambda rng, X: np.where(np.arange(len(X)) == 0, rng.choice([-1, 1]) * rng.uniform(6, 100), 0.0),
    "along a feature": lambda rng, X: rng.uniform(3.0, 20.0) * X[:, 0] + rng.normal(size=len(X)),
    "logarithms of exposures": lambda rng, X: np.log(rng.lognormal(0.0, rng.uniform(1.0, 6.0), size=len(X))),
}


def case(seed: int) -> dict[str, Any]:
    """A random table, loss and penalty."""
    rng = np.random.default_rng([seed, 15])
    n, k = int(rng.integers(20, 300)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, k)) if rng.random() < 0.7 else rng.integers(3, size=(n, k)).astype(float)
    kind = str(rng.choice(list(OFFSETS)))
    offset = OFFSETS[kind](rng, X)
    share = rng.choice([0.0, 0.1, 1.0])  # of the offset, that the labels follow
    score = X @ rng.normal(size=k) * rng.choice([0.3, 1.0, 3.0]) + rng.normal() + share * offset
    y = (rng.random(n) < expit(score)).astype(int)
    y[:2] = 0, 1
    tailored = BetaLoss.tailored(float(rng.uniform(0.02, 0.98)), float(np.exp(rng.uniform(np.log(2.5), np.log(60.0)))))
    loss = SquaredLoss() if rng.random() < 0.35 else tailored
    weight = rng.exponential(size=n) if rng.random() < 0.3 else np.ones(n)
    C = float(rng.choice([0.1, 1.0, 10.0, 100.0]))
    return {"X": X, "y": y, "offset": offset, "weight": weight, "loss": loss, "C": C, "kind": kind}


def judged(seed: int) -> dict[str, Any]:
    """How far the fit of a case ends above the best optimum, and what warnings it gives."""
    drawn = case(seed)
    X, y, offset, weight, C = (drawn[name] for name in ("X", "y", "offset", "weight", "C"))
    composite, k = Composite(drawn["loss"], Logit()), X.shape[1]

    def objective(w: Any) -> tuple[float, Any]:
        v = X @ w[:k] + w[k] + offset
        pull = weight * composite.gradient(y, v)
        value = weight @ composite.value(y, v) + 0.5 / C * w[:k] @ w[:k]
        return float(value), np.append(X.T @ pull + w[:k] / C, pull.sum())

    began = time.process_time()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model = ProperLinearClassifier(drawn["loss"], "logit", C=C)
        model.fit(X, y, sample_weight=weight, offset=offset)
    seconds = time.process_time() - began
    found = objective(np.append(model.coef_, model.intercept_))[0]
    rng, low, high = np.random.default_rng([seed, 16]), -offset.max() - 5.0, -offset.min() + 5.0
    best = found
    for _ in range(STARTS):
        start = np.append(rng.choice([0.0, 0.3, 1.0, 5.0]) * rng.normal(size=k), rng.uniform(low, high))
        best = min(best, minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).fun)
    share = np.average(y, weights=weight)
    unit = weight.sum() * composite._null_loss(np.array([1.0 - share, share]), 1)
    told = [str(each.message) for each in given if issubclass(each.category, ConvergenceWarning)]
    return {
        "seed": seed,
        "offsets": drawn["kind"],
        "loss": "squared" if isinstance(drawn["loss"], SquaredLoss) else "tailored",
        "above": (found - best) / unit,
        "warned": any("several optima" in each for each in told),
        "other warning": any("several optima" not in each for each in told),
        "seconds": seconds,
    }


def page(records: list[dict[str, Any]], first: int) -> str:
    lines = [
        "# Losses that are not convex",
        "",
        f"{len(records)} fits, seeds from {first}; Python {platform.python_version()}, NumPy {version('numpy')}, "
        f"SciPy {version('scipy')}. Written by `benchmarks/bench_several_optima.py`. Above the best: by more than "
        f"{ABOVE:g} of the loss of a constant forecast, {STARTS} random starts of SciPy's L-BFGS compared.",
        "",
        "| offsets | loss | fits | warned | above the best | of these without warning | largest excess | CPU s a fit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = [(kind, loss) for kind in OFFSETS for loss in ("tailored", "squared")]
    for kind, loss in [*groups, ("all", "both")]:
        chosen = [each for each in records if kind == "all" or (each["offsets"], each["loss"]) == (kind, loss)]
        if chosen:
            lines.append(f"| {kind} | {loss} | {_row(chosen)} |")
    return "\n".join([*lines, ""])


def _row(chosen: list[dict[str, Any]]) -> str:
    above = [each for each in chosen if each["above"] > ABOVE]
    silent = [each for each in above if not (each["warned"] or each["other warning"])]
    excess = max(each["above"] for each in chosen)
    seconds = np.mean([each["seconds"] for each in chosen])
    warned = sum(each["warned"] for each in chosen)
    return f"{len(chosen)} | {warned} | {len(above)} | {len(silent)} | {excess:.1e} | {seconds:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=50000)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--records", type=Path, help="a file of JSON lines; what is in it is not done again")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.cases)
    stored = options.records.read_text().splitlines() if options.records and options.records.exists() else ()
    records = {each["seed"]: each for each in map(json.loads, stored) if each["seed"] in seeds}
    for seed in seeds:
        if seed not in records:
            records[seed] = judged(seed)
            if options.records:
                with options.records.open("a") as file:
                    print(json.dumps(records[seed]), file=file)
    text = page(list(records.values()), options.first)
    options.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
