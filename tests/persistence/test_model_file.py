"""Models as files: what comes back is what was saved, and nothing else is let in."""

import hashlib
import importlib
import io
import json
import os
import pkgutil
import warnings
import zipfile

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree
from sklearn.utils import all_estimators

import properly
from properly.calibration import CalibratedClassifier, Calibrator, GroupwiseCalibration, HistogramBinning
from properly.calibration.methods import METHODS
from properly.datasets import make_rare_events
from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.links import GEV, LINKS
from properly.losses import LOSSES, BetaLoss, LogLoss, LossFromPartial, LossFromWeight
from properly.maxent import Maxent, MaxentFeatures
from properly.metrics import SCORERS, proper_scorer
from properly.persistence import ModelFileError
from properly.persistence.model_file import FORMAT, load, load_metadata, load_versions, save
from properly.persistence.schema import nodes_of
from properly.persistence.trusted import PACKAGES, is_refused, is_trusted
from properly.prevalence import PriorCorrectedClassifier
from properly.solvers import Status

skops_io = pytest.importorskip("skops.io", reason="saving needs the extra save")

X, Y, _ = make_rare_events(300, 3, rate=0.3, random_state=0)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
SCORES = X @ [1.5, -1.0, 0.5]


def again(model, tmp_path):
    save(model, tmp_path / "model.skops")
    return load(tmp_path / "model.skops")


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(a, b)


def public_estimators():
    for name in ("linear", "calibration", "prevalence", "maxent", "boosting", "tree"):
        try:
            package = importlib.import_module(f"properly.{name}")
        except ModuleNotFoundError:
            continue
        for public in package.__all__:
            found = getattr(package, public)
            if isinstance(found, type) and issubclass(found, BaseEstimator) and public not in _ABSTRACT:
                yield pytest.param(found, id=f"{name}.{public}")


_ABSTRACT = {"Calibrator", "BinaryCalibrator"}
_ARGUMENTS = {
    "TailoredLinearClassifierCV": {"at": 0.3, "concentrations": (3.0,), "cv": 3},
    "GEVCanonicalRegressionCV": {"xis": [0.0, 0.5], "Cs": 3},
    "RealAdaBoost": {"random_state": 0},  # the rows that it holds out are random, and some leave it without learners
    "DiscreteAdaBoost": {"random_state": 0},
    "CalibratedClassifier": {"estimator": LogisticRegression()},
    "PriorCorrectedClassifier": {"estimator": LogisticRegression(class_weight="balanced")},
}


def fitted(kind, y):
    model = kind(**_ARGUMENTS.get(kind.__name__, {}))
    if issubclass(kind, Calibrator):
        scores = SCORES if len(np.unique(y)) == 2 else X
        return model.fit(scores, y), (scores,)
    if kind is GroupwiseCalibration:
        groups = np.where(X[:, 2] > 0.0, "north", "south")
        return model.fit(SCORES, y, groups), (SCORES, groups)
    if kind.__module__.startswith("properly.maxent"):
        labels = np.where(np.arange(len(Y)) % 3 == 0, -1, Y)  # some rows without a label
        return model.fit(X, labels), (X,)
    return model.fit(X, y), (X,)


@pytest.mark.parametrize("kind", list(public_estimators()))
def test_every_estimator_comes_back(kind, tmp_path):
    model, arguments = fitted(kind, Y)
    loaded = again(model, tmp_path)
    assert repr(loaded.get_params()) == repr(model.get_params())
    for method in ("predict_proba", "predict", "decision_function", "transform", "predict_log_proba"):
        if hasattr(model, method):
            assert_same(getattr(model, method)(*arguments), getattr(loaded, method)(*arguments))
    if hasattr(model, "__sklearn_is_fitted__") or hasattr(model, "classes_"):
        assert_same(model.classes_, loaded.classes_)


def test_a_device_takes_a_model():
    save(fitted(HistogramBinning, Y)[0], os.devnull)


@pytest.mark.parametrize("method", METHODS)
def test_calibrators_of_three_classes_come_back(method, tmp_path):
    model = METHODS[method](input="probability").fit(np.exp(X) / np.exp(X).sum(axis=1, keepdims=True), THREE)
    p = np.full((1, 3), 1.0 / 3.0)
    assert_same(model.predict_proba(p), again(model, tmp_path).predict_proba(p))


@pytest.mark.parametrize("loss", [*LOSSES, BetaLoss.tailored(0.2, 5.0)], ids=str)
@pytest.mark.parametrize("link", [None, *LINKS, GEV(-0.3)], ids=str)
def test_losses_and_links_come_back(loss, link, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converges is no matter here
        model = ProperLinearClassifier(loss, link, max_iter=5).fit(X, Y)
    loaded = again(model, tmp_path)
    assert loaded.loss == model.loss
    assert loaded.link == model.link
    assert loaded.link_ == model.link_
    assert_same(model.predict_proba(X), loaded.predict_proba(X))


def test_details_of_the_fit_come_back(tmp_path):
    model = GEVCanonicalRegressionCV(xis=[0.0, 0.5], Cs=3, cv=StratifiedKFold(3, shuffle=True, random_state=1)).fit(
        X, Y
    )
    loaded = again(model, tmp_path)
    assert loaded.solutions_[0].status is Status.CONVERGED
    assert loaded.solutions_[0].history == model.solutions_[0].history
    assert loaded.links_ == model.links_
    assert np.isnan(loaded.cv_results_["xi"][0])
    assert_same(model.cv_results_["loss"], loaded.cv_results_["loss"])
    assert (loaded.cv.n_splits, loaded.cv.random_state) == (3, 1)


def test_pipelines_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["x", "y", "z"]).assign(kind=np.where(X[:, 0] > 0, "high", "low"))
    frame.loc[::7, "x"] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["x", "y", "z"]),
            ("kinds", OneHotEncoder(), ["kind"]),
        ]
    )
    models = [
        make_pipeline(columns, ProperLinearClassifier("log", "probit")),
        CalibratedClassifier(make_pipeline(columns, GEVCanonicalRegression(0.2)), "isotonic", cv=3, ensemble=True),
        PriorCorrectedClassifier(make_pipeline(columns, LogisticRegression()), true_prior={"no": 0.9, "yes": 0.1}),
        GridSearchCV(make_pipeline(columns, ProperLinearClassifier()), {"properlinearclassifier__C": [0.1, 1.0]}, cv=2),
    ]
    for model in models:
        model.fit(frame, np.where(Y, "yes", "no").astype(object))
        loaded = again(model, tmp_path)
        assert_same(model.predict_proba(frame), loaded.predict_proba(frame))
        assert_same(model.predict(frame), loaded.predict(frame))
        assert list(loaded.feature_names_in_) == list(frame.columns)


def test_texts_and_frozen_estimators_come_back(tmp_path):
    texts = np.where(Y, "spam and eggs", "ham and eggs")
    inner = make_pipeline(TfidfVectorizer(), ProperLinearClassifier()).fit(texts, Y)
    model = CalibratedClassifier(FrozenEstimator(inner), HistogramBinning(5)).fit(texts, Y)
    assert_same(model.predict_proba(texts), again(model, tmp_path).predict_proba(texts))


def test_forests_come_back(tmp_path):
    model = CalibratedClassifier(RandomForestClassifier(5, max_depth=3, random_state=0), "platt", cv=2).fit(X, Y)
    assert_same(model.predict_proba(X), again(model, tmp_path).predict_proba(X))


@pytest.mark.parametrize(
    ("part", "value"), [("left_child", 10**6), ("left_child", 0), ("right_child", -5), ("feature", 3)]
)
def test_trees_that_point_outside_are_refused(part, value, tmp_path):
    """Compiled code follows them without looking."""
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    tree = forest.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"][part][0] = value
    tree.__setstate__(state)
    save(forest, tmp_path / "bent.skops")
    with pytest.raises(ModelFileError, match="a tree points outside"):
        load(tmp_path / "bent.skops")


def test_trees_without_nodes_are_refused(tmp_path):
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    state = model.tree_.__getstate__()
    model.tree_.__setstate__({**state, "node_count": 0, "nodes": state["nodes"][:0], "values": state["values"][:0]})
    save(model, tmp_path / "empty.skops")
    with pytest.raises(ModelFileError, match="a tree has no nodes"):
        load(tmp_path / "empty.skops")


def test_boolean_labels_as_keys_come_back(tmp_path):
    model = ProperLinearClassifier(class_weight={False: 1.0, True: 5.0}).fit(X, Y.astype(bool))
    loaded = again(model, tmp_path)
    assert loaded.class_weight == {False: 1.0, True: 5.0}
    assert_same(loaded.fit(X, Y.astype(bool)).coef_, model.coef_)
    groups = X[:, 2] > 0.0
    grouped = GroupwiseCalibration("platt").fit(SCORES, Y, groups)
    assert again(grouped, tmp_path).weights_ == grouped.weights_


def test_odd_values_come_back(tmp_path):
    model = {"model": ProperLinearClassifier(C=np.inf), 3: [np.float64(0.1), np.nan, None], "t": (1, "ü")}
    loaded = again(model, tmp_path)
    assert list(loaded) == ["model", 3, "t"]
    assert np.inf == loaded["model"].C
    assert loaded[3][0] == 0.1
    assert np.isnan(loaded[3][1])
    assert loaded[3][2] is None
    assert loaded["t"] == (1, "ü")


def test_metadata_and_versions(tmp_path):
    path = tmp_path / "model.skops"
    notes = {"features": ["a", "<b>"], "rate": 0.1, "nested": {"x": None}}
    save(ProperLinearClassifier().fit(X, Y), path, metadata=notes)
    assert load_metadata(path) == notes
    versions = load_versions(path)
    assert versions["properly"] == properly.__version__
    assert versions["scikit-learn"] == sklearn.__version__
    assert set(versions) == {"python", "properly", "numpy", "scipy", "scikit-learn", "skops"}
    save(LogisticRegression(), path)
    assert load_metadata(path) == {}


@pytest.mark.parametrize(
    "metadata", [{"x": np.zeros(2)}, {1: "x"}, {"x": {1, 2}}, {"x": lambda: 0}, [1], "x", {"x": [{"y": {1: 2}}]}]
)
def test_metadata_must_be_json(metadata, tmp_path):
    with pytest.raises(ModelFileError, match="metadata must"):
        save(LogisticRegression(), tmp_path / "model.skops", metadata=metadata)
    assert os.listdir(tmp_path) == []


def test_functions_are_refused_when_saving(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("old")
    own = ProperLinearClassifier(LossFromWeight(lambda p: 1.0 / (p * (1.0 - p))))
    with pytest.raises(ModelFileError, match="LossFromWeight holds a function"):
        save(own, path)
    with pytest.raises(ModelFileError, match="LossFromWeight holds a function"):
        save(ProperLinearClassifier(LossFromWeight(np.ones_like), "logit"), path)
    with pytest.raises(ModelFileError, match="LossFromPartial holds a function"):
        save(ProperLinearClassifier(LossFromPartial(at0=np.square), "logit"), path)
    with pytest.raises(ModelFileError, match="LossFromPartial holds a function"):  # as a part of a mixture
        save(ProperLinearClassifier(LogLoss() + LossFromPartial(at0=np.square), "logit"), path)
    with pytest.raises(ModelFileError, match="<lambda>, which no other program could find"):
        save(make_pipeline(FunctionTransformer(lambda x: x), LogisticRegression()), path)
    with pytest.raises(ModelFileError, match=r"this ProperLinearClassifier cannot be saved: .*generator"):
        save(ProperLinearClassifier(C=(c for c in [1.0])), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.skops"]
    allowed = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(np.abs(X), Y)
    assert_same(allowed.predict_proba(np.abs(X)), again(allowed, tmp_path).predict_proba(np.abs(X)))


def test_foreign_types_are_refused_by_name_when_loading(tmp_path):
    path = tmp_path / "model.skops"
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    with pytest.warns(UserWarning, match=r"load it with trusted=\['sklearn\..*TreePredictor'\]"):
        save(model, path)
    with pytest.raises(ModelFileError, match=r"not trusted: sklearn.*TreePredictor\. If you know") as caught:
        load(path)
    assert "\n" not in str(caught.value)
    name = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    assert_same(load(path, trusted=[name]).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="list of type names"):
        load(path, trusted=name)


def test_what_is_saved_without_a_warning_is_loaded(tmp_path):
    l1, bayes = LogisticRegression(), GaussianNB()
    scorings = [None, "neg_log_loss", "roc_auc", proper_scorer("squared"), *SCORERS.values()]
    models = [
        *(GridSearchCV(l1, {"C": [1.0, 2.0]}, scoring=scoring, cv=2) for scoring in scorings),
        GridSearchCV(l1, {"C": [1.0]}, scoring=["roc_auc", "f1"], refit="f1", cv=2),
        VotingClassifier([("a", l1), ("b", bayes)], voting="soft"),
        StackingClassifier([("a", l1), ("b", bayes)], cv=2),
        MLPClassifier((3,), solver="adam", max_iter=500),
        GradientBoostingClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=3, init=l1),
    ]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            loaded = again(model.fit(X, Y), tmp_path)
        assert_same(model.predict_proba(X), loaded.predict_proba(X))
        assert model.score(X, Y) == loaded.score(X, Y)
    with pytest.warns(UserWarning, match="KDTree"):
        save(KNeighborsClassifier().fit(X, Y), tmp_path / "model.skops")


@pytest.mark.parametrize("keys", [(1, "1"), (True, "true"), (False, "0"), (0.5, "0.5")], ids=str)
def test_keys_that_a_file_cannot_tell_apart(keys, tmp_path):
    path = tmp_path / "model.skops"
    for model in (dict.fromkeys(keys, 1), [{"inside": dict.fromkeys(keys, 1)}]):
        with pytest.raises(ModelFileError, match="a dict in it has two keys that both read"):
            save(model, path)
    assert os.listdir(tmp_path) == []
    assert again({keys[0]: 1, "x": 2}, tmp_path) == {keys[0]: 1, "x": 2}


def forged(path, change, *, checksums=True):
    """The file with its description of the model changed, and, as a forger would, its checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, text in change.items():
        content = text(json.loads(members[name])) if callable(text) else text
        members[name] = content if isinstance(content, bytes) else json.dumps(content).encode()
    header = json.loads(members.pop("properly.json"))
    del members["properly.sum"]
    if checksums and "checksums" in header:
        header["checksums"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    content = json.dumps(header).encode()
    seal = hashlib.sha256(content).hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in {"properly.json": content, "properly.sum": seal, **members}.items():
            archive.writestr(name, part)


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("ConstructorFromReduceNode", "os", "system"),
        ("ConstructorFromReduceNode", "builtins", "eval"),
        ("ConstructorFromReduceNode", "properly.files", "atomic_path"),
        ("ConstructorFromReduceNode", "properly.inputs", "require"),
        ("ConstructorFromReduceNode", "properly.inputs.optional", "require"),
        ("ConstructorFromReduceNode", "properly.__main__", "main"),
        ("ConstructorFromReduceNode", "properly.cli", "main"),
        ("ConstructorFromReduceNode", "properly.datasets", "load_benchmark"),
        ("ConstructorFromReduceNode", "properly.losses", "LossFromPartial"),
        ("ConstructorFromReduceNode", "properly.losses", "LossFromWeight"),
        ("ConstructorFromReduceNode", "properly.calibration", "calibrator_of"),
        ("ConstructorFromReduceNode", "properly.linear", "np"),
        ("ConstructorFromReduceNode", "properly.engines", "Stream"),
        ("ConstructorFromReduceNode", "properly.tables", "TableFile"),
        ("FunctionNode", "properly.linear", "inference"),
        ("ObjectNode", "subprocess", "Popen"),
        ("TypeNode", "subprocess", "Popen"),
        ("ObjectNode", "properly.no_such_package", "Model"),
        ("ObjectNode", "properly.linear", "NoSuchModel"),
        ("ObjectNode", "properly.linear.classifier", "ProperLinearClassifier"),  # a module, not a stable name
    ],
)
def test_forged_types_are_refused_and_nothing_is_run(loader, module, name, tmp_path):
    path, canary = tmp_path / "model.skops", tmp_path / "canary"
    save({"x": 1}, path)
    text = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(f"touch {canary}"),
    }
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text]}
    bad = {"__class__": name, "__module__": module, "__loader__": loader, "content": arguments}
    forged(path, {"schema.json": lambda schema: {**schema, "content": {"x": bad}}})
    with pytest.raises(ModelFileError, match=rf"{module}[\w.]*\.{name}"):
        load(path)
    assert not canary.exists()


def test_types_are_named_by_package_and_class(tmp_path):
    """So a class may move to another module of its package, and old files still find it."""
    path = tmp_path / "model.skops"
    save(CalibratedClassifier(ProperLinearClassifier("log", "probit"), "isotonic", cv=2).fit(X, Y), path)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("schema.json").decode()
    modules = {node["__module__"] for node in nodes_of(json.loads(text)) if "properly" in node["__module__"]}
    assert modules == {"properly.calibration", "properly.inputs", "properly.linear", "properly.links"} | (
        modules & {"properly.numeric", "properly.solvers"}
    )
    assert "properly.links.symmetric" not in text


def test_names_within_a_package_are_unique():
    for package in PACKAGES:
        seen = {}
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            for name, value in vars(importlib.import_module(info.name)).items():
                own = isinstance(value, type) and value.__module__ == info.name and not name.startswith("_")
                if own and is_trusted(f"{info.name}.{name}"):
                    assert seen.setdefault(name, info.name) == info.name


def test_a_changed_member_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    save({"x": [1.0, 2.0]}, path)
    forged(path, {"schema.json": lambda schema: {**schema, "extra": 1}}, checksums=False)
    with pytest.raises(ModelFileError, match=r"damaged: schema\.json does not have the checksum"):
        load(path)
    save({"x": np.arange(3.0)}, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("another.npy", b"what was never saved")
    with pytest.raises(ModelFileError, match=r"damaged: another\.npy does not have the checksum"):
        load(path)


def test_files_of_the_first_format_are_refused_with_a_remedy(tmp_path):
    path = tmp_path / "model.skops"
    save({"x": 1}, path, metadata={"kept": True})
    old = {"format": 1, "versions": {"properly": "0.1.0"}, "metadata": {}}
    forged(path, {"properly.json": lambda header: old})
    for read in (load, load_metadata, load_versions):
        with pytest.raises(ModelFileError, match=r"has format 1, saved by properly 0\.1\.0, which is no longer read"):
            read(path)


def test_what_is_trusted():
    assert is_trusted("properly.linear.classifier.ProperLinearClassifier")
    assert is_trusted("properly.solvers.newton.Status")
    assert is_trusted("properly.calibration.auto.FittedMap")
    assert is_trusted("sklearn.model_selection._split.StratifiedKFold")
    assert not is_trusted("sklearn.model_selection._split.check_cv")
    assert not is_trusted("properly")
    assert not is_trusted("properlyevil.linear.X")
    assert not is_trusted("properly.linear.classifier.Composite")  # its own module is another one
    assert is_trusted("properly.metrics.scores.proper_score")
    assert is_trusted("sklearn.metrics._ranking.roc_auc_score")
    assert not is_trusted("properly.metrics.scorers.proper_scorer")
    assert not is_trusted("sklearn.metrics._scorer.make_scorer")


def test_estimators_that_compiled_code_reads_without_looking_are_refused():
    refused = {name for name, kind in all_estimators() if is_refused(f"{kind.__module__}.{name}")}
    assert refused >= {"SVC", "NuSVC", "OneClassSVM", "KNeighborsClassifier", "KernelDensity", "KMeans", "NMF"}
    assert refused >= {"LatentDirichletAllocation", "GaussianProcessClassifier", "SplineTransformer", "KNNImputer"}
    assert not refused & {"LogisticRegression", "RandomForestClassifier", "GaussianNB", "Pipeline", "LinearSVC", "PCA"}
    assert is_refused("sklearn.a_new_module.AnEstimator")
    assert is_refused("numpy.void")


def with_tree(estimator, n_features, feature=None):
    """The estimator with another tree in it: one that claims so many features, and looks at this one."""
    state = estimator.tree_.__getstate__()
    nodes = state["nodes"].copy()
    if feature is not None:
        nodes["feature"][nodes["feature"] >= 0] = feature
    tree = Tree(n_features, np.array([estimator.tree_.n_classes[0]], dtype=np.intp), 1)
    tree.__setstate__({**state, "nodes": nodes})
    estimator.tree_ = tree
    return estimator


def test_trees_that_look_beyond_their_rows_are_refused(tmp_path):
    def trained():
        return DecisionTreeClassifier(max_depth=2).fit(X, Y)

    boosted = GradientBoostingClassifier(n_estimators=3).fit(X, THREE)
    other = GradientBoostingClassifier(n_estimators=3).fit(X, THREE)
    inner = with_tree(other.estimators_[1, 0], 10**8, 5 * 10**7)
    inner.n_features_in_ = 10**8
    wide = GradientBoostingClassifier(n_estimators=3).fit(X, THREE)
    wide.estimators_ = np.concatenate([wide.estimators_] * 50, axis=1)
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    with_tree(forest.estimators_[1], 10**8, 5 * 10**7)
    path = tmp_path / "model.skops"
    for bad, message in (
        (with_tree(trained(), 10**8, 5 * 10**7), "another number of features"),
        (with_tree(trained(), 3, 3), "points outside"),
        (forest, "another number of features"),
        (other, "different numbers of features"),
        (wide, "not as many as their classes"),
        ({"tree": trained().tree_}, "belongs to no estimator"),
        ({"x": [DummyClassifier(strategy=trained().tree_)]}, "belongs to no estimator"),
    ):
        save(bad, path)
        with pytest.raises(ModelFileError, match=message):
            load(path)
    assert_same(again(boosted, tmp_path).predict_proba(X), boosted.predict_proba(X))
    assert_same(again(with_tree(trained(), 3), tmp_path).predict(X), trained().predict(X))


def test_a_type_that_exists_but_is_not_trusted_is_not_called_unknown(tmp_path):
    path = tmp_path / "model.skops"
    save({"x": 1}, path)
    not_trusted = "types that are not trusted"
    cases = {"LossFromWeight": not_trusted, "LossFromPartial": not_trusted, "NoSuchLoss": "has no such type"}
    for name, message in cases.items():
        bad = {
            "__class__": name,
            "__module__": "properly.losses",
            "__loader__": "ObjectNode",
            "content": None,
        }
        forged(path, {"schema.json": lambda schema, bad=bad: {**schema, "content": {"x": bad}}})
        with pytest.raises(ModelFileError, match=message):
            load(path)


@pytest.mark.parametrize("damage", ["empty", "text", "truncated", "flipped", "no schema", "list header", "zip", "deep"])
def test_damaged_files_are_one_line(damage, tmp_path):
    path = tmp_path / "model.skops"
    save(GEVCanonicalRegression().fit(X, Y), path)
    data = path.read_bytes()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("a,b\n1,2\n")
    elif damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = max(archive.infolist(), key=lambda info: info.compress_size)
        middle = info.header_offset + 60 + info.compress_size // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    elif damage == "no schema":
        forged(path, {"schema.json": "{"})
    elif damage == "list header":
        forged(path, {"properly.json": "[1]"})
    elif damage == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "b")
    elif damage == "deep":
        forged(path, {"schema.json": "[" * 100_000 + "]" * 100_000})
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_truncation_and_flip_is_an_error_or_harmless(tmp_path):
    path = tmp_path / "model.skops"
    model = GEVCanonicalRegression().fit(X[:50], Y[:50])
    save(model, path)
    data = path.read_bytes()
    random = np.random.default_rng(0)
    for place in random.integers(0, len(data), 60):
        for damaged in (
            data[:place],
            data[:place] + bytes([data[place] ^ int(random.integers(1, 256))]) + data[place + 1 :],
        ):
            path.write_bytes(damaged)
            try:
                loaded = load(path)
            except ModelFileError as error:
                assert "\n" not in str(error)  # noqa: PT017
            else:
                assert_same(loaded.predict_proba(X), model.predict_proba(X))


def test_formats(tmp_path):
    path = tmp_path / "model.skops"
    save(LogisticRegression(), path)
    for number, words in ((FORMAT + 1, "install a newer one"), (FORMAT - 1, "no longer read"), ("1", "damaged")):
        forged(path, {"properly.json": lambda header, number=number: {**header, "format": number}})
        with pytest.raises(ModelFileError, match=words):
            load(path)
        with pytest.raises(ModelFileError, match=words):
            load_metadata(path)
    skops_io.dump(LogisticRegression(), path)
    with pytest.raises(ModelFileError, match="saved by skops itself"):
        load(path)


def test_another_version_of_scikit_learn_is_named(tmp_path):
    path = tmp_path / "model.skops"
    save(make_pipeline(StandardScaler(), ProperLinearClassifier()).fit(X, Y), path)

    def older(header):
        return {**header, "versions": {**header["versions"], "scikit-learn": "0.99.1"}}

    forged(path, {"properly.json": older})
    with pytest.warns(UserWarning, match=rf"scikit-learn 0\.99\.1 and is loaded with {sklearn.__version__}"):
        load(path)


def test_places_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        load(tmp_path / "nothing.skops")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(LogisticRegression(), tmp_path / "nowhere" / "model.skops")


def test_features_of_maxent_come_back(tmp_path):
    labels = np.where(Y, 1, -1)
    model = Maxent(features=MaxentFeatures()).fit(X, labels)
    assert_same(model.predict_output(X), again(model, tmp_path).predict_output(X))
