import numpy as np
import pyarrow as pa
import pytest

from properly.tables import TableEncoder
from properly.tables.summaries import column_summaries

TABLE = pa.table(
    {
        "size": [1.0, 2.0, None, 5.0],
        "paid": [True, False, True, True],
        "town": ["Rome", None, "Bath", "Rome"],
        "day": pa.array([0, 1, 2, 3], pa.date32()),
    }
)


def test_every_kind_of_column():
    encoder = TableEncoder().fit(TABLE)
    size, paid, town, day = column_summaries(encoder, encoder.transform(TABLE))
    assert (size.kind, size.missing, size.low, size.high) == ("number", 0.25, 1.0, 5.0)
    assert size.mean == pytest.approx(8 / 3)
    assert (paid.kind, paid.mean) == ("boolean", 0.75)
    assert (town.kind, town.missing, town.n_categories) == ("category", 0.25, 2)
    assert town.most_frequent == (("Rome", 0.5), ("Bath", 0.25))
    assert (day.kind, day.low, day.high) == ("date", 0.0, 3.0)


def test_weights_count_rows():
    encoder = TableEncoder().fit(TABLE)
    X, weight = encoder.transform(TABLE), np.array([2, 1, 0, 3])
    weighted = column_summaries(encoder, X, weight.astype(float))
    repeated = column_summaries(encoder, np.repeat(X, weight, axis=0))
    for one, other in zip(weighted, repeated, strict=True):
        assert [one.missing, one.low, one.mean, one.high] == pytest.approx(
            [other.missing, other.low, other.mean, other.high], nan_ok=True
        )
        assert dict(one.most_frequent) == pytest.approx(dict(other.most_frequent))
    assert weighted[2].missing == pytest.approx(1 / 6)


def test_categories_beyond_the_limit_are_one():
    table = pa.table({"letter": list("aaabbccdde")})
    encoder = TableEncoder(max_categories=2).fit(table)
    (letter,) = column_summaries(encoder, encoder.transform(table))
    assert letter.most_frequent == (
        ("all others", pytest.approx(0.5)),
        ("a", pytest.approx(0.3)),
        ("b", pytest.approx(0.2)),
    )


def test_a_column_may_be_missing_in_all_rows_that_count():
    encoder = TableEncoder().fit(TABLE)
    found = column_summaries(encoder, encoder.transform(TABLE), np.array([0.0, 0.0, 1.0, 0.0]))
    assert found[0].missing == 1.0
    assert np.isnan(found[0].mean)
