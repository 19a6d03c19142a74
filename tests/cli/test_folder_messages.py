"""What is wrong in a folder of files is told with the file, the column and the row there, here and on a cluster."""

import os

import numpy as np
import pandas as pd
import pytest

from properly.cli import predict_table
from properly.cli.fitting import LargeTable
from properly.files import remove_unfinished
from properly.tables import TableFile

RNG = np.random.default_rng(0)
N = 900
S = RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "s": S,
        "p": 1.0 / (1.0 + np.exp(-S)),
        "y": np.where(RNG.random(N) < 1.0 / (1.0 + np.exp(-S)), "yes", "no"),
        "w": 1.0 + RNG.random(N),
        "g": RNG.integers(0, 40, N).astype(str),
    }
)
COMMANDS = {
    "audit": ["--probability", "p", "--group", "g"],
    "calibrate": ["--score", "s"],
    "fit": ["--features", "s", "--method", "logistic", "--group", "g"],
}
WHERE = [False, pytest.param(True, marks=pytest.mark.xdist_group("dask"))]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows").mkdir()
    for k in range(3):
        FRAME[300 * k : 300 * (k + 1)].to_parquet(tmp_path / "rows" / f"{k}.parquet", row_group_size=90)
    return tmp_path / "rows"


@pytest.fixture(params=WHERE, ids=["here", "dask"])
def command(request, properly, folder):
    """Run a command on the folder that must fail with one line; here, or by a cluster."""
    cluster = ["--dask", request.getfixturevalue("dask_client").scheduler.address] if request.param else []

    def run(name, *words, code=1):
        done = properly(name, folder, "--target", "y", *COMMANDS[name], *cluster, *words)
        assert done.code == code
        assert done.err.count("\n") == 1
        assert "bug in properly" not in done.err
        return done.err

    return run


@pytest.mark.parametrize(
    ("name", "column", "value", "message"),
    [
        ("audit", "p", 1.5, "a probability must lie in"),
        ("audit", "y", None, "the class is missing"),
        ("audit", "w", -1.0, "a weight must be a number of at least 0, got -1"),
        ("calibrate", "s", np.inf, "the number must be finite"),
        ("calibrate", "s", np.nan, "the score is missing"),
        ("calibrate", "y", None, "the class is missing"),
        ("calibrate", "w", np.nan, "a weight must be a number"),
        ("fit", "s", np.inf, "the number must be finite"),
        ("fit", "y", None, "the class is missing"),
        ("fit", "w", -1.0, "a weight must be a number of at least 0"),
        ("fit", "g", None, "the group is missing"),
    ],
)
def test_a_bad_value_is_told_with_its_file_and_row(command, folder, name, column, value, message):
    part = FRAME[600:].reset_index(drop=True)
    part[column] = part[column].where(part.index != 217, value)
    part.to_parquet(folder / "2.parquet", row_group_size=90)
    told = command(name, "--weight", "w")
    assert f"{folder / '2.parquet'}, column '{column}', row 218: {message}" in told


def test_a_bad_value_of_a_text_file(properly, folder):
    for path in folder.glob("*.parquet"):
        part = pd.read_parquet(path)
        if path.stem == "1":
            part["y"] = part["y"].where(np.arange(300) != 41)
        part.to_csv(path.with_suffix(".csv"), index=False)
        path.unlink()
    for name, words in COMMANDS.items():
        done = properly(name, folder, "--target", "y", *words)
        assert f"{folder / '1.csv'}, column 'y', row 42: the class is missing" in done.err


@pytest.mark.parametrize("cluster", WHERE, ids=["here", "dask"])
def test_a_bad_value_of_a_file_that_is_predicted(request, properly, folder, tmp_path, cluster):
    properly("calibrate", folder, "--target", "y", "--score", "s", "-o", tmp_path / "m.skops")
    part = FRAME[600:].reset_index(drop=True)
    part["s"] = part["s"].where(part.index != 217, np.inf)
    part.to_parquet(folder / "2.parquet")
    words = ["--dask", request.getfixturevalue("dask_client").scheduler.address] if cluster else []
    done = properly("predict", "m.skops", folder, *words)
    assert f"{folder / '2.parquet'}, column 's', row 218: the number must be finite" in done.err


@pytest.mark.parametrize("classes", [2, 3])
def test_too_many_groups_are_told_with_their_column(fails, folder, tmp_path, classes):
    for k in range(3):
        part = FRAME[300 * k : 300 * (k + 1)].assign(id=np.arange(300) + 400 * k, a=0.2, b=0.3, c=0.5)
        part = pd.concat([part, part.assign(id=part.id + 2000)])
        part.assign(label=np.array(["a", "b", "c"])[np.arange(600) % 3]).to_parquet(folder / f"{k}.parquet")
    pd.concat(map(pd.read_parquet, folder.glob("*"))).to_parquet(tmp_path / "whole.parquet")
    target, columns = ("y", "p") if classes == 2 else ("label", "a,b,c")
    for path in (folder, tmp_path / "whole.parquet"):
        told = fails("audit", path, "--target", target, "--probability", columns, "--group", "id", code=2)
        assert f"{path}, column 'id' has more than 1,000 different values; is it the right column?" in told


def test_probabilities_of_several_classes_that_do_not_add_up(properly, folder):
    for path in folder.glob("*.parquet"):
        p = np.full((300, 3), 1.0 / 3.0)
        p[217, 0] += 0.1 * (path.stem == "1")
        table = pd.DataFrame(p, columns=["a", "b", "c"]).assign(y=np.array(["a", "b", "c"])[np.arange(300) % 3])
        table.to_parquet(path)
    done = properly("audit", folder, "--target", "y", "--probability", "a,b,c")
    assert f"{folder / '1.parquet'}, row 218: the probabilities must add up to 1" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_folders_without_rows(command, folder, name):
    for path in folder.glob("*.parquet"):
        FRAME[:0].to_parquet(path)
    assert f"{folder} has no rows." in command(name)


@pytest.mark.parametrize("name", ["audit", "calibrate"])
def test_folders_without_weight(command, folder, name):
    for path in folder.glob("*.parquet"):
        pd.read_parquet(path).assign(w=0.0).to_parquet(path)
    assert f"{folder} has no rows of a positive weight." in command(name, "--weight", "w")


@pytest.mark.parametrize("name", COMMANDS)
def test_damaged_files_are_named(command, folder, name):
    path = folder / "1.parquet"
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\xff" * 1996
    path.write_bytes(content)
    assert f"{path} cannot be read: it is damaged" in command(name)


@pytest.mark.parametrize("name", ["fit", "audit", "predict"])
def test_files_that_change_between_passes_are_named(properly, folder, tmp_path, monkeypatch, name):
    """A file with as many rows and other labels comes when the last file has been read for the first time."""
    properly("calibrate", folder, "--target", "y", "--score", "s", "-o", tmp_path / "m.skops")
    table = FRAME.assign(a=0.2, b=0.3, c=0.5, label=np.array(["a", "b", "c"])[np.arange(N) % 3])
    for k, path in enumerate(sorted(folder.glob("*.parquet"))):
        path.unlink()
        table[300 * k : 300 * (k + 1)].to_csv(path.with_suffix(".csv"), index=False)
    commands = {
        "fit": ["fit", folder, "--target", "y", *COMMANDS["fit"]],
        "audit": ["audit", folder, "--target", "label", "--probability", "a,b,c"],
        "predict": ["predict", "m.skops", folder, "-o", "scored.parquet"],  # one pass is for the types
    }
    batches = TableFile.batches

    def read(file, columns=None):
        yield from batches(file, columns)
        if file.path == str(folder / "2.csv"):
            table[300:600][::-1].to_csv(folder / "1.csv", index=False)
            os.utime(folder / "1.csv", ns=(0, 7))

    monkeypatch.setattr(TableFile, "batches", read)
    done = properly(*commands[name])
    assert done.code == 1
    assert f"{folder / '1.csv'} has changed since it was opened; use a copy that nobody writes to.\n" in done.err


def test_files_that_change_before_the_last_fit_are_named(command, folder, monkeypatch):
    fit_to_all = LargeTable.fit_to_all

    def changed(*arguments):
        FRAME[300:600][::-1].to_parquet(folder / "1.parquet", row_group_size=90)
        fit_to_all(*arguments)

    monkeypatch.setattr(LargeTable, "fit_to_all", changed)
    assert f"{folder / '1.parquet'} has changed since it was opened" in command("fit")


@pytest.mark.parametrize("name", COMMANDS)
def test_folders_that_do_not_exist(fails, name):
    assert "nope: there is no such file or folder." in fails(name, "nope", "--target", "y", *COMMANDS[name])


def test_outputs_inside_the_folder_that_is_read(fails, properly, folder, tmp_path, monkeypatch):
    message = "lies in {}, which is read; give a place outside of it, or it would be read as well the next time."
    for name, words in COMMANDS.items():
        read = name, folder, "--target", "y", *words
        assert message.format(folder) in fails(*read, "--report", folder / "page.html", code=2)
        if name != "audit":
            assert message.format(folder) in fails(*read, "-o", folder / "model.skops", code=2)
    assert properly("calibrate", folder, "--target", "y", "--score", "s", "-o", tmp_path / "model.skops").code == 0
    assert message.format(folder) in fails(
        "predict", tmp_path / "model.skops", folder, "-o", folder / "scored.parquet", code=2
    )
    monkeypatch.chdir(folder)
    assert message.format(".") in fails("predict", tmp_path / "model.skops", ".", code=2)
    assert predict_table(tmp_path / "model.skops", folder, output=tmp_path / "scored.parquet")["rows"] == N


def test_the_folder_that_is_read_is_no_cache(fails, folder):
    for cache in (folder, folder / "deeper"):
        cache.mkdir(exist_ok=True)
        done = fails("fit", folder, "--target", "y", *COMMANDS["fit"], "--cache", cache, code=2)
        assert f"{cache} lies in {folder}, which is read; give a place outside of it" in done


@pytest.mark.parametrize("name", COMMANDS)
def test_links(fails, folder, name):
    (folder / "3.parquet").symlink_to("4.parquet")
    assert f"{folder / '3.parquet'} is a link to what does not exist" in fails(
        name, folder, "--target", "y", *COMMANDS[name]
    )


@pytest.mark.xdist_group("dask")
def test_ctrl_c_leaves_no_part_of_a_folder(properly, folder, dask_client, tmp_path, monkeypatch):
    """Neither if it is heard, nor if the process must be ended before."""
    assert properly("calibrate", folder, "--target", "y", "--score", "s", "-o", tmp_path / "m.skops").code == 0
    before = sorted(tmp_path.rglob("*"))
    closed = type(dask_client).close
    for at_once in (False, True):

        def interrupted(client, tasks, at_once=at_once):
            assert len(sorted(tmp_path.rglob("*"))) > len(before)
            if at_once:
                remove_unfinished()
                assert sorted(tmp_path.rglob("*")) == before
            raise KeyboardInterrupt

        def closing(client, *args, **options):
            assert sorted(tmp_path.rglob("*")) == before  # a client may take long to close
            return closed(client, *args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(type(dask_client), "gather", interrupted)
            patched.setattr(type(dask_client), "close", closing)
            address = dask_client.scheduler.address
            done = properly("predict", tmp_path / "m.skops", folder, "-o", "out", "--dask", address)
        assert done.code == 130
        assert done.err == "properly: error: interrupted; no incomplete file was left.\n"
        assert sorted(tmp_path.rglob("*")) == before
