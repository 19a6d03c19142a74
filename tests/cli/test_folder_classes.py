"""What labels mean all files together say, so that a folder has the classes and the model of one file."""

import numpy as np
import pandas as pd
import pytest

from properly.cli import audit_table, fit_table, predict_table
from properly.tables import TableError

FIT = {"target": "y", "features": ["a"], "method": "logistic"}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write rows of three classes, sorted by class, to a file, and to two files in which labels may look different."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()

    def write(names, ending, labels=None, in_second=None):
        random = np.random.default_rng(0)
        p = random.dirichlet([2.0, 2.0, 2.0], 900)
        code = np.sort((random.random((900, 1)) > p.cumsum(axis=1)).sum(axis=1))
        table = pd.DataFrame(p, columns=names).assign(a=random.normal(size=900) + code)
        labels = np.array(names if labels is None else labels)
        others = labels if in_second is None else np.array(in_second)
        for name, of_file, rows in (
            ("whole", labels, slice(900)),
            ("rows/0", labels, slice(400)),
            ("rows/1", others, slice(400, 900)),
        ):
            part = table[rows].assign(y=of_file[code[rows]])
            part.to_csv(f"{name}.csv", index=False) if ending == "csv" else part.to_parquet(f"{name}.parquet")
        return f"whole.{ending}"

    return write


@pytest.mark.parametrize(
    "files",
    [
        (["01", "02", "X"], "csv"),
        (["true", "false", "maybe"], "csv"),
        (["1.0", "2.0", "X"], "csv"),
        (["10.0", "2.0", "2.5"], "csv", ["10", "2", "2.5"], ["10", "02.0", "2.5"]),
        (["10.0", "2.0", "2.5"], "parquet", [10.0, 2.0, 2.5]),
    ],
    ids=str,
)
def test_a_folder_has_the_classes_of_one_file(written, files):
    whole, names = written(*files), files[0]
    options = {"target": "y", "probability": names, "costs": "0:1:4,1:0:1,9:1:0"}
    first, second = (audit_table(each, **options) for each in (whole, "rows"))
    assert first["confusion"]["counts"] == second["confusion"]["counts"]
    for name, score in first["scores"].items():
        assert second["scores"][name]["as_given"] == pytest.approx(score["as_given"])
    first = fit_table(whole, **FIT, single=True, calibration="none", output="first.skops")
    second = fit_table("rows", **FIT, output="second.skops")
    assert first["classes"] == second["classes"]
    for model in ("first", "second"):
        predict_table(f"{model}.skops", whole, output=f"{model}.parquet")
    columns = [f"probability_{name}" for name in first["classes"]]
    predicted = [pd.read_parquet(f"{model}.parquet")[columns] for model in ("first", "second")]
    np.testing.assert_allclose(*predicted, atol=1e-6)


def test_labels_that_no_drawn_row_has(written, monkeypatch):
    """They are those of classes that were drawn, or are named as these are."""
    monkeypatch.setattr("properly.cli.fitting.SAMPLED", 100)
    written(["1", "2", "3"], "csv")
    table = pd.read_csv("rows/0.csv", dtype=str)
    table.loc[7, "y"] = "01.0"
    table.to_csv("rows/0.csv", index=False)
    assert fit_table("rows", **FIT)["classes"] == [1, 2, 3]
    for label, told in (("04", "4"), ("X", "'X'")):
        table.loc[7, "y"] = label
        table.to_csv("rows/0.csv", index=False)
        with pytest.raises(TableError, match=rf"0\.csv, column 'y', row 8: the class {told} is so rare"):
            fit_table("rows", **FIT)


def test_a_class_that_is_missing_in_quotation_marks(tmp_path):
    (tmp_path / "0.csv").write_text("y,p\n" + "1,0.5\n2,0.5\n" * 5, encoding="utf-8")
    (tmp_path / "1.csv").write_text('y,p\n1,0.5\n"NA",0.5\n', encoding="utf-8")
    with pytest.raises(TableError, match=r"column 'y' holds 'NA' beside .* class is missing"):
        audit_table(tmp_path, target="y", probability="p", report=tmp_path.parent / "a.html")
