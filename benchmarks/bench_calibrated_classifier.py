"""CalibratedClassifier: one refitted classifier or an ensemble of the folds, and scikit-learn's averaged isotonic.

Five classifiers, trained on 1,000 rows of every data set of `properly.datasets` that has 20 positives among so many
rows (on 500 of smaller sets), and judged by the log loss of up to 4,000 other rows. The default of `ensemble` was
settled on the first half of the sets, in alphabetical order, and is judged on the second.

    OMP_NUM_THREADS=1 PROPERLY_DATA=... python benchmarks/bench_calibrated_classifier.py

writes benchmarks/results/calibrated_classifier.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from properly.calibration import CalibratedClassifier
from properly.datasets import BENCHMARK_SETS, load_benchmark

RESULTS = Path(__file__).parent / "results" / "calibrated_classifier.md"
LEFT_OUT = ("flights_3m",)  # dates and hundreds of airports: not for these classifiers
SIZES, TEST_ROWS, FEWEST_POSITIVES = (1000, 500), 4000, 20
CLASSIFIERS: dict[str, Any] = {
    "random forest": RandomForestClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "SVC": SVC(),
    "naive Bayes": GaussianNB(),
    "logistic": LogisticRegression(max_iter=1000),
}
WAYS = {
    "refit": lambda model: CalibratedClassifier(model, ensemble=False),
    "ensemble": lambda model: CalibratedClassifier(model, ensemble=True),
    "isotonic": lambda model: CalibratedClassifierCV(model, method="isotonic"),
    "sigmoid": lambda model: CalibratedClassifierCV(model, method="sigmoid"),
}


def parts(name: str, size: int) -> tuple[Any, ...] | None:
    """Training and test rows as numbers, or None if there are too few."""
    X, y = load_benchmark(name)
    if len(y) < 1.2 * size or min(y.mean(), 1.0 - y.mean()) * size < FEWEST_POSITIVES:
        return None
    test_size = min(TEST_ROWS, len(y) - size)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=size, test_size=test_size, stratify=y, random_state=0
    )
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
    return encode.fit_transform(train), encode.transform(test), y_train, y_test


def results() -> Iterator[tuple[str, str, dict[str, float]]]:
    for name in sorted(BENCHMARK_SETS):
        found = (None if name in LEFT_OUT else parts(name, size) for size in SIZES)
        data = next((each for each in found if each is not None), None)
        if data is None:
            continue
        train, test, y_train, y_test = data
        for classifier, model in CLASSIFIERS.items():
            losses = {
                way: float(log_loss(y_test, build(model).fit(train, y_train).predict_proba(test)[:, 1]))
                for way, build in WAYS.items()
            }
            print(name, len(y_train), classifier, {way: round(loss, 4) for way, loss in losses.items()}, flush=True)
            yield name, classifier, losses


def summary(title: str, rows: list[tuple[str, str, dict[str, float]]]) -> list[str]:
    """A row for each classifier: the geometric mean of each loss relative to the refit, and how often it is smaller."""
    others = [way for way in WAYS if way != "refit"]
    lines = [f"| {title} | cases | " + " | ".join(f"{way}, % | better" for way in others) + " |"]
    lines.append("|---|" + "---:|" * (1 + 2 * len(others)))
    for which in (*CLASSIFIERS, "all"):
        losses = [each for _, classifier, each in rows if which in (classifier, "all")]
        cells = []
        for way in others:
            log_ratio = np.array([np.log(each[way] / each["refit"]) for each in losses])
            cells.append(f"{100.0 * np.expm1(log_ratio.mean()):+.1f} | {np.sum(log_ratio < 0.0)}")
        lines.append(f"| {which} | {len(losses)} | " + " | ".join(cells) + " |")
    return lines


def forests(rows: list[tuple[str, str, dict[str, float]]]) -> str:
    """The ensemble against scikit-learn's averaged isotonic where that is at its best."""
    losses = [each for _, classifier, each in rows if classifier == "random forest"]
    log_ratio = np.array([np.log(each["ensemble"] / each["isotonic"]) for each in losses])
    return (
        f"Random forests: the log loss of the ensemble is {100.0 * np.expm1(log_ratio.mean()):+.1f} % relative to "
        f"isotonic, smaller in {np.sum(log_ratio < 0.0)} of {len(losses)} sets, in the worst case "
        f"{100.0 * np.expm1(log_ratio.max()):+.1f} %."
    )


def main() -> None:
    warnings.simplefilter("ignore")
    rows = list(results())
    names = sorted({name for name, *_ in rows})
    halves = {"settled on": names[: len(names) // 2], "judged on": names[len(names) // 2 :]}
    lines = [
        "# CalibratedClassifier",
        "",
        "Log loss of new rows relative to `ensemble=False`, which refits the classifier to all rows (negative is "
        "better): geometric means over data sets with 1,000 training rows (500 of small sets), and in how many cases "
        "it is smaller. "
        '"isotonic" and "sigmoid" are scikit-learn\'s `CalibratedClassifierCV`, an ensemble by default. '
        f"scikit-learn {version('scikit-learn')}, {time.process_time():.0f} s of CPU time.",
    ]
    for title, half in halves.items():
        lines += ["", *summary(title, [row for row in rows if row[0] in half]), "", f"Sets: {', '.join(half)}."]
    lines += ["", forests(rows)]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
