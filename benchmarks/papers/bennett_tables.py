"""The tables of the study: Bennett's Table 1 beside ours, the preparations of the text, and what holds of the paper."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bennett_comparison import Decisions, SignTest, bootstrap_total
from reuters import Preparation
from study import write_tables

BASELINE, RIVAL, RAW = "A.Laplace", "LogReg", "raw score"
LEVEL = 0.01  # of significance, the paper's

# What the paper prints: total log loss (with the sign turned, so that smaller is better), squared error, errors.
PUBLISHED = {
    ("naive Bayes", "A.Laplace"): (3106.95, 554.37, 726),
    ("naive Bayes", "LogReg"): (3375.63, 603.20, 786),
    ("naive Bayes", "LR+Noise"): (3374.15, 604.80, 785),
    ("naive Bayes", "Laplace"): (5677.68, 1157.33, 1416),
    ("naive Bayes", "A.Gauss"): (4929.12, 652.67, 888),
    ("naive Bayes", "Gauss"): (5523.14, 1124.17, 1654),
    ("naive Bayes", RAW): (52184.52, 1969.41, 2121),
    ("linear SVM", "A.Laplace"): (2599.28, 412.75, 505),
    ("linear SVM", "LogReg"): (2575.85, 407.48, 509),
    ("linear SVM", "LR+Noise"): (2567.68, 408.82, 516),
    ("linear SVM", "Laplace"): (3569.36, 640.19, 770),
    ("linear SVM", "A.Gauss"): (4580.46, 428.21, 532),
    ("linear SVM", "Gauss"): (3955.33, 589.25, 735),
    ("linear SVM", RAW): (None, None, 516),
}


@dataclass(frozen=True)
class Row:
    """One method on one classifier: totals over all decisions (smaller is better), and how it fares against A.Laplace.

    `p_wins` counts the decisions on which it gave the true class the larger probability: one sign test for log loss and
    squared error, since both fall as that probability grows. `low` and `high` bound 95 % of the differences of totals,
    method minus A.Laplace, when documents are resampled.
    """

    classifier: str
    method: str
    nats: float
    bits: float
    infinite_losses: int
    squared_error: float
    errors: int
    published_log_loss: float | None
    published_squared_error: float | None
    published_errors: int | None
    p_wins: int
    p_losses: int
    p_sign_test: float
    error_wins: int
    error_losses: int
    error_sign_test: float
    bits_low: float
    bits_high: float
    squared_error_low: float
    squared_error_high: float
    errors_low: float
    errors_high: float


@dataclass(frozen=True)
class Variant:
    """A.Laplace beside LogReg under another preparation of the text; the sign tests are those of A.Laplace."""

    classifier: str
    words: str
    counts: str
    unit_length: bool
    raw_errors: int
    a_laplace_bits: float
    logreg_bits: float
    a_laplace_squared_error: float
    logreg_squared_error: float
    a_laplace_errors: int
    logreg_errors: int
    p_wins: int
    p_losses: int
    p_sign_test: float
    bits_low: float
    bits_high: float


def compare(classifier: str, method: str, decisions: dict[str, Decisions]) -> Row:
    """The row of one method."""
    own, baseline = decisions[method], decisions[BASELINE]
    by_probability, by_error = SignTest.of(-own.margin, -baseline.margin), SignTest.of(own.errors, baseline.errors)
    return Row(
        classifier,
        method,
        float(own.nats.sum()),
        float(own.bits.sum()),
        int(np.isinf(own.nats).sum()),
        float(own.squared_error.sum()),
        int(own.errors.sum()),
        *PUBLISHED.get((classifier, method), (None, None, None)),
        *vars(by_probability).values(),
        *vars(by_error).values(),
        *bootstrap_total(own.bits - baseline.bits),
        *bootstrap_total(own.squared_error - baseline.squared_error),
        *bootstrap_total(own.errors - baseline.errors),
    )


def compare_variant(classifier: str, preparation: Preparation, decisions: dict[str, Decisions]) -> Variant:
    """The row of one preparation of the text."""
    ours, theirs = decisions[BASELINE], decisions[RIVAL]
    return Variant(
        classifier,
        *vars(preparation).values(),
        int(decisions[RAW].errors.sum()),
        *(float(method.bits.sum()) for method in (ours, theirs)),
        *(float(method.squared_error.sum()) for method in (ours, theirs)),
        *(int(method.errors.sum()) for method in (ours, theirs)),
        *vars(SignTest.of(-ours.margin, -theirs.margin)).values(),
        *bootstrap_total(ours.bits - theirs.bits),
    )


def write_csv(rows: Sequence[Any], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, asdict(rows[0]))
        writer.writeheader()
        for row in rows:
            # Seven digits: more than any conclusion needs, fewer than another machine's arithmetic would change.
            writer.writerow({k: f"{v:.7g}" if isinstance(v, float) else v for k, v in asdict(row).items()})


def write_markdown(table: Sequence[Row], variants: Sequence[Variant], note: str, folder: Path) -> None:
    """All tables as one page."""
    lines = ["# Bennett's Table 1 on Reuters-21578", "", note, ""]
    for classifier in dict.fromkeys(row.classifier for row in table):
        rows = [row for row in table if row.classifier == classifier]
        lines += [f"## {classifier}", "", *totals(rows), "", *against_baseline(rows), ""]
    lines += ["## Bits or nats?", "", *units(table), ""]
    lines += ["## Preparations of the text", "", *preparations(variants), ""]
    lines += ["## What the paper says of these totals", "", *findings(table)]
    write_tables(lines, folder)


def totals(rows: Sequence[Row]) -> list[str]:
    """Ours beside the published totals, in the order of our log loss."""
    header = ["method", "nats", "bits", "published", "squared error", "published", "errors", "published"]
    return markdown(
        header,
        (
            [
                row.method,
                infinite_or(row.nats, row.infinite_losses),
                infinite_or(row.bits, row.infinite_losses),
                optional(row.published_log_loss, 0),
                f"{row.squared_error:.1f}",
                optional(row.published_squared_error, 1),
                str(row.errors),
                optional(row.published_errors, 0),
            ]
            for row in sorted(rows, key=lambda row: (row.bits, row.squared_error))
        ),
    )


def against_baseline(rows: Sequence[Row]) -> list[str]:
    """Every method against A.Laplace: sign tests, and intervals of the differences."""
    header = [
        f"against {BASELINE}", "p: wins–losses", "sign test", "errors: wins–losses", "sign test",
        "bits, 95 % interval", "squared error", "errors",
    ]  # fmt: skip
    return markdown(
        header,
        (
            [
                row.method,
                f"{row.p_wins}–{row.p_losses}",
                p_value(row.p_sign_test),
                f"{row.error_wins}–{row.error_losses}",
                p_value(row.error_sign_test),
                interval(row.bits_low, row.bits_high),
                interval(row.squared_error_low, row.squared_error_high),
                interval(row.errors_low, row.errors_high),
            ]
            for row in sorted(rows, key=lambda row: (row.bits, row.squared_error))
            if row.method != BASELINE
        ),
    )


def units(table: Sequence[Row]) -> list[str]:
    """Log loss over squared error: hardly a matter of the preparation of the text, but of the unit of the log loss."""
    return markdown(
        ["log loss ÷ squared error", "classifier", "published", "ours, bits", "ours, nats"],
        (
            [
                row.method,
                row.classifier,
                f"{row.published_log_loss / row.published_squared_error:.2f}",
                f"{row.bits / row.squared_error:.2f}",
                f"{row.nats / row.squared_error:.2f}",
            ]
            for row in table
            if row.published_log_loss is not None and row.published_squared_error is not None
        ),
    )


def preparations(variants: Sequence[Variant]) -> list[str]:
    """A.Laplace and LogReg under each preparation."""
    header = [
        "classifier", "count", "length", "words", "raw errors", f"bits: {BASELINE}", RIVAL, "difference, 95 % interval",
        "squared error", RIVAL, "errors", RIVAL, "p: wins–losses", "sign test",
    ]  # fmt: skip
    return markdown(
        header,
        (
            [
                row.classifier,
                row.counts,
                "unit" if row.unit_length else "kept",
                row.words,
                str(row.raw_errors),
                f"{row.a_laplace_bits:.0f}",
                f"{row.logreg_bits:.0f}",
                interval(row.bits_low, row.bits_high),
                f"{row.a_laplace_squared_error:.1f}",
                f"{row.logreg_squared_error:.1f}",
                str(row.a_laplace_errors),
                str(row.logreg_errors),
                f"{row.p_wins}–{row.p_losses}",
                p_value(row.p_sign_test),
            ]
            for row in sorted(variants, key=lambda row: (row.classifier != "naive Bayes", row.unit_length))
        ),
    )


def findings(table: Sequence[Row]) -> list[str]:
    """Statements of the paper on its Reuters table, and whether they hold here."""
    bayes = {row.method: row for row in table if row.classifier == "naive Bayes"}
    svm = {row.method: row for row in table if row.classifier == "linear SVM"}

    def totals_of(row: Row) -> Any:
        return np.array([row.bits, row.squared_error, row.errors])

    def paper(rows: dict[str, Row], *left_out: str) -> list[Row]:
        return [row for row in rows.values() if row.published_errors and row.method not in left_out]

    statements = {
        f"Naive Bayes: {BASELINE} is better than every other method of the paper in all three totals.": all(
            np.all(totals_of(bayes[BASELINE]) < totals_of(row)) for row in paper(bayes, BASELINE)
        ),
        f"Naive Bayes: by the sign test at {LEVEL}, {BASELINE} gives the true class the larger probability than every "
        "other method but A.Gauss and the raw score.": all(
            row.p_losses > row.p_wins and row.p_sign_test < LEVEL for row in paper(bayes, BASELINE, "A.Gauss", RAW)
        ),
        "Naive Bayes: the raw score is the worst in all three totals.": all(
            np.all(totals_of(bayes[RAW]) > totals_of(row)) for row in paper(bayes, RAW)
        ),
        f"SVM: {RIVAL} and LR+Noise never have more pairwise wins than {BASELINE}.": all(
            svm[method].p_wins <= svm[method].p_losses for method in (RIVAL, "LR+Noise")
        ),
        f"{BASELINE} makes the fewest errors, with either classifier.": all(
            rows[BASELINE].errors <= row.errors for rows in (bayes, svm) for row in paper(rows)
        ),
    }
    return [f"- {'Holds' if held else 'Does not hold'}: {statement}" for statement, held in statements.items()]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def infinite_or(total: float, infinite_losses: int) -> str:
    return f"∞ ({infinite_losses})" if infinite_losses else f"{total:.0f}"


def p_value(value: float) -> str:
    return f"{value:.1g}" if value >= 1e-99 else "< 1e-99"


def optional(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def interval(low: float, high: float) -> str:
    return "∞" if np.isnan(low) else f"{low:+.0f} … {high:+.0f}"
