"""How files are read: in bounded memory, by threads that end, and with one line that says what is wrong."""

import gc
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from threadpoolctl import threadpool_info

from properly.audit import audit
from properly.engines import Stream, StreamEngine
from properly.engines.description import Description
from properly.kernels import Statistic
from properly.linear import ProperLinearClassifier

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] + RNG.logistic(size=N) > 0.5).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)


def fitted(path, **roles):
    return ProperLinearClassifier().fit(Stream(path, **{"target": "y"} | roles))


def refused(message, path, **roles):
    with pytest.raises(ValueError, match=message) as caught:
        fitted(path, **roles)
    assert "\n" not in str(caught.value)


def two_files(folder, frame, form="csv"):
    """The first and the second half of the rows."""
    for k, half in enumerate((frame[: N // 2], frame[N // 2 :])):
        if form == "csv":
            half.to_csv(folder / f"{k}.csv", index=False)
        else:
            half.to_parquet(folder / f"{k}.parquet", index=False)
    return folder


def all_parts(stream):
    return [part for source in stream.files.sources for part in stream.files.parts(source, False)]


class Counted(Statistic):
    """One that knows how many there are, and how many there were at once."""

    alive = most = 0

    def __init__(self):
        type(self).alive += 1
        type(self).most = max(type(self).most, type(self).alive)

    def __del__(self):
        type(self).alive -= 1

    def __add__(self, other):
        return type(self)()


class TestMemory:
    @pytest.fixture(params=[1, 2])
    def threads(self, request, monkeypatch):
        monkeypatch.setattr("properly.engines.stream.number_of_threads", lambda: request.param)

    @pytest.mark.parametrize("form", ["arrow", "parquet"])
    def test_a_file_leaves_one_sum(self, tmp_path, monkeypatch, threads, form):
        monkeypatch.setattr("properly.engines.arrow.PART_BYTES", 1_600)
        for k in range(2):
            table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y})
            if form == "arrow":
                with pa.ipc.new_file(tmp_path / f"{k}.arrow", table.schema) as file:
                    file.write_table(table)
            else:
                write = pyarrow.csv.write_csv if form == "csv" else pyarrow.parquet.write_table
                write(table, tmp_path / f"{k}.{form}")
        sizes = []
        Counted.alive = Counted.most = 0
        engine = StreamEngine(Stream(tmp_path, target="y"))
        with engine.visited(lambda part, number: (sizes.append(len(part.X)), Counted())[1]) as results:
            assert len(list(results)) == 2
        assert sum(sizes) == 2 * N
        assert len(sizes) >= 12
        assert max(sizes) <= 100
        gc.collect()
        assert Counted.most <= 8

    def test_numbers_of_parts_do_not_depend_on_threads(self, tmp_path, monkeypatch):
        monkeypatch.setattr("properly.engines.arrow.PART_BYTES", 1_600)
        two_files(tmp_path, FRAME, "parquet")
        found = []
        for threads in (1, 2, 3):
            monkeypatch.setattr("properly.engines.stream.number_of_threads", lambda threads=threads: threads)
            engine = StreamEngine(Stream(tmp_path, target="y"))
            found.append([(number, part.X.sum()) for part, number in engine.visit(lambda part, number: (part, number))])
        assert found[0] == found[1] == found[2]
        assert [number % 2**32 for number, _ in found[0]] == [0, 1, 2, 0, 1, 2]


def of_blas():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


class TestThreadsEnd:
    @pytest.fixture(autouse=True)
    def two_threads(self, monkeypatch):
        monkeypatch.setattr("properly.engines.stream.number_of_threads", lambda: 2)

    def test_after_an_interrupt_no_file_is_read_to_its_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr("properly.engines.arrow.PART_BYTES", 160)
        two_files(tmp_path, FRAME, "parquet")
        begun, visited = threading.Event(), []

        def interrupted(part, number):
            if number < 2**32:
                begun.wait()
                raise KeyboardInterrupt
            visited.append(number)
            begun.set()
            time.sleep(0.02)

        engine = StreamEngine(Stream(tmp_path, target="y"))
        with pytest.raises(KeyboardInterrupt):
            list(engine.visit(interrupted))
        assert len(visited) < 10  # of 30

    def held(self, call, message):
        """What runs while somebody, as notebooks do, keeps the error."""
        before, running = of_blas(), threading.active_count()
        gc.disable()
        try:
            with pytest.raises(ValueError, match=message) as kept:
                call()
            assert of_blas() == before
            assert threading.active_count() <= running + 2  # those of the engine of memory stay
            assert not [each for each in threading.enumerate() if each.name.startswith("properly-")]
        finally:
            gc.enable()
        return kept

    @pytest.mark.parametrize("cached", [False, True])
    def test_errors_between_files(self, tmp_path, monkeypatch, cached):
        def differ(first, second):
            raise ValueError("they differ")

        monkeypatch.setattr(Description, "__add__", differ)
        for name in ("rows", "cache"):
            (tmp_path / name).mkdir()
        two_files(tmp_path / "rows", FRAME)
        options = {"cache": tmp_path / "cache"} if cached else {}
        self.held(lambda: fitted(tmp_path / "rows", **options), "they differ")
        assert not list((tmp_path / "cache").iterdir())

    def test_errors_of_later_passes(self, tmp_path, monkeypatch):
        from properly.engines import partitioned

        def differ(first, second):
            raise ValueError("they differ")

        monkeypatch.setattr(partitioned._Pass, "__add__", differ)
        two_files(tmp_path, FRAME)
        self.held(lambda: fitted(tmp_path), "they differ")

    def test_errors_of_counts(self, tmp_path):
        two_files(tmp_path, FRAME.assign(p=0.5, g=np.arange(N)))
        FRAME.assign(p=0.5, g=np.arange(N) + N).to_csv(tmp_path / "2.csv", index=False)
        FRAME.assign(p=0.5, g=np.arange(N) + 2 * N).to_csv(tmp_path / "3.csv", index=False)
        stream = Stream(tmp_path, target="y", features=["p"], group="g")
        self.held(lambda: audit(None, stream), "group has more than 1,000 different values")
