"""What texts mean is one rule, at training and at prediction."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from properly.tables import TableEncoder, TableError, numbers
from properly.tables.base import Place
from properly.tables.columns import booleans, converted, texts, typed_column
from properly.tables.targets import weights

PLACE = Place("table", "a")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([" 1", "2 ", "NA", None], pa.int64()),
        (["1", " NA", " 2.5"], pa.float64()),
        ([" true", "FALSE", ""], pa.bool_()),
        (["2024-05-31", " 2024-06-01"], pa.timestamp("us")),
        (["0x1F", "0x20"], pa.string()),
        (["NA", "NA"], pa.string()),
        ([None, None], pa.null()),
    ],
)
def test_types_of_texts_and_their_conversion_agree(cells, found):
    column = pa.array(cells, pa.string())
    typed = typed_column(column)
    assert typed.type == found
    assert converted(column, found).equals(typed)


def test_hexadecimal_texts_are_no_numbers_anywhere():
    with pytest.raises(TableError, match="row 2: a number is needed, got '0x1F'"):
        numbers(pa.array(["1", "0x1F"]), PLACE)
    encoder = TableEncoder().fit({"a": typed_column(pa.array(["0x1F", "0x20"]))})
    assert encoder.columns_[0].kind == "category"
    assert_array_equal(encoder.transform({"a": ["0x20", "0x1F"]}), [[1], [0]])


def test_truth_values_in_texts():
    assert_array_equal(booleans(pa.array(["1", "0", "True", "false ", "1.0", "NA"]), PLACE), [1, 0, 1, 0, 1, np.nan])
    for text in ("yes", "2"):
        with pytest.raises(TableError, match=f"row 1: true or false is needed, got '?{text}"):
            booleans(pa.array([text]), PLACE)


def test_categories_that_are_whole_numbers():
    written = pa.array(["1.0", "-2.00", "007", "1.5", "1", "v1.0", None])
    assert texts(written, PLACE).to_pylist() == ["1", "-2", "007", "1.5", "1", "v1.0", None]
    assert texts(pa.array([1, -2]), PLACE).to_pylist() == texts(pa.array([1.0, -2.0]), PLACE).to_pylist() == ["1", "-2"]


def test_weights_that_are_shares_are_told():
    with pytest.warns(UserWarning, match="weights of 100 rows add up to 1 only. A weight is a number of rows"):
        weights(pa.array(np.full(100, 0.01)), PLACE)
    assert weights(pa.array([0.3, 0.2, 0.0, 5.0]), PLACE).sum() == 5.5


def test_a_missing_category_that_is_new_is_told():
    encoder = TableEncoder().fit({"a": ["x", "y"]})
    with pytest.warns(UserWarning, match="column 'a' has missing values, first in row 2, but had none in training"):
        assert_array_equal(encoder.transform({"a": ["y", None]}), [[1], [np.nan]])
    with pytest.warns(UserWarning, match="did not occur in training"):
        assert_array_equal(encoder.transform({"a": ["z"]}), [[np.nan]])
