"""Commands on folders of files, which are counted or read in batches and never held in memory."""

import json

import numpy as np
import pandas as pd
import pytest

from properly.cli import audit_table, calibrate_table, predict_table
from properly.inputs.misuse import Misuse
from properly.tables import TableError, TableFolder, folders

RNG = np.random.default_rng(0)
N = 3000
S = 2.0 * RNG.normal(size=N) - 1.0
FRAME = pd.DataFrame(
    {
        "s": S,
        "p": 1.0 / (1.0 + np.exp(-S)),
        "y": np.where(RNG.random(N) < 1.0 / (1.0 + np.exp(-1.3 * S)), "yes", "no"),
        "g": np.array(["a", "b", None], dtype=object)[RNG.integers(0, 3, N)],
        "w": RNG.integers(1, 4, N),
    }
)


@pytest.fixture(params=["parquet", "csv"])
def folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows" / "deeper").mkdir(parents=True)
    for number, place in enumerate(["rows/0", "rows/1", "rows/deeper/2"]):
        part = FRAME[number * 1000 : (number + 1) * 1000]
        if request.param == "csv":
            part.to_csv(f"{place}.csv", index=False)
        else:
            part.to_parquet(f"{place}.parquet")
    (tmp_path / "rows" / "_SUCCESS").touch()
    FRAME.to_parquet("whole.parquet")
    return tmp_path / "rows"


def numbers(summary):
    """All that a summary says, except for what depends on the folds."""
    kept = {name: summary[name] for name in ("rows", "verdict", "sizes", "auc", "groups", "decision", "positive")}
    return json.loads(json.dumps(kept, default=str))


def same(found, whole):
    if isinstance(whole, dict):
        for name, value in whole.items():
            if name not in ("saving", "saving_low", "saving_high", "cost_recalibrated", "recalibrated"):
                same(found[name], value)
    elif isinstance(whole, list):
        for one, two in zip(found, whole, strict=True):
            same(one, two)
    elif isinstance(whole, float):
        assert found == pytest.approx(whole, rel=1e-6, abs=1e-9)
    else:
        assert found == whole


def test_audit(folder):
    options = {"target": "y", "probability": "p", "group": "g", "weight": "w"}
    whole = audit_table("whole.parquet", **options)
    found = audit_table(folder, **options)
    same(numbers(found), numbers(whole))
    for name, score in whole["scores"].items():
        assert found["scores"][name]["as_given"] == pytest.approx(score["as_given"], rel=1e-10)
        assert found["scores"][name]["gain"] == pytest.approx(score["gain"], rel=0.3)
    assert "rows" in (folder.parent / "audit.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["auto", "platt", "isotonic"])
def test_calibrate_and_predict(folder, method):
    whole = calibrate_table("whole.parquet", target="y", score="s", method=method, output="whole.skops")
    found = calibrate_table(folder, target="y", score="s", method=method, output="found.skops")
    assert found["rows"] == N
    assert found["log_loss_constant"] == pytest.approx(whole["log_loss_constant"])
    assert found["log_loss_after"] == pytest.approx(whole["log_loss_after"], rel=0.02)
    assert predict_table("found.skops", folder, output="scored.parquet")["rows"] == N
    predict_table("whole.skops", "whole.parquet", output="expected.parquet")
    scored, expected = pd.read_parquet("scored.parquet"), pd.read_parquet("expected.parquet")
    np.testing.assert_allclose(scored["probability_yes"], expected["probability_yes"], atol=1e-9)
    assert predict_table("found.skops", folder)["output"].startswith("rows-scored.")


def test_large_files_are_counted(folder, monkeypatch):
    whole = audit_table("whole.parquet", target="y", probability="p")
    monkeypatch.setattr(folders, "LARGE", 1000)
    calls = []
    counted = folders.counted_rows
    monkeypatch.setattr(folders, "counted_rows", lambda *data, **more: (calls.append(1), counted(*data, **more))[1])
    found = audit_table("whole.parquet", target="y", probability="p")
    assert calls
    same(numbers(found), numbers(whole))


def test_what_is_refused(folder):
    with pytest.raises(Misuse, match="one column of probabilities"):
        audit_table(folder, target="y", probability=["p", "s"])
    with pytest.raises(Misuse, match="without clusters"):
        audit_table(folder, target="y", probability="p", cluster="g")
    with pytest.raises(Misuse, match="without a report"):
        calibrate_table(folder, target="y", score="s", report="page.html")
    with pytest.raises(Misuse, match="has no column 'q'"):
        audit_table(folder, target="y", probability="q")
    FRAME.assign(p=FRAME.p + 1.0).to_parquet("bad.parquet")
    with pytest.raises(TableError, match=r"column 'p', row \d+: a probability must lie in"):
        audit_table("bad.parquet", target="y", probability="p")
    if list(folder.glob("*.parquet")):
        part = FRAME[1000:2000].reset_index(drop=True)
        for column, value, message in (("p", 1.5, "must lie in"), ("p", np.nan, "missing")):
            part.assign(**{column: part[column].where(part.index != 7, value)}).to_parquet(folder / "1.parquet")
            with pytest.raises(TableError, match=rf"1\.parquet, column 'p', row 8: .*{message}"):
                audit_table(folder, target="y", probability="p")
    FRAME[["p"]].to_parquet(folder / "other.parquet")
    with pytest.raises(TableError, match=r"other\.parquet has (other columns \('p'\)|another format) than"):
        TableFolder(folder)
    mixed = folder.parent / "mixed"
    mixed.mkdir()
    FRAME.to_csv(mixed / "1.csv", index=False)
    FRAME.to_parquet(mixed / "2.parquet")
    with pytest.raises(TableError, match=r"2\.parquet has another format than .*1\.csv, but a folder is one table"):
        TableFolder(mixed)
    empty = folder.parent / "empty"
    empty.mkdir()
    with pytest.raises(TableError, match="a folder without files"):
        TableFolder(empty)


@pytest.mark.xdist_group("dask")
def test_a_dask_cluster(folder, dask_client):
    if not list(folder.glob("*.parquet")):
        with pytest.raises(Misuse, match="a Dask cluster reads Parquet files"):
            audit_table(folder, target="y", probability="p", dask=dask_client.scheduler.address)
        return
    options = {"target": "y", "probability": "p", "group": "g", "weight": "w"}
    found = audit_table(folder, **options, dask=dask_client.scheduler.address)
    same(numbers(found), numbers(audit_table("whole.parquet", **options)))


def test_a_scheduler_that_does_not_answer(folder):
    pytest.importorskip("distributed")
    if list(folder.glob("*.parquet")):
        with pytest.raises(Misuse, match="there is no Dask scheduler at"):
            audit_table(folder, target="y", probability="p", dask="tcp://127.0.0.1:1")


@pytest.mark.parametrize("name", ["y", "g"])
def test_files_of_other_types_are_not_one_table(properly, tmp_path, name):
    folder = tmp_path / "mixed"
    folder.mkdir()
    columns = {"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "g": [1, 2] * 20}
    pd.DataFrame(columns).to_parquet(folder / "a.parquet")
    pd.DataFrame(columns | {name: ["no", "yes"] * 20}).to_parquet(folder / "b.parquet")
    done = properly("audit", folder, "--target", "y", "--probability", "p", "--group", "g")
    assert done.code == 1
    assert f"column '{name}' holds numbers in {folder / 'a.parquet'} and texts in {folder / 'b.parquet'}" in done.err
