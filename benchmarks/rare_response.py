"""Trained on half and half, used where one in twenty responds: small businesses among residential telephone lines.

After the example that opens Buja's lectures on proper losses (slides 3 to 6, and slide 55 on its base rate): counts of
calls by part of the week, hour, duration and direction; 50,000 small businesses and 50,000 residences to train on,
ridge logistic regression against boosting, then a score for each of 50 million lines, of which one in twenty belongs to
a business. Those data were never published. These are generated, so that the true probabilities are known:

- a line is of one of several types, three of residences and three of businesses, each with its own expected numbers of
  calls in 48 cells of the week;
- the activity of a line, from a Gamma distribution, multiplies all cells, and the counts are Poisson: the density of
  all counts together has a closed form, and Bayes' theorem gives the true probability.

    OMP_NUM_THREADS=1 python benchmarks/rare_response.py [--rows N] [--per-class M] [--jobs J] [--record FILE]

writes benchmarks/results/rare_response.md and rare_response.png. The rows that are scored exist one block at a time.
With a record the models and sums are kept in that file, and a run that was interrupted goes on from there; `--minutes`
ends it after that time, with the results of the rows scored until then.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, log_expit, logit, logsumexp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from properly.boosting import ProperBoostingClassifier
from properly.linear import ProperLinearClassifier
from properly.prevalence import PriorCorrectedClassifier, estimate_prior
from properly.progress import progress

RESULTS = Path(__file__).parent / "results"
RATE = 0.05
FEWER = 1_000_000  # rows for what is only a comparison
SHAPE = 1.5  # of the activity, whose mean is 1
CELLS = np.linspace(-16.0, 16.0, 321)  # of log-odds, in which forecasts and labels are added up


class Kind(NamedTuple):
    """A type of line: its share of its class, calls in a month, and how they fall; the last entry of each is 1 less the
    others."""

    share: float
    calls: float
    weekdays: float
    hours: tuple[float, float, float]  # 6 to 9, 9 to 17, 17 to 23; then the night
    durations: tuple[float, float]  # below 1 minute, below 10; then longer
    outgoing: float

    def means(self) -> np.ndarray:
        """Expected calls in each of the 48 cells."""
        means = np.array([self.calls])
        for parts in ((self.weekdays,), self.hours, self.durations, (self.outgoing,)):
            means = np.outer(means, [*parts, 1.0 - sum(parts)]).ravel()
        return means


RESIDENCES = [
    Kind(0.4, 8, 0.65, (0.10, 0.30, 0.50), (0.35, 0.45), 0.45),
    Kind(0.4, 30, 0.65, (0.08, 0.27, 0.60), (0.40, 0.40), 0.50),
    Kind(0.2, 25, 0.72, (0.10, 0.50, 0.37), (0.35, 0.45), 0.50),  # at home by day
]
BUSINESSES = [
    Kind(0.35, 35, 0.78, (0.08, 0.62, 0.27), (0.50, 0.40), 0.50),  # shops
    Kind(0.35, 20, 0.85, (0.18, 0.62, 0.18), (0.50, 0.42), 0.60),  # workshops
    Kind(0.30, 30, 0.72, (0.10, 0.48, 0.38), (0.40, 0.45), 0.55),  # offices at home
]
MEANS = np.array([kind.means() for kind in (*RESIDENCES, *BUSINESSES)])


def shares(rate: float) -> np.ndarray:
    """Of all types in a population with this rate of businesses."""
    return np.array([*((1.0 - rate) * kind.share for kind in RESIDENCES), *(rate * kind.share for kind in BUSINESSES)])


class Lines(NamedTuple):
    """Counts of calls, whether a business has the line, and the true log-odds of that in the population."""

    X: np.ndarray
    y: np.ndarray
    log_odds: np.ndarray


def draw(n: int, rate: float, seed: Any) -> Lines:
    random = np.random.default_rng(seed)
    kind = random.choice(len(MEANS), n, p=shares(rate))
    X = random.poisson(random.gamma(SHAPE, 1.0 / SHAPE, (n, 1)) * MEANS[kind]).astype(np.float32)
    # x has the density ∝ Π_k m_k^x_k (SHAPE + Σ m)^-(SHAPE + Σ x), the rest being the same for all types
    log_density = X @ np.log(MEANS).T - np.outer(SHAPE + X.sum(axis=1), np.log(SHAPE + MEANS.sum(axis=1)))
    log_joint, first = log_density + np.log(shares(RATE)), len(RESIDENCES)
    log_odds = logsumexp(log_joint[:, first:], axis=1) - logsumexp(log_joint[:, :first], axis=1)
    return Lines(X, kind >= first, log_odds)


def models() -> dict[str, Any]:
    def ridge(*steps: Any) -> Any:
        return make_pipeline(*steps, StandardScaler(), ProperLinearClassifier(C=1.0))

    return {
        "ridge, counts": ridge(),
        "ridge, log(1 + counts)": ridge(FunctionTransformer(np.log1p)),
        # at most 200 trees, so that 50 million rows are scored in minutes
        "boosting": ProperBoostingClassifier(
            num_leaves=16, learning_rate=0.2, n_estimators=200, random_state=0, n_jobs=1
        ),
    }


class Tally(NamedTuple):
    """Forecasts against labels and true probabilities, added up: tallies of blocks of rows add up as well."""

    sums: np.ndarray  # of rows, forecasts, businesses, log losses, squared distances from the true probabilities
    cells: np.ndarray  # rows, forecasts and businesses in every cell of log-odds

    @classmethod
    def of(cls, z: np.ndarray, lines: Lines) -> Tally:
        """`z` are log-odds."""
        p, losses = expit(z), -log_expit(np.where(lines.y, z, -z))
        apart = np.square(p - expit(lines.log_odds))
        cell = np.digitize(np.clip(z, CELLS[0], CELLS[-1]), CELLS[1:-1])
        cells = [np.bincount(cell, weight, len(CELLS) - 1) for weight in (None, p, lines.y)]
        return cls(np.array([len(z), p.sum(), lines.y.sum(), losses.sum(), apart.sum()]), np.array(cells))

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]
        return Tally(self.sums + other.sums, self.cells + other.cells)

    def row(self, name: str) -> str:
        n, forecast, observed, loss, apart = self.sums
        count, _, businesses = self.cells[:, ::-1].cumsum(axis=1)  # from the largest score down
        found = np.interp(RATE * n, count, businesses) / observed
        return (
            f"| {name} | {forecast / n:.2%} | {loss / n:.5f} | {1e3 * np.sqrt(apart / n):.1f} | {found:.1%} "
            f"| {self.worst():.3f} |"
        )

    def worst(self) -> float:
        """The largest factor between forecast and observed rate over cells of log-odds with 200 businesses or more."""
        _, forecast, observed = self.cells[:, self.cells[2] >= 200]
        return float(np.exp(np.abs(np.log(forecast / observed)).max(initial=0.0)))


def blocks(rows: int, size: int) -> Iterator[Lines]:
    for number in range(-(-rows // size)):
        yield block(number, rows, size)


def block(number: int, rows: int, size: int) -> Lines:
    return draw(min(size, rows - number * size), RATE, [1, number])


def score_block(number: int, rows: int, size: int, fitted: dict[str, Any]) -> tuple[dict[str, Tally], dict[str, float]]:
    """The tallies of all models, and of those that were corrected before that; CPU seconds."""
    begin, tallies, seconds = time.thread_time(), {}, {}
    lines = block(number, rows, size)
    seconds["drawing the rows"] = time.thread_time() - begin
    tallies["true probabilities"] = Tally.of(lines.log_odds, lines)
    for name, model in fitted.items():
        begin = time.thread_time()
        log_p = model.predict_log_proba(lines.X)
        z = log_p[:, 1] - log_p[:, 0]
        seconds[name] = time.thread_time() - begin
        tallies[name] = Tally.of(z, lines)
        if hasattr(model, "true_prior_"):
            tallies[f"{name}, not corrected"] = Tally.of(z + logit(0.5) - logit(RATE), lines)
    return tallies, seconds


@dataclass
class Scored:
    """What is known of the blocks scored so far, all together."""

    blocks: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of processor time
    megabytes: float = 0.0  # the largest memory of the process

    def add(self, found: dict[str, Tally], spent: dict[str, float]) -> None:
        for name, tally in found.items():
            self.tallies[name] = self.tallies[name] + tally if name in self.tallies else tally
        for name, value in spent.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + value
        self.blocks += 1
        self.megabytes = max(self.megabytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)


def score(
    rows: int,
    size: int,
    fitted: dict[str, Any],
    jobs: int,
    scored: Scored,
    save: Callable[[], None] = lambda: None,
    until: float = np.inf,
) -> Scored:
    """Score the blocks that are missing, one group after the other, until a time."""
    total = -(-rows // size)
    work = Parallel(n_jobs=jobs, backend="threading")  # NumPy and LightGBM let other threads go on
    with progress("Scoring", total, show=True) as moved:
        while scored.blocks < total and time.monotonic() < until:
            numbers = range(scored.blocks, min(scored.blocks + 5 * jobs, total))
            for found, spent in work(delayed(score_block)(number, rows, size, fitted) for number in numbers):
                scored.add(found, spent)
            save()
            moved(scored.blocks, f"{min(scored.blocks * size, rows):,} rows")
    return scored


@dataclass
class Study:
    """The models, and what was found with them: the record of an interrupted run."""

    fitted: dict[str, Any]
    fitting: dict[str, float]
    as_they_come: Scored
    rate: str
    scored: Scored = field(default_factory=Scored)

    @classmethod
    def begun(cls, rows: int, per_class: int, size: int, jobs: int) -> Study:
        fitted, fitting = fit_all(per_class, corrected=True)
        others, _ = fit_all(per_class, corrected=False)
        as_they_come = score(min(FEWER, rows), size, others, jobs, Scored())
        return cls(fitted, fitting, as_they_come, rate_without_labels(fitted["boosting"], size))


def fit_all(per_class: int, corrected: bool) -> tuple[dict[str, Any], dict[str, float]]:
    """Models of half and half, corrected to the population; or of as many rows drawn from the population itself."""
    lines, fitted, seconds = draw(2 * per_class, 0.5 if corrected else RATE, 2), {}, {}
    for name, model in models().items():
        begin = time.process_time()
        if corrected:
            model = PriorCorrectedClassifier(model, train_prior="from y", true_prior=RATE)
        fitted[name] = model.fit(lines.X, lines.y)
        seconds[name] = time.process_time() - begin
    return fitted, seconds


def rate_without_labels(model: Any, size: int) -> str:
    """The rate of businesses in the population, from scores without a label, and its interval."""
    p = np.concatenate([model.estimator_.predict_proba(lines.X)[:, 1] for lines in blocks(FEWER, size)])
    found = estimate_prior(p, 0.5, n_bootstrap=20, random_state=0)
    low, high = found.interval[1]
    return f"{found.prior[1]:.2%} (95 % interval {low:.2%} to {high:.2%})"


def draw_picture(tallies: dict[str, Tally]) -> None:
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
    for axis, ending, title in (
        (axes[0], ", not corrected", "Trained on 50:50, as they are"),
        (axes[1], "", "Corrected to 1 in 20"),
    ):
        for name in models():
            count, forecast, observed = tallies[name + ending].cells
            enough = observed >= 200
            axis.plot(forecast[enough] / count[enough], observed[enough] / count[enough], label=name)
        axis.plot([1e-5, 1], [1e-5, 1], color="0.6", lw=0.8, zorder=0)
        axis.set(xscale="log", yscale="log", title=title, xlabel="forecast", xlim=(1e-4, 1), ylim=(1e-5, 1))
    axes[0].set_ylabel("observed share of businesses")
    axes[1].legend(frameon=False)
    fig.savefig(RESULTS / "rare_response.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--per-class", type=int, default=50_000, help="training rows")
    parser.add_argument("--block", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", type=Path, help="file of models and sums, to go on from")
    parser.add_argument("--minutes", type=float, default=np.inf)
    options = parser.parse_args()
    if options.record and options.record.exists():
        study = joblib.load(options.record)
    else:
        study = Study.begun(options.rows, options.per_class, options.block, options.jobs)

    def save() -> None:
        if options.record:
            joblib.dump(study, part := options.record.with_suffix(".part"))
            part.replace(options.record)

    until = time.monotonic() + 60.0 * options.minutes
    scored = score(options.rows, options.block, study.fitted, options.jobs, study.scored, save, until)
    write(study, scored, options)


def write(study: Study, scored: Scored, options: argparse.Namespace) -> None:
    n_scored, fewer = min(scored.blocks * options.block, options.rows), min(FEWER, options.rows)
    per_row = {
        name: f"{1e6 * spent / n_scored:.2f} | {n_scored / spent / 1e6:.2f}" for name, spent in scored.seconds.items()
    }
    made_by = ", ".join(f"{name} {version(name)}" for name in ("lightgbm", "numpy", "scikit-learn"))
    lines = [
        "# A rare response, trained on half and half",
        "",
        f"Two times {options.per_class:,} rows to train on, {n_scored:,} scored, {RATE:.0%} of them businesses; "
        f"48 counts a row. Rows are drawn and scored {options.block:,} at a time, in {options.jobs} "
        f"threads; the largest memory of the process was {scored.megabytes:.0f} MB. RMSE to the true probabilities in "
        f"thousandths; found: the share of all businesses among the {RATE:.0%} of lines with the largest scores; "
        "worst factor: between forecast and observed rate, over cells of "
        "0.1 in the log-odds with 200 businesses or more.",
        "",
        "| model | mean forecast | log loss | RMSE | found | worst factor |",
        "|---|---:|---:|---:|---:|---:|",
        *(tally.row(name) for name, tally in scored.tallies.items()),
        "",
        f"For comparison, trained on {2 * options.per_class:,} rows as they come, {RATE:.0%} of them businesses, and "
        f"judged on the first {fewer:,} rows:",
        "",
        "| model | mean forecast | log loss | RMSE | found | worst factor |",
        "|---|---:|---:|---:|---:|---:|",
        *(tally.row(name) for name, tally in study.as_they_come.tallies.items()),
        "",
        f"The rate of the population, estimated from {FEWER:,} boosted scores without labels: {study.rate}.",
        "",
        "| | fit, CPU s | µs a row | million rows a second |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {study.fitting[name]:.1f} | {per_row[name]} |" for name in models()),
        f"| drawing the rows | | {per_row['drawing the rows']} |",
        "",
        f"CPU times are of one thread. {platform.machine()}, Python {platform.python_version()}, {made_by}.",
    ]
    (RESULTS / "rare_response.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    draw_picture(scored.tallies)


if __name__ == "__main__":
    main()
