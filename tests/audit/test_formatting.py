from types import SimpleNamespace

import numpy as np
import pytest

from properly.audit.formatting import interval, number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (None, "–"),
        (float("nan"), "unknown"),
        (float("inf"), "infinite"),
        (-float("inf"), "−infinite"),
        (0.05, "0.0500"),
        (-0.05, "−0.0500"),
        (9.999, "10.0"),
        (123456.0, "123,456"),
        (3e-12, "3.00e-12"),
        (-3e-12, "−3.00e-12"),
        (1e15, "1,000,000,000,000,000"),
    ],
)
def test_numbers_as_people_write_them(value, text):
    assert number(value) == text


def test_percent_and_interval():
    assert percent(0.00012) == "0.0120\N{NO-BREAK SPACE}%"
    assert percent(0.0) == "0\N{NO-BREAK SPACE}%"
    assert interval(SimpleNamespace(low=0.00123, high=0.0234)) == "0.001 to 0.023"
    assert interval(SimpleNamespace(low=-412.0, high=1234.0)) == "−412 to 1,234"
    assert interval(SimpleNamespace(low=0.0, high=0.0)) == "the same for every row"
    assert interval(SimpleNamespace(low=0.9871, high=1.0214)) == "0.987 to 1.021"
    assert interval(SimpleNamespace(low=1.0 - 1e-9, high=1.0 + 1e-9)) == "1.0000 to 1.0000"
    assert interval(SimpleNamespace(low=0.0, high=float("inf"))) == "0 to infinite"
    assert interval(SimpleNamespace(low=-3e-13, high=2e-12)) == "−3e-13 to 2.0e-12"
    assert interval(SimpleNamespace(low=-1e-9, high=0.5)) == "0.00 to 0.50"


def test_every_digit_is_right():
    for value in np.random.default_rng(0).lognormal(sigma=5.0, size=200):
        assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.006)
