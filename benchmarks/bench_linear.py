"""Logistic fits against scikit-learn, glum and statsmodels, in one run and to the same accuracy.

Dense data, n = 300,000, k = 50, 3 % positives, ridge with C = 1 (statsmodels: none, it has no ridge for a GLM's IRLS).
Every solver's tolerance is set so that the gradient of the stated objective ends at 1e-6 per row or better, and
what it reached is in the table. Timings are interleaved and the best of several rounds is reported, with the
median beside it; peak memory is measured in a process of its own, beyond what the data and the imports take.

    python benchmarks/bench_linear.py [--rows N] [--features K] [--rounds R]

writes benchmarks/results/linear.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import resource
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "linear.md"
Coefficients = tuple[np.ndarray, float]


def make_data(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    from properly.datasets import make_rare_events

    X, y, _ = make_rare_events(rows, features, rate=0.03, signal=1.5, random_state=0)
    return np.ascontiguousarray(X), y.astype(float)


def gradient_per_row(X: np.ndarray, y: np.ndarray, fit: Coefficients, penalty: float) -> float:
    coef, intercept = fit
    residual = 1.0 / (1.0 + np.exp(-(X @ coef + intercept))) - y
    return float(np.linalg.norm(np.append(X.T @ residual + penalty * coef, residual.sum()))) / len(y)


def ours(loss: Any = "log", link: Any = None) -> Callable[..., Coefficients]:
    def fit(X: np.ndarray, y: np.ndarray) -> Coefficients:
        from properly.linear import ProperLinearClassifier

        model = ProperLinearClassifier(loss, link).fit(X, y)
        return model.coef_[0], float(model.intercept_[0])

    return fit


def gev(X: np.ndarray, y: np.ndarray) -> Coefficients:
    from properly.losses import GEVLoss

    return ours(GEVLoss(0.2))(X, y)


def scikit_learn(**options: Any) -> Callable[..., Coefficients]:
    def fit(X: np.ndarray, y: np.ndarray) -> Coefficients:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(max_iter=1000, **options).fit(X, y)
        return model.coef_[0], float(model.intercept_[0])

    return fit


def glum(X: np.ndarray, y: np.ndarray) -> Coefficients:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(family="binomial", alpha=1.0 / len(y), l1_ratio=0.0, gradient_tol=1e-6)
    model.fit(X, y)
    return model.coef_, float(model.intercept_)


def statsmodels(X: np.ndarray, y: np.ndarray) -> Coefficients:
    import statsmodels.api as sm

    fit = sm.GLM(y, np.column_stack([X, np.ones(len(y))]), family=sm.families.Binomial()).fit(tol=1e-10)
    return fit.params[:-1], float(fit.params[-1])


# name -> (fit, penalty of its objective or None where the gradient is another loss's)
CONTESTANTS: dict[str, tuple[Callable[..., Coefficients], float | None]] = {
    "properly, logistic": (ours(), 1.0),
    "properly, GEV-canonical (ξ = 0.2)": (gev, None),
    "scikit-learn, lbfgs (default tol)": (scikit_learn(), 1.0),
    "scikit-learn, lbfgs (tol 1e-6)": (scikit_learn(tol=1e-6), 1.0),
    "scikit-learn, newton-cholesky (tol 1e-6)": (scikit_learn(solver="newton-cholesky", tol=1e-6), 1.0),
    "glum, irls-ls (gradient_tol 1e-6)": (glum, 1.0),
    "statsmodels, GLM (no penalty)": (statsmodels, 0.0),
}


def peak_memory(name: str, rows: int, features: int) -> float:
    """Peak resident memory of a fit beyond the data and the imports, as a multiple of the data's size."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_peak_memory, (name, rows, features))


def _peak_memory(name: str, rows: int, features: int) -> float:
    fit, _ = CONTESTANTS[name]
    warnings.simplefilter("ignore")
    small = np.random.default_rng(0)
    fit(small.normal(size=(500, features)), np.tile([0.0, 1.0], 250))  # imports and thread pools
    X = small.standard_normal((rows, features))
    y = (X[:, 0] + small.standard_normal(rows) > 2.6).astype(float)
    _reset_peak()
    before = _current_memory()
    fit(X, y)
    return max(0.0, _peak() - before) / X.nbytes


def _reset_peak() -> None:
    """Start the kernel's record of the peak anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    return _status("VmHWM")


def _current_memory() -> float:
    return _status("VmRSS")


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024.0 * float(line.split()[1])
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = make_data(options.rows, options.features)
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    gradients: dict[str, float | None] = {}
    for round_number in range(options.rounds):
        for name, (fit, penalty) in CONTESTANTS.items():
            start = time.perf_counter()
            result = fit(X, y)
            times[name].append(time.perf_counter() - start)
            gradients[name] = None if penalty is None else gradient_per_row(X, y, result, penalty)
            print(f"round {round_number + 1}: {name}: {times[name][-1]:.3f} s", flush=True)
    base = min(times["properly, logistic"])
    lines = [
        "# Logistic regression, dense",
        "",
        f"n = {options.rows:,}, k = {options.features}, {100 * y.mean():.1f} % positives, float64, C = 1; "
        f"{options.rounds} interleaved rounds.",
        "Ratio: best time over that of `properly, logistic`. Gradient: norm of the gradient of the solver's own "
        "objective, per row.",
        "Memory: peak beyond data and imports, as a multiple of the data.",
        "",
        "| solver | best, s | median, s | ratio | gradient | memory |",
        "|---|---|---|---|---|---|",
    ]
    for name, seconds in times.items():
        gradient = gradients[name]
        shown = "-" if gradient is None else f"{gradient:.0e}"
        memory = peak_memory(name, options.rows, options.features)
        lines.append(
            f"| {name} | {min(seconds):.3f} | {np.median(seconds):.3f} | {min(seconds) / base:.1f} | {shown} "
            f"| {memory:.2f} |"
        )
    packages = ("numpy", "scipy", "scikit-learn", "glum", "statsmodels")
    lines += [
        "",
        f"{platform.machine()}, {multiprocessing.cpu_count()} cores, Python {platform.python_version()}, "
        + ", ".join(f"{package} {version(package)}" for package in packages)
        + ".",
    ]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
