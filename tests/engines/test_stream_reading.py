"""How files are read: in bounded memory, by threads that end, and with one line that says what is wrong."""

import gc
import os
import struct
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
from properly.engines import KeyedFolds, Stream, StreamEngine
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


class TestDamagedArrowFiles:
    """Arrow follows offsets and indices out of its memory if nobody looks at them."""

    def damaged(self, path, labels, place, value):
        table = pa.table({"a": X[:, 0], "y": labels})
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=200)
        content = bytearray(path.read_bytes())
        begin = content.find(place)
        assert begin > 0
        content[begin + 400 : begin + 404] = struct.pack("<i", value)
        path.write_bytes(content)
        return path

    def test_offsets_of_texts(self, tmp_path):
        labels = pa.array(np.where(Y, "yes", "no"))
        path = self.damaged(tmp_path / "a.arrow", labels, labels.buffers()[1][:800].to_pybytes(), -(2**30))
        refused(r"a\.arrow cannot be read: In column 1", path)

    def test_indices_of_categories(self, tmp_path):
        labels = pa.array(np.where(Y, "yes", "no")).dictionary_encode()
        place = np.asarray(labels.indices)[:200].astype(np.int32).tobytes()
        path = self.damaged(tmp_path / "a.arrow", labels, place, 10**9)
        refused(r"a\.arrow cannot be read: In column 1: .*indices", path)


class TestTypesOfSeveralFiles:
    def folds(self, stream):
        parts = all_parts(stream)
        return np.concatenate([KeyedFolds(7).of_rows(None, part.group) for part in parts])

    @pytest.mark.parametrize("last", ["A7", "7", "2.5", "2020-01-01 12:00:00"])
    @pytest.mark.parametrize("dates", [False, True])
    def test_groups_are_in_the_folds_of_one_file(self, tmp_path, last, dates):
        days = pd.date_range("2020-01-01", periods=50).astype(str)
        groups = np.array([str(days[i % 50] if dates else i % 50) for i in range(N)], dtype=object)
        groups[-1] = last
        frame = FRAME.assign(customer=groups)
        frame[: N // 2].to_csv(tmp_path / "0.csv", index=False)
        frame[N // 2 :].to_csv(tmp_path / "1.csv", index=False)
        frame.to_csv(tmp_path / "one.txt.csv", index=False)
        roles = {"target": "y", "group": "customer"}
        found = self.folds(Stream([tmp_path / "0.csv", tmp_path / "1.csv"], **roles))
        np.testing.assert_array_equal(found, self.folds(Stream(tmp_path / "one.txt.csv", **roles)))
        by_group = pd.Series(found).groupby(groups).nunique()
        assert by_group.max() == 1
        if last in ("7", "2.5") and not dates:
            np.testing.assert_array_equal(found, KeyedFolds(7).of_rows(None, groups.astype(float)))
        if last == "A7":
            np.testing.assert_array_equal(found, KeyedFolds(7).of_rows(None, groups))

    def test_groups_of_an_audit_are_told_once(self, tmp_path):
        groups = np.array([str(i % 5) for i in range(N)], dtype=object)
        groups[-1] = "A7"
        two_files(tmp_path, FRAME.assign(p=np.full(N, 0.5), customer=groups))
        found = audit(None, Stream(tmp_path, target="y", features=["p"], group="customer"))
        assert sorted(found.groups.groups) == ["0", "1", "2", "3", "4", "A7"]

    def test_labels(self, tmp_path):
        labels = np.where(np.arange(N) < N // 2, np.where(Y, "1", "2"), "X")
        two_files(tmp_path, FRAME.assign(y=labels))
        assert fitted(tmp_path).classes_.tolist() == ["1", "2", "X"]

    def test_a_file_whose_first_labels_are_missing(self, tmp_path):
        groups = np.where(np.arange(N) < N // 2, "", np.arange(N) % 5)
        two_files(tmp_path, FRAME.assign(customer=groups))
        parts = all_parts(Stream(tmp_path, target="y", group="customer"))
        assert {part.group.dtype.kind for part in parts} == {"f", "i"}

    @pytest.mark.parametrize("role", ["target", "group"])
    def test_numbers_against_texts(self, tmp_path, role):
        two_files(tmp_path, FRAME.assign(c=Y), "parquet")
        FRAME[N // 2 :].assign(c="x").to_parquet(tmp_path / "1.parquet")
        roles = {"target": "y", "features": ["a", "b"]} | {role: "c"}
        refused(r"column 'c' holds numbers in .*0\.parquet and texts in .*1\.parquet, but all", tmp_path, **roles)

    def test_types_of_one_kind(self, tmp_path):
        kinds = [pa.int8(), pa.float64(), pa.bool_()]
        for k, kind in enumerate(kinds):
            table = pa.table({"a": X[k::3, 0], "y": pa.array(Y[k::3]).cast(kind)})
            pyarrow.parquet.write_table(table, tmp_path / f"{k}.parquet")
        assert fitted(tmp_path).classes_.tolist() == [0, 1]


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

    @pytest.mark.parametrize("form", ["csv", "arrow", "parquet"])
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
        monkeypatch.setattr("properly.engines.stream_sources._ROW", 2_000)
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

    def test_small_pieces_are_gathered(self, tmp_path):
        table = pa.table({"a": X[:, 0], "g": pa.array(np.where(Y, "x", "y")).dictionary_encode(), "y": Y})
        path = tmp_path / "rows.arrow"
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=7)
        (part,) = all_parts(Stream(path, target="y", group="g"))
        np.testing.assert_array_equal(part.X, X[:, :1])
        np.testing.assert_array_equal(part.group, np.where(Y, "x", "y"))

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

    def test_files_are_not_read_far_ahead(self, tmp_path, monkeypatch):
        """Arrow's data sets read whole files while the rows before are added up."""
        monkeypatch.setattr("properly.engines.stream_sources._ROW", 2**15)
        monkeypatch.setattr("properly.engines.arrow.PART_BYTES", 2**18)
        monkeypatch.setattr("properly.engines.stream.number_of_threads", lambda: 2)
        columns = {f"x{j}": RNG.normal(size=60_000) for j in range(12)}
        for k in range(2):
            pyarrow.csv.write_csv(pa.table(columns | {"y": columns["x0"] > 1}), tmp_path / f"{k}.csv")
        gc.collect()
        before, most = pa.total_allocated_bytes(), []

        def slow(part, number):
            time.sleep(0.01)
            most.append(pa.total_allocated_bytes() - before)

        list(StreamEngine(Stream(tmp_path, target="y")).visit(slow))
        assert max(most) < 0.5 * os.path.getsize(tmp_path / "0.csv")

    def test_the_sample_is_a_share_of_about_all_rows(self, tmp_path):
        FRAME.to_csv(tmp_path / "small.csv", index=False)
        big = pd.concat([FRAME] * 100)
        big.to_csv(tmp_path / "big.csv", index=False)
        for name, n_rows in (("small", N), ("big", 100 * N)):
            assert Stream(tmp_path / f"{name}.csv", target="y").files.n_rows == pytest.approx(n_rows, rel=0.01)


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


class TestMessages:
    @pytest.mark.parametrize("named", ["f/*.parquet", "~/x", "s3://bucket/x", "f/[0-9].csv"])
    def test_patterns_and_addresses(self, named):
        with pytest.raises(FileNotFoundError, match="patterns, ~ and addresses are not expanded: name a folder"):
            Stream(named, target="y")

    @pytest.mark.parametrize("given", ["", [""]])
    def test_an_empty_path(self, given):
        with pytest.raises(ValueError, match="source must name a file or a folder, got an empty path"):
            Stream(given, target="y")

    @pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
    @pytest.mark.parametrize("late", [False, True])
    def test_other_encodings(self, tmp_path, encoding, late, monkeypatch):
        monkeypatch.setattr("properly.engines.stream_sources._ROW", 4_000)
        labels = np.where(np.arange(N) < 0.9 * N * late, "no", np.where(Y, "no", "ça"))
        FRAME.assign(y=labels).to_csv(tmp_path / "rows.csv", index=False, encoding=encoding)
        refused(r"rows\.csv is not encoded in UTF-8.*; save it as UTF-8", tmp_path / "rows.csv")

    @pytest.mark.parametrize("role", ["target", "group"])
    @pytest.mark.parametrize("values", [[[0], [1, 2]], [{"u": 1}, {"u": 2}]], ids=["lists", "structs"])
    def test_what_is_no_label(self, tmp_path, role, values):
        table = pa.table({"a": X[:, 0], "y": Y, "c": [values[label] for label in Y]})
        pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
        message = r"column 'c' holds (list|struct)<.*> in row group 0 of .*, which are no labels"
        refused(message, tmp_path / "rows.parquet", features=["a"], **{role: "c"})

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    @pytest.mark.parametrize("name", ["__filename", "__fragment_index", "__batch_index", "b.c"])
    def test_names_that_mean_something_to_arrow(self, tmp_path, name, form):
        frame = FRAME.rename(columns={"a": name})
        two_files(tmp_path, frame, form)
        assert fitted(tmp_path).feature_names_in_.tolist() == [name, "b"]

    def test_line_breaks_in_cells(self, tmp_path, monkeypatch):
        monkeypatch.setattr("properly.engines.stream_sources._ROW", 4_000)
        FRAME.assign(note="x\ny").to_csv(tmp_path / "rows.csv", index=False)
        whole = ProperLinearClassifier(tol=1e-12).fit(X, Y)
        found = fitted(tmp_path / "rows.csv", features=["a", "b"])
        np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-6)

    def test_rows_that_are_too_long(self, tmp_path):
        frame = FRAME.assign(note="")
        frame.loc[500, "note"] = 3_000_000 * "x"
        frame.to_csv(tmp_path / "rows.csv", index=False)
        message = r"rows\.csv has a row of more than 1,048,576 bytes, or a quotation mark .* or use Parquet"
        refused(message, tmp_path / "rows.csv", features=["a", "b"])

    def test_long_values_are_cut(self, tmp_path, monkeypatch):
        monkeypatch.setattr("properly.engines.stream_sources._ROW", 4_000)
        values = FRAME["a"].astype(object)
        values[500] = 2_000 * "x"
        FRAME.assign(a=values).to_csv(tmp_path / "rows.csv", index=False)
        refused(r"column 'a' of .*rows\.csv holds 'x{60}…', though it was of type double", tmp_path / "rows.csv")
