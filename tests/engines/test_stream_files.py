"""Files as users have them: with missing cells, of mixed formats, changed while they are read."""

import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline

from properly.engines import KeyedFolds, Stream
from properly.engines.cache import StoredPart
from properly.engines.description import Part
from properly.files import MISSING_CELLS
from properly.linear import ProperLinearClassifier
from properly.tables import LinearFeatures, TableEncoder

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] + RNG.logistic(size=N) > 0.5).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(Y == 1, "yes", "no"))


def fitted(path, **roles):
    return ProperLinearClassifier(tol=1e-12).fit(Stream(path, **{"target": "y"} | roles))


def refused(message, path, **roles):
    with pytest.raises(ValueError, match=message):
        fitted(path, **roles)


def coefficients(frame):
    return ProperLinearClassifier(tol=1e-12).fit(frame[["a", "b"]].to_numpy(), np.asarray(frame["y"])).coef_


class TestMissingCells:
    @pytest.mark.parametrize("cell", MISSING_CELLS)
    def test_a_label_that_is_missing_is_no_class(self, tmp_path, cell):
        frame = FRAME.assign(y=np.where(np.arange(N) == 5, cell, FRAME["y"]))
        frame.to_csv(tmp_path / "rows.csv", index=False)
        refused(r"rows\.csv has rows without a label; drop such rows", tmp_path / "rows.csv")

    def test_a_text_in_quotation_marks_is_one(self, tmp_path):
        pyarrow.csv.write_csv(pa.table({"a": X[:, 0], "y": np.where(Y == 1, "NA", "")}), tmp_path / "rows.csv")
        assert list(fitted(tmp_path / "rows.csv").classes_) == ["", "NA"]

    def test_groups(self, tmp_path):
        FRAME.assign(g=np.where(Y == 1, "", "x")).to_csv(tmp_path / "rows.csv", index=False)
        files = Stream(tmp_path / "rows.csv", target="y", group="g").files
        (part,) = files.parts(files.sources[0], False)
        np.testing.assert_array_equal(pd.isna(part.group), Y == 1)

    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_labels_of_a_row_group(self, tmp_path, missing):
        labels = pd.Series(Y, dtype=object if missing is None else float)
        labels[450] = missing
        FRAME.assign(y=labels).to_parquet(tmp_path / "rows.parquet", row_group_size=200)
        refused(r"row group 2 of .*rows\.parquet has rows without a label", tmp_path / "rows.parquet")

    def test_a_number_names_its_column(self, tmp_path):
        FRAME.assign(b=np.where(np.arange(N) == 450, np.inf, X[:, 1])).to_parquet(
            tmp_path / "rows.parquet", row_group_size=200
        )
        message = r"row group 2 of .*rows\.parquet contains NaN or infinity in column 'b'"
        refused(message, tmp_path / "rows.parquet")
        model = ProperLinearClassifier().fit(FRAME[["a", "b"]], FRAME["y"])
        with pytest.raises(ValueError, match=message):
            model.predict_proba(Stream(tmp_path / "rows.parquet", features=["a", "b"]))


class TestColumns:
    @pytest.mark.parametrize("role", ["target", "sample_weight", "offset", "group"])
    @pytest.mark.parametrize("given", [0, ["y"]])
    def test_roles_are_texts(self, tmp_path, role, given):
        FRAME.to_csv(tmp_path / "rows.csv", index=False)
        refused(rf"{role} must be the name of one column, a text, got \[?['0]", tmp_path / "rows.csv", **{role: given})

    @pytest.mark.parametrize("given", [0, [0], ["a", None]])
    def test_features_are_texts(self, tmp_path, given):
        FRAME.to_csv(tmp_path / "rows.csv", index=False)
        refused("features must be names of columns, which are texts, got", tmp_path / "rows.csv", features=given)

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    def test_names_are_different(self, tmp_path, form):
        table = pa.table([X[:, 0], X[:, 1], FRAME["y"]], names=["a", "a", "y"])
        write = pyarrow.csv.write_csv if form == "csv" else pyarrow.parquet.write_table
        write(table, tmp_path / f"rows.{form}")
        refused(rf"rows\.{form}.*multiple columns named a|rows.{form} has several columns", tmp_path)

    def test_another_separator(self, tmp_path):
        FRAME.to_csv(tmp_path / "rows.csv", index=False, sep=";")
        refused(r"rows\.csv has a single column, 'a;b;y', .*commas", tmp_path / "rows.csv")

    def test_encoders(self, tmp_path):
        FRAME.to_csv(tmp_path / "rows.csv", index=False)
        refused("encoder must be a fitted transformer, with .*, got a str", tmp_path / "rows.csv", encoder="a")


class TestTypesOfText:
    def rows(self, tmp_path, n=200_000):
        """Whole numbers in the first megabyte, from which Arrow takes the types, and a fraction after it."""
        frame = pd.DataFrame({"a": RNG.integers(10, 99, n), "b": RNG.integers(10, 99, n)}).astype(object)
        frame["y"] = (frame["a"].astype(float) + 30 * RNG.logistic(size=n) > 60).astype(int).astype(object)
        frame["w"] = np.where(np.arange(n) < n - 2, 1, 0.5).astype(object)
        return frame, tmp_path / "rows.csv"

    def test_fractions_after_whole_numbers(self, tmp_path):
        frame, path = self.rows(tmp_path)
        frame.loc[len(frame) - 1, "b"] = 0.5
        frame.assign(w=1).to_csv(path, index=False)
        model = fitted(path, sample_weight="w")
        np.testing.assert_allclose(model.coef_, coefficients(frame.astype(float)), rtol=1e-6)

    @pytest.mark.parametrize("encoded", [False, True])
    @pytest.mark.parametrize(("column", "value"), [("y", "yes"), ("b", "x")])
    def test_texts_after_numbers(self, tmp_path, column, value, encoded):
        frame, path = self.rows(tmp_path)
        frame.loc[len(frame) - 1, column] = value
        frame.to_csv(path, index=False)
        encoder = TableEncoder().fit(pa.table({"a": [1.0], "b": [2.0]})) if encoded else None
        message = rf"column '{column}' of .*rows\.csv holds '{value}', though it was of type .* up to there; write"
        refused(message, path, features=["a", "b"], encoder=encoder)

    def test_a_truth_value_is_a_number(self, tmp_path):
        FRAME.assign(b=X[:, 1] > 0).to_csv(tmp_path / "rows.csv", index=False)
        found = fitted(tmp_path / "rows.csv").coef_
        np.testing.assert_allclose(found, coefficients(FRAME.assign(b=X[:, 1] > 0)), atol=1e-8)


class TestFolders:
    @pytest.mark.parametrize("first", [True, False])
    def test_a_header_without_rows(self, tmp_path, first):
        FRAME.assign(w=1).to_csv(tmp_path / "m.csv", index=False)
        FRAME[:0].assign(w=1).to_csv(tmp_path / ("a.csv" if first else "z.csv"), index=False)
        np.testing.assert_allclose(fitted(tmp_path, sample_weight="w").coef_, coefficients(FRAME), atol=1e-8)
        encoder = make_pipeline(TableEncoder(), LinearFeatures()).fit(FRAME[["a", "b"]])
        assert fitted(tmp_path, features=["a", "b"], encoder=encoder).coef_.shape == (1, 2)

    def test_other_formats(self, tmp_path):
        FRAME.to_parquet(tmp_path / "b.parquet")
        FRAME.to_csv(tmp_path / "c.csv", index=False)
        refused(r"c\.csv has another format than .*b\.parquet", tmp_path)
        (tmp_path / "c.csv").rename(tmp_path / "README.txt")
        refused(r"the ending of .*README\.txt must be one of '\.csv', .*, got '\.txt'", tmp_path)

    @pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
    def test_a_damaged_file_is_named(self, tmp_path, form):
        (tmp_path / f"a.{form}").write_bytes(b"")
        refused(rf"a\.{form} cannot be read: ", tmp_path)
        if form == "parquet":
            FRAME.to_parquet(tmp_path / "b.parquet")
            content = (tmp_path / "b.parquet").read_bytes()
            (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
            refused(r"a\.parquet cannot be read: ", tmp_path)

    def test_a_file_is_named_once(self, tmp_path):
        path = tmp_path / "rows.csv"
        FRAME.to_csv(path, index=False)
        for again in (path, tmp_path, tmp_path / ".." / tmp_path.name / "rows.csv"):
            refused(r"rows\.csv is named twice, and its rows would count twice", [path, again])

    def test_endings_in_capital_letters(self, tmp_path):
        FRAME.to_csv(tmp_path / "a.CSV", index=False)
        FRAME.to_parquet(tmp_path / "b.PARQUET")
        for name in ("a.CSV", "b.PARQUET"):
            np.testing.assert_allclose(fitted(tmp_path / name).coef_, coefficients(FRAME), atol=1e-8)


class TestChanges:
    """Files that are written to while they are read."""

    def changed(self, path, change, monkeypatch):
        """`change` comes when the first pass is over."""
        from properly.engines.stream import StreamEngine

        described = StreamEngine._describe
        monkeypatch.setattr(StreamEngine, "_describe", lambda engine: (described(engine), change()))
        refused(rf"{path.name} has changed since the Stream was made; make a new one, of a copy", path)

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    @pytest.mark.parametrize("what", ["shrunk", "grown", "replaced", "gone"])
    def test_they_are_refused(self, tmp_path, monkeypatch, form, what):
        path = tmp_path / f"rows.{form}"

        def write(frame):
            frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
            os.utime(path, ns=(0, 7 if frame is FRAME else 8))

        write(FRAME)
        new = {"shrunk": FRAME[:300], "grown": pd.concat([FRAME, FRAME]), "replaced": FRAME[::-1]}
        self.changed(path, path.unlink if what == "gone" else lambda: write(new[what]), monkeypatch)

    def test_a_cache_does_not_mind(self, tmp_path, monkeypatch):
        from properly.engines.stream import StreamEngine

        path, described = tmp_path / "rows.csv", StreamEngine._describe
        FRAME.to_csv(path, index=False)
        monkeypatch.setattr(StreamEngine, "_describe", lambda engine: (described(engine), path.unlink()))
        np.testing.assert_allclose(fitted(path, cache=tmp_path).coef_, coefficients(FRAME), atol=1e-8)


def test_the_folder_that_is_read_is_no_cache(tmp_path):
    (tmp_path / "rows" / "deeper").mkdir(parents=True)
    FRAME.to_csv(tmp_path / "rows" / "rows.csv", index=False)
    for cache in ("rows", "rows/deeper"):
        refused(r"rows.* lies in .*rows, which is read; give a place", tmp_path / "rows", cache=tmp_path / cache)
    fitted(tmp_path / "rows", cache=tmp_path)


@pytest.mark.parametrize("pipeline", [False, True])
def test_what_an_encoder_finds_is_named(tmp_path, pipeline):
    words = np.array(["red", "green"])[Y]
    table = pa.table({"colour": words, "x": X[:, 0], "y": Y})
    encoder = TableEncoder().fit(table.select(["colour", "x"]).slice(0, 300))
    encoder = make_pipeline(encoder, LinearFeatures(categorical=[0])) if pipeline else encoder
    encoder.fit(table.select(["colour", "x"]))
    strange = table.set_column(0, "colour", pa.array(np.where(np.arange(N) == 450, "blue", words)))
    pyarrow.parquet.write_table(strange, tmp_path / "rows.parquet", row_group_size=200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files = Stream(tmp_path / "rows.parquet", target="y", encoder=encoder).files
        assert [part.X.shape[0] for source in files.sources for part in files.parts(source, False)] == [200] * 3
    assert {each.message.source.partition(" of ")[0] for each in caught} == {"row group 2"}


class TestCachedLabels:
    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_missing_texts_do_not_stay_in_memory(self, tmp_path, missing):
        sizes = []
        for n in (100, 10_000):
            group = np.array([f"customer {i}" for i in range(n)], dtype=object)
            group[::3] = missing
            stored = StoredPart.written(str(tmp_path), Part(np.zeros((n, 1)), np.zeros(n), group=group), 0)
            restored = stored.part().group
            np.testing.assert_array_equal(pd.isna(restored), pd.isna(group))
            assert [each for each in restored if each is not None] == [each for each in group if isinstance(each, str)]
            folds = [KeyedFolds(9).of_rows(None, each) for each in (group, restored)]
            np.testing.assert_array_equal(*folds)
            sizes.append(len(pickle.dumps(stored)))
        assert sizes[1] < sizes[0] + 100

    def test_every_pass_shows_its_progress(self, tmp_path, capsys):
        FRAME.to_csv(tmp_path / "rows.csv", index=False)
        for folder in (None, tmp_path):
            model = fitted(tmp_path / "rows.csv", verbose=True, cache=folder)
            assert capsys.readouterr().err.count("reading") >= model.n_passes_ > 1
