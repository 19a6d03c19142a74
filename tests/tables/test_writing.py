"""Text files hold quotation marks where they are needed, and nowhere else."""

import pyarrow as pa
import pytest

from properly.tables import read_batches, write_batches


def written(tmp_path, table, rows=10_000, name="table.csv"):
    path = tmp_path / name
    write_batches(path, table.schema, table.to_batches(max_chunksize=rows))
    return path.read_bytes().decode()


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_only_what_needs_quotation_marks_has_them(tmp_path, rows):
    texts = ["plain", "a,b", 'say "oak"', "two\nlines", "NA", "", None, " spaces ", "nan", "é", "\r"]
    table = pa.table({"n": range(len(texts)), "text": texts})
    assert written(tmp_path, table, rows) == (
        'n,text\n0,plain\n1,"a,b"\n2,"say ""oak"""\n3,"two\nlines"\n4,"NA"\n'
        '5,""\n6,\n7, spaces \n8,"nan"\n9,é\n10,"\r"\n'
    )
    read = [cell for batch in read_batches(tmp_path / "table.csv") for cell in batch.column("text").to_pylist()]
    assert read == texts


def test_other_separators_and_types(tmp_path):
    table = pa.table(
        {
            "a\tb": pa.array(["x\ty", "p,q"]).dictionary_encode(),
            "flag": [True, None],
            "x": [0.1, 1e-300],
            "none": pa.nulls(2),
        }
    )
    assert written(tmp_path, table, name="t.tsv") == '"a\tb"\tflag\tx\tnone\n"x\ty"\ttrue\t0.1\t\np,q\t\t1e-300\t\n'


def test_a_single_column_loses_no_row(tmp_path):
    assert written(tmp_path, pa.table({"a": [1, None, 3]})) == "a\n1\nNA\n3\n"
    assert written(tmp_path, pa.table({"a": pa.array([], pa.string())})) == "a\n"
