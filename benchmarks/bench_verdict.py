"""How often faults of forecasts are found, by the joined tests of an audit and by three classical ones.

    python benchmarks/bench_verdict.py [repetitions]

writes `results/verdict.md`.

The share of forecasts called wrong at the 5 % level in every cell of a grid of faults, numbers of rows and base rates;
false alarms among right forecasts of all sizes, with ties and weights; and how often a shift of the stated detectable
size is found. The rule (tests, their shares, when labels are redrawn) was chosen among about a hundred variants on
other seeds, but on normal scores with the same shift, slope, top and first wiggle: only the slower wiggle and the
skewed scores are new to it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy import optimize, special, stats

from properly.inputs.forecast import Forecast
from properly.metrics.calibration_tests import calibration_test_of, detectable_shift

REPETITIONS = 1_000
ROWS = (500, 1_000, 2_000, 5_000)
RATES = (0.05, 0.1, 0.3)
RESULTS = Path(__file__).parent / "results" / "verdict.md"
# Log-odds as forecast, from the true ones.
FAULTS = {
    "shift 0.3": lambda v: v + 0.3,
    "slope 0.7": lambda v: 0.7 * v,
    "top fifth 0.6": lambda v: np.where(v > np.quantile(v, 0.8), v + 0.6, v),
    "wiggle": lambda v: v + 0.45 * np.sin(3.0 * v),
    "wiggle, slower": lambda v: v + 0.35 * np.sin(2.3 * v + 1.0),
}
SCORES = {
    "normal": lambda random, n: random.normal(0.0, 1.2, n),
    "skewed": lambda random, n: random.gamma(2.0, 0.8, n),
}


def centre(scores, rate):
    """The constant that gives scores this base rate."""
    sample = SCORES[scores](np.random.default_rng(0), 20_000)
    return optimize.brentq(lambda a: special.expit(a + sample).mean() - rate, -20.0, 10.0)


def mean_test(y, p):
    return 2.0 * stats.norm.sf(abs((y - p).sum()) / np.sqrt((p * (1.0 - p)).sum()))


def cox_test(y, v):
    """The likelihood ratio of intercept and slope."""
    coef, columns = np.array([0.0, 1.0]), np.stack([np.ones_like(v), v])
    for _ in range(25):
        p = special.expit(coef @ columns)
        step = np.linalg.solve((columns * (p * (1.0 - p))) @ columns.T, columns @ (y - p))
        coef = coef + step
        if np.abs(step).max() < 1e-6:
            break
    likelihood = [np.sum(y * each - np.logaddexp(0.0, each)) for each in (coef @ columns, v)]
    return stats.chi2.sf(2.0 * (likelihood[0] - likelihood[1]), 2)


def hosmer_lemeshow(y, p):
    """Ten bins of equal size of rows in the order of p; ten degrees of freedom, since nothing was fitted."""
    bins = np.array_split(np.arange(len(p)), 10)
    return stats.chi2.sf(sum((y[i] - p[i]).sum() ** 2 / (p[i] * (1.0 - p[i])).sum() for i in bins), 10)


def joined_test(y, p, weight=None):
    return calibration_test_of(Forecast.of_positives(y.astype(bool), p, weight)).p_value


def found(fault, scores, n_rows, rate, repetitions, random):
    """The share of repetitions that each test calls wrong: mean, Cox, Hosmer–Lemeshow, joined."""
    a, counts = centre(scores, rate), np.zeros(4)
    for _ in range(repetitions):
        truth = a + SCORES[scores](random, n_rows)
        y = (random.random(n_rows) < special.expit(truth)).astype(float)
        v = FAULTS[fault](truth)
        order = np.argsort(v)
        y, v = y[order], v[order]
        p = special.expit(v)
        counts += np.array([mean_test(y, p), cox_test(y, v), hosmer_lemeshow(y, p), joined_test(y, p)]) < 0.05
    return counts / repetitions


def false_alarms(repetitions, random):
    """Right forecasts of 20 to 5,000 rows and base rates of 1 to 50 %: plain, with heavy ties, with weights."""
    alarms = {"plain": [], "ties": [], "weights": []}
    for k in range(repetitions):
        kind = list(alarms)[k % 3]
        n_rows, rate = (
            int(np.exp(random.uniform(np.log(20), np.log(5_000)))),
            np.exp(random.uniform(np.log(0.01), np.log(0.5))),
        )
        p = special.expit(special.logit(rate) + random.normal(0.0, random.uniform(0.2, 2.0), n_rows))
        weight = None
        if kind == "ties":
            p = np.clip(np.round(p, 2), 0.005, 0.995)
        if kind == "weights":  # a weight counts rows, each with a label of its own
            count = random.integers(1, 5, n_rows)
            positive = random.binomial(count, p)
            p, weight = np.repeat(p, 2), np.column_stack([positive, count - positive]).ravel().astype(float)
            y = np.tile([1.0, 0.0], n_rows)
            y, p, weight = y[weight > 0], p[weight > 0], weight[weight > 0]
        else:
            y = (random.random(n_rows) < p).astype(float)
        alarms[kind].append(joined_test(y, p, weight) < 0.05)
    return {kind: (len(each), float(np.mean(each))) for kind, each in alarms.items()}


def found_at_detectable(n_rows, rate, repetitions, random):
    """How often a shift of the size that is stated as detectable, up or down, is found."""
    a, hits = centre("normal", rate), 0
    for k in range(repetitions):
        p = special.expit(a + SCORES["normal"](random, n_rows))
        shift = detectable_shift(float((p * (1.0 - p)).sum())) * (1 if k % 2 else -1)
        y = (random.random(n_rows) < special.expit(special.logit(p) + shift)).astype(float)
        hits += joined_test(y, p) < 0.05
    return hits / repetitions


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    start, random = time.perf_counter(), np.random.default_rng(2024)
    lines = ["# The tests of an audit", "", __doc__.split("\n\n")[3].strip(), ""]
    lines += [
        f"{repetitions:,} repetitions a cell. Ratio: joined / the best of the three, where that finds 20 % or more.",
        "",
    ]
    lines += [
        "| fault | scores | rows | base rate | mean | Cox | Hosmer–Lemeshow | joined | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for fault in FAULTS:
        for scores in SCORES:
            for n_rows in ROWS:
                for rate in RATES:
                    if scores == "skewed" and (n_rows not in (1_000, 5_000) or rate == 0.05):
                        continue  # a part of the grid is enough to show that normal scores are not special
                    mean, cox, bins, joined = found(fault, scores, n_rows, rate, repetitions, random)
                    best = max(mean, cox, bins)
                    ratio = joined / best if best >= 0.2 else None
                    ratios += [] if ratio is None else [ratio]
                    shares = " | ".join(f"{share:.2f}" for share in (mean, cox, bins, joined))
                    shown = "–" if ratio is None else f"{ratio:.2f}"
                    lines.append(f"| {fault} | {scores} | {n_rows:,} | {rate:.0%} | {shares} | {shown} |")
                    print(lines[-1], flush=True)
    short = sum(ratio < 0.85 for ratio in ratios)
    lines += [
        "",
        f"Ratio of at least 0.85 in {len(ratios) - short} of {len(ratios)} cells; the smallest is {min(ratios):.2f}.",
        "",
    ]
    alarms = false_alarms(4 * repetitions, random)
    lines += ["| right forecasts, 20 to 5,000 rows, base rates 1 to 50 % | audits | false alarms |", "|---|---|---|"]
    lines += [f"| {kind} | {count:,} | {share:.1%} |" for kind, (count, share) in alarms.items()]
    total = sum(count for count, _ in alarms.values())
    lines += [f"| all | {total:,} | {sum(count * share for count, share in alarms.values()) / total:.1%} |", ""]
    lines += ["| rows | base rate | a shift of the stated detectable size is found in |", "|---|---|---|"]
    for n_rows, rate in ((200, 0.3), (500, 0.1), (2_000, 0.05), (2_000, 0.3), (5_000, 0.1)):
        lines.append(f"| {n_rows:,} | {rate:.0%} | {found_at_detectable(n_rows, rate, repetitions, random):.1%} |")
        print(lines[-1], flush=True)
    lines += ["", f"Computed in {time.perf_counter() - start:.0f} s on one core."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
