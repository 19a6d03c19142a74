"""The models that are compared, by name, and the settings that each is tried with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import properly
from properly.inputs.misuse import Misuse

_CS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # from the strongest penalty on
_WIDTHS = (0.1, 0.3, 1.0)
_LEAVES = (1, 5)  # rows in a leaf of a forest: few suit tables with little noise, many others
_MANY_ROWS = 5_000  # with more, the trees of a forest are fewer, and one size of leaves is tried
_MOST_CELLS = 5e6  # of numbers whose effect may bend: with seven columns each, a matrix of 280 MB
WIDE = 300  # columns: with more, boosted trees are fewer and their steps longer, and folds are made once
_FAST, _FEWER_TREES = 0.1, 500  # for boosting of many rows or columns
_ROUGH = 1e-4  # tolerance of fits that are chosen from: their loss is right to 1e-8


class Setting(NamedTuple):
    """What a model is built for."""

    class_rows: list[int]  # of every class
    categorical: list[int]  # the columns that hold codes of categories
    seed: int
    n_features: int = 1  # of a linear model: numbers, and categories
    number: float = 0.0  # what stands after the colon
    unordered: tuple[int, ...] = ()  # the columns with so many categories that their order tells nothing
    n_columns: int = 1

    @property
    def n_rows(self) -> int:
        return sum(self.class_rows)


class Option(NamedTuple):
    """A setting of a candidate: features in front of it (None: the table as it is) and a classifier."""

    features: Any
    classifier: Any
    own_folds: bool = False  # whether it fits folds itself, given as `cv`, and keeps what it predicts for them


class Candidate(NamedTuple):
    """A model, the settings to choose from, and what it needs."""

    about: str
    options: Callable[[Setting], Iterator[Option]]
    effort: float = 1.0  # about how long it takes, relative to logistic regression
    suits: Callable[[Setting], bool] = lambda setting: True  # whether "auto" tries it
    two_classes: bool = False
    class_rows: int = 0  # that every class must have, because there is a cross-validation inside
    number: str = ""  # what the number after the colon is, if there must be one
    package: str = ""  # that must be installed
    extra: str = ""  # the package that is installed instead, if not properly[cli]
    saved: bool = True  # whether a file of it can be checked when it is loaded
    by_sums: bool = False  # whether it is fitted by sums alone, so that the rows may be anywhere
    certain: bool = False  # whether it may give a class the probability 0, so that an average needs it calibrated

    def usage(self, name: str) -> str:
        return f"{name}:P" if self.number else name


def _path(features: Callable[[Setting], Any], Cs: Sequence[float] = _CS, **options: Any) -> Callable[..., Any]:
    """A linear model with penalties from strong to weak."""

    def settings(setting: Setting) -> Iterator[Option]:
        built = features(setting)
        return (Option(built, properly.linear.ProperLinearClassifier(C=C, tol=_ROUGH, **options)) for C in Cs)

    return settings


def _wide_path(kind: str, Cs: Sequence[float], **options: Any) -> Callable[..., Any]:
    """Logistic regression of many features; for several classes by scikit-learn, whose solver is faster there."""

    def settings(setting: Setting) -> Iterator[Option]:
        from sklearn.linear_model import LogisticRegression

        from properly.tables.expansions import ExpandedFeatures

        built = ExpandedFeatures(kind, setting.categorical, random_state=setting.seed, **options)
        for C in Cs:
            if len(setting.class_rows) == 2:
                yield Option(built, properly.linear.ProperLinearClassifier(C=C, tol=_ROUGH))
            else:
                yield Option(built, LogisticRegression(C=C, max_iter=2000))

    return settings


def _linear(setting: Setting) -> Any:
    return properly.tables.LinearFeatures(setting.categorical)


def _one(build: Callable[[Setting], Any], features: Callable[[Setting], Any] = lambda setting: None) -> Any:
    """A model without settings to choose from."""
    return lambda setting: iter([Option(features(setting), build(setting))])


def _kernel(setting: Setting) -> Iterator[Option]:
    for width in _WIDTHS:
        yield from _wide_path("kernel", _CS[3:], width=width)(setting)


def _forest(name: str, leaf: int) -> Callable[[Setting], Iterator[Option]]:
    """A forest with leaves of both sizes, or of one for many rows."""

    def settings(setting: Setting) -> Iterator[Option]:
        from sklearn import ensemble

        many = setting.n_rows > _MANY_ROWS
        given: dict[str, Any] = {
            "n_jobs": -1 if many else None,
            "random_state": setting.seed,
        }  # few rows are slower with threads
        for each in (leaf,) if many else _LEAVES:
            yield Option(None, getattr(ensemble, name)(100 if many else 150, min_samples_leaf=each, **given))

    return settings


def _boosting(extra_trees: bool) -> Callable[[Setting], Iterator[Option]]:
    """The ways of growing trees that `ProperBoostingClassifier` tries, with random thresholds or with the best.

    With the best thresholds, few categories are taken in the order of their codes, which several splits can divide in
    any way: that makes the two kinds less alike, and was no worse. Trees that are not shrunk, for tables in which a
    rule decides, are tried with categories divided at will, too.
    """

    def settings(setting: Setting) -> Iterator[Option]:
        from properly.boosting.classifier import _GROWTHS, ProperBoostingClassifier

        usual = setting.categorical if extra_trees else list(setting.unordered)
        tried = [(growth, usual) for growth in _GROWTHS if growth.extra_trees == extra_trees]
        if len(usual) < len(setting.categorical):
            tried += [(growth, setting.categorical) for growth, _ in tried if not growth.l2_regularization]
        for growth, categories in tried:
            given: dict[str, Any] = {"categorical_features": categories or None, "random_state": setting.seed}
            classifier = ProperBoostingClassifier(**growth._asdict(), **given)
            yield Option(None, faster(classifier) if setting.n_columns > WIDE else classifier, own_folds=True)

    return settings


def faster(boosting: Any) -> Any:
    """With fewer trees and longer steps, for large tables."""
    return boosting.set_params(learning_rate=_FAST, n_estimators=_FEWER_TREES)


def _tree(setting: Setting) -> Any:
    from properly.tree import ProperTreeClassifier

    return ProperTreeClassifier(categorical_features=setting.categorical or None)


def _of_package(package: str, name: str, **options: Any) -> Callable[[Setting], Any]:
    def build(setting: Setting) -> Any:
        from importlib import import_module

        return getattr(import_module(package), name)(random_state=setting.seed, **options)

    return build


# From the simplest to the most complicated; of models that are equally good, the first is chosen.
CANDIDATES: dict[str, Candidate] = {
    "logistic": Candidate("logistic regression, with a penalty chosen on held-out rows", _path(_linear), by_sums=True),
    "probit": Candidate("probit regression, likewise", _path(_linear, link="probit"), by_sums=True),
    "cloglog": Candidate("complementary log-log regression, likewise", _path(_linear, link="cloglog"), by_sums=True),
    "firth": Candidate(
        "logistic regression without first-order bias",
        _one(lambda _: properly.linear.RareEventLogisticRegression("firth"), _linear),
        two_classes=True,
        by_sums=True,
    ),
    "gev": Candidate(
        "GEV-canonical regression, averaged over its shapes",
        _one(lambda _: properly.linear.GEVCanonicalRegressionCV(), _linear),
        effort=2.0,
        suits=lambda setting: setting.n_features <= 300,
        two_classes=True,
        class_rows=10,
        by_sums=True,
        certain=True,
    ),
    "tailored": Candidate(
        "a linear model for decisions at the threshold P",
        _one(lambda setting: properly.linear.TailoredLinearClassifierCV(setting.number), _linear),
        effort=2.0,
        two_classes=True,
        class_rows=10,
        number="the threshold",
        by_sums=True,
    ),
    "tree": Candidate("one decision tree, averaged over its prunings", _one(_tree), effort=2.0),
    "additive": Candidate(
        "logistic regression in which the effect of a number may bend",
        _wide_path("bends", _CS[:6]),
        effort=2.0,
        suits=lambda setting: setting.n_features <= 300 and setting.n_rows * setting.n_features <= _MOST_CELLS,
    ),
    "products": Candidate(
        "logistic regression with squares and products of columns",
        _wide_path("products", _CS[:6]),
        effort=3.0,
        suits=lambda setting: setting.n_features <= 40 and setting.n_rows * setting.n_features**2 <= 2e7,
    ),
    "kernel": Candidate(
        "logistic regression with a Gaussian kernel",
        _kernel,
        effort=6.0,
        suits=lambda setting: setting.n_rows * len(setting.class_rows) <= 100_000,
    ),
    "boosting": Candidate("gradient-boosted trees", _boosting(False), effort=10.0, package="lightgbm"),
    "random_boosting": Candidate(
        "gradient-boosted trees that split at random thresholds", _boosting(True), effort=10.0, package="lightgbm"
    ),
    "extra_trees": Candidate(
        "extremely randomised trees", _forest("ExtraTreesClassifier", _LEAVES[0]), effort=8.0, certain=True
    ),
    "forest": Candidate("a random forest", _forest("RandomForestClassifier", _LEAVES[1]), effort=12.0, certain=True),
    "xgboost": Candidate(
        "gradient-boosted trees of XGBoost",
        _one(_of_package("xgboost", "XGBClassifier")),
        effort=10.0,
        package="xgboost",
        extra="xgboost",
        saved=False,
    ),
    "catboost": Candidate(
        "gradient-boosted trees of CatBoost",
        _one(_of_package("catboost", "CatBoostClassifier", verbose=False, allow_writing_files=False)),
        effort=30.0,
        package="catboost",
        extra="catboost",
        saved=False,
    ),
}
_TO_TELL_APART = 30  # rows; with fewer, the best of many models is the luckiest
AUTO: tuple[str, ...] = (
    "logistic",
    "gev",
    "additive",
    "products",
    "kernel",
    "boosting",
    "random_boosting",
    "extra_trees",
    "forest",
)


def checked_methods(methods: str | Sequence[str]) -> list[str]:
    """Names of candidates, in a list or separated by commas; each perhaps with a number after a colon.

    >>> checked_methods("logistic,tailored:0.1")
    ['logistic', 'tailored:0.1']
    """
    if not isinstance(methods, str) and not (isinstance(methods, Sequence) and methods):
        raise ValueError(f"method must be a name or a list of names, got {methods!r}")
    wanted = [str(name).strip() for name in (methods.split(",") if isinstance(methods, str) else methods)]
    for each in wanted:
        name, _, number = each.partition(":")
        if each == "auto":
            continue
        if name not in CANDIDATES:
            raise ValueError(f"there is no method {name!r}; the methods are auto, {', '.join(CANDIDATES)}")
        if CANDIDATES[name].number:
            _check_number(name, number)
        elif number:
            raise ValueError(f"the method {name} takes no number, got {each!r}")
    return wanted


def _check_number(name: str, text: str) -> None:
    try:
        inside = 0.0 < float(text) < 1.0
    except ValueError:
        inside = False
    if not inside:
        raise ValueError(
            f"the method {name} needs {CANDIDATES[name].number} after a colon, such as {name}:0.1, which must be a "
            f"number between 0 and 1, got {text!r}"
        )


def build_candidates(methods: Sequence[str], setting: Setting) -> tuple[dict[str, list[Option]], list[str]]:
    """The settings of every model by its name, from the simplest on, and notes on those that "auto" leaves out."""
    found: dict[str, list[Option]] = {}
    notes, auto = [], AUTO
    if "auto" in methods and setting.n_rows < _TO_TELL_APART:
        auto = AUTO[:1]
        notes.append(f"auto tried {auto[0]} only: {setting.n_rows} rows are too few to tell models apart")
    wanted = dict.fromkeys(name for entry in methods for name in (auto if entry == "auto" else (entry,)))
    for each in sorted(wanted, key=lambda name: list(CANDIDATES).index(name.partition(":")[0])):
        name, _, number = each.partition(":")
        reason = unsuitable(name, setting, each in methods)
        if not reason:
            found[each] = list(CANDIDATES[name].options(setting._replace(number=float(number or 0.0))))
        elif each in methods:
            raise Misuse(f"{reason}.")
        else:
            notes.append(reason)
    return found, notes


def unsuitable(name: str, setting: Setting, asked: bool) -> str:
    """Why a model cannot be fitted to such data, or takes too long if nobody asks for it; "" if neither."""
    candidate = CANDIDATES[name]
    if candidate.two_classes and len(setting.class_rows) > 2:
        return f"{name} is for two classes, the target has {len(setting.class_rows)}"
    if min(setting.class_rows) < candidate.class_rows:
        rarest = min(setting.class_rows)
        return f"{name} needs {candidate.class_rows} rows of every class, the rarest has {rarest}"
    if candidate.package and find_spec(candidate.package) is None:
        install = candidate.extra or '"properly[cli]"'
        return f"{name} needs {candidate.package}, which is not installed: pip install {install}"
    if not asked and not candidate.suits(setting):
        size = f"{setting.n_rows:,} rows, {setting.n_features} features and {len(setting.class_rows)} classes"
        return f"{name} was not tried, since it takes long with {size}; name it as a method to try it"
    return ""
