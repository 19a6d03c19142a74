"""A class is named by its name or by what it means."""

import pyarrow as pa
import pytest

from properly.tables import TableError
from properly.tables.base import Place
from properly.tables.targets import class_labels, class_named

PLACE = Place("table", "y")


@pytest.mark.parametrize(
    ("column", "positive"),
    [
        ([True, False], "false"),
        ([True, False], "0"),
        ([1, 0], "0.0"),
        ([1, 0], "FALSE"),
        ([1.5, 0.5], "0.50"),
        (["b", "a"], "a"),
    ],
)
def test_the_positive_class_is_named_by_its_meaning(column, positive):
    labels = class_labels(pa.array(column), PLACE, positive)
    assert labels.classes == sorted(column)[::-1]
    assert labels.codes.tolist() == [0, 1]


def test_a_name_comes_before_a_meaning():
    assert class_named("1.0", ["1", "1.0"], PLACE) == 1
    for text, names in (("1.00", ["1", "1.0"]), ("A", ["a", "b"]), ("nan", ["0", "1"])):
        with pytest.raises(TableError, match="column 'y' has no class"):
            class_named(text, names, PLACE)
