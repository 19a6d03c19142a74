"""Folders whose files store a column in different types are one table, in a type that holds the values of all."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from properly.cli import fit_table, predict_table
from properly.tables import TableError, TableFolder, clusters, read_table, write_batches
from properly.tables.clusters import sampled_by_cluster
from properly.tables.columns import joined_type
from properly.tables.folders import sampled_table

RNG = np.random.default_rng(0)
N = 400
X = RNG.integers(-5, 6, N)
COLUMNS = {
    "y": pa.array((RNG.random(N) < 1.0 / (1.0 + np.exp(-0.5 * X))).astype(int)),
    "a": pa.array(X),
    "b": pa.array(X / 8.0),
    "town": pa.array(np.array(["Bath", "Rome"])[RNG.integers(0, 2, N)]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """As pandas writes them: integers are fractions where a value is missing, and nothing where all are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    third, town = COLUMNS["a"][200:300].cast("double"), COLUMNS["town"]
    changed = [
        {"b": COLUMNS["b"][:100].cast("float"), "town": town[:100].dictionary_encode()},
        {"a": COLUMNS["a"][100:200].cast("int32")},
        {"a": pa.array(np.where(np.arange(100) == 7, np.nan, third.to_numpy()), from_pandas=True)},
        {"a": pa.nulls(100), "town": pa.nulls(100), "y": COLUMNS["y"][300:].cast("double")},
    ]
    tables = [
        pa.table({name: column[100 * k : 100 * (k + 1)] for name, column in COLUMNS.items()} | changed[k])
        for k in range(4)
    ]
    for k, table in enumerate(tables):
        pq.write_table(table, f"rows/{k}.parquet")
    whole = [table.cast(pa.schema({"y": "int64", "a": "double", "b": "double", "town": "string"})) for table in tables]
    pq.write_table(pa.concat_tables(whole), "whole.parquet")
    return tmp_path / "rows"


def test_the_types_of_a_folder(folder):
    source, whole = TableFolder(folder), read_table("whole.parquet")
    assert source.schema.types == [pa.float64(), pa.float64(), pa.float64(), pa.string()]
    found = pa.Table.from_batches(source.batches())
    assert found.equals(whole.cast(source.schema))
    drawn, _, n_rows = sampled_table(source, source.names, 50, 0)
    assert (len(drawn), n_rows) == (50, N)


@pytest.mark.parametrize("by", [sampled_table, partial(sampled_by_cluster, None)])
def test_drawn_rows_are_not_those_of_low_numbers_of_a_user(tmp_path, monkeypatch, by):
    monkeypatch.setattr(clusters, "connected", lambda _: nullcontext())
    numbers = np.random.default_rng(0).random(20_000)
    pq.write_table(pa.table({"number": numbers}), tmp_path / "0.parquet")
    drawn, *_ = by(TableFolder(tmp_path), ["number"], 4_000, 0)
    assert np.mean(drawn["number"].to_numpy()) == pytest.approx(0.5, abs=0.03)  # 0.1 by the same numbers


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_commands_on_files_of_different_types(folder, ending):
    if ending == "arrow":
        for path in list(folder.glob("*.parquet")):
            table = read_table(path)
            write_batches(path.with_suffix(".arrow"), table.schema, table.to_batches())
            path.unlink()
    options = {"target": "y", "method": "logistic", "categories": ["town"]}
    fit_table(folder, **options, output="found.skops")
    fit_table("whole.parquet", **options, single=True, calibration="none", output="whole.skops")
    for model, table, output in (("found", folder, "found.parquet"), ("whole", "whole.parquet", "expected.parquet")):
        assert predict_table(f"{model}.skops", table, output=output)["rows"] == N
    found, expected = read_table("found.parquet"), read_table("expected.parquet")
    for name in COLUMNS:
        assert found[name].to_pylist() == expected[name].to_pylist()
    np.testing.assert_allclose(found["probability_1"], expected["probability_1"], atol=1e-6)


@pytest.mark.xdist_group("dask")
def test_a_cluster_reads_files_of_different_types(folder, dask_client):
    options = {"target": "y", "method": "logistic", "dask": dask_client.scheduler.address}
    assert fit_table(folder, **options, output="found.skops")["rows"] == N
    fit_table(folder, **options | {"dask": None}, output="whole.skops")
    predict_table("found.skops", folder, output="scored", dask=dask_client.scheduler.address)
    predict_table("whole.skops", folder, output="expected.parquet")
    found = pa.Table.from_batches(TableFolder("scored").batches())
    np.testing.assert_allclose(found["probability_1"], read_table("expected.parquet")["probability_1"], atol=1e-6)


def test_what_no_common_type_holds_is_named(tmp_path):
    pq.write_table(pa.table({"id": [2**60 + 1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [0.5]}), tmp_path / "2.parquet")
    with pytest.raises(
        TableError, match=r"1\.parquet, column 'id' holds int64 here and another .* store the column in one"
    ):
        list(TableFolder(tmp_path).batches())


NUMBERS = [pa.int8(), pa.uint16(), pa.int32(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(6, 2)]


@pytest.mark.parametrize("first", NUMBERS, ids=str)
@pytest.mark.parametrize("second", NUMBERS, ids=str)
def test_joined_types_hold_both(first, second):
    joined = joined_type(first, second)
    assert joined == joined_type(second, first)
    for each in (first, second):
        values = pa.array([1.0, 7.0, 120.0, None]).cast(each)
        assert values.cast(joined).cast("double").equals(values.cast("double"))


def test_joined_types_of_texts():
    assert joined_type(pa.dictionary(pa.int8(), pa.string()), pa.string()) == pa.string()
    assert joined_type(pa.string(), pa.large_string()) == pa.large_string()
    assert joined_type(pa.string_view(), pa.string()) == pa.string()
    assert joined_type(pa.null(), pa.dictionary(pa.int8(), pa.string())) == pa.dictionary(pa.int8(), pa.string())


def test_a_first_file_with_nothing_in_a_column_does_not_hide_what_the_others_hold(tmp_path):
    for number, column in enumerate([pa.nulls(3), pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]):
        pq.write_table(pa.table({"a": column, "y": [0, 1, 0]}), tmp_path / f"{number}.parquet")
    with pytest.raises(TableError, match=r"column 'a' holds numbers in .*1\.parquet and texts in .*2\.parquet"):
        TableFolder(tmp_path)
