"""Spark: frames and vectors, faults, and the estimator of Spark ML."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from properly.calibration import PlattScaling
from properly.engines import Spark, SparkEngine
from properly.engines.arrow import Columns, pickled_parts
from properly.linear import GEVCanonicalRegression, ProperLinearClassifier
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


def persistent(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_vectors_and_release(spark, vectors):
    vectors.count()
    before = persistent(spark)
    model = ProperLinearClassifier(tol=1e-12).fit(Spark(vectors, target="label", features="features"))
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(X, Y).coef_, atol=1e-9)
    assert persistent(spark) == before
    with pytest.raises(ValueError, match="column 'z' has missing values"):
        ProperLinearClassifier().fit(Spark(vectors.selectExpr("label", "cast(null as double) z"), target="label"))
    assert persistent(spark) == before


def test_what_is_refused(frame):
    with pytest.raises(ValueError, match=r"wrap the frame: X = properly\.engines\.Spark"):
        ProperLinearClassifier().fit(frame)
    with pytest.raises(ValueError, match="there is no column 'fraud'; the frame has 'a'"):
        Spark(frame, target="fraud")
    with pytest.raises(ValueError, match=r"y must come inside the frame: name its column in Spark\(frame"):
        ProperLinearClassifier().fit(Spark(frame, target="label"), Y)
    with pytest.raises(ValueError, match=r"properly\.spark\.SparkModel"):
        ProperLinearClassifier().fit(X, Y).predict_proba(Spark(frame, features=NAMES))


def test_spark_connect_is_refused():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(ValueError, match="a frame of Spark Connect cannot keep parts on its workers; use a classic"):
        Spark(frame, target="label")


def test_a_task_that_fails_once_changes_nothing(frame, tmp_path):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers cannot import the tests
    try:
        data = Spark(frame, target="label", features=NAMES)
        engine, _ = SparkEngine.of_training_data(ProperLinearClassifier(), data, None, None, None)
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
    """About 16 MiB: a part that counts a vector as one number could be larger than the memory of a worker."""
    import pyarrow as pa

    wide = np.random.default_rng(0).normal(size=(60_000, 100))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(wide.ravel()), 100).cast(pa.list_(pa.float64()))
    rows = pa.RecordBatch.from_pydict({"features": lists, "label": pa.array(np.arange(60_000) % 2)})
    batches = [rows.slice(start, 5_000) for start in range(0, 60_000, 5_000)]
    columns = Columns.chosen(["features", "label"], "the frame", "features", "label")
    parts = [pickle.loads(each["part"][0].as_py()) for each in pickled_parts(columns, True, iter(batches))]
    assert [len(part.y) for part in parts] == [25_000, 25_000, 10_000]
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), wide)


@pytest.mark.parametrize(("estimator", "named"), [("logistic", "'logistic'"), (ProperTreeClassifier(), "a ProperTree")])
def test_other_estimators_are_refused(spark, estimator, named):
    from properly.spark import SparkClassifier

    with pytest.raises(TypeError, match=f"must be a linear classifier or a calibrator, such as .*got {named}"):
        SparkClassifier(estimator)


def test_a_calibrator_as_an_estimator(frame):
    from properly.spark import SparkClassifier

    model = SparkClassifier(PlattScaling(input="score"), inputCols=NAMES[:1], labelCol="word").fit(frame)
    found = model.transform(frame).select(NAMES[0], "probability").collect()
    score, p = (np.array([row[k] for row in found]) for k in (0, 1))
    whole = PlattScaling(input="score").fit(X[:, 0], np.where(Y > 0, "yes", "no"))
    np.testing.assert_allclose(p, whole.predict_proba(score), atol=1e-9)


@pytest.mark.slow
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
