"""Checked forecasts: what is kept of the rows, and what they answer about themselves."""

import numpy as np
import pytest

from properly.diagnostics import log_odds_fit
from properly.inputs.forecast import Forecast, read_forecast, read_groups
from properly.metrics import log_loss

P3 = np.array([[0.2, 0.5, 0.3], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8]])


def test_labels_and_rows_of_weight_are_kept():
    forecast = read_forecast(["b", "a", "b", "a"], [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 2.0, 0.5])
    assert forecast.classes.tolist() == ["a", "b"]
    assert forecast.codes.tolist() == [1, 1, 0]
    assert forecast.p.tolist() == [0.1, 0.3, 0.4]
    assert forecast.n_given == 4
    assert forecast.kept(np.arange(4)).tolist() == [0, 2, 3]
    np.testing.assert_allclose(forecast.rates, [0.5 / 3.5, 3.0 / 3.5])
    everything = read_forecast([0, 1], [0.1, 0.2])
    assert everything.n_given == 2
    assert everything.kept(np.arange(2)).tolist() == [0, 1]


def test_given_classes_are_in_the_order_of_the_columns():
    forecast = read_forecast(["x", "z"], P3[:2], classes=["z", "x", "y"])
    assert forecast.classes.tolist() == ["z", "x", "y"]
    assert forecast.codes.tolist() == [1, 0]
    assert read_forecast([1, 1], [0.2, 0.3]).classes.tolist() == [0, 1]


@pytest.mark.parametrize("p", [P3, P3[:, 0], np.column_stack([1.0 - P3[:, 0], P3[:, 0]])], ids=["many", "one", "two"])
def test_rows_taken_are_rows_read(p):
    y = np.array([0, 1, 2, 1]) if p.shape[-1] == 3 else np.array([0, 1, 1, 0])
    weight, rows = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3, 1, 2])
    found = read_forecast(y, p, weight).take(rows)
    expected = read_forecast(y[rows], p[rows], weight[rows], classes=np.arange(3 if p.shape[-1] == 3 else 2))
    for name in ("codes", "p", "complement", "weight", "classes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    other = found.with_p(found.p / 2.0)
    np.testing.assert_array_equal(other.p, found.p / 2.0)
    assert other.complement is None
    assert other.codes is found.codes


def test_surprises_are_rows_of_a_class_with_probability_0():
    assert read_forecast([0, 0, 1, 2], P3, classes=[0, 1, 2]).surprises == 2
    assert read_forecast([0, 1, 0, 1], [1.0, 0.0, 0.5, 1.0]).surprises == 2
    tiny = np.array([[1e-20, 1.0], [0.5, 0.5]])  # 1 - p is 0, but the column of the first class is not
    assert read_forecast([0, 1], tiny).surprises == 0
    assert read_forecast([0, 1], tiny[:, 1]).surprises == 1


def test_the_most_probable_class():
    found = read_forecast([1, 2, 0, 1], P3).most_probable()
    assert found.positive.tolist() == [True, False, True, False]  # the first of two equal classes counts
    assert found.p.tolist() == [0.5, 0.5, 1.0, 0.8]
    two = read_forecast([0, 1, 1], [0.2, 0.5, 0.9]).most_probable()
    assert two.positive.tolist() == [True, False, True]
    assert two.p.tolist() == [0.8, 0.5, 0.9]


def test_one_class_against_the_others():
    forecast = read_forecast([1, 2, 0, 1], P3)
    parts = forecast.against_rest()
    assert [part.positive.tolist() for part in parts] == [(forecast.codes == k).tolist() for k in range(3)]
    np.testing.assert_array_equal(np.column_stack([part.p for part in parts]), P3)
    binary = Forecast.of_positives(np.array([True, False]), np.array([0.3, 0.6]))
    assert binary.of_class(0).positive.tolist() == [False, True]
    np.testing.assert_allclose(binary.of_class(0).p, [0.7, 0.4])


def test_groups_of_rows_with_weight():
    forecast = read_forecast([0, 1, 1], [0.1, 0.2, 0.3], [1.0, 0.0, 1.0])
    names, codes = read_groups(["x", "only here", None], forecast)
    assert names == ("x", "(missing)")
    assert codes.tolist() == [0, 1]


def test_what_is_missing_altogether_is_named():
    with pytest.raises(ValueError, match="p is None; the probabilities are needed"):
        log_loss([0, 1], None)
    with pytest.raises(ValueError, match="y has 2 rows, scores has 0"):
        log_odds_fit([0, 1], [])
