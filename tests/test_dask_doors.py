"""No Dask data come to this machine without a word: whatever is public takes them where they are, or refuses them."""

import importlib
import inspect
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

sys.path.insert(0, str(Path(__file__).parent))
from test_contract import CLASSIFIERS, GROUPS, SCORES, X, Y, made

import properly
from properly.calibration import CalibratedClassifier, Calibrator, GroupwiseCalibration
from properly.comparison import BestProbabilities
from properly.linear import ProperLinearClassifier
from properly.maxent import EntropyWeightedMaxent, Maxent, MaxentFeatures
from properly.prevalence import PriorCorrectedClassifier
from properly.tables import LinearFeatures, TableEncoder, WithFeatures

da = pytest.importorskip("dask.array", reason='Dask is not installed: pip install "properly[dask]"')
dd = pytest.importorskip("dask.dataframe", reason='Dask is not installed: pip install "properly[dask]"')
pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.filterwarnings("ignore")]

P = 1.0 / (1.0 + np.exp(-SCORES))
ROWS = np.arange(len(Y))
WEIGHT = 1.0 + ROWS % 3
PRESENT = np.where(ROWS % 3 == 0, -1, Y)
LINEAR = ProperLinearClassifier().fit(X, Y)
VALUES = {
    "X": X, "y": Y, "sample_weight": WEIGHT, "offset": 0.1 * SCORES, "scores": SCORES, "groups": GROUPS,
    "group": GROUPS, "time": ROWS, "row_prevalence": np.full(len(Y), 0.3), "p": P, "p_a": P, "p_b": P[::-1],
    "other": P[::-1], "true_p": P, "losses_a": P, "losses_b": SCORES, "p_validation": P, "y_validation": Y,
    "cluster": ROWS % 40, "against": P[::-1], "calibrated": P, "reference": P[::-1], "background": X[:100],
    "species": GROUPS, "classes": np.array([0, 1]), "thresholds": np.array([0.2, 0.5]), "threshold": np.array(0.3),
    "costs": np.array([[0.0, 1.0], [5.0, 0.0]]), "reject_cost": np.array(0.1), "train_prior": np.array([0.6, 0.4]),
    "true_prior": np.array([0.9, 0.1]), "prior": np.array([0.9, 0.1]), "keep": np.array([0.1, 1.0]),
    "eval_set": (X, Y), "class_weight": np.array([1.0, 5.0]), "default_prevalence": np.array([0.7, 0.3]), "data": X,
}  # fmt: skip
OTHERS = {
    "candidates": {"linear": ProperLinearClassifier()},
    "classifier": LINEAR,
    "column": 0,
    "output": "cloglog",
}
THREE = np.column_stack([0.5 * P, 0.5 * P, 1.0 - P])
OWN = {"multiclass_reliability": {"p": THREE, "y": ROWS % 3, "classes": np.arange(3)}, "jackknife": {"y": PRESENT}}
MODELS = {"inference": LINEAR, "response_curve": LINEAR, "fit_species": Maxent(), "jackknife": Maxent()}
NO_ROWS = {"engine_over", "engine_for", "training_engine", "prediction_engine", "by_parts", "to_onnx", "proper_scorer"}
PAIRS = {"p_validation": {"y_validation"}, "y_validation": {"p_validation"}}  # belong together
SLOW = {"GEVCanonicalRegressionCV", "TailoredLinearClassifierCV"}  # tests/engines fits them to Dask data
REFUSED = re.compile(r"(ValueError|TypeError|TableError): .*(Dask|memory)")


class Brought(BaseException):
    """Whatever catches exceptions does not catch this one."""


@pytest.fixture
def guarded(monkeypatch):
    def brought(self, *_, **__):
        raise Brought(type(self).__name__)

    frames = (dd.DataFrame, dd.Series)
    for kind in (da.Array, *frames, *{base for frame in frames for base in frame.__mro__ if "dask" in base.__module__}):
        for name in ("__array__", "compute", "persist"):
            if hasattr(kind, name):
                monkeypatch.setattr(kind, name, brought)


def array_of(values):
    if isinstance(values, tuple):
        return tuple(map(array_of, values))
    return da.from_array(values, chunks=tuple(max(1, n // 2) if k == 0 else n for k, n in enumerate(values.shape)))


def frame_of(values):
    if isinstance(values, tuple):
        return tuple(map(frame_of, values))
    if values.ndim == 0 or len(values) < 10:
        return array_of(values)
    table = pd.DataFrame(values, columns=list("abc")) if values.ndim == 2 else pd.Series(values)
    return dd.from_pandas(table, npartitions=2)


def said(function, given):
    """The error of a call; None without one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(**given)
            if hasattr(found, "__next__"):
                list(found)  # stages
    except Brought as error:
        return f"the rows of {error} were brought to the client"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def complaints(function, values, together=True):
    """What is wrong with calls of a function, with one argument or all that it needs of Dask, in either form."""
    parameters = inspect.signature(function).parameters
    known = {name: values[name] for name in parameters if name in values}
    others = {name: OTHERS[name] for name in parameters if name in OTHERS}
    needed = {name for name in known if parameters[name].default is inspect.Parameter.empty or name == "y"}
    calls = [(needed | {name} | PAIRS.get(name, set()), {name}) for name in known]
    if together:
        wholes = [needed | more for more in (set(), {"sample_weight"}, {"offset"}, {"group"}) if more <= known.keys()]
        calls += [(whole, whole) for whole in wholes]
    found = {}
    for given, elsewhere in calls:
        in_memory = {name: known[name] for name in given}
        for form in (array_of, frame_of):
            rows = {name: form(values) if name in elsewhere else values for name, values in in_memory.items()}
            what = said(function, others | rows)
            if what is None or REFUSED.match(what) or what == said(function, others | in_memory):
                continue
            found[f"{form.__name__} of {', '.join(sorted(elsewhere))}"] = what
    return found


def fitted(kind):
    if kind is GroupwiseCalibration:
        return kind("platt").fit(SCORES, Y, GROUPS)
    if issubclass(kind, Calibrator):
        return kind().fit(SCORES, Y)
    model = made(kind)
    if kind is BestProbabilities:
        model.set_params(method="logistic", cv=2)
    return model.fit(X, PRESENT if kind.__module__.startswith("properly.maxent") else Y)


ESTIMATORS = [pytest.param(lambda each=each: fitted(each.values[0]), id=each.id) for each in CLASSIFIERS] + [
    pytest.param(lambda: CalibratedClassifier(FrozenEstimator(LINEAR)).fit(X, Y), id="CalibratedClassifier of parts"),
    pytest.param(lambda: PriorCorrectedClassifier(LINEAR).fit(X, Y), id="PriorCorrectedClassifier of parts"),
    pytest.param(lambda: MaxentFeatures("lq").fit(X), id="MaxentFeatures"),
    pytest.param(lambda: Maxent(features=MaxentFeatures("lq")).fit(X, PRESENT), id="Maxent with features"),
    pytest.param(lambda: LinearFeatures().fit(X), id="LinearFeatures"),
    pytest.param(lambda: WithFeatures(LinearFeatures(), ProperLinearClassifier()).fit(X, Y), id="WithFeatures"),
    pytest.param(lambda: TableEncoder().fit(pd.DataFrame(X, columns=list("abc"))), id="TableEncoder"),
]


def methods_of(model):
    for name, method in inspect.getmembers(model, callable):
        if not name.startswith(("_", "set_")) and {"X", "scores", "y"} & inspect.signature(method).parameters.keys():
            yield name, method


@pytest.mark.parametrize("make", ESTIMATORS)
def test_estimators(make, dask_client, guarded):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make()
    names = dict(methods_of(model))
    values = VALUES | ({"X": SCORES} if isinstance(model, Calibrator) else {})
    values |= {"y": PRESENT} if type(model).__module__.startswith("properly.maxent") else {}
    found = {}
    for name, method in sorted(names.items(), key=lambda each: each[0].startswith("fit")):  # a fit makes another model
        about = complaints(method, values, together=type(model).__name__ not in SLOW)
        found |= {f"{name}, {call}": what for call, what in about.items()}
    assert "fit" in names
    assert found == {}


def public_functions():
    for name in properly.__all__:
        module = importlib.import_module(f"properly.{name}") if inspect.ismodule(getattr(properly, name)) else None
        for public in getattr(module, "__all__", ()):
            function = getattr(module, public)
            if inspect.isfunction(function) and public not in NO_ROWS and name not in ("cli", "plots", "report"):
                parameters = inspect.signature(function).parameters
                if any("ArrayLike" in str(each.annotation) or key in ("X", "data") for key, each in parameters.items()):
                    yield pytest.param(function, id=public)


FUNCTIONS = list(public_functions())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function, dask_client, guarded, monkeypatch):
    parameters = inspect.signature(function).parameters
    unknown = {name for name, each in parameters.items() if "ArrayLike" in str(each.annotation)} - VALUES.keys()
    assert unknown == set(), "add values to the table"
    model = MODELS.get(function.__name__)
    if "model" in parameters:
        monkeypatch.setitem(OTHERS, "model", model)
    if "maxent" in parameters:
        monkeypatch.setitem(OTHERS, "maxent", EntropyWeightedMaxent().fit(X, PRESENT))
    assert complaints(function, VALUES | OWN.get(function.__name__, {})) == {}


def test_there_are_functions():
    assert len(FUNCTIONS) > 35
    assert not any(issubclass(each.values[0], BaseEstimator) for each in FUNCTIONS if inspect.isclass(each.values[0]))
