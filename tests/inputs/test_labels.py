"""The labels of estimators and of forecasts follow one rule."""

import numpy as np
import pytest

from properly.inputs.labels import checked_labels, forecast_labels


@pytest.mark.parametrize(
    "y",
    [
        [3, 1, 1, 3],
        [False, True, True],
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        [2.0, 0.0, 1.0, 0.0],
        np.array([5, 7, 6, 5], dtype=np.uint8),
    ],
)
def test_estimators_and_forecasts_read_alike(y):
    expected, positions = np.unique(y, return_inverse=True)
    classes, codes = checked_labels(y)
    assert classes.tolist() == expected.tolist()
    assert codes.tolist() == positions.tolist()
    known, same = forecast_labels(y, None, len(expected))
    assert known.tolist() == expected.tolist()
    assert same.tolist() == positions.tolist()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], "y is empty"),
        ([0.0, 0.5], "Unknown label type: y must hold labels, got the fraction 0.5"),
        ([0.0, np.nan], "NaN"),
        (np.array(["a", None], dtype=object), "the label of row 1 is missing"),
        (["a", "b", None], "the label of row 2 is missing"),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), "the label of row 1 is missing"),
        (np.array(["a", 1], dtype=object), "it mixes 'a' with 1; turn all labels into text"),
        (["a", 1], "it mixes 'a' with 1; turn all labels into text"),
        ([[0, 1], [1, 0]], "1d array"),
    ],
)
def test_both_refuse_the_same(y, message):
    with pytest.raises(ValueError, match=message):
        checked_labels(y)
    with pytest.raises(ValueError, match=message):
        forecast_labels(y, None, 2)


def test_an_estimator_needs_labels_of_two_classes_for_every_row():
    for y, message in ((None, "requires y to be passed"), ([1, 1], "one class only, 1; at least 2 classes")):
        with pytest.raises(ValueError, match=message):
            checked_labels(y)
    with pytest.raises(ValueError, match="y has 2 rows, X has 3"):
        checked_labels([0, 1], 3)
