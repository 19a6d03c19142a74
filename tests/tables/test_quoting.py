"""A quotation mark that is not closed is told with its line; all that the parser of CSV reads well is let through."""

import gzip

import numpy as np
import pytest

from properly.tables import TableError, read_table


@pytest.fixture(params=[2**21, 5])
def csv(request, tmp_path, monkeypatch):
    """Files read in one piece, and in pieces that end anywhere."""
    monkeypatch.setattr("properly.tables.content.PIECE", request.param)

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,x\n2,"y\n3,z\n4,w\n', 3),
        ('a,b\n1,"x"\n2,"y"\n3,z\n4,"w', 5),
        ('a,b\n1,"x\n2,y\n3,"z"\n', 2),  # swallows a row, and ends well in another cell
        ('a,b\n1,"x\n2,y\n3,"z\n', 2),  # an even number of them
        ('a,b\n1,"two\nlines"\n2,"y\n', 4),
        ('a,b\n1,6" pipe\n2,"y\n', 3),
    ],
)
def test_an_open_quotation_mark_is_told(csv, text, line, name):
    with pytest.raises(TableError, match=rf"table\.csv.*opens a cell in line {line} is never closed"):
        read_table(csv(text, name))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('a,b\n"x","y"\n', ["y"]),
        ('a,b\r\n"x","y"\r\n"u","say ""hi"""\r\n', ["y", 'say "hi"']),
        ('a,b\n1,""\n', [""]),
        ('a,b\n1,"two\nlines"\n', ["two\nlines"]),
        ('a,b\n1,6" pipe\n', ['6" pipe']),
        ('a,b\n1,"""x"""', ['"x"']),
        ('\ufeff"a","b"\n1,"y"\n', ["y"]),
        ('a,b\n"1,2" ,y\n', ["y"]),
    ],
)
def test_closed_quotation_marks_pass(csv, text, values):
    assert read_table(csv(text), ["b"])["b"].to_pylist() == values


def test_random_texts_in_quotation_marks_pass(csv):
    random = np.random.default_rng(0)
    cells = ["".join(random.choice(list('ab", \n\r'), random.integers(0, 6))) for _ in range(300)]
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    text = "a,b\n" + "".join(f"1,{cell}\n" for cell in quoted)
    assert read_table(csv(text))["b"].to_pylist() == cells
    with pytest.raises(TableError, match="never closed"):
        read_table(csv(text + '1,"open\n'))
