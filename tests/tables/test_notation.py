"""Separators and decimal signs are recognised, or given; JSON lines are tables too."""

import pyarrow as pa
import pytest

from properly.tables import TableError, TableFile, read_batches, read_table, write_batches
from properly.tables.content import ending_for


@pytest.fixture
def file(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("text", "notation", "values"),
    [
        ("a,b\n1,2\n", ",.", {"a": [1], "b": [2]}),
        ("a;b\n1;2\n", ";.", {"a": [1], "b": [2]}),
        ("a\tb\n1\t2\n", "\t.", {"a": [1], "b": [2]}),
        ("a|b\n1|2,5\n", "|,", {"a": [1], "b": [2.5]}),
        ("a;b\n1,5;x\n-2,25;y\n3;\n", ";,", {"a": [1.5, -2.25, 3.0], "b": ["x", "y", None]}),
        ("a;b\n1.234,5;x\n1;y\n", ";,", {"a": [1234.5, 1.0], "b": ["x", "y"]}),
        ('"height, cm";b\n1,5;2\n', ";,", {"height, cm": [1.5], "b": [2]}),
        ('a;b\n"x;y";1\n', ";.", {"a": ["x;y"], "b": [1]}),
        ("a;b\n1,234;1\n2,345;2\n", ";.", {"a": ["1,234", "2,345"], "b": [1, 2]}),  # perhaps thousands
        ("a;b\n1,5;1.5\n", ";.", {"a": ["1,5"], "b": [1.5]}),
        ('a,b\n"1,5",2\n', ",.", {"a": ["1,5"], "b": [2]}),
        ("a\n1\n", ",.", {"a": [1]}),
        ("a;b\r\n1,5;2\r\n", ";,", {"a": [1.5], "b": [2]}),
        ("a,b,c\n1;2,3,4\n", ",.", {"a": ["1;2"], "b": [3], "c": [4]}),
    ],
)
def test_what_is_recognised(file, text, notation, values):
    found = TableFile(file(text))
    assert "".join(found.notation) == notation
    assert found.read().to_pydict() == values


def test_what_is_given(file):
    path = file("a;b\n1,234;1.5\n")
    assert TableFile(path, decimal=",").read().to_pydict() == {"a": [1.234], "b": [1.5]}
    path = file("a b\n1,5 2\n", "spaces.csv")
    assert TableFile(path, separator=" ", decimal=",").read().to_pydict() == {"a": [1.5], "b": [2]}


def test_a_wrong_separator_is_told(file):
    with pytest.raises(TableError, match="line 2 has 2 cells, the header 1; cells are separated by ','"):
        TableFile(file("a;b\n1,5;2\n"), separator=",").read()


def test_a_long_file_is_recognised_by_its_beginning(file):
    path = file("a;b\n" + "1,5;x\n" * 60_000)
    table = read_table(path)
    assert table.num_rows == 60_000
    assert table.schema.types == [pa.float64(), pa.string()]


def test_json_lines(file, monkeypatch):
    monkeypatch.setattr("properly.tables.content.PIECE", 64)
    text = '{"a": 1, "b": "x"}\n{"b": null, "a": 2.5, "c": true}\n\n{"a": null, "b": "2024-01-01"}'
    path = file(text, "table.jsonl")
    assert read_table(path).to_pydict() == {
        "a": [1, 2.5, None],
        "b": ["x", None, "2024-01-01"],
        "c": [None, True, None],
    }
    assert TableFile(path).n_rows == 3
    assert [batch.num_rows for batch in read_batches(path, ["c"])] == [2, 1]
    day = read_table(file('{"d": "2024-05-31"}\n', "day.jsonl"))
    assert pa.types.is_timestamp(day.schema.types[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"a": 1}\n{"a": "x"}\n',
            r"t.jsonl, column 'a', row 2: the value is a string, those before are of the kind num",
        ),
        ('[{"a": 1}]\n', "every line must be one JSON object"),
        ("a,b\n1,2\n", "every line must be one JSON object"),
    ],
)
def test_what_is_no_json(file, text, message):
    with pytest.raises(TableError, match=message):
        read_table(file(text, "t.jsonl"))


def test_json_of_odd_texts_and_numbers(tmp_path):
    texts = ['say "hi"', "back\\slash", "two\nlines", "tab\t", "\x01", "é", None, ""]
    table = pa.table({'odd "name"': texts, "x": [float("nan"), float("inf"), 1e-300, 0.1, 1.0, None, -2.5, 5e-324]})
    write_batches(tmp_path / "t.jsonl", table.schema, table.to_batches(max_chunksize=3))
    back = read_table(tmp_path / "t.jsonl").to_pydict()
    assert back == {'odd "name"': texts, "x": [None, None, 1e-300, 0.1, 1.0, None, -2.5, 5e-324]}


def test_the_ending_of_unnamed_content(tmp_path):
    table = pa.table({"a": [1, 2]})
    for ending in (".csv", ".jsonl", ".csv.gz", ".jsonl.zst", ".parquet", ".arrow"):
        write_batches(tmp_path / f"t{ending}", table.schema, table.to_batches())
        assert ending_for((tmp_path / f"t{ending}").read_bytes()) == ending
