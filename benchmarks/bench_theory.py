"""How exact the general routes of the theory are, against closed forms, and what they cost.

- Losses from a weight function and from one partial loss: the Beta family against `BetaLoss`, boxes and mixtures of
  cost-weighted losses against their closed forms.
- The relative-entropy projection of class proportions onto linear inequalities: duality gap, and SLSQP of SciPy.
- `ProperKernelClassifier`: exact and with a sample of rows (Nystroem), CPU seconds and RMSE to the true probabilities.

    OMP_NUM_THREADS=1 python benchmarks/bench_theory.py

writes benchmarks/results/theory.md.
"""

from __future__ import annotations

import itertools
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, rel_entr

from properly.linear import ProperKernelClassifier
from properly.losses import BetaLoss, CostWeightedLoss, LogLoss, LossFromPartial, LossFromWeight
from properly.maxent.proportions import checked_proportions

RESULTS = Path(__file__).parent / "results" / "theory.md"
P = np.concatenate([[1e-9, 1e-6, 1e-3], np.linspace(0.01, 0.99, 99), [1.0 - 1e-3, 1.0 - 1e-6]])
MILD = (0.5, 1.0, 3.0, 10.0)
EXPONENTS = (-0.95, -0.5, -0.05, 0.0, 0.5, 1.0, 3.0, 10.0, 50.0)


def difference(one: object, other: object) -> float:
    """The largest over both partial losses, relative to the larger of the loss and 1."""
    return max(
        float(
            np.max(np.abs(getattr(one, part)(P) - getattr(other, part)(P)) / np.maximum(getattr(other, part)(P), 1.0))
        )
        for part in ("loss0", "loss1")
    )


def losses() -> list[str]:
    routes = {
        "weight": lambda loss: LossFromWeight(loss.weight),
        "partial": lambda loss: LossFromPartial(at0=loss.loss0),
    }
    exponents = {"weight": EXPONENTS, "partial": MILD}  # a partial loss of p alone does not know 1 - p near p = 1
    worst, spent = dict.fromkeys(routes, 0.0), {}
    for route, make in routes.items():
        begin = time.process_time()
        for alpha, beta in itertools.product(exponents[route], repeat=2):
            worst[route] = max(worst[route], difference(make(BetaLoss(alpha, beta)), BetaLoss(alpha, beta)))
        spent[route] = 1e3 * (time.process_time() - begin) / len(exponents[route]) ** 2
    box = LossFromWeight(lambda p: np.where((p > 0.2) & (p < 0.4), 1.0, 0.0))
    inside = np.clip(P, 0.2, 0.4)
    by_hand = max(np.abs(box.loss0(P) - (inside**2 - 0.04) / 2.0).max(), abs(float(box.loss0(0.5)) - 0.06))
    mixture, parts = 2.0 * LogLoss() + 0.5 * CostWeightedLoss(0.3), (LogLoss(), CostWeightedLoss(0.3))
    summed = np.abs(mixture.loss0(P) - 2.0 * parts[0].loss0(P) - 0.5 * parts[1].loss0(P)).max()
    return [
        "| route | against | largest difference | CPU ms a loss |",
        "|---|---|---:|---:|",
        f"| `LossFromWeight` | `BetaLoss(α, β)`, 81 pairs, -0.95…50 | {worst['weight']:.1e} | {spent['weight']:.0f} |",
        f"| `LossFromPartial` of L₀ | 16 pairs, 0.5 to 10 | {worst['partial']:.1e} | {spent['partial']:.0f} |",
        f"| `LossFromWeight` | box on (0.2, 0.4), by hand | {by_hand:.1e} | |",
        f"| `2 * LogLoss() + 0.5 * CostWeightedLoss(0.3)` | sum of the losses | {summed:.1e} | |",
    ]


def projections(repetitions: int = 50) -> list[str]:
    gaps, apart, ours, theirs = [], [], 0.0, 0.0
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        start, member = random.dirichlet(np.ones(6)), random.dirichlet(np.ones(6))
        A = random.normal(size=(4, 6))
        b = A @ member + 0.02
        begin = time.process_time()
        proportions, gap = checked_proportions(None, (A, b), 6).nearest(start)
        ours += time.process_time() - begin
        begin = time.process_time()
        other = minimize(
            lambda p, start=start: rel_entr(p, start).sum(), member, bounds=[(1e-12, 1.0)] * 6, method="SLSQP",
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1.0},
                {"type": "ineq", "fun": lambda p, A=A, b=b: b - A @ p},
            ], options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        theirs += time.process_time() - begin
        gaps.append(gap)
        apart.append(rel_entr(proportions, start).sum() - rel_entr(other.x, start).sum())
    return [
        f"{repetitions} random sets of four inequalities for six classes: the largest duality gap is {max(gaps):.0e}; "
        f"the relative entropy is never above that of SciPy's SLSQP by more than {max(0.0, *apart):.0e}; "
        f"{1e3 * ours / repetitions:.1f} ms against {1e3 * theirs / repetitions:.1f} ms.",
    ]


def kernels() -> list[str]:
    lines = ["| rows | features of | CPU s | RMSE × 1000 |", "|---:|---|---:|---:|"]
    for n in (500, 2000, 5000, 20_000):
        random = np.random.default_rng(0)
        X = random.normal(size=(n + 5000, 3))
        p = expit(2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] - 1.0)
        y = random.random(len(p)) < p
        begin = time.process_time()
        model = ProperKernelClassifier(random_state=0).fit(X[:n], y[:n])
        spent = time.process_time() - begin
        apart = np.sqrt(np.mean((model.predict_proba(X[n:])[:, 1] - p[n:]) ** 2))
        lines.append(f"| {n:,} | {'all rows' if n <= 5000 else 'a sample'} | {spent:.1f} | {1e3 * apart:.0f} |")
    return lines


def main() -> None:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    lines = [
        "# The general routes of the theory",
        "",
        "## Losses",
        "",
        "Differences relative to the larger of the loss and 1, at p from 1e-9 to 1 - 1e-6.",
        "",
        *losses(),
        "",
        "## Class proportions",
        "",
        *projections(),
        "",
        "## Kernels",
        "",
        *kernels(),
        "",
        f"{platform.machine()}, Python {platform.python_version()}, {libraries}.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
