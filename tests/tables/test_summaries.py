import numpy as np
import pyarrow as pa
import pytest

from properly.tables import TableEncoder
from properly.tables.summaries import table_summary
from properly.tables.targets import Labels

TABLE = pa.table(
    {
        "size": [1.0, 2.0, None, 5.0],
        "paid": [True, False, True, True],
        "town": ["Rome", None, "Bath", "Rome"],
        "day": pa.array([0, 1, 2, 3], pa.date32()),
    }
)


def columns(encoder, X, weight=None):
    return table_summary(encoder, X, Labels(["a", "b"], np.arange(len(X)) % 2), weight).columns


def test_every_kind_of_column():
    encoder = TableEncoder().fit(TABLE)
    size, paid, town, day = columns(encoder, encoder.transform(TABLE))
    assert (size.kind, size.missing, size.low, size.high) == ("number", 0.25, 1.0, 5.0)
    assert size.mean == pytest.approx(8 / 3)
    assert (paid.kind, paid.mean) == ("boolean", 0.75)
    assert (town.kind, town.missing, town.n_categories) == ("category", 0.25, 2)
    assert town.most_frequent == (("Rome", 0.5), ("Bath", 0.25))
    assert (day.kind, day.low, day.high) == ("date", 0.0, 3.0)


def test_weights_count_rows():
    encoder = TableEncoder().fit(TABLE)
    X, weight = encoder.transform(TABLE), np.array([2, 1, 0, 3])
    weighted = columns(encoder, X, weight.astype(float))
    repeated = columns(encoder, np.repeat(X, weight, axis=0))
    for one, other in zip(weighted, repeated, strict=True):
        assert [one.missing, one.low, one.mean, one.high] == pytest.approx(
            [other.missing, other.low, other.mean, other.high], nan_ok=True
        )
        assert dict(one.most_frequent) == pytest.approx(dict(other.most_frequent))
    assert weighted[2].missing == pytest.approx(1 / 6)


def test_categories_beyond_the_limit_are_one():
    table = pa.table({"letter": list("aaabbccdde")})
    encoder = TableEncoder(max_categories=2).fit(table)
    (letter,) = columns(encoder, encoder.transform(table))
    assert letter.most_frequent == (
        ("all others", pytest.approx(0.5)),
        ("a", pytest.approx(0.3)),
        ("b", pytest.approx(0.2)),
    )


def test_a_column_may_be_missing_in_all_rows_that_count():
    encoder = TableEncoder().fit(TABLE)
    found = columns(encoder, encoder.transform(TABLE), np.array([0.0, 0.0, 1.0, 0.0]))
    assert found[0].missing == 1.0
    assert np.isnan(found[0].mean)


def test_classes_are_counted():
    encoder = TableEncoder().fit(TABLE)
    labels = Labels(["a", "b"], np.array([0, 1, 1, 1]))
    found = table_summary(encoder, encoder.transform(TABLE), labels, np.array([2.0, 1.5, 0.0, 1.0]))
    assert found.n_rows == 3
    assert found.class_weight == {"a": 2.0, "b": 2.5}
