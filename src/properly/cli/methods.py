"""The models that ``properly fit`` knows, by name."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import log
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What a model is made for."""

    class_rows: list[int]  # of every class
    categorical: list[int]  # the columns that hold codes of categories
    size: float  # the number of rows, or their weight
    seed: int
    number: float = 0.0  # what stands after the colon


class Method(NamedTuple):
    """How a model is made, and when it can be."""

    build: Callable[[Setting], Any]
    about: str
    two_classes: bool = False
    class_rows: int = 0  # that every class must have, because there is a cross-validation inside
    number: str = ""  # what the number after the colon is, if there must be one
    package: str = ""  # that must be installed

    def usage(self, name: str) -> str:
        return f"{name}:P" if self.number else name


def _logistic(setting: Setting) -> Any:
    from properly.linear import ProperLinearClassifier

    return _linear(ProperLinearClassifier(), setting)


def _probit(setting: Setting) -> Any:
    from properly.linear import ProperLinearClassifier

    return _linear(ProperLinearClassifier(link="probit"), setting)


def _cloglog(setting: Setting) -> Any:
    from properly.linear import ProperLinearClassifier

    return _linear(ProperLinearClassifier(link="cloglog"), setting)


def _gev(setting: Setting) -> Any:
    from properly.linear import GEVCanonicalRegressionCV

    return _linear(GEVCanonicalRegressionCV(), setting)


def _firth(setting: Setting) -> Any:
    from properly.linear import RareEventLogisticRegression

    return _linear(RareEventLogisticRegression("firth"), setting)


def _tailored(setting: Setting) -> Any:
    from properly.linear import TailoredLinearClassifierCV

    return _linear(TailoredLinearClassifierCV(setting.number), setting)


def _linear(classifier: Any, setting: Setting) -> Any:
    """A linear model with features to match."""
    from properly.tables import LinearFeatures, WithFeatures

    return WithFeatures(LinearFeatures(setting.categorical), classifier)


def _boosting(setting: Setting) -> Any:
    from properly.boosting import ProperBoostingClassifier

    return ProperBoostingClassifier(categorical_features=setting.categorical or None, random_state=setting.seed)


def _tree(setting: Setting) -> Any:
    from properly.tree import ProperTreeClassifier

    # A leaf has K parameters, where it begins and K - 1 probabilities, at ½ ln n each (Schwarz's criterion).
    size = max(setting.size, 2.0)
    price = 0.5 * len(setting.class_rows) * log(size) / size
    return ProperTreeClassifier(ccp_alpha=price, categorical_features=setting.categorical or None)


METHODS: dict[str, Method] = {
    "logistic": Method(_logistic, "logistic regression"),
    "gev": Method(_gev, "GEV-canonical regression, averaged over its shapes", True, 10),
    "firth": Method(_firth, "logistic regression without first-order bias", two_classes=True),
    "probit": Method(_probit, "probit regression"),
    "cloglog": Method(_cloglog, "complementary log-log regression"),
    "tailored": Method(_tailored, "a linear model for decisions at the threshold P", True, 10, "the threshold"),
    "boosting": Method(_boosting, "gradient-boosted trees", package="lightgbm"),
    "tree": Method(_tree, "one decision tree, pruned"),
}
AUTO = ("logistic", "gev", "boosting", "tree")


def parse_methods(text: str) -> list[str]:
    """Names of methods, separated by commas, each perhaps with a number after a colon; "auto" stands for several.

    >>> parse_methods("logistic,tailored:0.1")
    ['logistic', 'tailored:0.1']
    """
    wanted = [name.strip() for name in text.split(",")]
    for each in wanted:
        name, _, number = each.partition(":")
        if each == "auto":
            continue
        if name not in METHODS:
            raise ArgumentTypeError(f"{name!r} is no method; there are auto, {', '.join(METHODS)}")
        needed = METHODS[name].number
        if needed and not _is_share(number):
            raise ArgumentTypeError(
                f"{name} needs {needed}, a number between 0 and 1, after a colon, such as {name}:0.1; got {each!r}"
            )
        if number and not needed:
            raise ArgumentTypeError(f"{name} takes no number, got {each!r}")
    return wanted


def candidates(wanted: Sequence[str], setting: Setting) -> tuple[dict[str, Any], list[str]]:
    """The unfitted models by name, and notes on those that "auto" does without."""
    found: dict[str, Any] = {}
    notes = []
    for each in dict.fromkeys(name for entry in wanted for name in (AUTO if entry == "auto" else (entry,))):
        name, _, number = each.partition(":")
        method = METHODS[name]
        if method.two_classes and len(setting.class_rows) > 2:
            reason = f"{name} is for two classes, the target has {len(setting.class_rows)}"
        elif min(setting.class_rows) < method.class_rows:
            reason = f"{name} needs {method.class_rows} rows of every class, the rarest has {min(setting.class_rows)}"
        elif method.package and find_spec(method.package) is None:
            reason = f'{name} needs {method.package}, which is not installed: pip install "properly[cli]"'
        else:
            found[each] = method.build(setting._replace(number=float(number or 0.0)))
            continue
        if each in wanted:
            raise ValueError(f"{reason}.")
        notes.append(reason)
    return found, notes


def _is_share(text: str) -> bool:
    try:
        return 0.0 < float(text) < 1.0
    except ValueError:
        return False
