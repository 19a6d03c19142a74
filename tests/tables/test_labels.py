"""A class is named by its name or by what it means."""

import pyarrow as pa
import pytest

from properly.inputs.misuse import Misuse
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
        with pytest.raises(Misuse, match="column 'y' has no class"):
            class_named(text, names, PLACE)


@pytest.mark.parametrize(
    ("column", "forecast", "classes", "told"),
    [
        (["fraud", "ok"], None, ["fraud", "ok"], False),
        (["fraud", "ok"], "p_fraud", ["ok", "fraud"], True),
        (["fraud", "ok"], "P.FRAUD", ["ok", "fraud"], True),
        (["fraud", "ok"], "fraud", ["ok", "fraud"], True),
        (["fraud", "ok"], "defraud", ["fraud", "ok"], False),
        (["not ok", "ok"], "p_not ok", ["ok", "not ok"], True),
        (["Yes", "no"], "p", ["no", "Yes"], True),
        ([1, 0], "p_1", [0, 1], True),
        ([1, -1], None, [-1, 1], True),
        ([1, 2], None, [1, 2], False),
        ([1, 2], "p_1", [2, 1], True),
        (["TRUE", "FALSE"], None, ["FALSE", "TRUE"], True),
    ],
)
def test_which_class_is_positive(column, forecast, classes, told):
    labels = class_labels(pa.array(column), PLACE, forecast=forecast)
    assert (labels.classes, labels.told) == (classes, told)
    assert [labels.classes[code] for code in labels.codes] == column


def test_a_name_that_contradicts_the_labels():
    with pytest.raises(Misuse, match=r"the column 'p_no' is named after the class 'no'.*--positive no"):
        class_labels(pa.array(["no", "yes"]), PLACE, forecast="p_no")
    labels = class_labels(pa.array(["no", "yes"]), PLACE, positive="no", forecast="p_no")
    assert labels.classes == ["yes", "no"]


def test_an_option_that_needs_the_positive_class():
    class_labels(pa.array(["no", "yes"]), PLACE).require_told(PLACE, "costs")
    class_labels(pa.array(["a", "b", "c"]), PLACE).require_told(PLACE, "costs")
    message = r"holds 'ok' and 'very bad', which do not tell .*, and costs depends on it; .* --positive ok\)"
    with pytest.raises(Misuse, match=message):
        class_labels(pa.array(["very bad", "ok"]), PLACE).require_told(PLACE, "costs")
