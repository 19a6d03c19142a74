"""Linear models and calibrators as estimators of Spark ML: fitted where the rows are, searched and saved by Spark."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from properly.calibration.base import Calibrator
from properly.engines import Spark
from properly.engines.description import Part
from properly.engines.partitioned import mapped
from properly.inputs.features import check_names
from properly.inputs.optional import require
from properly.kernels import Block
from properly.linear.estimator import LinearEstimator
from properly.persistence import load, save

for package in ("pyspark", "pandas"):
    require(package, "spark")

import pandas as pd  # noqa: E402 - asked for by name above, so that a missing one is named with its extra
import pyspark  # noqa: E402
from pyspark.ml import Estimator, Model  # noqa: E402
from pyspark.ml.functions import array_to_vector  # noqa: E402
from pyspark.ml.param import Param, shared  # noqa: E402
from pyspark.ml.util import (  # noqa: E402
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as sql  # noqa: E402

__all__ = ["SparkClassifier", "SparkModel"]
_TIMES = ("date", "timestamp", "timestamp_ntz")


def _setter(name: str) -> Any:
    def set_param(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_param.__doc__ = f"Set {name} to `value`."
    return set_param


class _Columns(
    shared.HasFeaturesCol,
    shared.HasInputCols,
    shared.HasLabelCol,
    shared.HasWeightCol,
    shared.HasProbabilityCol,
    shared.HasPredictionCol,
    MLWritable,
    MLReadable,
):
    """An estimator of scikit-learn's kind, and the columns that it reads and writes."""

    def __init__(
        self,
        estimator: Any,
        *,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        probabilityCol: str = "probability",
        predictionCol: str = "prediction",
    ) -> None:
        super().__init__()
        if not isinstance(estimator, LinearEstimator | Calibrator):
            kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
            said = f"the class {kind}: add ()" if isinstance(estimator, type) else f"a {kind}"
            raise TypeError(
                f"estimator must be a linear classifier or a calibrator, such as ProperLinearClassifier(), got {said}."
            )
        self.estimator = estimator
        self._setDefault(featuresCol="features", labelCol="label")
        self._setDefault(probabilityCol="probability", predictionCol="prediction")
        given = {"featuresCol": featuresCol, "inputCols": inputCols, "labelCol": labelCol, "weightCol": weightCol}
        given |= {"probabilityCol": probabilityCol, "predictionCol": predictionCol}
        self._set(**{name: value for name, value in given.items() if value is not None})

    setFeaturesCol, setInputCols, setLabelCol = map(_setter, ("featuresCol", "inputCols", "labelCol"))
    setWeightCol, setProbabilityCol = map(_setter, ("weightCol", "probabilityCol"))
    setPredictionCol = _setter("predictionCol")

    def _features(self) -> list[str] | str:
        return self.getInputCols() if self.isSet("inputCols") else self.getFeaturesCol()

    def _to_save(self) -> Any:
        return self.estimator

    def write(self) -> _Writer:
        return _Writer(self)

    @classmethod
    def read(cls) -> _Reader:
        return _Reader(cls)


class SparkClassifier(_Columns, Estimator):
    """A linear model or a calibrator of this library as a `pyspark.ml.Estimator`.

    Parameters
    ----------
    estimator : linear classifier or calibrator
        What is fitted, such as `ProperLinearClassifier`, `GEVCanonicalRegression` or `PlattScaling`. Its own parameters
        are parameters of Spark as well: ``ParamGridBuilder().addGrid(classifier.C, [0.1, 1.0])``.
    featuresCol : str, default "features"
        The column of vectors.
    inputCols : list of str, optional
        Columns of numbers in place of it; the model then knows their names.
    labelCol : str, default "label"
        Labels of any kind: numbers or texts.
    weightCol : str, optional
    probabilityCol, predictionCol : str, default "probability" and "prediction"
        What the model adds: a vector of the probabilities of the classes, and the most probable class.

    Examples
    --------
    >>> from properly.linear import ProperLinearClassifier
    >>> from properly.spark import SparkClassifier
    >>> classifier = SparkClassifier(ProperLinearClassifier(), inputCols=["age", "amount"], labelCol="fraud")
    >>> model = classifier.fit(frame)  # doctest: +SKIP
    >>> model.transform(frame).select("probability")  # doctest: +SKIP
    """

    def __init__(self, estimator: Any, **columns: Any) -> None:
        super().__init__(estimator, **columns)
        for name, value in estimator.get_params(deep=False).items():
            setattr(self, name, Param(self, name, f"{name} of {type(estimator).__name__}"))
            if value is None or isinstance(value, bool | int | float | str):  # what Spark can write
                self._setDefault(**{name: value})

    def _to_save(self) -> Any:
        """The estimator with the parameters that were set here."""
        own = self.estimator.get_params(deep=False)
        return clone(self.estimator).set_params(
            **{param.name: value for param, value in self._paramMap.items() if param.name in own}
        )

    def _fit(self, dataset: Any) -> SparkModel:
        label, weight = self.getLabelCol(), self.getWeightCol() if self.isSet("weightCol") else None
        if label in dataset.columns and dataset.schema[label].dataType.typeName() in _TIMES:
            raise ValueError(f"column {label!r} holds times; labels in Spark ML are numbers or texts: convert it.")
        rows = Spark(dataset, target=label, features=self._features(), sample_weight=weight)
        return self._copyValues(SparkModel(self._to_save().fit(rows)))


class SparkModel(_Columns, Model):
    """A fitted linear model or calibrator as a `pyspark.ml.Model`: `transform` adds probabilities and predictions.

    Parameters
    ----------
    estimator : fitted linear classifier or calibrator
        From `SparkClassifier`, or fitted elsewhere.
    featuresCol, inputCols, labelCol, weightCol, probabilityCol, predictionCol :
        As in `SparkClassifier`.
    """

    def _transform(self, dataset: Any) -> Any:
        check_is_fitted(self.estimator)
        added = {"probabilityCol": self.getProbabilityCol(), "predictionCol": self.getPredictionCol()}
        for option, name in added.items():
            if list(added.values()).count(name) > 1 or name in dataset.columns:
                raise ValueError(f"the frame would have two columns {name!r}; give {option} another name.")
        if self.isSet("inputCols"):
            check_names(self.estimator, self.getInputCols(), reset=False)
        rows, classes = Spark(dataset, features=self._features()), self.estimator.classes_.tolist()
        if rows.n_features not in (None, self.estimator.n_features_in_):
            raise ValueError(
                f"the frame has {rows.n_features} features, but the model was fitted with "
                f"{self.estimator.n_features_in_}; name the same columns."
            )
        numbers = [f"p{k}" for k in range(len(classes))]
        kind = f"struct<{', '.join(f'{name}: double' for name in numbers)}, place: int>"
        predicted = sql.pandas_udf(_prediction(self.estimator), kind).asNondeterministic()  # is not run twice
        result = dataset.withColumn(self.uid, predicted(rows.X))
        probability = array_to_vector(sql.array(*(result[self.uid][name] for name in numbers)))
        labels = classes if isinstance(classes[0], str) else list(map(float, classes))
        prediction = sql.element_at(sql.array(*map(sql.lit, labels)), result[self.uid]["place"] + 1)
        result = result.withColumn(added["probabilityCol"], probability)
        return result.withColumn(added["predictionCol"], prediction).drop(self.uid)


def _prediction(estimator: Any) -> Any:
    """What Spark calls with batches of rows, each a list of its features."""

    def predicted(rows: pd.Series) -> pd.DataFrame:
        width = estimator.n_features_in_
        lengths = {-1 if row is None else len(row) for row in rows} - {width}
        if lengths:
            found = "no vector" if min(lengths) < 0 else f"a vector of {min(lengths)} numbers"
            raise ValueError(f"a row of the frame has {found}, but the model was fitted with {width} features.")
        X = np.stack(rows) if len(rows) else np.empty((0, width))
        result = mapped(estimator, _probabilities_and_places(estimator), Part(X, place="the frame"), 0)
        table = pd.DataFrame(result[:, :-1], columns=[f"p{k}" for k in range(result.shape[1] - 1)])
        return table.assign(place=result[:, -1].astype(np.int32))

    predicted.__annotations__ = {"rows": pd.Series, "return": pd.DataFrame}
    return predicted


def _probabilities_and_places(estimator: Any) -> Any:
    def of_block(block: Block) -> NDArray[Any]:
        chosen = np.searchsorted(estimator.classes_, estimator.predict(block))
        return np.column_stack([estimator.predict_proba(block), chosen])

    return of_block


class _Writer(MLWriter):
    """Spark's metadata, and beside it the model file of `properly.save`."""

    def __init__(self, instance: _Columns) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        own = self.instance.estimator.get_params(deep=False)
        columns = {param.name: value for param, value in self.instance._paramMap.items() if param.name not in own}
        DefaultParamsWriter.saveMetadata(self.instance, path, _reached_by(self.sparkSession), paramMap=columns)
        with tempfile.TemporaryDirectory() as folder:
            save(self.instance._to_save(), Path(folder, "model.skops"))
            content = Path(folder, "model.skops").read_bytes()
        frame = self.sparkSession.createDataFrame([(bytearray(content),)], "model binary")
        frame.coalesce(1).write.parquet(f"{path}/model")


def _reached_by(session: Any) -> Any:
    """What Spark reads and writes metadata with: the session, before Spark 4 its context."""
    return session if int(pyspark.__version__.partition(".")[0]) >= 4 else session.sparkContext


class _Reader(MLReader):
    def __init__(self, kind: type[_Columns]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        kind = f"{self.kind.__module__}.{self.kind.__name__}"
        metadata = DefaultParamsReader.loadMetadata(path, _reached_by(self.sparkSession), expectedClassName=kind)
        (content,) = self.sparkSession.read.parquet(f"{path}/model").first()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "model.skops").write_bytes(content)
            instance: Any = self.kind(load(Path(folder, "model.skops")))
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance
