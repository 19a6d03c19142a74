"""One suite for every engine: the coefficients, probabilities and standard errors of memory, whatever the partition."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.exceptions import NotFittedError

from properly.calibration import CalibratedClassifier
from properly.engines import KeyedFolds, Spark, Stream
from properly.linear import (
    GEVCanonicalRegression,
    GEVCanonicalRegressionCV,
    GEVLogRegression,
    ProperLinearClassifier,
    RareEventLogisticRegression,
    TailoredLinearClassifierCV,
    inference,
)
from properly.losses import BetaLoss, GEVLoss

RNG = np.random.default_rng(5)
N, K = 900, 4
NAMES = [f"x{j}" for j in range(K)]
X = RNG.normal(size=(N, K)) + np.array([0.0, 0.0, 3.0, 0.0])
SCORE = X[:, 0] - 0.5 * X[:, 1] + RNG.logistic(size=N)
TWO = np.where(SCORE > 1.5, "yes", "no")
THREE = np.digitize(SCORE, [-1.0, 1.0])
WEIGHT = RNG.integers(0, 3, N).astype(float)
OFFSET = RNG.normal(size=N) / 2
RANDOM = [0, *np.sort(RNG.integers(0, N, 4)).tolist(), N]
EMPTY = [0, 0, 350, 350, N, N]


class Memory:
    def __init__(self, request, folder):
        pass

    def of(self, y, weight, offset, edges):
        """What `fit` takes."""
        return X, y, weight, offset

    def predicted(self, model, offset):
        return model.predict_proba(X, offset)


class Blocks(Memory):
    def of(self, y, weight, offset, edges):
        columns = (X, y, weight, offset)
        return (Stream([tuple(None if c is None else c[i:j] for c in columns) for i, j in itertools.pairwise(edges)]),)

    def predicted(self, model, offset):
        return model.predict_proba(*self.of(None, None, offset, EMPTY))


def frame_of(y, weight, offset):
    columns = {"y": y, "w": weight, "o": offset}
    return pd.DataFrame(X, columns=NAMES).assign(**{name: c for name, c in columns.items() if c is not None})


class Files(Memory):
    """Parquet files, one of them in several row groups."""

    def __init__(self, request, folder):
        self.folder = folder

    def of(self, y, weight, offset, edges):
        table = pa.Table.from_pandas(frame_of(y, weight, offset), preserve_index=False)
        for number, (i, j) in enumerate(itertools.pairwise(edges)):
            path = self.folder / f"{number}.parquet"
            pyarrow.parquet.write_table(table.slice(i, j - i), path, row_group_size=N // 5)
        roles = {"target": y, "sample_weight": weight, "offset": offset}
        named = dict(zip(roles, "ywo", strict=True))
        return (
            Stream(self.folder, **{role: named[role] for role, c in roles.items() if c is not None}, features=NAMES),
        )

    def predicted(self, model, offset):
        for old in self.folder.iterdir():
            old.unlink()
        return model.predict_proba(*self.of(None, None, offset, EMPTY))


class DaskArrays(Memory):
    def __init__(self, request, folder):
        request.getfixturevalue("dask_client")
        self.array = pytest.importorskip("dask.array")
        request.getfixturevalue("monkeypatch").setattr(self.array.Array, "__array__", brought_here)

    def of(self, y, weight, offset, edges):
        chunks = tuple(np.diff(edges).tolist())
        parts = (X, y, weight, offset)
        return tuple(None if c is None else self.array.from_array(c, chunks=(chunks, *c.shape[1:])) for c in parts)

    def predicted(self, model, offset):
        new, _, _, offset = self.of(None, None, offset, EMPTY)
        return model.predict_proba(new, offset).compute()


def brought_here(*_, **__):
    raise AssertionError("the data were brought to the client")


class DaskFrames(DaskArrays):
    def of(self, y, weight, offset, edges):
        frame, dask = frame_of(y, weight, offset), pytest.importorskip("dask.dataframe")
        parts = dask.concat([dask.from_pandas(frame[i:j], npartitions=1) for i, j in itertools.pairwise(edges)])
        columns = (parts[name] if name in frame else None for name in "ywo")
        return parts[NAMES], *columns


class SparkFrames(Memory):
    def __init__(self, request, folder):
        self.spark = request.getfixturevalue("spark")

    def of(self, y, weight, offset, edges):
        frame, context = frame_of(y, weight, offset), self.spark.sparkContext
        rows = list(map(list, frame.to_numpy(dtype=object).tolist()))
        parts = context.union([context.parallelize(rows[i:j], 1) for i, j in itertools.pairwise(edges)])
        kinds = {"y": "string" if y is TWO else "int"}
        schema = ", ".join(f"{name} {kinds.get(name, 'double')}" for name in frame.columns)
        roles = {"target": "y", "sample_weight": "w", "offset": "o"}
        named = {role: name for role, name in roles.items() if name in frame}
        return (Spark(self.spark.createDataFrame(parts, schema), features=NAMES, **named),)

    def predicted(self, model, offset):
        if offset is not None:  # which models of Spark ML do not have
            return model.predict_proba(frame_of(None, None, None), offset)
        from properly.spark import SparkModel

        frame = self.spark.createDataFrame(X.tolist(), NAMES)
        rows = SparkModel(model, inputCols=NAMES).transform(frame).select("probability").collect()
        return np.array([row[0].toArray() for row in rows])


ENGINES = [
    pytest.param(kind, marks=[pytest.mark.xdist_group(group)] if group else [], id=kind.__name__)
    for kind, group in [
        (Memory, None),
        (Blocks, None),
        (Files, None),
        (DaskArrays, "dask"),
        (DaskFrames, "dask"),
        (SparkFrames, "spark"),
    ]
]
# (model, labels, weights, offsets, partition): few, because every one is fitted by every engine.
CASES = {
    "weights and offsets": (ProperLinearClassifier(), TWO, WEIGHT, OFFSET, RANDOM),
    "softmax, balanced": (ProperLinearClassifier(class_weight="balanced"), THREE, None, None, EMPTY),
    "lasso": (ProperLinearClassifier(GEVLoss(0.2), C=0.05, l1_ratio=1.0), TWO, WEIGHT, None, RANDOM),
    "not convex": (ProperLinearClassifier(BetaLoss.tailored(0.3, 10), "logit"), TWO, WEIGHT, OFFSET, EMPTY),
}
MORE = {
    "no intercept": (ProperLinearClassifier(fit_intercept=False), TWO, None, None, RANDOM),
    "no penalty": (ProperLinearClassifier(C=np.inf), TWO, WEIGHT, None, RANDOM),
    "squared": (ProperLinearClassifier("squared"), THREE, WEIGHT, None, RANDOM),
    "several classes against the rest": (ProperLinearClassifier(link="probit"), THREE, WEIGHT, None, EMPTY),
    "canonical": (GEVCanonicalRegression(-0.3), TWO, WEIGHT, OFFSET, RANDOM),
    "gev": (GEVLogRegression(0.3), TWO, WEIGHT, None, RANDOM),
    "firth": (RareEventLogisticRegression(), TWO, WEIGHT, OFFSET, RANDOM),
    "weighting": (RareEventLogisticRegression("weighting", 0.01), TWO, WEIGHT, None, EMPTY),
    "king and zeng": (RareEventLogisticRegression("king-zeng-bias"), TWO, WEIGHT, None, RANDOM),
    "tailored": (TailoredLinearClassifierCV(0.4, (3.0,), cv=KeyedFolds(3)), TWO, WEIGHT, OFFSET, RANDOM),
}
FOLDS = {
    "chosen by folds": (GEVCanonicalRegressionCV([0.0, 0.4], [0.1, 1.0], cv=KeyedFolds(3)), TWO, WEIGHT, OFFSET, EMPTY),
}


def check(kind, case, request, folder):
    model, y, weight, offset, edges = case
    model.set_params(tol=1e-11)
    whole = model.fit(X, y, weight, offset)
    coef, intercept, classes, p = whole.coef_, whole.intercept_, whole.classes_, whole.predict_proba(X, offset)
    engine = kind(request, folder)
    model.fit(*engine.of(y, weight, offset, edges))
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-8, rtol=0)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-8, rtol=0)
    np.testing.assert_allclose(engine.predicted(model, offset), p, atol=1e-9)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ENGINES)
def test_the_coefficients_are_those_of_memory(kind, case, request, tmp_path):
    check(kind, case, request, tmp_path)


@pytest.mark.parametrize("case", MORE.values(), ids=MORE)
@pytest.mark.parametrize("kind", ENGINES[1:])
def test_every_model(kind, case, request, tmp_path):
    check(kind, case, request, tmp_path)


@pytest.mark.parametrize("case", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize("kind", ENGINES)
def test_the_folds_are_those_of_memory(kind, case, request, tmp_path):
    check(kind, case, request, tmp_path)
    results = case[0].cv_results_["loss"]
    case[0].fit(X, *case[1:4])
    np.testing.assert_allclose(results, case[0].cv_results_["loss"], rtol=1e-6)


CUSTOMER = np.array([f"c{number}" for number in RNG.integers(0, 40, N)])


@pytest.mark.parametrize(
    "kind",
    ["stream", "array", "frame", pytest.param("spark", marks=pytest.mark.xdist_group("spark"))],
)
def test_folds_by_group(request, kind):
    """Of a column, wherever the rows are; a number of folds is that of keys."""
    model = GEVCanonicalRegressionCV([0.0, 0.4], [0.1, 1.0], cv=3, tol=1e-11)
    whole = model.fit(X, TWO, groups=CUSTOMER).cv_results_["loss"]
    model.cv = list(KeyedFolds(3).split(X, TWO, CUSTOMER))
    np.testing.assert_array_equal(model.fit(X, TWO).cv_results_["loss"], whole)
    model.cv = 3
    table = pd.DataFrame(X, columns=NAMES).assign(y=TWO, customer=CUSTOMER)
    if kind == "stream":
        with pytest.raises(ValueError, match="group must come inside the blocks"):
            model.fit(Stream([(X, TWO)]), groups=CUSTOMER)
        with pytest.raises(ValueError, match="groups has 5 rows, X has 900"):
            model.fit(X, TWO, groups=CUSTOMER[:5])
        model.fit(Stream([(X[i:j], TWO[i:j], None, None, CUSTOMER[i:j]) for i, j in itertools.pairwise(RANDOM)]))
    elif kind == "spark":
        frame = request.getfixturevalue("spark").createDataFrame(table).repartition(3)
        model.fit(Spark(frame, target="y", group="customer"))
    else:
        request.getfixturevalue("dask_client")
        if kind == "array":
            array = pytest.importorskip("dask.array")
            rows, y, groups = (array.from_array(c, chunks=(250, *c.shape[1:])) for c in (X, TWO, CUSTOMER))
            model.fit(rows, y, groups=groups)
        else:
            frame = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=4)
            model.fit(frame[NAMES], frame["y"], groups=frame["customer"])
    np.testing.assert_allclose(model.cv_results_["loss"], whole, rtol=1e-6)
    assert np.abs(model.fit(X, TWO).cv_results_["loss"] - whole).max() > 1e-6 * whole.max()


@pytest.mark.parametrize("kind", ENGINES)
def test_parts_of_one_class(kind, request, tmp_path):
    global X  # the engines read it
    before, order = X, np.argsort(THREE, kind="stable")
    edges = [0, *np.cumsum(np.bincount(THREE)).tolist()]
    whole = ProperLinearClassifier(tol=1e-11).fit(X, THREE, WEIGHT)
    try:
        X = X[order]
        rows = kind(request, tmp_path).of(THREE[order], WEIGHT[order], None, edges)
        model = ProperLinearClassifier(tol=1e-11).fit(*rows)
    finally:
        X = before
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8, rtol=0)


@pytest.mark.parametrize("kind", ENGINES)
def test_standard_errors(kind, request, tmp_path):
    model = ProperLinearClassifier().fit(X, TWO, WEIGHT)
    expected = inference(model, X, TWO, WEIGHT, kind="sandwich").standard_errors
    found = inference(model, *kind(request, tmp_path).of(TWO, WEIGHT, None, RANDOM), kind="sandwich")
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ENGINES)
def test_accuracy(kind, request, tmp_path):
    model = ProperLinearClassifier().fit(X, TWO)
    expected = np.average(model.predict(X, OFFSET) == TWO, weights=WEIGHT)
    assert 0.5 < expected < 0.95
    assert model.score(*kind(request, tmp_path).of(TWO, WEIGHT, OFFSET, EMPTY)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.xdist_group("dask")
def test_accuracy_needs_the_features_of_the_fit(dask_client, tmp_path):
    table = pd.DataFrame(X, columns=NAMES).assign(y=TWO)
    model = ProperLinearClassifier().fit(table[NAMES], TWO)
    wrapper = CalibratedClassifier(ProperLinearClassifier(), cv=2).fit(table[NAMES], TWO)
    frame = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3)
    table.to_parquet(tmp_path / "rows.parquet")
    for each in (model, wrapper):
        expected = each.score(table[NAMES], TWO)
        for order, right in ((NAMES, True), (NAMES[::-1], False)):
            for rows in (
                (frame[order], frame["y"]),
                (Stream(tmp_path / "rows.parquet", target="y", features=order),),
                (Stream([(table[order][:400], TWO[:400]), (table[order][400:], TWO[400:])]),),
            ):
                if right:
                    assert each.score(*rows) == pytest.approx(expected)
                    continue
                with pytest.raises(ValueError, match="feature names should match"):
                    each.score(*rows)
    for each in (ProperLinearClassifier(), CalibratedClassifier(ProperLinearClassifier())):
        with pytest.raises(NotFittedError):
            each.score(Stream([(X, TWO)]))


@pytest.mark.parametrize("kind", ENGINES[1:])
def test_bad_values_are_named(kind, request, tmp_path, monkeypatch):
    bad = X.copy()
    bad[700, 1] = np.inf
    monkeypatch.setitem(globals(), "X", bad)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        ProperLinearClassifier().fit(*kind(request, tmp_path).of(TWO, None, None, RANDOM))


MOMENTS = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="h")
ODD = pd.DataFrame(
    {
        "small": X[:, 0].astype(np.float32),
        "count": RNG.integers(-5, 5, N).astype(np.int16),
        "flag": RNG.random(N) < 0.3,
        "with.dot": X[:, 1],
        "with space": X[:, 2],
        "level": pd.Categorical.from_codes(RNG.integers(0, 3, N), [1.0, 2.5, 4.0]),
    },
    index=pd.Index(RNG.permutation(N) + 7, name="customer"),  # of no order
)
LABELS = pd.Series(np.where(SCORE > 1.5, "yes", "no"), index=ODD.index, dtype="category")


@pytest.mark.parametrize("rows", [1, 400, 5000])
@pytest.mark.parametrize(
    "kind",
    ["files", "dask", pytest.param("spark", marks=pytest.mark.xdist_group("spark"))],
)
def test_columns_of_other_types(request, tmp_path, kind, rows):
    """Numbers of 32 and 16 bits, truth values, decimals, categories of numbers, odd names, an unsorted named index."""
    n = 40 if rows == 1 else N  # a row a part
    frame, labels = ODD[:n], LABELS[:n]
    numbers = frame.astype({"level": float}).astype(float).to_numpy()
    model = ProperLinearClassifier(C=0.1, tol=1e-12)
    whole = model.fit(numbers, np.asarray(labels)).coef_
    if kind == "files":
        table = pa.Table.from_pandas(frame.assign(y=labels.to_numpy()), preserve_index=False)
        place = table.column_names.index("count")
        table = table.set_column(place, "count", table.column("count").cast(pa.decimal128(9, 2)))
        pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=rows)
        found = model.fit(Stream(tmp_path / "rows.parquet", target="y"))
    elif kind == "dask":
        request.getfixturevalue("dask_client")
        dask = pytest.importorskip("dask.dataframe")
        parts = dask.from_pandas(frame.astype({"level": float}).assign(y=labels), chunksize=rows, sort=False)
        parts = parts[parts["small"] > -100.0]  # lengths that nobody knows
        found = model.fit(parts[list(frame.columns)], parts["y"])
    else:
        spark = request.getfixturevalue("spark")
        table = frame.astype({"level": float}).assign(y=labels.astype(str).to_numpy())
        found = model.fit(
            Spark(spark.createDataFrame(table.reset_index(drop=True)).repartition(n // rows + 1), target="y")
        )
    np.testing.assert_allclose(found.coef_, whole, atol=1e-8, rtol=0)
    assert list(found.feature_names_in_) == list(frame.columns)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(MOMENTS), "column 'bad' holds timestamp"),
        (pa.array(["1.5"] * N), "column 'bad' holds (large_)?string.*not numbers"),
        (pa.array([None, *X[1:, 0]]), "column 'bad' has missing values in row group 0"),
        (pa.array([[1.0]] * N), "column 'bad' holds list"),
    ],
)
def test_what_no_column_may_hold(tmp_path, column, message):
    table = pa.table({"x": X[:, 0], "bad": column, "y": TWO})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=message):
        ProperLinearClassifier().fit(Stream(tmp_path / "rows.parquet", target="y"))


@pytest.mark.parametrize("kind", [object, "category"])
def test_missing_labels_are_refused(tmp_path, kind):
    labels = pd.Series(TWO, dtype=object)
    labels[5] = None
    table = pa.Table.from_pandas(pd.DataFrame({"x": X[:, 0], "y": labels.astype(kind)}))
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"missing|NaN|None"):
        ProperLinearClassifier().fit(Stream(tmp_path / "rows.parquet", target="y", features=["x"]))
