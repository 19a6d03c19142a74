import gzip
import hashlib
import os
import sys

import numpy as np
import pytest

from properly.datasets import BENCHMARK_SETS, BenchmarkSet, load_benchmark

CSV = b"age,job,code,split,target\n30,clerk,1,train,low\n41,,2,train,high\n52,smith,1,test,high\n"

# rows and positives of every set
COUNTS = {
    "abalone": (4177, 32),
    "adult": (48842, 11687),
    "car": (1728, 65),
    "cmc": (1473, 333),
    "covtype": (581012, 2747),
    "ecoli": (336, 20),
    "flights_3m": (3000000, 14411),
    "german_credit": (1000, 300),
    "glass": (214, 9),
    "haberman": (306, 81),
    "letter": (20000, 734),
    "mammography": (11183, 260),
    "nursery": (12960, 328),
    "page_blocks": (5473, 28),
    "phoneme": (5404, 1586),
    "pima": (768, 268),
    "satimage": (6435, 626),
    "spambase": (4601, 1813),
    "transfusion": (748, 178),
    "vehicle": (846, 199),
    "winequality_red": (1599, 63),
    "yeast": (1484, 51),
}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A folder with one small set, "tiny", and the path of its file."""
    path = tmp_path / "tiny" / "tiny.csv.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(CSV))
    entry = BenchmarkSet(
        "tiny/tiny.csv.gz",
        hashlib.sha256(path.read_bytes()).hexdigest(),
        "a public place",
        "target == 'high'",
        dropped=("split",),
        categories=("code",),
    )
    monkeypatch.setitem(BENCHMARK_SETS, "tiny", entry)
    monkeypatch.setenv("PROPERLY_DATA", str(tmp_path))
    return path


def test_features_and_label(tiny):
    pandas = pytest.importorskip("pandas")
    X, y = load_benchmark("tiny")
    assert list(X.columns) == ["age", "job", "code"]
    assert X["age"].tolist() == [30, 41, 52]
    assert X["job"].isna().tolist() == [False, True, False]
    assert isinstance(X["code"].dtype, pandas.CategoricalDtype)
    np.testing.assert_array_equal(y, [0, 1, 1])


def test_parquet(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "late.parquet"
    pandas.DataFrame({"delay": [10, 180, 200], "distance": [1.0, 2.0, 3.0]}).to_parquet(path)
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setitem(BENCHMARK_SETS, "late", BenchmarkSet("late.parquet", checksum, "a place", "delay >= 180"))
    monkeypatch.setenv("PROPERLY_DATA", str(tmp_path))
    X, y = load_benchmark("late")
    assert list(X.columns) == ["distance"]
    np.testing.assert_array_equal(y, [0, 1, 1])


def test_another_checksum_is_refused(tiny):
    tiny.write_bytes(gzip.compress(CSV.replace(b"30", b"31")))
    with pytest.raises(ValueError, match=r"has sha256 [0-9a-f]{64}, but the data set 'tiny' must have"):
        load_benchmark("tiny")


def test_missing_file_names_origin_and_checksum(tiny):
    tiny.unlink()
    with pytest.raises(FileNotFoundError, match=r"a public place.*tiny\.csv\.gz \(sha256 [0-9a-f]{64}\)"):
        load_benchmark("tiny")


@pytest.mark.parametrize("folder", [None, ""])
def test_folder_not_named(tiny, monkeypatch, folder):
    if folder is None:
        monkeypatch.delenv("PROPERLY_DATA")
    else:
        monkeypatch.setenv("PROPERLY_DATA", folder)
    with pytest.raises(FileNotFoundError, match="PROPERLY_DATA is not set; get the data from a public place"):
        load_benchmark("tiny")


def test_unknown_name():
    with pytest.raises(ValueError, match="name must be one of 'abalone', 'adult'"):
        load_benchmark("nonsense")


def test_pandas_missing(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "properly\[frames\]"'):
        load_benchmark("tiny")


def test_table_is_well_formed():
    assert set(BENCHMARK_SETS) == set(COUNTS)
    assert len({entry.sha256 for entry in BENCHMARK_SETS.values()}) == len(BENCHMARK_SETS)
    for entry in BENCHMARK_SETS.values():
        assert len(bytes.fromhex(entry.sha256)) == 32


@pytest.mark.skipif(not os.environ.get("PROPERLY_DATA"), reason="PROPERLY_DATA names no folder with the real data")
@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_real_sets(name):
    X, y = load_benchmark(name)
    assert (len(X), y.sum()) == COUNTS[name]
    assert len(X) == len(y)
    assert not {"target", "split", "delay"} & set(X.columns)
