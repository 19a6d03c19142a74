"""What Bennett (2003) mentions beside Table 1: all 90 classes of Reuters-21578, and the voted perceptron.

- His first footnote: "a separate comparison of only LogReg, LR+Noise and A.Laplace over all 90 categories", those that
  occur in training and test documents.
- His outlook: the scores of a voted perceptron, ln of the weight of the perceptrons voting + over that of those voting
  -; here for the ten largest classes, prepared as for the support vector machine.

    python benchmarks/papers/bennett_further.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes benchmarks/results/bennett_further.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bennett_comparison import Decisions, SignTest, bootstrap_total
from bennett_reuters import LATER_METHODS, MAIN, PAPERS_METHODS, decide
from bennett_tables import BASELINE, RAW, infinite_or, interval, markdown, p_value
from reuters import N_CLASSES, prepare, read_documents, score_classes
from study import Options, main, progress, write_tables

FOOTNOTE = {name: PAPERS_METHODS[name] for name in (BASELINE, "LogReg", "LR+Noise")}
RARE = 20  # a class with fewer training documents


def rows_of(decisions: dict[str, Decisions], columns: Sequence[int] | slice = slice(None)) -> list[list[str]]:
    """Totals of every method, and its differences from A.Laplace: sign test, 95 % interval when documents are drawn
    again."""
    chosen = {name: Decisions(made.log_odds[:, columns], made.y[:, columns]) for name, made in decisions.items()}
    baseline, rows = chosen[BASELINE], []
    for name, own in sorted(chosen.items(), key=lambda item: item[1].bits.sum()):
        test = SignTest.of(-own.margin, -baseline.margin)
        against = [
            f"{test.wins}–{test.losses}",
            p_value(test.p_value),
            interval(*bootstrap_total(own.bits - baseline.bits)),
            interval(*bootstrap_total(own.squared_error - baseline.squared_error)),
        ]
        rows.append([
            name,
            infinite_or(own.bits.sum(), int(np.isinf(own.nats).sum())),
            f"{own.squared_error.sum():.1f}",
            f"{own.errors.sum():.0f}",
            *(against if name != BASELINE else [""] * 4),
        ])  # fmt: skip
    return rows


def table(rows: list[list[str]]) -> list[str]:
    header = ["method", "bits", "squared error", "errors", f"against {BASELINE}: wins–losses", "sign test"]
    return markdown([*header, "bits, 95 % interval", "squared error"], rows)


def study(options: Options) -> None:
    documents, lines = read_documents(), ["# Bennett (2003), beside Table 1", ""]
    every = 3 if options.quick else None
    work = [("voted perceptron", MAIN["linear SVM"], N_CLASSES, PAPERS_METHODS | LATER_METHODS)]
    work += [(classifier, preparation, every, FOOTNOTE) for classifier, preparation in MAIN.items()]
    for classifier, preparation, n_classes, methods in progress(work, len(work), "classifiers"):
        classes = list(score_classes(prepare(documents, preparation, n_classes), classifier))
        decisions = decide(classes, methods)
        lines += [f"## {classifier}, {len(classes)} classes", "", *table(rows_of(decisions)), ""]
        rare = np.flatnonzero([scores.y_train.sum() < RARE for scores in classes])
        if len(rare):
            lines += [f"The {len(rare)} of them with fewer than {RARE} training documents:", ""]
            lines += [*table(rows_of(decisions, rare)), ""]
    write_tables([*lines, f'"{RAW}" is the score read as log-odds.'], options.output)


if __name__ == "__main__":
    raise SystemExit(main("bennett_further", __doc__, study))
