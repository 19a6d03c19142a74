"""Tables from files of every format are the same table; what cannot be read is told with its place."""

import gzip
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from properly.files import FORMATS
from properly.inputs.misuse import Misuse
from properly.tables import TableError, TableFile, as_table, read_batches, read_table, write_batches

TABLE = pa.table(
    {
        "name": ["ash", "elm, tall", None, 'say "oak"', "fir\ntree"],
        "count": [1, 2, None, 4, 5],
        "share": [0.1, 2.5, None, 1e-20, -3.0],
        "flag": [True, False, None, True, True],
        "day": pa.array([0, 1, None, 3, 86_400_000_000], pa.timestamp("us")),
    }
)


@pytest.fixture
def csv(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_is_read(ending, tmp_path):
    path = tmp_path / f"table{ending}"
    assert write_batches(path, TABLE.schema, TABLE.to_batches(max_chunksize=2)) == 5
    assert read_table(path).to_pydict() == TABLE.to_pydict()
    assert read_table(path, ["share", "name"]).column_names == ["share", "name"]
    assert sum(batch.num_rows for batch in read_batches(path)) == 5


def test_a_stream_of_arrow_is_read(tmp_path):
    path = tmp_path / "table.arrow"
    with pa.ipc.new_stream(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert read_table(path).to_pydict() == TABLE.to_pydict()


@pytest.mark.parametrize("ending", [".csv", ".jsonl.gz", ".parquet", ".arrow"])
def test_files_that_change_after_they_were_opened_are_refused(ending, tmp_path):
    path, table = tmp_path / f"table{ending}", TABLE.select(["count", "share"])
    write_batches(path, table.schema, table.to_batches())
    file = TableFile(path)
    assert file.read().num_rows == file.read().num_rows == 5
    write_batches(path, table.schema, table.take([4, 3, 2, 1, 0]).to_batches())
    os.utime(path, ns=(0, 7))
    with pytest.raises(TableError, match=rf"table\{ending} has changed since it was opened; use a copy that nobody"):
        list(file.batches())
    assert pickle.loads(pickle.dumps(file)).read().num_rows == 5  # elsewhere it may be a copy, of another time
    path.unlink()
    with pytest.raises(FileNotFoundError):
        list(file.batches())


def test_arrow_texts_that_point_out_of_the_file_are_refused(tmp_path):
    offsets = pa.py_buffer(np.array([0, 3, 2**30, 6], dtype=np.int32))
    wrong = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"ashelm"))
    path = tmp_path / "table.arrow"
    with pa.ipc.new_file(str(path), pa.schema([("name", pa.string())])) as writer:
        writer.write_batch(pa.record_batch([wrong], names=["name"]))
    with pytest.raises(TableError, match=r"table\.arrow cannot be read: it is damaged"):
        read_table(path)


def test_the_ending_may_be_in_capitals(csv):
    assert read_table(csv("a\n1\n", "TABLE.CSV")).to_pydict() == {"a": [1]}


def test_batches_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_BYTES", 2**12)
    monkeypatch.setattr("properly.tables.reading.BATCH_ROWS", 100)
    table = pa.table({"a": np.arange(5000)})
    for ending in (".csv", ".parquet", ".arrow"):
        path = tmp_path / f"long{ending}"
        write_batches(path, table.schema, table.to_batches())
        sizes = [batch.num_rows for batch in read_batches(path)]
        assert sum(sizes) == 5000
        assert max(sizes) <= 2048
        assert read_table(path).column("a").to_pylist() == list(range(5000))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        ([" 1 ", "1e3"], [1.0, 1000.0]),
        (["1", "NA"], [1, None]),
        (["1", ""], [1, None]),
        (["true", "FALSE"], [True, False]),
        (["1", "x"], ["1", "x"]),
        (["true", "x"], ["true", "x"]),
        (["NA", "NaN"], [None, None]),
        (['"NA"', "x"], ["NA", "x"]),
        (["007", "8"], [7, 8]),
    ],
)
def test_the_type_of_a_column_of_text(csv, cells, values):
    found = read_table(csv("a,b\n" + "".join(f"{cell},0\n" for cell in cells))).column("a").to_pylist()
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_types_agree_with_the_whole_file(csv, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_BYTES", 2**10)
    file = TableFile(csv("a,b,c,d\n" + "1,1,1,\n" * 500 + "2.5,x,,\n" * 500))
    assert file.typed_schema(["c"]).types == [pa.float64(), pa.string(), pa.string(), pa.null()]
    assert read_table(file.path).schema.types == [pa.float64(), pa.string(), pa.int64(), pa.null()]


def test_columns_may_be_kept_as_texts(csv):
    assert TableFile(csv("a,b\n007,1\n")).read(texts=["a"]).to_pydict() == {"a": ["007"], "b": [1]}


def test_dates_with_and_without_offset(csv):
    table = read_table(csv("a,b\n2024-05-31,2024-05-31T12:00:00Z\n2024-06-01,2024-05-31T12:00:00+02:00\n"))
    assert table.schema.types == [pa.timestamp("us"), pa.timestamp("us", "UTC")]
    assert (table["b"][0].as_py() - table["b"][1].as_py()).total_seconds() == 7200


def test_a_byte_order_mark_is_no_part_of_a_name(csv):
    assert read_table(csv(b"\xef\xbb\xbfa,b\n1,2\n")).column_names == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv is empty"),
        ("a,b\n", "table.csv has no rows"),
        ("a,b\n1,2\n3\n", "line 3 has 1 cells, the header 2; cells are separated by ','"),
        ("a,a\n1,2\n", "several columns named 'a'"),
        (b"a,b\n1,\xff\n", "not encoded in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "encoded in UTF-16; convert it to UTF-8"),
        (b"a,b\n1,\0\n", "table.csv is not a text file: byte 7 is zero, as in binary data"),
        (b"FEA1....", "is a Feather file of version 1, which is no longer read; write it again as version 2"),
        (b"PK\3\4....", "is a ZIP archive, such as .xlsx, .ods and .skops; export the table as CSV or Parquet"),
        (b"PAR1....", "is a Parquet file; its name must end with .parquet or .pq"),
    ],
)
def test_damaged_text(csv, text, message):
    with pytest.raises(TableError, match=message):
        read_table(csv(text))


def test_a_separator_that_must_be_named(csv):
    message = "has a single column, 'a;b', if cells are separated by ','; name the separator"
    with pytest.raises(Misuse, match=message):
        read_table(csv("a;b\n1;2\n3\n"))


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv.gz"])
@pytest.mark.parametrize("kept", [10, 0.5, -1])
def test_truncated_files(tmp_path, ending, kept):
    path = tmp_path / f"table{ending}"
    table = pa.table({"a": np.random.default_rng(0).normal(size=5000)})
    write_batches(path, table.schema, table.to_batches())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(TableError, match=r"table\..* cannot be read: it is damaged, incomplete or") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_another_format_under_a_wrong_name(csv, tmp_path):
    with pytest.raises(TableError, match="damaged, incomplete or of another format"):
        read_table(csv("a,b\n1,2\n", "table.parquet"))
    with gzip.open(tmp_path / "a.csv", "wb") as file:
        file.write(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=r"a.csv is a gzip file; its name must end with .csv.gz or .tsv.gz"):
        read_table(tmp_path / "a.csv")


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv: there is no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(Misuse, match=r"a\.xlsx: the ending must be one of \.csv, "):
        read_table(tmp_path / "a.xlsx")


def test_missing_columns_are_named(csv):
    with pytest.raises(Misuse, match=r"table\.csv has no column 'c'; it has 'a', 'b'\."):
        read_table(csv("a,b\n1,2\n"), ["a", "c"])


def test_anything_that_is_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    expected = {"a": [1, 2], "b": ["x", "y"]}
    for data in (expected, pandas.DataFrame(expected), polars.DataFrame(expected), pa.table(expected).to_batches()[0]):
        assert as_table(data).to_pydict() == expected
    with pytest.raises(TableError, match="a table must be a data frame"):
        as_table(3)


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def batches():
        yield TABLE.to_batches()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_batches(path, TABLE.schema, batches())
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_text_cannot_hold_lists(tmp_path):
    table = pa.table({"a": [[1, 2]]})
    with pytest.raises(TableError, match="cannot hold the column 'a'"):
        write_batches(tmp_path / "a.csv", table.schema, table.to_batches())
    assert not list(tmp_path.iterdir())


def test_only_cells_that_need_it_are_quoted(tmp_path):
    table = pa.table({"a b": ["x", "y"], "c,d": [1, 2]})
    write_batches(tmp_path / "a.csv", table.schema, table.to_batches())
    assert (tmp_path / "a.csv").read_text() == 'a b,"c,d"\nx,1\ny,2\n'


def test_dictionaries_that_change_from_batch_to_batch(tmp_path):
    parts = [pa.table({"a": pa.array(values).dictionary_encode()}) for values in (["x", "y"], ["z"])]
    for ending in (".arrow", ".csv", ".parquet"):
        path = tmp_path / f"table{ending}"
        write_batches(path, parts[0].schema, [batch for part in parts for batch in part.to_batches()])
        assert read_table(path).column("a").to_pylist() == ["x", "y", "z"]
    assert pq.read_table(tmp_path / "table.parquet").num_rows == 3


@pytest.mark.parametrize("text", ["naïve,b\n1,2\n", "a,b\n1,é\n"])
def test_another_encoding_is_told(csv, text):
    with pytest.raises(TableError, match="not encoded in UTF-8; convert it first"):
        read_table(csv(text.encode("latin-1")))


def test_a_ragged_row_of_another_encoding_is_told(csv):
    with pytest.raises(TableError, match="line 2 has 3 cells, the header 2"):
        read_table(csv("a,b\n1,é,3\n".encode("latin-1")))


def test_a_row_that_is_too_long_is_told(csv, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_BYTES", 2**12)
    with pytest.raises(TableError, match="a row of more than 4,096 bytes, the most that can be read"):
        read_table(csv("a,b\n" + "1,2\n" * 100 + f"1,{'x' * 20_000}\n" + "1,2\n" * 10_000))
