"""Bennett's Table 1 on Reuters-21578, with the calibrators that came after it.

P. N. Bennett, "Using asymmetric distributions to improve text classifier probability estimates", SIGIR 2003.

    PROPERLY_DATA=folder python benchmarks/papers/bennett_reuters.py

writes tables and figures to benchmarks/results/bennett. ModApte split, ten largest classes, 300 words a class by mutual
information, scores of multinomial naive Bayes and of a linear support vector machine; the calibrators are fitted to
five-fold out-of-fold scores of the training documents and judged on the test documents.
"""

from __future__ import annotations

import itertools
import os
import platform
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bennett_figures
import bennett_tables
import numpy as np
from bennett_comparison import Array, Decisions
from bennett_tables import BASELINE, RAW, RIVAL
from reuters import CLASSIFIERS, COUNTS, WORDS, DataMissing, Preparation, Scores, prepare, read_documents, score_classes
from sklearn.base import clone

from properly import calibration

RESULTS = Path(__file__).parents[1] / "results" / "bennett"

PAPERS_METHODS = {
    BASELINE: calibration.AsymmetricLaplaceCalibration(),
    RIVAL: calibration.PlattScaling(noisy_labels=False),
    "LR+Noise": calibration.PlattScaling(noisy_labels=True),
    "Laplace": calibration.LaplaceCalibration(),
    "A.Gauss": calibration.AsymmetricGaussianCalibration(),
    "Gauss": calibration.GaussianCalibration(),
}
VARIANT_METHODS = {name: PAPERS_METHODS[name] for name in (BASELINE, RIVAL)}
LATER_METHODS = {
    "hybrid": calibration.HybridCalibration(),
    "piecewise log-odds": calibration.PiecewiseLogOddsCalibration(),
    "temperature": calibration.TemperatureScaling(),
    "beta": calibration.BetaCalibration(),
    "quadratic": calibration.QuadraticScaling(),
    "spline": calibration.SplineCalibration(),
    "isotonic": calibration.IsotonicCalibration(),
    "isotonic, strict": calibration.IsotonicCalibration(strict=True),
    "Venn–Abers": calibration.VennAbersCalibration(),
    "histogram": calibration.HistogramBinning(),
    "auto": calibration.AutoCalibration(),
}

# Multinomial naive Bayes is a model of counts; the paper's support vector machine had "continuous" features.
MAIN = {
    "naive Bayes": Preparation("letters and digits", "count", unit_length=False),
    "linear SVM": Preparation("letters and digits", "log(1 + count)", unit_length=False),
}
PREPARATIONS = [Preparation(*choice) for choice in itertools.product(WORDS, COUNTS, (False, True))]


def calibrated_log_odds(calibrator: Any, scores: Scores) -> Array:
    """Log-odds of the test documents; infinite where the calibrator is certain."""
    fitted = clone(calibrator).fit(scores.train, scores.y_train)
    log_p = fitted.predict_log_proba(scores.test)  # finite beyond ±745, where the smaller probability underflows
    return log_p[:, 1] - log_p[:, 0]


def decide(classes: Sequence[Scores], methods: dict[str, Any]) -> dict[str, Decisions]:
    """The decisions of every method, and of the raw score read as log-odds."""
    y = np.column_stack([scores.y_test for scores in classes])
    log_odds = {name: [calibrated_log_odds(method, scores) for scores in classes] for name, method in methods.items()}
    log_odds[RAW] = [scores.test for scores in classes]
    return {name: Decisions(np.column_stack(columns), y) for name, columns in log_odds.items()}


def steps() -> Iterator[tuple[Preparation, str]]:
    """Every preparation of the text with every classifier, with a progress bar: rich's, if it is installed."""
    work = list(itertools.product(PREPARATIONS, CLASSIFIERS))
    try:
        from rich.progress import track
    except ModuleNotFoundError:
        for done, (preparation, classifier) in enumerate(work):
            bar = f"{'#' * done}{'.' * (len(work) - done)}"
            print(f"{bar} {classifier}: {preparation}", flush=True)
            yield preparation, classifier
    else:
        yield from track(work, "Preparations of the text")


def main() -> None:
    start = time.perf_counter()
    try:
        documents = read_documents()
    except DataMissing as missing:
        print(missing)
        return
    table, variants, earn = [], [], {}
    for preparation, classifier in steps():
        classes = list(score_classes(prepare(documents, preparation), classifier))
        is_main = preparation == MAIN[classifier]
        decisions = decide(classes, PAPERS_METHODS | LATER_METHODS if is_main else VARIANT_METHODS)
        variants.append(bennett_tables.compare_variant(classifier, preparation, decisions))
        if is_main:
            earn[classifier] = classes[0]
            table += [bennett_tables.compare(classifier, name, decisions) for name in decisions]
    RESULTS.mkdir(parents=True, exist_ok=True)
    bennett_tables.write_csv(table, RESULTS / "table1.csv")
    bennett_tables.write_csv(variants, RESULTS / "variants.csv")
    bennett_tables.write_markdown(table, variants, environment(time.perf_counter() - start), RESULTS / "tables.md")
    bennett_figures.draw_all(earn, table, RESULTS)
    print((RESULTS / "tables.md").read_text(encoding="utf-8"))
    print(f"Written to {RESULTS}:", *sorted(path.name for path in RESULTS.iterdir()))


def environment(seconds: float) -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in ("numpy", "scipy", "scikit-learn"))
    main = "; ".join(f"{classifier}: {preparation}" for classifier, preparation in MAIN.items())
    return (
        f"{main}. {seconds:.0f} s on {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, {packages}."
    )


if __name__ == "__main__":
    main()
