from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from properly.inputs.misuse import Misuse
from properly.tables import TableError, write_batches
from properly.tables.predictions import read_predictions
from properly.tables.targets import columns_of_classes


def write(path, columns):
    table = pa.table(columns)
    write_batches(path, table.schema, table.to_batches())
    return path


LABELS = {
    "int": pa.array([0, 1, 1, 0]),
    "float": pa.array([0.0, 1.0, 1.0, 0.0]),
    "bool": pa.array([False, True, True, False]),
    "text": pa.array(["no", "yes", "yes", "no"]),
    "dictionary": pa.array(["no", "yes", "yes", "no"]).dictionary_encode(),
}


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz", "a.arrow"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(tmp_path, kind, name):
    path = write(tmp_path / name, {"y": LABELS[kind], "p": [0.1, 0.9, 0.6, 0.2], "other": list("abcd")})
    data, groups, *_ = read_predictions(path, "y", ["p"])
    np.testing.assert_array_equal(data.codes, [0, 1, 1, 0])
    np.testing.assert_array_equal(data.p, [0.1, 0.9, 0.6, 0.2])
    assert groups is None
    assert data.weight is None


def test_the_positive_class_may_be_named(tmp_path):
    path = write(tmp_path / "a.parquet", {"y": ["cat", "dog", "emu", "dog"], "p": [0.1, 0.9, 0.6, 0.2]})
    data, *_ = read_predictions(path, "y", ["p"], positive="dog")
    np.testing.assert_array_equal(data.codes, [0, 1, 0, 1])
    assert data.classes.tolist() == ["not dog", "dog"]
    with pytest.raises(Misuse, match="3 classes"):
        read_predictions(path, "y", ["p"])
    with pytest.raises(Misuse, match="no class 'cow'; it has 'cat'"):
        read_predictions(path, "y", ["p"], positive="cow")


def test_columns_find_their_classes(tmp_path):
    p = {"p_2": [0.1, 0.6, 0.7, 0.2], "p_30": [0.1, 0.2, 0.1, 0.1], "p_10": [0.8, 0.2, 0.2, 0.7]}
    path = write(tmp_path / "a.csv", {"y": [10, 2, 2, 10]} | p)
    data, *_ = read_predictions(path, "y", ["p_30", "p_2", "p_10"])
    k = {name: data.classes.tolist().index(name) for name in ("2", "10", "30")}
    np.testing.assert_array_equal(data.codes, [k["10"], k["2"], k["2"], k["10"]])
    for name in k:
        np.testing.assert_array_equal(data.p[:, k[name]], p[f"p_{name}"])


def test_two_columns_are_two_classes(tmp_path):
    path = write(tmp_path / "a.csv", {"y": ["b", "a"], "a": [0.3, 0.6], "b": [0.7, 0.4]})
    data, *_ = read_predictions(path, "y", ["b", "a"])
    np.testing.assert_array_equal(data.codes, [1, 0])
    np.testing.assert_array_equal(data.p, [0.7, 0.4])


@pytest.mark.parametrize(
    ("columns", "classes"),
    [(["x", "y"], ["a", "b"]), (["p_a", "q_b"], ["a", "b"]), (["a", "a"], ["a", "b"]), (["p_a", "p_b"], ["a", "c"])],
)
def test_columns_that_name_no_classes(columns, classes):
    with pytest.raises(Misuse, match=r"named (by the classes|twice)"):
        columns_of_classes(columns, classes, "a.csv")


def test_groups_and_weights(tmp_path):
    group = pa.array(["west", None, "east", "west"])
    path = write(
        tmp_path / "a.parquet",
        {"y": [0, 1, 0, 1], "p": [0.1] * 4, "g": group, "n": [1, 2, 3, 0], "f": [1.0, 2.0, 1.0, 2.5]},
    )
    data, (names, codes), *_ = read_predictions(path, "y", ["p"], group="g", weight="n")
    assert [names[k] for k in codes] == ["west", "(missing)", "east"]  # the last row has weight 0
    np.testing.assert_array_equal(data.weight, [1.0, 2.0, 3.0])
    assert data.n_given == 4
    _, (names, codes), *_ = read_predictions(path, "y", ["p"], group="f")
    assert [names[k] for k in codes] == ["1", "2", "1", "2.5"]
    _, (names, _), *_ = read_predictions(path, "y", ["p"], group="y", weight="n")
    assert names == ("0", "1")
    found = read_predictions(path, "y", ["p"], cluster="f", weight="n", against="p")
    assert found.groups is None
    assert found.clusters[0] == found.clusters[2] != found.clusters[1]
    with pytest.raises(TableError, match="column 'g', row 2: the cluster is missing; fill it in, or leave out the row"):
        read_predictions(path, "y", ["p"], cluster="g")
    np.testing.assert_array_equal(found.against, data.p)


BAD = {
    "too large": ({"p": [0.1, 0.2, 1.5, 2.0]}, {}, r"'p', row 3: .* got 1.5"),
    "percentages": ({"p": [0.1, 20.0, 0.5, 0.1]}, {}, r"row 2: .* got 20; divide percentages by 100"),
    "no text": ({"p": pa.array([None] * 4, pa.string())}, {}, r"row 1: the probability is missing"),
    "negative": ({"p": [0.1, -0.2, 0.5, 0.1]}, {}, r"'p', row 2: .* got -0.2"),
    "no probability": ({"p": pa.array([0.1, 0.2, None, 0.1])}, {}, r"row 3: the probability is missing"),
    "nan": ({"p": [0.1, np.nan, 0.5, 0.1]}, {}, r"row 2: the probability is missing"),
    "text": ({"p": ["0.1", "0.2", "high", "0.1"]}, {}, r"row 3: a number is needed, got 'high'"),
    "no class": ({"y": pa.array([0, 1, None, 1])}, {}, r"'y', row 3: the class is missing"),
    "nan class": ({"y": [0.0, 1.0, 1.0, np.nan]}, {}, r"'y', row 4: the class is missing"),
    "weight": ({"w": [1.0, -1.0, 1.0, 1.0]}, {"weight": "w"}, r"'w', row 2: a weight"),
    "sums": ({"0": [0.5] * 4, "1": [0.5, 0.5, 0.4, 0.5]}, {"probability": ["0", "1"]}, "row 3: .* add up to 0.9"),
}


@pytest.mark.parametrize(("role", "message"), [("p", "holds texts such as 'a'"), ("w", "holds date32")])
def test_columns_without_a_number_are_the_wrong_ones(tmp_path, role, message):
    days = pa.array(np.array(["2024-05-31"] * 4, dtype="datetime64[D]"))
    table = {"y": [0, 1, 0, 1], "p": [0.1] * 4, "w": days} | ({"p": list("abcd")} if role == "p" else {})
    path = write(tmp_path / "a.parquet", table)
    with pytest.raises(Misuse, match=f"column '{role}' {message}.*, but numbers are needed; is it the right column"):
        read_predictions(path, "y", ["p"], weight="w" if role == "w" else None)


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_bad_values_are_named(tmp_path, name, case):
    columns, options, message = BAD[case]
    path = write(tmp_path / name, {"y": [0, 1, 0, 1], "p": [0.1, 0.6, 0.3, 0.7]} | columns)
    arguments = {"target": "y", "probability": ["p"]} | options
    with pytest.raises(TableError, match=message):
        read_predictions(path, **arguments)


def test_a_column_of_weights_0_is_the_wrong_one(tmp_path):
    path = write(tmp_path / "a.csv", {"y": [0, 1], "p": [0.1, 0.6], "w": [0, 0]})
    with pytest.raises(Misuse, match="'w': every weight is 0"):
        read_predictions(path, "y", ["p"], weight="w")


@pytest.mark.parametrize(
    ("only", "columns", "positive", "classes"),
    [
        (0, ["p"], None, ["0", "1"]),
        (1, ["p"], None, ["0", "1"]),
        (-1, ["p"], None, ["-1", "1"]),
        ("No", ["p"], None, ["No", "yes"]),
        (1, ["p"], "0", ["1", "0"]),
        ("ok", ["p"], "fraud", ["ok", "fraud"]),
        ("fraud", ["p"], "fraud", ["not fraud", "fraud"]),
        ("fraud", ["p_fraud"], None, ["not fraud", "fraud"]),
        ("ok", ["p_ok", "p_fraud"], None, ["fraud", "ok"]),
        ("ok", ["p_ok", "p_fraud"], "fraud", ["ok", "fraud"]),
        (0, ["p_0", "p_1", "p_2"], None, ["0", "1", "2"]),
    ],
)
def test_rows_of_one_class_only(tmp_path, only, columns, positive, classes):
    share = 1.0 / max(len(columns), 2)
    path = write(tmp_path / "a.parquet", {"y": [only] * 3} | dict.fromkeys(columns, [share] * 3))
    with nullcontext() if len(columns) > 1 else pytest.warns(UserWarning, match=f"holds {only!r} only: no row is of"):
        found = read_predictions(path, "y", columns, positive=positive).forecast
    assert found.classes.tolist() == classes
    assert found.codes.tolist() == [classes.index(str(only))] * 3


@pytest.mark.filterwarnings("ignore:.*holds 0 only")
@pytest.mark.parametrize(
    ("only", "column", "positive", "message"),
    [
        ("ok", "p", None, "holds 'ok' only, which does not tell .* --positive CLASS"),
        (0, "p", "perhaps", "no class 'perhaps'"),
        (0, "p_0", None, "named after the class '0'"),
    ],
)
def test_one_class_that_does_not_tell_the_other(tmp_path, only, column, positive, message):
    path = write(tmp_path / "a.parquet", {"y": [only] * 3, column: [0.1] * 3})
    with pytest.raises(Misuse, match=message):
        read_predictions(path, "y", [column], positive=positive)


def test_values_of_a_dictionary_that_do_not_occur_are_no_classes(tmp_path):
    target = pa.DictionaryArray.from_arrays(pa.array([3, 1, 3, 1]), ["gone", "no", "lost", "yes"])
    group = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 0]), ["north", "nowhere", "south"])
    pq.write_table(pa.table({"y": target, "p": [0.9, 0.2, 0.7, 0.4], "g": group}), tmp_path / "p.parquet")
    found, (names, codes), *_ = read_predictions(tmp_path / "p.parquet", "y", ["p"], group="g")
    assert found.classes.tolist() == ["no", "yes"]
    assert found.codes.tolist() == [1, 0, 1, 0]
    assert [names[code] for code in codes] == ["south", "north", "(missing)", "north"]
    assert len(names) == 3


def test_the_positive_class_is_named_by_its_meaning(tmp_path):
    pq.write_table(pa.table({"y": [True, False], "p": [0.9, 0.2]}), tmp_path / "p.parquet")
    for positive in ("false", "0", "False"):
        found, *_ = read_predictions(tmp_path / "p.parquet", "y", ["p"], positive=positive)
        assert found.classes.tolist() == ["True", "False"]
        assert found.codes.tolist() == [0, 1]


def test_the_class_of_a_single_column(tmp_path):
    columns = {"y": ["fraud", "ok", "ok"], "p": [0.9, 0.1, 0.2], "p_fraud": [0.9, 0.1, 0.2], "p_ok": [0.1, 0.9, 0.8]}
    path = write(tmp_path / "a.csv", columns)
    for column, positive in (("p_fraud", None), ("p", "fraud")):
        data, *_ = read_predictions(path, "y", [column], positive=positive)
        assert data.classes.tolist() == ["ok", "fraud"]
        np.testing.assert_array_equal(data.codes, [1, 0, 0])
    with pytest.warns(UserWarning, match=r"'p_ok' is named after the class 'ok', but 'fraud' was given"):
        data, *_ = read_predictions(path, "y", ["p_ok"], positive="fraud")
    np.testing.assert_array_equal(data.codes, [1, 0, 0])
    np.testing.assert_array_equal(data.p, columns["p_ok"])
    with pytest.raises(Misuse, match="the column 'p' of probabilities depends on it"):
        read_predictions(path, "y", ["p"])
    both = ["p_ok", "p_fraud"]
    assert read_predictions(path, "y", both)[0].classes.tolist() == ["fraud", "ok"]
    data, *_ = read_predictions(path, "y", both, positive="fraud", needs_positive="costs")
    np.testing.assert_array_equal(data.p, columns["p_fraud"])
    with pytest.raises(Misuse, match="and costs depends on it"):
        read_predictions(path, "y", both, needs_positive="costs")


def test_a_second_column_named_after_the_other_class_warns(tmp_path, recwarn):
    file = tmp_path / "table.csv"
    file.write_text("y,p_fraud,p_ok,q_fraud\nfraud,0.4,0.6,0.5\nok,0.1,0.9,0.2\nok,0.2,0.8,0.3\n")
    read_predictions(file, "y", ["p_fraud"], against="q_fraud")
    assert not recwarn
    with pytest.warns(UserWarning, match=r"'p_ok' is named after the class 'ok', but 'fraud' is the positive class"):
        read_predictions(file, "y", ["p_fraud"], against="p_ok")
