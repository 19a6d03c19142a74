"""The same sums from every engine and every partition of the rows."""

import itertools
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info

from properly import kernels
from properly.boosting import DiscreteAdaBoost
from properly.calibration import CalibratedClassifier
from properly.engines import ENGINES, Engine, KeyedFolds, MemoryEngine, PartitionedEngine, Stream, StreamEngine
from properly.engines.cache import PartCache
from properly.engines.description import Part, Sample, priorities
from properly.engines.memory import BLOCK_BYTES
from properly.engines.stream_files import Files
from properly.kernels import LinearModel
from properly.linear import ProperLinearClassifier
from properly.losses import Composite, GEVLoss, LogLoss
from properly.maxent import Maxent
from properly.tables import LinearFeatures, TableEncoder
from properly.tree import ProperTreeClassifier

RNG = np.random.default_rng(0)
N, K = 1200, 6
X = RNG.normal(size=(N, K))
Y = (X[:, 0] + RNG.logistic(size=N) > 1.0).astype(int)
Y3 = np.digitize(X[:, 0] + RNG.logistic(size=N), [-0.5, 1.0])
WEIGHT = RNG.integers(0, 3, N).astype(float)
OFFSET = RNG.normal(size=N) / 3

PARTITIONS = {
    "one block": [0, N],
    "halves": [0, 600, N],
    "uneven": [0, 1, 2, 17, 1000, N],
    "with empty blocks": [0, 0, 300, 300, 300, N, N],
}


def cut(edges, *arrays):
    return [tuple(None if a is None else a[i:j] for a in arrays) for i, j in itertools.pairwise(edges)]


MODELS = {
    "log": {},
    "elastic net": {"l1_ratio": 0.5, "C": 0.1},
    "probit": {"link": "probit"},
    "gev": {"loss": GEVLoss(0.3)},
    "squared": {"loss": "squared", "link": "logit"},
}


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_any_partition_gives_the_coefficients_of_memory(partition, options):
    whole = ProperLinearClassifier(tol=1e-12, **options).fit(X, Y, WEIGHT, OFFSET)
    stream = Stream(cut(PARTITIONS[partition], X, Y, WEIGHT, OFFSET))
    streamed = ProperLinearClassifier(tol=1e-12, **options).fit(stream)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-10, rtol=0)
    np.testing.assert_allclose(streamed.intercept_, whole.intercept_, atol=1e-10, rtol=0)
    np.testing.assert_allclose(streamed.predict_proba(stream), whole.predict_proba(X, OFFSET), atol=1e-12)


def test_blocks_with_one_class_each():
    order = np.argsort(Y3, kind="stable")
    edges = [0, *np.cumsum(np.bincount(Y3))]
    streamed = ProperLinearClassifier(tol=1e-12).fit(Stream(cut(edges, X[order], Y3[order])))
    whole = ProperLinearClassifier(tol=1e-12).fit(X, Y3)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-10, rtol=0)


def test_sparse_blocks_and_class_weights():
    blocks = [(sp.csr_array(x), y) for x, y in cut([0, 500, N], X, Y)]
    streamed = ProperLinearClassifier(tol=1e-12, class_weight="balanced").fit(Stream(blocks))
    whole = ProperLinearClassifier(tol=1e-12, class_weight="balanced").fit(X, Y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-10, rtol=0)


def test_a_callable_is_asked_anew_for_every_pass():
    calls = []

    def blocks():
        calls.append(1)
        return iter(cut([0, 400, N], X, Y))

    ProperLinearClassifier().fit(Stream(blocks))
    assert len(calls) > 3


class TestFiles:
    @pytest.fixture
    def table(self):
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(K)])
        return pa.Table.from_pandas(frame.assign(label=np.where(Y == 1, "yes", "no"), w=WEIGHT, o=OFFSET))

    @pytest.fixture
    def whole(self):
        return ProperLinearClassifier(tol=1e-12).fit(X, np.where(Y == 1, "yes", "no"), WEIGHT, OFFSET)

    def write(self, table, folder, form):
        if form == "csv":
            pyarrow.csv.write_csv(table, folder / "data.csv")
        elif form == "parquet":
            pyarrow.parquet.write_table(table, folder / "data.parquet", row_group_size=100)
        elif form == "arrow":
            with pa.ipc.new_file(folder / "data.arrow", table.schema) as writer:
                writer.write_table(table, max_chunksize=100)
        else:
            pyarrow.feather.write_feather(table, folder / "data.feather")
        return folder / f"data.{form}"

    @pytest.mark.parametrize("form", ["parquet", "arrow", "feather", "csv"])
    def test_formats(self, table, whole, tmp_path, form):
        path = self.write(table, tmp_path, form)
        stream = Stream(path, target="label", sample_weight="w", offset="o")
        model = ProperLinearClassifier(tol=1e-12).fit(stream)
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
        assert list(model.feature_names_in_) == [f"x{i}" for i in range(K)]
        assert list(model.classes_) == ["no", "yes"]
        np.testing.assert_allclose(model.predict_proba(stream), whole.predict_proba(X, OFFSET), atol=1e-10)
        new = Stream(path, features=list(model.feature_names_in_), offset="o")  # no labels are needed to predict
        np.testing.assert_allclose(model.predict_proba(new), whole.predict_proba(X, OFFSET), atol=1e-10)

    def test_several_files_and_folders(self, table, whole, tmp_path):
        for i, part in enumerate([table.slice(0, 500), table.slice(500)]):
            pyarrow.parquet.write_table(part, tmp_path / f"part{i}.parquet")
        for source in (sorted(tmp_path.iterdir()), tmp_path):
            stream = Stream(source, target="label", sample_weight="w", offset="o")
            model = ProperLinearClassifier(tol=1e-12).fit(stream)
            np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)

    def test_folders_that_spark_wrote(self, table, whole, tmp_path):
        for name in ("one", "two", "none"):
            (tmp_path / name / "_temporary").mkdir(parents=True)
        for name, part in (("one", table.slice(0, 500)), ("two", table.slice(500))):
            pyarrow.parquet.write_table(part, tmp_path / name / "part.parquet")
            for other in ("._SUCCESS.crc", "_SUCCESS", ".part.parquet.crc", "_temporary/part.parquet"):
                (tmp_path / name / other).write_bytes(b"crc")
        stream = Stream([tmp_path / "one", tmp_path / "two"], target="label", sample_weight="w", offset="o")
        model = ProperLinearClassifier(tol=1e-12).fit(stream)
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
        with pytest.raises(ValueError, match="none is a folder without files"):
            Stream(tmp_path / "none", target="label")

    @pytest.mark.parametrize("form", ["parquet", "csv"])
    @pytest.mark.parametrize("lacks", [0, 1])
    def test_files_that_lack_a_column_are_named(self, table, tmp_path, form, lacks):
        for number in range(2):
            (tmp_path / str(number)).mkdir()
            self.write(table.drop(["x1"]) if number == lacks else table, tmp_path / str(number), form)
        with pytest.raises(ValueError, match=rf"column 'x1' is not in all files: .*1.data\.{form} has 'x0', 'x"):
            Stream(tmp_path, target="label")
        with pytest.raises(ValueError, match="no column 'x1'" if lacks == 0 else "column 'x1' is not in all files"):
            Stream(tmp_path, target="label", features=["x0", "x1"])
        assert len(ProperLinearClassifier().fit(Stream(tmp_path, target="label", features=["x0"])).coef_[0]) == 1

    def test_one_feature_may_be_named_by_itself(self, table, tmp_path):
        stream = Stream(self.write(table, tmp_path, "parquet"), target="label", features="x0")
        assert list(ProperLinearClassifier().fit(stream).feature_names_in_) == ["x0"]

    def test_features_are_found_by_name(self, table, whole, tmp_path):
        path = self.write(table.select(table.column_names[::-1]), tmp_path, "parquet")
        model = ProperLinearClassifier(tol=1e-12).fit(
            Stream(path, target="label", features=[f"x{i}" for i in range(K)], sample_weight="w", offset="o")
        )
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
        wrong_order = Stream(path, target="label", sample_weight="w", offset="o")
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(wrong_order)

    def test_errors_name_the_column(self, table, tmp_path):
        path = self.write(table, tmp_path, "parquet")
        with pytest.raises(ValueError, match="no column 'lable'; the file has 'x0'"):
            Stream(path, target="lable")
        with pytest.raises(ValueError, match="'label' is the target and among the features; leave it out"):
            Stream(path, target="label", features=["x0", "label"])
        with pytest.raises(ValueError, match="there are no features: name at least one column of the file"):
            Stream(path, target="label", features=[])
        with pytest.raises(ValueError, match="'x0' is among the features twice"):
            Stream(path, target="label", features=["x0", "x1", "x0"])
        with pytest.raises(ValueError, match="'label' holds"):
            ProperLinearClassifier().fit(Stream(path, target="w"))
        with pytest.raises(FileNotFoundError, match=r"missing\.parquet"):
            Stream(tmp_path / "missing.parquet", target="y")
        missing = table.set_column(0, "x0", pa.array([None, *X[1:, 0]]))
        with pytest.raises(ValueError, match="'x0' has missing values"):
            ProperLinearClassifier().fit(Stream(self.write(missing, tmp_path, "parquet"), target="label"))

    def test_memory_does_not_grow_with_the_rows(self, tmp_path, monkeypatch):
        monkeypatch.setattr("properly.engines.description.SAMPLE_BYTES", 2**20)
        values, peaks = np.random.default_rng(0).normal(size=(50_000, 8)).astype(np.float32), []
        table = pa.table({f"x{i}": column for i, column in enumerate(values.T)} | {"y": values[:, 0] > 1})
        for copies in (4, 16):
            path = tmp_path / f"{copies}.parquet"
            pyarrow.parquet.write_table(pa.concat_tables([table] * copies), path, row_group_size=25_000)
            tracemalloc.start()
            ProperLinearClassifier(C=0.1).fit(Stream(path, target="y"))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 1.2 * peaks[0]

    def test_five_passes(self, tmp_path):
        rng = np.random.default_rng(0)
        values = rng.normal(size=(60_000, 5)).astype(np.float32)
        y = values[:, 0] + rng.logistic(size=60_000) > 3.0
        table = pa.table({f"x{i}": column for i, column in enumerate(values.T)} | {"y": y})
        pyarrow.parquet.write_table(table, tmp_path / "data.parquet", row_group_size=10_000)
        model = ProperLinearClassifier().fit(Stream(tmp_path / "data.parquet", target="y"))
        assert model.n_passes_ <= 5
        whole = ProperLinearClassifier(tol=1e-12).fit(values, y)
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)
        assert not hasattr(model.fit(values, y), "n_passes_")

    @pytest.mark.parametrize("threads", [1, 3])
    def test_threads_do_not_change_the_coefficients(self, table, tmp_path, monkeypatch, threads):
        path = self.write(table, tmp_path, "parquet")
        stream = Stream(path, target="label", sample_weight="w", offset="o", verbose=threads == 3)
        alone = ProperLinearClassifier().fit(stream)
        monkeypatch.setattr("properly.engines.stream.number_of_threads", lambda: threads)
        np.testing.assert_array_equal(ProperLinearClassifier().fit(stream).coef_, alone.coef_)

    @pytest.mark.parametrize("format", ["parquet", "csv"])
    def test_a_cache_is_read_instead_and_removed(self, table, tmp_path, monkeypatch, format):
        path, scratch, decoded, kept = self.write(table, tmp_path, format), tmp_path / "scratch", [], []
        scratch.mkdir()
        parts, closed = Files.parts, PartCache.close
        monkeypatch.setattr(Files, "parts", lambda files, *more: (decoded.append(1), parts(files, *more))[1])
        monkeypatch.setattr(PartCache, "close", lambda cache: (kept.extend(scratch.iterdir()), closed(cache))[1])
        roles = {"target": "label", "sample_weight": "w", "offset": "o"}
        plain = ProperLinearClassifier().fit(Stream(path, **roles))
        number = len(decoded)
        model = ProperLinearClassifier().fit(Stream(path, **roles, cache=scratch))
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert model.n_passes_ == plain.n_passes_ > 1
        assert len(decoded) - number == number / plain.n_passes_  # those of one pass
        assert len(kept) == 1
        assert not list(scratch.iterdir())
        if format == "parquet":
            with pytest.raises(ValueError, match="'label' holds"):
                ProperLinearClassifier().fit(Stream(path, target="w", cache=scratch))
            assert not list(scratch.iterdir())
        with pytest.raises(ValueError, match="cache must be an existing folder"):
            ProperLinearClassifier().fit(Stream(path, target="label", cache=tmp_path / "none"))

    def test_a_cache_keeps_every_kind_of_part(self, tmp_path):
        labels = np.array(["no", "yes"], dtype=object)[Y]
        edges = PARTITIONS["with empty blocks"]
        for x in (X, X.astype(np.float32), sp.csr_array(np.where(X > 0.5, X, 0.0))):
            blocks = cut(edges, x, labels, WEIGHT, OFFSET)
            plain = ProperLinearClassifier().fit(Stream(blocks))
            kept = ProperLinearClassifier().fit(Stream(blocks, cache=tmp_path))
            np.testing.assert_array_equal(kept.coef_, plain.coef_)

    def test_a_corrupt_row_group_is_named(self, table, tmp_path):
        path = self.write(table, tmp_path, "parquet")
        start = pyarrow.parquet.ParquetFile(path).metadata.row_group(7).column(0).dictionary_page_offset
        content = bytearray(path.read_bytes())
        content[start : start + 200] = b"\xff" * 200
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"row group 7 of .*data\.parquet cannot be read"):
            ProperLinearClassifier().fit(Stream(path, target="label", sample_weight="w", offset="o"))

    def test_a_corrupt_table_of_text_is_named(self, tmp_path):
        path = tmp_path / "data.csv"
        path.write_text("a,y\n1,0\n2,1\n3\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"data\.csv.*Row #4.*got 1"):
            ProperLinearClassifier().fit(Stream(path, target="y"))

    def test_categories_are_encoded_on_the_fly(self, tmp_path):
        words = np.array(["red", "green", "blue"])[RNG.integers(0, 3, N)]
        table = pa.table({"colour": words, "x": X[:, 0], "label": Y})
        encoder = make_pipeline(TableEncoder(), LinearFeatures(categorical=[0])).fit(table.select(["colour", "x"]))
        pyarrow.parquet.write_table(table, tmp_path / "data.parquet", row_group_size=500)
        stream = Stream(tmp_path / "data.parquet", target="label", encoder=encoder)
        model = ProperLinearClassifier(tol=1e-12).fit(stream)
        matrix = encoder.transform(table)
        np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(matrix, Y).coef_, atol=1e-9)
        assert list(model.feature_names_in_) == list(encoder.get_feature_names_out())

    def test_values_are_checked_in_the_first_pass_only(self, monkeypatch):
        checks = []
        checked = Part.checked
        monkeypatch.setattr(Part, "checked", lambda part, *names: (checks.append(part), checked(part, *names))[1])
        model = ProperLinearClassifier().fit(Stream(cut([0, 400, N], X, Y)))
        assert len(checks) == 2 < 2 * model.n_passes_


class TestSamples:
    def drawn(self, edges, share):
        parts = [Part(X[i:j], Y[i:j]) for i, j in itertools.pairwise(edges)]
        return [Sample.drawn(part, number, share) for number, part in enumerate(parts)]

    def test_the_order_of_adding_does_not_matter(self, monkeypatch):
        monkeypatch.setattr("properly.engines.description.SAMPLE_BYTES", 200 * 8 * K)
        a, b, c = self.drawn([0, 300, 700, N], 1.0)
        samples = [(a + b) + c, a + (b + c)]
        kept = [np.concatenate([part.X for _, part in sample.parts]) for sample in samples]
        np.testing.assert_array_equal(*kept)
        assert 100 <= len(kept[0]) <= 200
        assert {tuple(row) for row in kept[0]} <= {tuple(row) for row in X}

    def test_a_share_is_drawn_where_the_number_of_rows_is_known(self):
        (sample,) = self.drawn([0, N], 0.25)
        assert 0.2 * N < len(sample.parts[0][0]) < 0.3 * N
        (again,) = self.drawn([0, N], 0.25)
        np.testing.assert_array_equal(sample.parts[0][1].X, again.parts[0][1].X)

    @pytest.mark.parametrize("seed", [[0], [0, 0], [0, 0, 0]])
    def test_labels_of_users_are_not_drawn_along(self, seed):
        labels = np.random.default_rng(seed).random(20_000) < 0.02
        sample = Sample.drawn(Part(np.zeros((20_000, 1)), labels), 0, 0.25)
        assert 60 < sample.parts[0][1].y.sum() < 140  # of 100 expected; with the seed of users all 400
        priority = priorities(20_000, 0, 0)
        assert 60 < labels[priority < 0.25].sum() < 140

    def test_of_sparse_rows_the_entries_count(self):
        rows = sp.csr_array((np.ones(500), (np.arange(500), np.arange(500))), shape=(500, 2**22))
        sample = Sample.drawn(Part(rows, np.zeros(500)), 0, 1.0)
        assert sample.n_rows == 500
        dense = Sample.drawn(Part(np.zeros((10, 2**20)), np.zeros(10)), 1, 1.0)
        assert (sample + dense).room == (dense + sample).room == 8


class TestBadStreams:
    @pytest.mark.parametrize(
        ("source", "message"),
        [
            (iter([]), "read only once"),
            (lambda: None, "must return an iterator of blocks at every call, got None"),
            ({"a.csv"}, "got a set; give a path or a list of paths"),
            (pd.DataFrame(X, columns=list("abcdef")), "got a DataFrame; give a path"),
            (7, "must be blocks, a callable or paths"),
            ([(X, Y), (X[:, :3], Y)], "block 1 has 3 features"),
            ([(X, Y[:5])], "y of block 0 has 5 rows"),
            ([(X, Y, WEIGHT, OFFSET, Y, 1)], "6 parts"),
            ([(X, Y, -WEIGHT)], "sample_weight of block 0 must not be negative"),
            ([(np.where(X > 3, np.nan, X), Y)], "block 0 contains NaN or infinity in column 2"),
            ([(sp.csr_array(np.where(X > 3, np.inf, 0.0)), Y)], "block 0 contains NaN or infinity in column 2"),
            ([(pd.DataFrame({"a": X[:, 0], "b": np.nan}), Y)], "infinity in column 'b'"),
            ([(X, Y), (X, np.where(Y == 1, "1", "0"))], r"mixes '[01]' with [01]; .* \(in block 1, unlike block 0\)"),
            ([(X, Y), (X, np.where(Y == 1, np.nan, 0.0))], "block 1 has rows without a label"),
            ([(X, None)], "no labels"),
            ([], "no rows"),
            ([(X[:0], Y[:0])], "no rows"),
            ([(X, np.zeros(N))], "one class only"),
            ([(X[:, 0], Y)], "two dimensions"),
            ([(np.full((3, 2), "a"), [0, 1, 0])], "must be numbers"),
            ([(np.ma.masked_greater(X, 3), Y)], "X of block 0 has masked entries"),
            ([(X, np.ma.masked_equal(Y, 1))], "y of block 0 has masked entries"),
            ([(X, Y, np.ma.masked_equal(WEIGHT, 2.0))], "sample_weight of block 0 has masked entries"),
            ([(X, Y, WEIGHT, np.ma.masked_greater(OFFSET, 0.0))], "offset of block 0 has masked entries"),
            ([(X.astype("datetime64[s]"), Y)], r"column 0 holds dates or times, .* \(in block 0\)"),
            ([(X, Y, WEIGHT.astype("datetime64[s]"))], "sample_weight of block 0 must be real numbers"),
            ([(pd.DataFrame(X).astype("Float64").mask(lambda x: x > 3), Y)], "block 0 contains NaN or infinity in"),
            ([(X, Y, pd.Series(WEIGHT).astype("Int64").mask(WEIGHT == 2))], "sample_weight of block 0 must be finite"),
        ],
    )
    def test_clear_errors(self, source, message):
        with pytest.raises(ValueError, match=message):
            ProperLinearClassifier().fit(Stream(source))

    @pytest.mark.parametrize(
        "model", [ProperTreeClassifier(), Maxent(), CalibratedClassifier(ProperLinearClassifier()), DiscreteAdaBoost()]
    )
    def test_models_of_rows_in_memory(self, model):
        with pytest.raises(ValueError, match=r"X is of properly \(Stream\), but rows must be in memory here"):
            model.fit(Stream([(X, Y)]), None)

    def test_data_frames_must_keep_their_columns(self):
        frame = pd.DataFrame(X, columns=list("abcdef"))
        model = ProperLinearClassifier().fit(Stream([(frame[:600], Y[:600]), (frame[600:], Y[600:])]))
        assert list(model.feature_names_in_) == list("abcdef")
        with pytest.raises(ValueError, match="block 1 has the columns"):
            ProperLinearClassifier().fit(Stream([(frame[:600], Y[:600]), (frame[list("fedcba")][600:], Y[600:])]))
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(Stream([frame[list("fedcba")]]))
        assert not hasattr(model.fit(Stream([(X, Y)])), "feature_names_in_")

    def test_labels_and_weights_in_columns(self):
        with pytest.warns(DataConversionWarning):
            model = ProperLinearClassifier().fit(Stream([(X, Y[:, None], WEIGHT[:, None])]))
        np.testing.assert_allclose(model.coef_, ProperLinearClassifier().fit(X, Y, WEIGHT).coef_, atol=1e-8)

    def test_offsets_of_the_wrong_width(self):
        with pytest.raises(ValueError, match="offset must have shape"):
            ProperLinearClassifier().fit(Stream([(X, Y, None, np.zeros((N, 2)))]))
        with pytest.raises(ValueError, match=r"offset must have shape \(1200, 3\)"):
            ProperLinearClassifier().fit(Stream([(X, Y3, None, OFFSET)]))

    def test_labels_come_with_the_blocks(self):
        with pytest.raises(ValueError, match="inside the blocks"):
            ProperLinearClassifier().fit(Stream([(X, Y)]), Y)
        model = ProperLinearClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="inside the blocks"):
            model.predict_proba(Stream([(X, Y)]), offset=OFFSET)

    def test_columns_are_for_files(self):
        with pytest.raises(ValueError, match="for the columns of files"):
            Stream([(X, Y)], target="y")
        for source, kind in (([], "an empty list"), (iter(["a.csv"]), "a list_iterator"), ({"a.csv"}, "a set")):
            with pytest.raises(ValueError, match=f"a path or a list of paths, got {kind}"):
                Stream(source, target="y")

    def test_other_options(self, tmp_path):
        with pytest.raises(ValueError, match="verbose must be True or False, got 'no'"):
            Stream([(X, Y)], verbose="no")
        with pytest.raises(ValueError, match="cache must be an existing folder on a local disk, got ''"):
            ProperLinearClassifier().fit(Stream([(X, Y)], cache=""))

    @pytest.mark.parametrize("later", [0, 700, 2 * N])
    def test_other_rows_in_a_later_pass(self, later):
        passes = itertools.count()

        def blocks():
            rows = np.resize(np.arange(N), later if next(passes) else N)
            return [(X[rows[:500]], Y[rows[:500]]), (X[rows[500:]], Y[rows[500:]])]

        with pytest.raises(ValueError, match=f"had 1200 rows in the first pass and {later} in a later one"):
            ProperLinearClassifier().fit(Stream(blocks))

    def test_some_of_the_rows_are_all_of_them(self):
        engine, _ = StreamEngine(Stream(cut([0, 500, N], X, Y))).trained(ProperLinearClassifier())
        assert engine.undersampled(0).reduce(kernels.classes, 2).rows < N
        folds = engine.with_folds(KeyedFolds(3))
        assert folds.training(1).reduce(kernels.classes, 2).weight.sum() < N

    def test_new_labels_in_a_later_pass(self):
        passes = iter([Y, Y + 5, Y + 5])
        with pytest.raises(ValueError, match="was not there in the first pass"):
            ProperLinearClassifier().fit(Stream(lambda: [(X, next(passes))]))


class TestMemoryEngine:
    def test_threads_do_not_change_the_sum(self, monkeypatch):
        rng = np.random.default_rng(1)
        rows = 40 * BLOCK_BYTES // (8 * 16)
        engine = MemoryEngine(rng.normal(size=(rows, 16)), rng.integers(0, 2, rows))
        model, coef = LinearModel(Composite(LogLoss())), rng.normal(size=(1, 17))
        sums = []
        for threads in (1, 2, 5):
            monkeypatch.setattr("properly.engines.memory.number_of_threads", lambda threads=threads: threads)
            sums.append(engine.reduce(kernels.gradient, model, coef, True))
        for other in sums[1:]:
            assert other.value == sums[0].value
            np.testing.assert_array_equal(other.gradient, sums[0].gradient)

    def test_concurrent_sums_leave_the_settings_of_blas_alone(self, monkeypatch):
        rng = np.random.default_rng(1)
        rows = 12 * BLOCK_BYTES // (8 * 16)
        engine = MemoryEngine(rng.normal(size=(rows, 16)), rng.integers(0, 2, rows))
        monkeypatch.setattr("properly.engines.memory.number_of_threads", lambda: 2)
        before = [library["num_threads"] for library in threadpool_info()]
        with ThreadPoolExecutor(6) as pool:
            sums = list(pool.map(lambda _: engine.reduce(kernels.moments, None).squares, range(24)))
        assert [library["num_threads"] for library in threadpool_info()] == before
        for other in sums[1:]:
            np.testing.assert_array_equal(other, sums[0])

    def test_factors_multiply(self):
        factor = np.array([2.0, 3.0])
        stream, _ = StreamEngine(Stream([(X, Y)])).trained(ProperLinearClassifier())
        weight = factor[Y] ** 2
        for engine in (MemoryEngine(X, Y), stream):
            twice = engine.reweighted(factor).reweighted(factor)
            np.testing.assert_allclose(twice.reduce(kernels.classes, 2).weight, np.bincount(Y, weight))
            np.testing.assert_allclose(twice.reduce(kernels.moments, None).total, weight @ X, atol=1e-10)
            np.testing.assert_allclose(twice.reduce(kernels.moments, X[0]).squares, weight @ (X - X[0]) ** 2)

    @pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
    def test_blocks_are_the_rows(self, convert):
        engine = MemoryEngine(convert(X), Y, WEIGHT)
        engine.block_rows = 7
        blocks = list(engine.blocks())
        dense = [b.X.toarray() if sp.issparse(b.X) else b.X for b in blocks]
        np.testing.assert_array_equal(np.concatenate(dense), X)
        np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), WEIGHT)

    def test_thinned_rows_are_a_sample(self):
        rng = np.random.default_rng(1)
        big = MemoryEngine(rng.normal(size=(30_000, 3)), rng.integers(0, 2, 30_000), np.ones(30_000), np.ones(30_000))
        sample = big.thinned()
        assert 1000 < sum(block.X.shape[0] for block in sample.blocks()) < 15_000
        assert MemoryEngine(X, Y).thinned() is None


class Parts(list):
    """Rows in several arrays: a kind of X that the library does not know."""


class PartsEngine(PartitionedEngine):
    """All that a new engine has to write. It pickles what it sends and receives, as between machines."""

    def __init__(self, X, y=None, *others):
        self.parts = [Part(*part) for part in zip(X, y or [None] * len(X), strict=True)]

    def visit(self, function):
        for number, part in enumerate(self.parts):
            sent = pickle.loads(pickle.dumps(function))
            yield pickle.loads(pickle.dumps(sent(part, number)))


def test_a_new_engine_is_a_class_and_a_line(monkeypatch):
    monkeypatch.setitem(ENGINES, Parts, PartsEngine)
    cuts = [200, 700]
    parts, labels = Parts(np.split(X, cuts)), np.split(Y3, cuts)
    for options in ({"class_weight": "balanced"}, {"link": "probit"}):
        ours = ProperLinearClassifier(tol=1e-12, **options).fit(parts, labels)
        whole = ProperLinearClassifier(tol=1e-12, **options).fit(X, Y3)
        np.testing.assert_allclose(ours.coef_, whole.coef_, atol=1e-10, rtol=0)
        np.testing.assert_allclose(ours.predict_proba(parts), whole.predict_proba(X), atol=1e-10)
        np.testing.assert_allclose(ours.predict_log_proba(parts), whole.predict_log_proba(X), atol=1e-9)
        np.testing.assert_array_equal(ours.predict(parts), whole.predict(X))


def test_every_engine_is_in_the_table_and_the_rest_goes_to_memory():
    for kind in {*Engine.__subclasses__(), *PartitionedEngine.__subclasses__()}:
        assert kind in ENGINES.values() or kind in (PartsEngine, PartitionedEngine)
    assert ENGINES[object] is MemoryEngine


def test_prediction_ignores_the_labels_and_weights_of_a_stream():
    model = ProperLinearClassifier().fit(X, Y)
    stream = Stream([(X[:700], np.full(700, "unknown"), WEIGHT[:700]), (X[700:], None)])
    np.testing.assert_array_equal(model.predict_proba(stream), model.predict_proba(X))
    assert model.predict_proba(Stream([])).shape == (0, 2)


def test_prediction_checks_every_block_of_a_stream():
    model = ProperLinearClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but the model was fitted with 6"):
        model.predict_proba(Stream([X[:, :3]]))
    with pytest.raises(ValueError, match="offset must have shape"):
        model.predict_proba(Stream([(X, None, None, np.zeros((N, 1)))]))


def test_prediction_by_blocks_is_that_of_all_rows():
    model = ProperLinearClassifier().fit(X, Y3)
    rows = np.tile(X, (3 * BLOCK_BYTES // X.nbytes, 1))
    np.testing.assert_allclose(model.predict_proba(rows)[-N:], model.predict_proba(X), rtol=1e-14)
    np.testing.assert_array_equal(model.predict_proba(rows.astype(np.float32)).shape, (len(rows), 3))


def test_map_keeps_the_order():
    engine = StreamEngine(Stream(cut([0, 100, N], X, Y))).predicting(ProperLinearClassifier().fit(X, Y))
    np.testing.assert_array_equal(engine.map(lambda block: block.X), X)
