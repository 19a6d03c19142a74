"""Commands on folders of files, which are counted or read in batches and never held in memory."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from properly import load
from properly.cli import audit_table, calibrate_table, fit_table, main, predict_table
from properly.inputs.misuse import Misuse
from properly.tables import TableError, TableFolder, counted, folders
from properly.tables.encoder import UnseenCategories
from properly.tables.predictions import read_predictions

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
    (tmp_path / "rows" / "_delta_log").mkdir()
    (tmp_path / "rows" / "_delta_log" / "0").touch()
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


def test_weights_that_are_not_whole_of_rows_with_ties(folder):
    table = FRAME.assign(p=FRAME["p"].round(2).clip(0.01, 0.99), w=np.random.default_rng(1).exponential(size=N))
    for path in folder.rglob("*.*"):
        part = table[1000 * int(path.stem) : 1000 * (int(path.stem) + 1)]
        part.to_csv(path, index=False) if path.suffix == ".csv" else part.to_parquet(path)
    table.to_parquet("whole.parquet")
    options = {"target": "y", "probability": "p", "group": "g", "weight": "w"}
    whole, found = (audit_table(each, **options) for each in ("whole.parquet", folder))
    same(numbers(found), numbers(whole))
    whole, found = (
        calibrate_table(each, target="y", score="p", weight="w", method="platt", output="found.skops")
        for each in ("whole.parquet", folder)
    )
    assert found["log_loss_constant"] == pytest.approx(whole["log_loss_constant"])
    assert found["log_loss_after"] == pytest.approx(whole["log_loss_after"], rel=0.01)


@pytest.mark.parametrize("costs", [None, "0:1:4,1:0:1,4:1:0"])
def test_audit_of_several_classes(folder, costs):
    """All rows are drawn, so nothing is lost."""
    scores = RNG.normal(size=(N, 3))
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = np.array(["low", "mid", "top"])[(RNG.random((N, 1)) > p.cumsum(axis=1)).sum(axis=1)]
    table = pd.DataFrame(p, columns=["p_low", "p_top", "p_mid"])[["p_mid", "p_low", "p_top"]].assign(
        y=np.where(y == "mid", "top", np.where(y == "top", "mid", y)), g=FRAME["g"], w=FRAME["w"]
    )
    for path in folder.rglob("*.*"):
        part = table[1000 * int(path.stem) : 1000 * (int(path.stem) + 1)]
        part.to_csv(path, index=False) if path.suffix == ".csv" else part.to_parquet(path)
    table.to_parquet("whole.parquet")
    options = {"target": "y", "probability": ["p_top", "p_low", "p_mid"], "group": "g", "weight": "w", "costs": costs}
    whole, found = (audit_table(each, **options) for each in ("whole.parquet", folder))
    del whole["report"], found["report"]
    same(json.loads(json.dumps(found)), json.loads(json.dumps(whole)))


TIMES = np.array(["2024-01-01", "2024-01-02T12:30", "NaT"], dtype="M8[us]")[RNG.integers(0, 3, N)]
GROUPS = {
    "ns": TIMES.astype("M8[ns]"),
    "us": TIMES,
    "Berlin": pd.Series(TIMES).dt.tz_localize("Europe/Berlin"),
    "days": TIMES.astype("M8[D]").astype(object),
    "texts": np.array(["1.50", "007", "x"], dtype=object)[RNG.integers(0, 3, N)],
    "numbers": np.array([1.5, 2.0, np.nan])[RNG.integers(0, 3, N)],
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_have_the_names_of_one_file(folder, kind, n_classes):
    table, probability = FRAME.assign(g=GROUPS[kind]), ["p"]
    if n_classes == 3:
        table["y"], probability = np.array(["a", "b", "c"])[np.arange(N) % 3], ["p_a", "p_b", "p_c"]
        table[probability] = np.array([0.25, 0.25, 0.5])
    for path in folder.rglob("*.*"):
        part = table[1000 * int(path.stem) : 1000 * (int(path.stem) + 1)]
        part.to_csv(path, index=False) if path.suffix == ".csv" else part.to_parquet(path)
    one = f"one{path.suffix}"
    table.to_csv(one, index=False) if path.suffix == ".csv" else table.to_parquet(one)
    whole, found = (read_predictions(each, "y", probability, group="g") for each in (one, folder))
    assert found.groups.names == whole.groups.names
    rows = np.bincount(found.groups.codes, found.forecast.most_probable().rows)
    np.testing.assert_array_equal(rows, np.bincount(whole.groups.codes))


def test_cells_are_told(folder, monkeypatch, capsys):
    """Where there is room for few distinct probabilities, page, terminal and summary say what that means."""
    monkeypatch.setattr("properly.score_counts.ROOM", 500)
    assert main(["audit", str(folder), "--target", "y", "--probability", "p", "--group", "g"]) == 0
    assert "% of their size" in " ".join(capsys.readouterr().out.split())
    assert "of their size (of 1 - p, above one half) count as their mean" in Path("audit.html").read_text("utf-8")
    assert audit_table(folder, target="y", probability="p")["cell_width"] > 1e-4
    assert audit_table("whole.parquet", target="y", probability="p")["cell_width"] == 0.0


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


TOWNS = np.array(["Bath", "Oslo", "Rome"])[RNG.integers(0, 3, N)]
HEIGHT = np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N))


@pytest.fixture
def features(folder):
    """The same rows with a column of categories, and one with missing values."""
    for path in folder.rglob("*.*"):
        rows = slice(*(1000 * (int(path.stem) + k) for k in (0, 1)))
        part = FRAME[rows].assign(town=TOWNS[rows], height=HEIGHT[rows]).drop(columns="p")
        part.to_csv(path, index=False) if path.suffix == ".csv" else part.to_parquet(path)
    FRAME.assign(town=TOWNS, height=HEIGHT).drop(columns="p").to_parquet("whole.parquet")
    return folder


OF_FIT = {"target": "y", "ignore": ["g"], "weight": "w", "method": "logistic,probit", "folds": 3}


def predicted(model):
    predict_table(model, "whole.parquet", output="found.parquet")
    return pd.read_parquet("found.parquet")["probability_yes"].to_numpy()


@pytest.mark.parametrize("rate", [None, 0.1])
def test_fit(features, monkeypatch, rate):
    """All rows are drawn, and weigh as much; the drawn ones are the same table, in another order of the folds."""
    options = OF_FIT | {"population_rate": rate}
    fit_table("whole.parquet", **options, single=True, calibration="none", output="whole.skops")
    (features.parent / "scratch").mkdir()
    found = fit_table(features, **options, output="found.skops", cache="scratch")
    assert found["rows"] == N
    assert found["notes"][-1] == "models were compared, and the chosen one audited, on all 3,000 rows"
    assert not list((features.parent / "scratch").iterdir())
    np.testing.assert_allclose(predicted("found.skops"), predicted("whole.skops"), atol=1e-6)


def test_fit_to_drawn_rows_and_then_all(features, monkeypatch):
    """With the settings chosen on a few rows, the coefficients are those of all rows."""
    monkeypatch.setattr("properly.cli.fitting.SAMPLED", 400)
    found = fit_table(features, **OF_FIT, output="found.skops")
    assert "on 400 rows drawn at random" in found["notes"][-1]
    assert found["rows"] == N
    model = load("found.skops")
    inside = model.classifier.parts_[0].model.classifier
    table = pd.read_parquet("whole.parquet")
    X = inside.features_.transform(model.encoder.transform(table))
    whole = clone(inside.classifier_).fit(X, table["y"] == "yes", table["w"])
    np.testing.assert_allclose(inside.classifier_.coef_, whole.coef_, atol=1e-3)  # of the rough fits of a search


@pytest.mark.parametrize("method", ["gev", "tailored:0.2", "firth", "cloglog"])
def test_every_linear_method_is_fitted_to_folders(features, method):
    options = OF_FIT | {"method": method, "weight": None}
    if method in ("gev", "firth"):
        options["positive"] = "yes"
    assert fit_table(features, **options, output="found.skops")["chosen"].startswith(method.partition(":")[0])
    assert np.isfinite(predicted("found.skops")).all()


def test_auto_leaves_out_what_the_classes_of_a_folder_do_not_allow(features, capsys):
    """As in a table in memory: with a note, unless the method was named."""
    table = pd.read_parquet("whole.parquet").assign(y=np.array(["low", "mid", "top"])[np.arange(N) % 3])
    for path in features.rglob("*.*"):
        part = table[1000 * int(path.stem) : 1000 * (int(path.stem) + 1)]
        part.to_csv(path, index=False) if path.suffix == ".csv" else part.to_parquet(path)
    found = fit_table(features, **OF_FIT | {"method": "auto"}, output="found.skops")
    assert {each["name"] for each in found["leaderboard"]} == {"logistic", "probit", "cloglog"}
    assert "firth is for two classes, the target has 3" in found["notes"]
    with pytest.raises(Misuse, match="gev is for two classes, the target has 3"):
        fit_table(features, **OF_FIT | {"method": "gev,auto"}, output="named.skops")


def test_what_fit_refuses(features):
    with pytest.raises(Misuse, match="boosting needs all rows in memory; of a table of any size are fitted: logistic"):
        fit_table(features, target="y", method="boosting")
    with pytest.raises(Misuse, match="use properly calibrate after it"):
        fit_table(features, target="y", calibration="platt")
    with pytest.raises(Misuse, match="cache must be an existing folder"):
        fit_table(features, target="y", cache="none")
    with pytest.raises(Misuse, match="cache is for rows that are read here"):
        fit_table(features, target="y", cache=".", dask="tcp://127.0.0.1:1")
    with pytest.raises(Misuse, match="cache is for folders"):
        fit_table("whole.parquet", target="y", cache=".")


def test_what_no_drawn_row_has(features, monkeypatch):
    """A text among numbers and a class that were not drawn are named with their file and row."""
    monkeypatch.setattr("properly.cli.fitting.SAMPLED", 60)
    path = next(features.rglob("2.*"))
    for column, value, message in (("height", "tall", "'tall'"), ("y", "perhaps", "'perhaps' is so rare")):
        if path.suffix == ".csv":
            before = path.read_text(encoding="utf-8")
            part = pd.read_csv(path, dtype=object)
            part.loc[998, column] = value
            part.to_csv(path, index=False)
            with pytest.raises(TableError, match=rf"2\.csv, column '{column}', row 999: .*{message}"):
                fit_table(features, **OF_FIT)
            path.write_text(before, encoding="utf-8")
        elif column == "y":
            part = pd.read_parquet(path)
            part["y"] = part["y"].where(np.arange(len(part)) != 998, value)
            part.to_parquet(path)
            with pytest.raises(TableError, match=rf"2\.parquet, column 'y', row 999: .*{message}"):
                fit_table(features, **OF_FIT)


def test_large_files_are_counted(folder, monkeypatch):
    whole = audit_table("whole.parquet", target="y", probability="p")
    monkeypatch.setattr(folders, "LARGE", 1000)
    calls = []
    rows_of = counted.counted_rows
    monkeypatch.setattr(counted, "counted_rows", lambda *data, **more: (calls.append(1), rows_of(*data, **more))[1])
    found = audit_table("whole.parquet", target="y", probability="p")
    assert calls
    same(numbers(found), numbers(whole))


def test_what_is_refused(folder):
    with pytest.raises(Misuse, match="must be named by the classes"):
        audit_table(folder, target="y", probability=["p", "s"])
    for name in ("cluster", "against"):
        with pytest.raises(Misuse, match=rf"^{name} needs all rows in memory, .* leave out {name}, or give one file"):
            audit_table(folder, target="y", probability="p", **{name: "w"})
    with pytest.raises(Misuse, match="has no report; leave it out: properly audit"):
        calibrate_table(folder, target="y", score="s", report="page.html")
    for columns, problem in (("s", "^the target 'w' has 3 classes"), (["s", "p", "g"], "^score names 3 columns")):
        with pytest.raises(Misuse, match=f"{problem}, but .* one column of scores and two classes. Calibrate a sample"):
            calibrate_table(folder, target="w", score=columns)
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


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("method", ["auto", "isotonic"])
def test_calibrate_by_a_dask_cluster(folder, dask_client, method):
    options = {"target": "y", "score": "s", "weight": "w", "method": method}
    scheduler = dask_client.scheduler.address
    if not list(folder.glob("*.parquet")):
        with pytest.raises(Misuse, match="a Dask cluster reads Parquet files"):
            calibrate_table(folder, **options, dask=scheduler)
        return
    here = calibrate_table(folder, **options, output="here.skops")
    there = calibrate_table(folder, **options, output="there.skops", dask=scheduler)
    assert there["rows"] == N
    del here["calibrator"], there["calibrator"]
    same(there, here)
    p_here, p_there = (load(f"{name}.skops").predict_proba(FRAME) for name in ("here", "there"))
    np.testing.assert_allclose(p_there, p_here, atol=1e-9)


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("rate", [None, 0.1])
def test_fit_by_a_dask_cluster(features, dask_client, rate):
    options = OF_FIT | {"dask": dask_client.scheduler.address}
    if not list(features.glob("*.parquet")):
        with pytest.raises(Misuse, match="a Dask cluster reads Parquet files"):
            fit_table(features, **options)
        return
    fit_table(features, **OF_FIT, population_rate=rate, output="whole.skops")
    pd.read_parquet(features / "0.parquet")[:0].to_parquet(features / "empty.parquet")
    found = fit_table(features, **options, population_rate=rate, output="found.skops")
    assert found["rows"] == N
    np.testing.assert_allclose(predicted("found.skops"), predicted("whole.skops"), atol=1e-6)


@pytest.mark.xdist_group("dask")
def test_predict_by_a_dask_cluster(features, dask_client, monkeypatch):
    scheduler = dask_client.scheduler.address
    fit_table("whole.parquet", **OF_FIT, output="model.skops")
    strange = FRAME[:5].assign(town="Paris", height=0.0).drop(columns="p")
    if any(features.glob("*.csv")):
        strange.to_csv(features / "3.csv", index=False)
    else:
        strange.to_parquet(features / "3.parquet")
    with pytest.warns(UnseenCategories, match="5 rows have a category"):
        found = predict_table("model.skops", features, output="parts", dask=scheduler)
    with pytest.warns(UnseenCategories):
        predict_table("model.skops", features, output="one.parquet")
    assert found["rows"] == N + 5
    assert found["unseen"] == {"town": 5}
    names = {each.relative_to(features).as_posix() for each in features.rglob("*.*")}
    assert {each.relative_to("parts").as_posix() for each in Path("parts").rglob("*.*")} == names
    expected = pd.read_parquet("one.parquet")["probability_yes"]
    read = pd.read_csv if any(features.glob("*.csv")) else pd.read_parquet
    parts = [read(Path("parts", name))["probability_yes"] for name in sorted(names)]
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-12)
    for output, message in (
        ("parts", "must be a new folder, but parts exists"),
        (features / "inside", "which is read"),
    ):
        with pytest.raises(Misuse, match=message):
            predict_table("model.skops", features, output=output, dask=scheduler)
    with pytest.raises(Misuse, match="leave out --dask for a single file"):
        predict_table("model.skops", "whole.parquet", dask=scheduler)
    with pytest.raises(ValueError, match=r"Paris' did not occur"):
        predict_table("model.skops", features, output="refused", unseen="refuse", dask=scheduler)
    assert not [each for each in Path().iterdir() if "refused" in each.name]  # nothing half done


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
