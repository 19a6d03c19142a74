"""Columns that are suspicious are named, and honest ones are not."""

import re

import numpy as np
import pyarrow as pa
import pytest

from properly.tables import TableEncoder
from properly.tables.column_checks import column_warnings

N = 400
RANDOM = np.random.default_rng(0)
Y = (RANDOM.random(N) < 0.2).astype(int)
NOISE = RANDOM.normal(size=N)
DAYS = np.datetime64("2024-01-01") + RANDOM.integers(0, 300, N)


def warnings_about(column, y=Y, **options):
    table = pa.table({"x": column, "noise": NOISE[: len(column)]})
    encoder = TableEncoder(**options).fit(table)
    return column_warnings(table, encoder, encoder.transform(table), y)


SUSPICIOUS = {
    "constant": ([3] * N, "has the same value in all rows"),
    "constant text": (["a"] * N, "has the same value in all rows"),
    "leak": (Y * 2.0 + 1.0, "alone tells the class of almost every row"),
    "leak in a range": (np.where(Y == 1, 5.0 + 0.1 * NOISE, np.where(NOISE > 0, 9.0, 1.0)), "alone tells the class"),
    "leak of texts": (np.where(Y == 1, "closed", np.where(NOISE > 0, "open", "new")), "alone tells the class"),
    "leak by missing values": (pa.array(NOISE, mask=Y == 0), "alone tells the class"),
    "row numbers": (np.arange(N), "numbers the rows"),
    "shuffled row numbers": (RANDOM.permutation(N) + 1000, "numbers the rows"),
    "growing numbers": (np.cumsum(RANDOM.integers(1, 90, N)), "numbers the rows"),
    "card numbers": (RANDOM.integers(4 * 10**15, 5 * 10**15, 50)[RANDOM.integers(0, 50, N)], "ten or more digits"),
    "a text for every row": ([f"customer {k}" for k in range(150)], "has a different text in every row"),
    "decimal commas": ([f"{abs(v):.1f}".replace(".", ",") for v in NOISE], "numbers in another notation, such as '"),
    "thousands": ([f"{1000 + 7 * (k % 60):,}" for k in range(N)], "numbers in another notation, such as '1,000'"),
    "money": ([f"$ {k % 60}.50" for k in range(N)], r"numbers in another notation, such as '\$ "),
    "per cent": ([f"{k % 60} %" for k in range(N)], "numbers in another notation"),
    "German dates": ([f"{d.day:02}.{d.month:02}.{d.year}" for d in DAYS.tolist()], "holds dates, such as '"),
    "American dates": ([f"{d.month}/{d.day}/{d.year} 10:30" for d in DAYS.tolist()], "holds dates, such as '"),
    "few German dates": ([f"{k % 28 + 1}.5.2024" for k in range(N)], "holds dates, such as '1.5.2024'"),
    "dates with names": ([f"{d:%d %b %Y}" for d in DAYS.tolist()], "holds dates, such as '"),
}


@pytest.mark.parametrize("case", SUSPICIOUS)
def test_suspicious_columns(case):
    column, message = SUSPICIOUS[case]
    found = warnings_about(column, Y[: len(column)])
    assert len(found) == 1
    assert found[0].startswith("column 'x' ")
    assert re.search(message, found[0])


HONEST = {
    "noise": NOISE,
    "whole numbers": np.round(50 + 10 * NOISE).astype(int),
    "incomes": RANDOM.integers(10_000, 900_000, N),
    "a good column": Y + 0.5 * NOISE,
    "towns": np.array(["Bath", "Rome", "Ulm"])[RANDOM.integers(0, 3, N)],
    "postcodes": np.array(["AB1 2CD", "EC1A 1BB", "W1A 0AX"])[RANDOM.integers(0, 3, N)],
    "truth values": NOISE > 0,
    "dates": DAYS,
    "rarely missing": pa.array(NOISE, mask=NOISE > 2.5),
    "ranges": np.array(["18-25", "26-40", "over 40"])[RANDOM.integers(0, 3, N)],
    "versions": np.array(["v1.2", "v1.3", "v2.0"])[RANDOM.integers(0, 3, N)],
}


@pytest.mark.parametrize("case", HONEST)
def test_honest_columns(case):
    assert warnings_about(HONEST[case]) == []


def test_codes_that_were_named_as_categories():
    assert warnings_about([f"{k % 60} %" for k in range(N)], categories=["x"]) == []


def test_leaks_of_several_classes():
    y = RANDOM.integers(0, 4, N)
    assert "alone tells" in warnings_about(np.array([3.0, 1.0, 7.0, 5.0])[y] + 0.1 * NOISE, y)[0]
    assert warnings_about((y == 2) + 0.1 * NOISE, y) == []  # one class only


def test_small_tables_are_left_alone():
    assert warnings_about([1.5, 2.5, 9.5, 8.5], np.array([0, 0, 1, 1])) == []
