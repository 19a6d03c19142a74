"""``properly predict``."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from properly import load, save
from properly.linear import ProperLinearClassifier
from properly.tables import LinearFeatures, TableClassifier, TableEncoder, WithFeatures, read_table


@pytest.fixture
def model(tmp_path, train):
    """Fitted to CSV."""
    table = read_table(train)
    encoder = TableEncoder().fit(table.drop_columns("left"))
    y = (table["left"].to_numpy(zero_copy_only=False) == "yes").astype(int)
    inner = WithFeatures(LinearFeatures(encoder.categorical_), ProperLinearClassifier())
    inner.fit(encoder.transform(table), y)
    save(TableClassifier(encoder, inner, ["no", "yes"]), tmp_path / "model.skops")
    return tmp_path / "model.skops"


@pytest.fixture
def new(customers):
    columns = customers(200, seed=3)
    del columns["left"]
    return columns | {"id": [f"{k:04}" for k in range(200)]}


@pytest.mark.parametrize("source", [".csv", ".tsv.gz", ".parquet", ".arrow"])
@pytest.mark.parametrize("target", [".csv", ".parquet", ".feather", ".tsv.gz"])
def test_every_format_gives_the_same(properly, model, new, write, source, target):
    path = write(f"new{source}", new)
    done = properly("predict", model, path, "-o", f"scored{target}", "--json")
    assert done.code == 0, done.err
    assert done.summary == {"output": f"scored{target}", "rows": 200, "columns": ["probability_no", "probability_yes"]}
    scored = read_table(f"scored{target}")
    p = load(model).predict_proba(pa.table(new))
    assert_allclose(scored["probability_yes"].to_numpy(), p[:, 1], rtol=1e-14)
    assert_allclose(scored["probability_no"].to_numpy(), p[:, 0], rtol=1e-14)
    assert scored.column_names[:6] == list(new)
    assert scored["town"].to_pylist() == new["town"].to_pylist()
    assert scored["age"].to_pylist() == new["age"].to_pylist()
    assert scored["member"].to_pylist() == new["member"].to_pylist()
    assert_allclose(scored["income"].to_numpy(), new["income"].to_numpy(zero_copy_only=False), rtol=1e-15)


def test_text_stays_what_it_is(properly, model, new, write):
    properly("predict", model, write("new.csv", new), "-o", "scored.csv")
    before, after = (Path(name).read_text().splitlines() for name in ("new.csv", "scored.csv"))
    assert [line.rpartition(",")[0].rpartition(",")[0] for line in after] == before


def test_types_of_other_systems(properly, model, new, write):
    changed = new | {
        "age": pa.array(new["age"].to_pylist(), pa.float32()),
        "town": new["town"].dictionary_encode(),
        "member": pa.array([str(value) for value in new["member"].to_pylist()]),
        "since": new["since"].cast(pa.timestamp("ns")),
    }
    properly("predict", model, write("new.parquet", changed), "-o", "scored.parquet")
    found = read_table("scored.parquet")["probability_yes"].to_numpy()
    assert_allclose(found, load(model).predict_proba(pa.table(new))[:, 1], rtol=1e-12)


def test_batches_do_not_matter(properly, model, customers, write, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_ROWS", 64)
    path = write("new.parquet", customers(1000, seed=4))
    done = properly("predict", model, path, "-o", "scored.arrow", "--json")
    assert done.summary["rows"] == 1000
    found = read_table("scored.arrow")["probability_yes"].to_numpy()
    assert_array_equal(found, load(model).predict_proba(read_table(path))[:, 1])


def test_where_the_output_goes(properly, model, new, write, tmp_path):
    (tmp_path / "data").mkdir()
    path = write("data/new.csv.gz", new)
    assert properly("predict", model, path, "--json").summary["output"] == "new-scored.csv.gz"
    assert read_table("new-scored.csv.gz").num_rows == 200


def test_a_table_without_rows(properly, model, new, write, tmp_path):
    (tmp_path / "none.csv").write_text(",".join(new) + "\n")
    done = properly("predict", model, "none.csv", "-o", "scored.csv", "--json")
    assert done.summary["rows"] == 0
    assert Path("scored.csv").read_text() == ",".join(new) + ",probability_no,probability_yes\n"


def test_names_of_new_columns(properly, fails, model, new, write):
    path = write("new.csv", new | {"probability_yes": range(200)})
    assert "already has a column 'probability_yes'; choose another prefix with --prefix" in fails(
        "predict", model, path, code=2
    )
    done = properly("predict", model, path, "--prefix", "p_", "--json")
    assert done.summary["columns"] == ["p_no", "p_yes"]


def test_wrong_tables(fails, model, new, write, tmp_path):
    ages = [str(value) for value in new["age"].to_pylist()]
    ages[149] = "old"
    path = write("text.csv", new | {"age": ages})
    assert "text.csv, column 'age', row 150: a number is needed, got 'old'" in fails("predict", model, path)
    towns = new["town"].to_pylist()
    towns[70] = "Paris"
    path = write("unseen.parquet", new | {"town": towns})
    refused = fails("predict", model, path, "--unseen", "refuse")
    assert "unseen.parquet, column 'town', row 71: the category 'Paris'" in refused
    path = write("missing.csv", {name: values for name, values in new.items() if name != "town"})
    assert "missing.csv has no column 'town'" in fails("predict", model, path)
    path = write("whole.parquet", new)
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:-100])
    assert "cut.parquet cannot be read" in fails("predict", model, "cut.parquet")
    assert "is an input" in fails("predict", model, path, "-o", path, code=2)
    assert "there is no folder" in fails("predict", model, path, "-o", "gone/scored.csv", code=2)
    assert "is a folder; give the name of a file in it" in fails("predict", model, path, "-o", tmp_path, code=2)


@pytest.mark.parametrize("name", ["scored.xlsx", "-", "/dev/null"])
def test_the_ending_of_the_output(properly, model, new, write, name):
    done = properly("predict", model, write("new.csv", new), "-o", name)
    assert done.code == 2
    assert "error: output: must end with one of .csv, .tsv, .jsonl, " in done.err
    assert f"got '{name}'" in done.err


def test_rows_are_counted_over_batches(fails, model, customers, write, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_ROWS", 64)
    columns = customers(1000, seed=4)
    towns = columns["town"].to_pylist()
    towns[777] = "Paris"
    path = write("late.parquet", columns | {"town": towns})
    refused = fails("predict", model, path, "--unseen", "refuse")
    assert "column 'town', row 778: the category 'Paris'" in refused


@pytest.mark.filterwarnings("default")
def test_unseen_categories_may_count_as_missing(properly, model, new, write):
    path = write("unseen.parquet", new | {"town": ["Paris"] * 200})
    missing = new | {"town": pa.nulls(200, pa.string())}
    assert properly("predict", model, path, "--unseen", "missing", "-o", "scored.parquet").code == 0
    found = read_table("scored.parquet")["probability_yes"].to_numpy()
    assert_array_equal(found, load(model).predict_proba(pa.table(missing))[:, 1])


def test_wrong_models(fails, model, new, write, tmp_path):
    path = write("new.csv", new)
    (tmp_path / "cut.skops").write_bytes(model.read_bytes()[:1000])
    (tmp_path / "text.skops").write_text("hello")
    (tmp_path / "empty.skops").write_text("")
    for name in ("cut", "text", "empty", "gone"):
        assert f"{name}.skops" in fails("predict", f"{name}.skops", path)
    save(ProperLinearClassifier().fit([[0.0], [1.0]], [0, 1]), tmp_path / "bare.skops")
    assert "holds a ProperLinearClassifier, which does not take tables" in fails("predict", "bare.skops", path)


def test_a_model_with_a_foreign_type(fails, model, new, write, tmp_path):
    with zipfile.ZipFile(model) as source:
        members = {name: source.read(name) for name in source.namelist()}
    schema = json.loads(members["schema.json"]) | {"__module__": "subprocess", "__class__": "Popen"}
    members["schema.json"] = json.dumps(schema).encode()
    header = json.loads(members["properly.json"])
    header["checksums"]["schema.json"] = hashlib.sha256(members["schema.json"]).hexdigest()
    members["properly.json"] = json.dumps(header).encode()
    members["properly.sum"] = hashlib.sha256(members["properly.json"]).hexdigest().encode()
    with zipfile.ZipFile(tmp_path / "foreign.skops", "w") as target:
        for name, content in members.items():
            target.writestr(name, content)
    message = fails("predict", "foreign.skops", write("new.csv", new))
    assert "subprocess.Popen" in message


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".csv.gz"])
def test_a_full_disk(properly, model, new, write, tmp_path, ending):
    full = tmp_path / f"full{ending}"
    try:
        full.symlink_to("/dev/full")
    except OSError:
        pytest.skip("no symbolic links here")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    done = properly("predict", model, write("new.csv", new), "-o", full)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "full" in done.err
    assert done.out == ""


def test_an_interruption_leaves_nothing(properly, model, new, write, tmp_path, monkeypatch):
    monkeypatch.setattr("properly.tables.reading.BATCH_ROWS", 64)
    path = write("new.parquet", new)
    (tmp_path / "scored.parquet").write_text("old")
    before = sorted(tmp_path.iterdir())
    calls = []

    def interrupted(self, *_, **__):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {name: np.zeros(64) for name in ("probability_no", "probability_yes")}

    monkeypatch.setattr(TableClassifier, "scored", interrupted)
    done = properly("predict", model, path, "-o", "scored.parquet")
    assert done.code == 130
    assert len(calls) == 3
    assert (tmp_path / "scored.parquet").read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(model, tmp_path):
    """Peak memory of a fresh process for 2·10⁵ and for 2·10⁶ rows."""
    code = (
        "import resource, sys\nfrom properly.cli import main\ncode = main(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\nsys.exit(code)"
    )
    block = read_table(tmp_path / "train.csv")
    peaks = []
    for times in (330, 3300):
        with pq.ParquetWriter(tmp_path / "long.parquet", block.schema) as writer:
            for _ in range(times // 110):
                writer.write_table(pa.concat_tables([block] * 110))
        words = ["predict", model, tmp_path / "long.parquet", "-o", tmp_path / "scored.parquet"]
        program = [sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("target", [".parquet", ".csv", ".arrow"])
def test_empty_columns_and_spaces_in_text(properly, model, new, write, target, tmp_path):
    write("new.csv", new)
    header, *lines = Path("new.csv").read_text().splitlines()
    spaced = [", ".join([*line.split(","), "", "7", '"NA"']) for line in lines]
    Path("spaced.csv").write_text("\n".join([f"{header},nothing,seven,code", *spaced]).replace(', "', ',"') + "\n")
    # Categories keep their spaces: only typed values are trimmed.
    text = Path("spaced.csv").read_text()
    for town in ("Bath", "Rome", "Ulm"):
        text = text.replace(f", {town}", f",{town}")
    Path("spaced.csv").write_text(text)
    done = properly("predict", model, "spaced.csv", "-o", f"scored{target}", "--unseen", "missing", "--json")
    assert done.code == 0, done.err
    scored = read_table(f"scored{target}")
    assert scored["seven"].to_pylist() == [7] * 200
    assert scored["code"].to_pylist() == ["NA"] * 200
    assert scored["age"].to_pylist() == new["age"].to_pylist()


def test_cells_of_text_stay_what_they_are(properly, model, new, write):
    write("new.csv", new | {"code": [["NA", "", None, "x"][k % 4] for k in range(200)]})
    assert properly("predict", model, "new.csv", "-o", "scored.csv").code == 0
    before, after = (Path(name).read_text().splitlines() for name in ("new.csv", "scored.csv"))
    assert [line.rpartition(",")[0].rpartition(",")[0] for line in after] == before
    assert sum(line.endswith(',"NA"') for line in before) == sum(line.endswith(',""') for line in before) == 50


def test_codes_are_the_same_in_every_format(properly, write):
    random = np.random.default_rng(0)
    code, flag = random.integers(1, 4, 300), random.integers(0, 2, 300)
    y = (random.random(300) < code / 4).astype(int)
    Path("train.csv").write_text(
        "code,flag,y\n" + "".join(f"{c}.0,{bool(f)},{k}\n" for c, f, k in zip(code, flag, y, strict=True))
    )
    options = ("--categories", "code", "--method", "logistic", "--calibration", "none")
    assert properly("fit", "train.csv", "--target", "y", *options, "-o", "m.skops").code == 0
    found = []
    for name, columns in {
        "a.parquet": {"code": code, "flag": flag == 1},
        "b.csv": {"code": code, "flag": flag},
        "c.csv": {"code": [f"{c}.0" for c in code], "flag": flag.astype(float)},
    }.items():
        done = properly("predict", "m.skops", write(name, columns), "-o", f"scored-{name}")
        assert done.code == 0, done.err
        found.append(read_table(f"scored-{name}")["probability_1"].to_numpy())
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-15)


def test_a_key_shows_that_the_model_was_altered(properly, fails, train, write, new):
    Path("key").write_text("a secret of some length\n")
    Path("other").write_bytes(b"another secret of some length")
    Path("short").write_text("short")
    table, options = write("new.csv", new), ["--target", "left", "--method", "logistic", "--key-file"]
    assert fails("fit", train, *options, "short").endswith("secrets.token_hex() makes a good one.\n")
    assert "No such file" in fails("fit", train, *options, "nowhere")
    assert properly("fit", train, *options, "key", "-o", "model.skops").code == 0
    assert "key_file must be the name of a file" in fails("predict", "model.skops", table, "--key-file=", code=2)
    for known in ([], ["--key-file", "key"]):
        assert properly("predict", "model.skops", table, *known).code == 0
    assert "altered, or saved with another key" in fails("predict", "model.skops", table, "--key-file", "other")
    properly("fit", train, *options[:-1], "-o", "open.skops")
    assert "saved without a key" in fails("predict", "open.skops", table, "--key-file", "key")
    assert "load it with max_bytes=" in fails("predict", "open.skops", table, "--max-bytes", 100)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_summary_that_cannot_be_printed(model, new, write, tmp_path):
    words = [sys.executable, "-m", "properly", "predict", model, write("new.csv", new), "-o", "scored.csv"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 1
    why = "the summary could not be printed: No space left on device"
    assert done.stderr == f"properly: error: scored.csv is written, but {why}.\n"
    assert read_table(tmp_path / "scored.csv").num_rows == 200


@pytest.mark.filterwarnings("default")
def test_unseen_categories_are_told_once(properly, model, new, write, monkeypatch):
    """They count as missing, and one line says how many rows of all batches have one."""
    towns = new["town"].to_pylist()
    towns[3] = towns[70] = "Paris"
    path = write("unseen.parquet", new | {"town": towns})
    batches = read_table(path).to_batches(50)
    monkeypatch.setattr("properly.tables.TableFile.batches", lambda *_, **__: iter(batches))
    done = properly("predict", model, path, "-o", "scored.csv", "--json")
    assert done.code == 0, done.err
    assert done.summary["unseen"] == {"town": 2}
    assert done.err.count("\n") == 1
    assert "column 'town': 2 rows have a category that did not occur in training, first 'Paris'" in done.err
