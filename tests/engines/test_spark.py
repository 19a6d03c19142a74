"""Spark: frames and vectors, faults, and the estimator of Spark ML."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from properly import kernels
from properly.calibration import PlattScaling
from properly.engines import Spark, SparkEngine
from properly.engines.arrow import gathered, rows_of_lists
from properly.engines.spark_rows import prepared, totals
from properly.kernels import LinearModel
from properly.linear import GEVCanonicalRegression, ProperLinearClassifier
from properly.losses import Composite, LogLoss
from properly.tree import ProperTreeClassifier

ml = pytest.importorskip("pyspark.ml", reason='Spark is not installed: pip install "properly[spark]"')
pytestmark = pytest.mark.xdist_group("spark")

RNG = np.random.default_rng(0)
N, NAMES = 800, ["a", "b", "c"]
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.logistic(size=N) > 1.0).astype(float)
WEIGHT = RNG.integers(0, 3, N).astype(float)


@pytest.fixture(scope="module")
def frame(spark):
    table = pd.DataFrame(X, columns=NAMES).assign(label=Y, weight=WEIGHT, word=np.where(Y > 0, "yes", "no"))
    return spark.createDataFrame(table).repartition(3).cache()


@pytest.fixture(scope="module")
def vectors(frame):
    from pyspark.ml.feature import VectorAssembler

    return VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame)


def kept(spark):
    """How many RDDs, and how many files with rows."""
    files = list(Path(spark.conf.get("spark.local.dir")).rglob("properly-*"))
    return spark.sparkContext._jsc.getPersistentRDDs().size(), len(files)


def test_vectors_and_release(spark, vectors):
    vectors.count()
    before = kept(spark)
    model = ProperLinearClassifier(tol=1e-12).fit(Spark(vectors, target="label", features="features"))
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(X, Y).coef_, atol=1e-9)
    assert kept(spark) == before
    with pytest.raises(ValueError, match="column 'z' has missing values"):
        ProperLinearClassifier().fit(Spark(vectors.selectExpr("label", "cast(null as double) z"), target="label"))
    assert kept(spark) == before


def engine_of(frame):
    data = Spark(frame, target="label", features=NAMES)
    return SparkEngine.of_training_data(ProperLinearClassifier(), data, None, None, None)[0]


def test_files_that_are_gone_are_read_anew(spark, frame):
    """As when a task comes to a machine that does not have them."""
    engine = engine_of(frame)
    score = np.zeros((1, 4))
    model = LinearModel(Composite(LogLoss()))
    before = engine.reduce(kernels.newton, model, score, True, (False,))
    folders = list(Path(spark.conf.get("spark.local.dir")).rglob(engine.folder))
    files = [file for folder in folders for file in folder.iterdir()]
    assert files
    for file in files:
        file.unlink()
    after = engine.reduce(kernels.newton, model, score, True, (False,))
    engine.release()
    np.testing.assert_array_equal(after.gradient, before.gradient)
    np.testing.assert_array_equal(after.hessians, before.hessians)


def test_settings_are_those_of_the_user_again(spark, frame):
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    for value in ("777", None):
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        ProperLinearClassifier().fit(Spark(frame, target="label", features=NAMES))
        assert spark.conf.get(name, None) == value


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("array(1.0, a) z", None),
        ("array(a > 0, b > 0) z", None),
        ("array(cast(10 * a as byte), cast(10 * b as byte)) z", None),
        ("array() z", "column 'z' holds void in the frame, not numbers"),
        ("named_struct('a', a) z", "column 'z' holds struct in the frame, not numbers"),
        ("array(1, 2L, null) z", "column 'z' has missing values"),
        ("cast(null as array<double>) z", "column 'z' has missing values"),
        (
            "if(label > 0, array(1.0), array(1.0, 2.0)) z",
            r"column 'z' has vectors of different lengths, \[.*\], in the",
        ),
        ("array('1') z", "column 'z' holds string in the frame, not numbers; encode or leave it out"),
        ("'1' z", "column 'z' holds string in the frame, not numbers; encode or leave it out"),
        ("cast(a as float) z", None),
        ("cast(a as decimal(9, 4)) z", None),
    ],
)
def test_what_columns_may_hold(frame, column, message):
    rows = frame.selectExpr("label", column)
    if message is None:
        z = np.array([row["z"] for row in rows.collect()], dtype=float).reshape(N, -1)
        whole = ProperLinearClassifier(tol=1e-12).fit(z, [row["label"] for row in rows.collect()])
        model = ProperLinearClassifier(tol=1e-12).fit(Spark(rows, target="label", features="z"))
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-9)
    else:
        with pytest.raises(ValueError, match=message):
            ProperLinearClassifier().fit(Spark(rows, target="label", features="z"))


@pytest.mark.parametrize("role", ["target", "group"])
def test_labels_and_groups_of_a_kind_that_no_label_has(frame, role):
    rows = frame.selectExpr("a", "array(label) odd")
    with pytest.raises(ValueError, match="column 'odd' holds array in the frame; labels and groups are numbers, texts"):
        Spark(rows, features=["a"], **{role: "odd"})


def test_names_that_spark_cannot_tell_apart(frame):
    with pytest.raises(ValueError, match="the frame has two columns 'a'; rename or drop one"):
        Spark(frame.join(frame.select("a", "label"), on="label"), target="label", features=["a"])
    with pytest.raises(ValueError, match="the frame has two columns 'a'; rename or drop one"):
        Spark(frame.selectExpr("a", "b as A", "label"), target="label", features=["a"])


@pytest.mark.parametrize("other", [pd.DataFrame({"a": [1.0]}), None])
def test_what_is_no_frame(other):
    with pytest.raises(ValueError, match="frame must be a Spark data frame, got a "):
        Spark(other, target="label")


def test_wide_rows_come_in_smaller_batches(spark):
    """Of 10,000 features 16 MiB hold 209 rows; of vectors of unknown length Spark counts the bytes."""
    frame = spark.range(10).selectExpr("cast(id as double) a", "id % 2 label")
    for n_features, rows, size in [
        (10_000, "209", str(2**31 - 1)),
        (3, "2000", str(2**31 - 1)),
        (None, "10000", str(2**24)),
    ]:
        settings = prepared(frame, n_features).sparkSession.conf
        assert settings.get("spark.sql.execution.arrow.maxRecordsPerBatch") == rows
        assert settings.get("spark.sql.execution.arrow.maxBytesPerBatch").removesuffix("b") == size


def test_one_sum_of_every_task_comes_to_the_driver(spark, frame):
    engine = engine_of(frame)
    assert len(list(engine.visit(lambda part, number: len(part.X)))) == 2
    engine.release()


@pytest.mark.parametrize("n_tasks", [3, 50])
def test_sums_of_many_tasks_are_added_up_by_fewer_in_their_order(spark, n_tasks):
    texts = [f"{k:03} " for k in range(120)]
    rows = spark.sparkContext.parallelize(texts, n_tasks)
    found = totals(rows)
    assert len(found) == (3 if n_tasks == 3 else 7)
    assert "".join(found) == "".join(texts)  # an addition that does not commute
    found = totals(rows.map(lambda text: ValueError(text) if text in ("070 ", "110 ") else text))
    assert next(str(each) for each in found if isinstance(each, Exception)) == "070 "


def test_missing_vectors_are_named(vectors):
    from pyspark.sql import functions

    some = vectors.withColumn("features", functions.when(functions.col("label") == 1, functions.col("features")))
    with pytest.raises(ValueError, match="column 'features' has missing values in the frame; drop or mend such rows"):
        ProperLinearClassifier().fit(Spark(some, target="label", features="features"))


def test_a_release_ends_the_tasks_that_still_run(spark, frame):
    """As after an interruption."""
    frame.count()
    before = kept(spark)
    engine, tracker, ended = engine_of(frame), spark.sparkContext.statusTracker(), []

    def slow(part, number):
        import time

        time.sleep(60.0)

    def passes():
        with contextlib.suppress(RuntimeError):
            list(engine.visit(slow))
        ended.append(time.monotonic())

    thread = threading.Thread(target=passes)
    thread.start()
    while not tracker.getActiveJobsIds():
        time.sleep(0.05)
    begin = time.monotonic()
    engine.release()
    thread.join()
    assert ended[0] - begin < 30.0
    assert kept(spark) == before


def test_a_disk_without_room_is_named(spark, frame):
    """The rows go to a folder that is a file; the error of the task is the last line of what the user sees."""
    engine = SparkEngine(Spark(frame, target="label", features=NAMES))
    place = Path(spark.conf.get("spark.local.dir"), "in-the-way")
    place.write_text("")
    engine.folder = f"../{place.name}"
    for folder in Path(spark.conf.get("spark.local.dir")).glob("blockmgr-*"):
        assert (folder / engine.folder).resolve() == place
    engine.prepare(several=True)
    with pytest.raises(
        RuntimeError, match=r"failed each time: OSError: .*in-the-way.*; set spark\.local\.dir to disks"
    ):
        list(engine.visit(lambda part, number: None))
    engine.release()
    place.unlink()


def test_sparse_vectors(spark):
    from pyspark.ml.linalg import Vectors

    rows = [
        (Vectors.sparse(3, [0, 2], [x[0], x[2]]) if x[1] > 0 else Vectors.dense(x), y)
        for x, y in zip(X, Y, strict=True)
    ]
    new = np.where((X[:, 1] > 0)[:, None] * np.array([False, True, False]), 0.0, X)
    vectors = spark.createDataFrame([(vector, float(y)) for vector, y in rows], ["features", "label"])
    model = ProperLinearClassifier(tol=1e-12).fit(Spark(vectors, target="label", features="features"))
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(new, Y).coef_, atol=1e-9)


def test_what_is_refused(frame):
    with pytest.raises(ValueError, match=r"wrap the frame: X = properly\.engines\.Spark"):
        ProperLinearClassifier().fit(frame)
    with pytest.raises(ValueError, match="there is no column 'fraud'; the frame has 'a'"):
        Spark(frame, target="fraud")
    with pytest.raises(ValueError, match=r"y must come inside the frame: name its column in Spark\(frame"):
        ProperLinearClassifier().fit(Spark(frame, target="label", features=NAMES), Y)
    with pytest.raises(ValueError, match=r"properly\.spark\.SparkModel"):
        ProperLinearClassifier().fit(X, Y).predict_proba(Spark(frame, features=NAMES))


def test_a_streaming_frame_is_refused(spark):
    with pytest.raises(ValueError, match="a streaming frame has no end"):
        Spark(spark.readStream.format("rate").load(), features=["value"])


def test_vectors_of_different_lengths_in_different_parts(spark):
    rows = spark.createDataFrame([([1.0], 0), ([1.0, 2.0], 1)], "features array<double>, label int").repartition(2)
    with pytest.raises(ValueError, match=r"the frame has rows of different lengths, \[1, 2\]"):
        ProperLinearClassifier().fit(Spark(rows.repartitionByRange(2, "label"), target="label", features="features"))


_CONNECT = """
import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession, functions
from properly.calibration import PlattScaling
from properly.engines import Spark
from properly.linear import ProperLinearClassifier
from properly.spark import SparkClassifier, SparkModel

X = np.random.default_rng(0).normal(size=(50, 2))
y = (X[:, 0] > 0.3).astype(int)
model = ProperLinearClassifier().fit(X, y)
session = SparkSession.builder.remote("local[2]").getOrCreate()
try:
    table = [(*row, label) for row, label in zip(X.tolist(), y.tolist())]
    rows = session.createDataFrame(table, "a double, b double, y int")
    vectors = rows.withColumn("features", array_to_vector(functions.array("a", "b")))
    for new, options in ((rows, {"inputCols": ["a", "b"]}), (vectors, {})):
        found = SparkModel(model, **options).transform(new).select("probability", "prediction").collect()
        np.testing.assert_allclose([row[0].toArray() for row in found], model.predict_proba(X), atol=1e-12)
        assert [row[1] for row in found] == model.predict(X).tolist()
    for fit in (
        lambda: ProperLinearClassifier().fit(Spark(rows, target="y")),
        lambda: PlattScaling().fit(Spark(rows, target="y", features=["a"])),
        lambda: SparkClassifier(ProperLinearClassifier(), inputCols=["a", "b"], labelCol="y").fit(rows),
    ):
        try:
            fit()
        except ValueError as error:
            assert "fit in a classic session" in str(error), error
        else:
            raise AssertionError("fitted")
    print("done")
finally:
    session.stop()
"""


def test_spark_connect_predicts_and_refuses_to_fit():
    pytest.importorskip("grpc", reason='Spark Connect is not installed: pip install "pyspark[connect]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java, which Spark needs, is not installed")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", _CONNECT], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.endswith("done\n"), done.stderr[-2000:]


def test_a_task_that_fails_once_changes_nothing(frame, tmp_path):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers cannot import the tests
    try:
        engine = engine_of(frame)
        mark = str(tmp_path / "failed")

        def total(part, number, mark=None):
            import os

            if mark is not None and not os.path.exists(mark):
                open(mark, "w").close()
                raise OSError("the first try fails")
            return part.X.sum(axis=0)

        sums = np.array(list(engine.visit(total)))
        disturbed = np.array(list(engine.visit(lambda part, number: total(part, number, mark))))
        engine.release()
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert (tmp_path / "failed").exists()
    np.testing.assert_array_equal(disturbed, sums)


def test_the_estimator_of_spark_ml(frame, tmp_path):
    from properly.spark import SparkClassifier, SparkModel

    columns = {"inputCols": NAMES, "labelCol": "word", "weightCol": "weight"}
    classifier = SparkClassifier(GEVCanonicalRegression(0.2, tol=1e-12), **columns)
    classifier.set(classifier.C, 0.5)
    model = classifier.fit(frame)
    whole = GEVCanonicalRegression(0.2, C=0.5, tol=1e-12).fit(X, np.where(Y > 0, "yes", "no"), WEIGHT)
    np.testing.assert_allclose(model.estimator.coef_, whole.coef_, atol=1e-9)
    model.write().overwrite().save(str(tmp_path / "model"))
    for each in (model, SparkModel.load(str(tmp_path / "model"))):
        rows = each.transform(frame).collect()  # toPandas warns about pandas 3
        inputs = np.array([[row[name] for name in NAMES] for row in rows])
        p = np.array([row["probability"].toArray() for row in rows])
        np.testing.assert_allclose(p, whole.predict_proba(inputs), atol=1e-9)
        np.testing.assert_array_equal([row["prediction"] for row in rows], whole.predict(inputs))
    classifier.write().overwrite().save(str(tmp_path / "classifier"))
    loaded = SparkClassifier.load(str(tmp_path / "classifier"))
    assert loaded.estimator.C == 0.5
    assert loaded.getWeightCol() == "weight"
    assert loaded.uid == classifier.uid


def test_parts_of_vectors_are_as_large_as_those_of_columns():
    """At most 16 MiB: a part that counts a vector as one number could be larger than the memory of a worker."""
    import pyarrow as pa

    wide = np.random.default_rng(0).normal(size=(60_000, 100))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(wide.ravel()), 100).cast(pa.list_(pa.float64()))
    rows = pa.RecordBatch.from_pydict({"features": lists, "label": pa.array(np.arange(60_000) % 2)})
    batches = [rows.slice(start, 5_000) for start in range(0, 60_000, 5_000)]
    parts = list(gathered(batches, rows_of_lists))
    assert [part.num_rows for part in parts] == [20_000, 20_000, 20_000]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches(batches).combine_chunks())
    assert list(gathered([], rows_of_lists)) == list(gathered([rows[:0]], rows_of_lists)) == []


def test_columns_of_a_model_of_spark(spark, frame):
    from properly.spark import SparkModel

    model = ProperLinearClassifier().fit(pd.DataFrame(X, columns=NAMES), Y)
    with pytest.raises(ValueError, match=r"feature names should match .*\['c', 'b', 'a'\]; select the columns in this"):
        SparkModel(model, inputCols=NAMES[::-1]).transform(frame)
    unnamed = ProperLinearClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="the frame has 2 features, but the model was fitted with 3"):
        SparkModel(unnamed, inputCols=NAMES[:2]).transform(frame)
    with pytest.raises(NotFittedError):
        SparkModel(ProperLinearClassifier(), inputCols=NAMES).transform(frame)
    rows = frame.selectExpr("if(a > 0, null, array(a, b, c)) features")
    with pytest.raises(Exception, match="a row of the frame has no vector, but the model was fitted with 3 features"):
        SparkModel(unnamed).transform(rows).collect()


def test_parameters_have_the_values_of_the_estimator():
    from properly.spark import SparkClassifier

    classifier = SparkClassifier(ProperLinearClassifier(C=0.25))
    assert classifier.getOrDefault(classifier.C) == 0.25
    assert "C: C of ProperLinearClassifier (default: 0.25)" in classifier.explainParams()


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        ("logistic", "a str"),
        (ProperTreeClassifier(), "a ProperTree"),
        (ProperLinearClassifier, "the class ProperLinear.*: add"),
    ],
)
def test_other_estimators_are_refused(spark, estimator, named):
    from properly.spark import SparkClassifier, SparkModel

    for kind in (SparkClassifier, SparkModel):
        with pytest.raises(TypeError, match=f"must be a linear classifier or a calibrator, such as .*got {named}"):
            kind(estimator)


def test_columns_are_not_replaced(frame):
    from properly.spark import SparkModel

    model = SparkModel(ProperLinearClassifier().fit(X, Y), inputCols=NAMES)
    scored = model.transform(frame)
    with pytest.raises(ValueError, match="two columns 'probability'; give probabilityCol another name"):
        model.transform(scored)
    again = model.copy().setProbabilityCol("p").setPredictionCol("class").transform(scored)
    assert again.columns[-4:] == ["probability", "prediction", "p", "class"]
    with pytest.raises(ValueError, match="two columns 'p'; give probabilityCol another name"):
        model.copy().setProbabilityCol("p").setPredictionCol("p").transform(frame)


def test_labels_of_spark_ml(frame, tmp_path):
    from properly.spark import SparkClassifier, SparkModel

    rows = frame.selectExpr("*", "cast(label as decimal(3, 1)) exact", "date_add(date'2024-01-01', int(label)) day")
    classifier = SparkClassifier(ProperLinearClassifier(), inputCols=NAMES).setLabelCol("exact")
    model = classifier.fit(rows)
    assert model.estimator.classes_.tolist() == [0.0, 1.0]
    model.save(str(tmp_path / "model"))
    assert SparkModel.load(str(tmp_path / "model")).transform(frame).select("prediction").distinct().count() == 2
    with pytest.raises(AssertionError, match="SparkClassifier"):  # as Spark says it
        SparkClassifier.load(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="column 'day' holds times; labels in Spark ML are numbers or texts"):
        classifier.setLabelCol("day").fit(rows)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Spark leaves its pool of threads open
def test_searches_with_threads(spark, vectors):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from properly.spark import SparkClassifier

    vectors.count()
    before = kept(spark)
    classifier = SparkClassifier(ProperLinearClassifier())
    options = {
        "estimator": classifier,
        "estimatorParamMaps": ParamGridBuilder().addGrid(classifier.C, [1e-4, 1e-2, 1.0]).build(),
        "evaluator": MulticlassClassificationEvaluator(metricName="logLoss"),
        "numFolds": 2,
        "seed": 1,
    }
    search = CrossValidator(**options, parallelism=3).fit(vectors)
    assert search.avgMetrics[0] > search.avgMetrics[1] > search.avgMetrics[2]
    assert kept(spark) == before


def test_a_calibrator_as_an_estimator(frame):
    from properly.spark import SparkClassifier

    model = SparkClassifier(PlattScaling(input="score"), inputCols=NAMES[:1], labelCol="word").fit(frame)
    found = model.transform(frame).select(NAMES[0], "probability").collect()
    score, p = (np.array([row[k] for row in found]) for k in (0, 1))
    whole = PlattScaling(input="score").fit(X[:, 0], np.where(Y > 0, "yes", "no"))
    np.testing.assert_allclose(p, whole.predict_proba(score), atol=1e-9)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Spark leaves its pool of threads open
def test_pipelines_and_searches(frame, tmp_path):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from properly.spark import SparkClassifier

    classifier = SparkClassifier(ProperLinearClassifier())
    pipeline = ml.Pipeline(stages=[VectorAssembler(inputCols=NAMES, outputCol="features"), classifier])
    search = CrossValidator(
        estimator=pipeline,
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.C, [1e-4, 1.0]).build(),
        evaluator=MulticlassClassificationEvaluator(metricName="logLoss"),
        numFolds=2,
        seed=0,
    ).fit(frame)
    weak, strong = search.avgMetrics
    assert strong < weak
    search.bestModel.write().overwrite().save(str(tmp_path / "best"))
    best = ml.PipelineModel.load(str(tmp_path / "best"))
    np.testing.assert_allclose(best.stages[1].estimator.coef_, ProperLinearClassifier().fit(X, Y).coef_, atol=1e-6)
