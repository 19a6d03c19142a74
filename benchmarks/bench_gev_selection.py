"""What averaging over links costs where the logit is right, and brings where it is not.

Designs: Gaussian features, a random direction, n training rows; the true link is the logit, GEV with ξ = 0.5, or a
logit with a ceiling of 0.3 on the probability. RMSE to the true probabilities of 10,000 further rows, relative to
logistic regression with its C chosen by the same five folds, mean over repetitions. `fixed` is the ξ (with its C
by folds) that does best on average in hindsight, `best` the ξ with the best held-out loss, `averaged` the default.

    python benchmarks/bench_gev_selection.py [--repetitions R] [--jobs J]

writes benchmarks/results/gev_selection.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq

from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.links import GEV, Logit

RESULTS = Path(__file__).parent / "results" / "gev_selection.md"
DESIGNS = {
    "logit": (Logit().inverse, 0.05, 1.5),
    "logit, rarer": (Logit().inverse, 0.01, 1.5),
    "GEV, ξ = 0.5": (GEV(0.5).inverse, 0.05, 0.4),
    "ceiling 0.3": (lambda v: 0.3 * Logit().inverse(v), 0.095, 2.5),
}
TEST = 10_000


def run(name: str, n: int, k: int, seed: int) -> dict[str, float]:
    """RMSE of every way to choose, on one sample; a key for each fixed ξ."""
    inverse, rate, signal = DESIGNS[name]
    random = np.random.RandomState(seed)
    X = random.standard_normal((TEST + n, k))
    direction = random.standard_normal(k)
    score = X @ (signal * direction / np.linalg.norm(direction))
    p = inverse(score + brentq(lambda intercept: inverse(score + intercept).mean() - rate, -50.0, 50.0))
    y = random.random_sample(len(p)) < p
    X, y, X_test, p_test = X[TEST:], y[TEST:], X[:TEST], p[:TEST]
    averaged = GEVCanonicalRegressionCV().fit(X, y)
    results = averaged.cv_results_

    def rmse(model: object) -> float:
        return float(np.sqrt(np.mean((model.predict_proba(X_test)[:, 1] - p_test) ** 2)))

    errors = {"averaged": rmse(averaged)}
    for xi in np.unique(results["xi"]):
        rows = np.isnan(results["xi"]) if np.isnan(xi) else results["xi"] == xi
        C = results["C"][rows][results["loss"][rows].argmin()]
        model = ProperLinearClassifier(C=C) if np.isnan(xi) else GEVCanonicalRegression(xi, C=C)
        errors["logistic" if np.isnan(xi) else f"{xi:g}"] = rmse(model.fit(X, y))
    errors["best"] = errors[f"{averaged.xi_:g}"]
    return errors


def row(name: str, n: int, k: int, runs: list[dict[str, float]]) -> str:
    mean = {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}
    fixed = min((key for key in mean if key not in ("averaged", "logistic", "best")), key=mean.__getitem__)
    logistic = mean["logistic"]
    spread = np.std([each["averaged"] - each["logistic"] for each in runs], ddof=1) / np.sqrt(len(runs)) / logistic
    gain = logistic - mean[fixed]
    kept = f"{100 * (logistic - mean['averaged']) / gain:.0f} %" if gain > 0.02 * logistic else ""
    changes = [f"{100 * (mean[key] / logistic - 1):+.1f} %" for key in (fixed, "best", "averaged")]
    changes[-1] += f" ± {100 * spread:.1f}"
    return f"| {name} | {k} | {n:,} | {1000 * logistic:.1f} | {fixed} | {' | '.join(changes)} | {kept} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    lines = [
        "# Choosing the link, or averaging",
        "",
        "RMSE to the true probabilities: that of logistic regression in thousandths, and the changes against it. The "
        "last column is the share of the gain of the best ξ that the average keeps, where that exceeds 2 %. "
        f"{options.repetitions} repetitions.",
        "",
        "| true link | features | rows | logistic | best ξ, in hindsight | fixed | chosen | averaged | gain kept |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in DESIGNS:
        for k in (5, 20, 100):
            for n in (1_000, 5_000):
                seeds = range(options.repetitions)
                runs = Parallel(n_jobs=options.jobs)(delayed(run)(name, n, k, seed) for seed in seeds)
                lines.append(row(name, n, k, runs))
                print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
