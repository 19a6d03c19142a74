"""Bennett's Table 1 on Reuters-21578, with the calibrators that came after it.

P. N. Bennett, "Using asymmetric distributions to improve text classifier probability estimates", SIGIR 2003.

    python benchmarks/papers/bennett_reuters.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes tables and figures to benchmarks/results/bennett. ModApte split, ten largest classes, 300 words a class by mutual
information, scores of multinomial naive Bayes and of a linear support vector machine; the calibrators are fitted to
five-fold out-of-fold scores of the training documents and judged on the test documents.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import bennett_figures
import bennett_tables
import numpy as np
from bennett_comparison import Array, Decisions
from bennett_tables import BASELINE, RAW, RIVAL
from reuters import COUNTS, WORDS, Preparation, Scores, prepare, read_documents, score_classes
from sklearn.base import clone
from study import Options, machine, main, progress

from properly import calibration

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


def study(options: Options) -> None:
    start = time.perf_counter()
    documents = read_documents()
    preparations = sorted(set(MAIN.values()), key=str) if options.quick else PREPARATIONS
    work = list(itertools.product(preparations, MAIN))
    table, variants, earn = [], [], {}
    for preparation, classifier in progress(work, len(work), "preparations of the text"):
        classes = list(score_classes(prepare(documents, preparation), classifier))
        is_main = preparation == MAIN[classifier]
        decisions = decide(classes, PAPERS_METHODS | LATER_METHODS if is_main else VARIANT_METHODS)
        variants.append(bennett_tables.compare_variant(classifier, preparation, decisions))
        if is_main:
            earn[classifier] = classes[0]
            table += [bennett_tables.compare(classifier, name, decisions) for name in decisions]
    chosen = "; ".join(f"{classifier}: {preparation}" for classifier, preparation in MAIN.items())
    note = f"{chosen}. {machine(time.perf_counter() - start)}"
    bennett_tables.write_csv(table, options.output / "table1.csv")
    bennett_tables.write_csv(variants, options.output / "variants.csv")
    bennett_tables.write_markdown(table, variants, note, options.output)
    bennett_figures.draw_all(earn, table, options.output)


if __name__ == "__main__":
    raise SystemExit(main("bennett", __doc__, study))
