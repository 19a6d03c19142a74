"""What averaging over links costs where the logit is right, and brings where it is not.

Designs: Gaussian features, a random direction, n training rows; the true link is the logit, GEV with ξ = 0.5, or a
logit with a ceiling of 0.3 on the probability. RMSE to the true probabilities of 10,000 further rows, relative to
logistic regression with its C chosen by the same five folds, mean over repetitions. `fixed` is the ξ (with its C
by folds) that does best on average in hindsight, `best` the ξ with the best held-out loss, `averaged` the default.

    python benchmarks/bench_gev_selection.py [--repetitions R] [--jobs J]

writes benchmarks/results/gev_selection.md. With --evidence the average is compared with one that needs no folds: fits
by maximum likelihood, weighted by their evidence (Laplace's approximation) over ξ and C, with half of the prior on the
logit; for the cells with five features, where folds do worst. That writes benchmarks/results/gev_evidence.md.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.links import GEV, Logit
from properly.losses import Composite, LogLoss, canonical_loss

RESULTS = Path(__file__).parent / "results" / "gev_selection.md"
DESIGNS = {
    "logit": (Logit().inverse, 0.05, 1.5),
    "logit, rarer": (Logit().inverse, 0.01, 1.5),
    "GEV, ξ = 0.5": (GEV(0.5).inverse, 0.05, 0.4),
    "ceiling 0.3": (lambda v: 0.3 * Logit().inverse(v), 0.095, 2.5),
}
XIS = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
TEST = 10_000


def sample(name: str, n: int, k: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training rows and labels, test rows and their true probabilities."""
    inverse, rate, signal = DESIGNS[name]
    random = np.random.RandomState(seed)
    X = random.standard_normal((TEST + n, k))
    direction = random.standard_normal(k)
    score = X @ (signal * direction / np.linalg.norm(direction))
    p = inverse(score + brentq(lambda intercept: inverse(score + intercept).mean() - rate, -50.0, 50.0))
    y = random.random_sample(len(p)) < p
    return X[TEST:], y[TEST:], X[:TEST], p[:TEST]


def run(name: str, n: int, k: int, seed: int) -> dict[str, float]:
    """RMSE of every way to choose, on one sample; a key for each fixed ξ."""
    X, y, X_test, p_test = sample(name, n, k, seed)
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


def by_evidence(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, float]:
    """Probabilities, averaged over links and penalties by their evidence, and the weight of the logit.

    The prior of the coefficients is N(0, C) on the scale of log-odds at the base rate, that of the intercept is flat.
    """
    rate = float(np.mean(y))
    log_evidence, forecasts, logits = [], [], []
    for link in (Logit(), *map(GEV, XIS)):
        stretch = float(canonical_loss(link).weight(rate)) * rate * (1.0 - rate)  # of the scale of its scores
        for C in (0.01, 0.1, 1.0, 10.0):
            model = ProperLinearClassifier("log", link, C=C * stretch**2, tol=1e-5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
            w, v = model.coef_[0], X @ model.coef_[0] + model.intercept_[0]
            composite, design = Composite(LogLoss(), link), np.column_stack([X, np.ones(len(X))])
            loss = composite.value(y, v).sum() + 0.5 * w @ w / (C * stretch**2)
            hessian = design.T @ (design * composite.curvature(y, v, "observed")[:, None])
            hessian += np.diag(np.append(np.full(len(w), 1.0 / (C * stretch**2)), 0.0))
            unit = stretch * np.append(np.full(len(w), np.sqrt(C)), 1.0)
            sign, log_det = np.linalg.slogdet(hessian * unit * unit[:, None])
            found = -loss - 0.5 * log_det if sign > 0.0 else -np.inf
            log_evidence.append(found if np.isfinite(found) else -np.inf)
            forecasts.append(model.predict_proba(X_test)[:, 1])
            logits.append(isinstance(link, Logit))
    prior = np.where(logits, 1.0, 1.0 / len(XIS))
    weights = prior * np.exp(np.array(log_evidence) - max(log_evidence))
    weights /= weights.sum()
    used = weights > 1e-6
    return weights[used] @ np.array(forecasts)[used], float(weights[np.array(logits)].sum())


def run_evidence(name: str, n: int, k: int, seed: int) -> dict[str, float]:
    X, y, X_test, p_test = sample(name, n, k, seed)
    start = process_time()
    averaged = GEVCanonicalRegressionCV().fit(X, y)
    middle = process_time()
    p, weight = by_evidence(X, y, X_test)
    end = process_time()
    results = averaged.cv_results_
    rows = np.isnan(results["xi"])
    logistic = ProperLinearClassifier(C=results["C"][rows][results["loss"][rows].argmin()]).fit(X, y)
    forecasts = {
        "logistic": logistic.predict_proba(X_test)[:, 1],
        "folds": averaged.predict_proba(X_test)[:, 1],
        "evidence": p,
    }
    errors = {key: float(np.sqrt(np.mean((each - p_test) ** 2))) for key, each in forecasts.items()}
    return errors | {"weight": weight, "seconds, folds": middle - start, "seconds, evidence": end - middle}


def compare_evidence(repetitions: int, jobs: int) -> None:
    lines = [
        "# Averaging by folds, and by evidence",
        "",
        "RMSE to the true probabilities: that of logistic regression in thousandths, and the changes of the two "
        "averages against it (± standard error of the change); the mean weight of the logit by evidence; seconds of "
        f"processor time. Five features, {repetitions} repetitions.",
        "",
        "| true link | rows | logistic | five folds | evidence | weight of the logit | seconds, folds | evidence |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in DESIGNS:
        for n in (1_000, 5_000):
            runs = Parallel(n_jobs=jobs)(delayed(run_evidence)(name, n, 5, seed) for seed in range(repetitions))
            mean = {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}
            changes = []
            for key in ("folds", "evidence"):
                differences = np.array([each[key] - each["logistic"] for each in runs]) / mean["logistic"]
                error = differences.std(ddof=1) / np.sqrt(repetitions)
                changes.append(f"{100 * differences.mean():+.1f} ± {100 * error:.1f} %")
            lines.append(
                f"| {name} | {n:,} | {1000 * mean['logistic']:.1f} | {' | '.join(changes)} | {mean['weight']:.2f} | "
                f"{mean['seconds, folds']:.2f} | {mean['seconds, evidence']:.2f} |"
            )
            print(lines[-1], flush=True)
            (RESULTS.parent / "gev_evidence.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


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
    parser.add_argument("--evidence", action="store_true")
    options = parser.parse_args()
    if options.evidence:
        compare_evidence(options.repetitions, options.jobs)
        return
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
