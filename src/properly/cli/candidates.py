"""The models that ``properly fit`` compares, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import properly
from properly.cli.arguments import share
from properly.inputs.options import Misuse


class Setting(NamedTuple):
    """What a model is built for."""

    class_rows: list[int]  # of every class
    categorical: list[int]  # the columns that hold codes of categories
    seed: int
    number: float = 0.0  # what stands after the colon


class Candidate(NamedTuple):
    """A model, how it is built, and what it needs."""

    about: str
    build: Callable[[Setting], Any]
    linear: bool = True  # whether it needs the features of linear models
    two_classes: bool = False
    class_rows: int = 0  # that every class must have, because there is a cross-validation inside
    number: str = ""  # what the number after the colon is, if there must be one
    package: str = ""  # that must be installed

    def usage(self, name: str) -> str:
        return f"{name}:P" if self.number else name


def _boosting(setting: Setting) -> Any:
    return properly.boosting.ProperBoostingClassifier(
        categorical_features=setting.categorical or None, random_state=setting.seed
    )


def _tree(setting: Setting) -> Any:
    return properly.tree.ProperTreeClassifier(categorical_features=setting.categorical or None)


# From the simplest to the most complicated; of models that are equally good, the first is chosen.
CANDIDATES: dict[str, Candidate] = {
    "logistic": Candidate("logistic regression", lambda _: properly.linear.ProperLinearClassifier()),
    "probit": Candidate("probit regression", lambda _: properly.linear.ProperLinearClassifier(link="probit")),
    "cloglog": Candidate(
        "complementary log-log regression", lambda _: properly.linear.ProperLinearClassifier(link="cloglog")
    ),
    "firth": Candidate(
        "logistic regression without first-order bias",
        lambda _: properly.linear.RareEventLogisticRegression("firth"),
        two_classes=True,
    ),
    "gev": Candidate(
        "GEV-canonical regression, averaged over its shapes",
        lambda _: properly.linear.GEVCanonicalRegressionCV(),
        two_classes=True,
        class_rows=10,
    ),
    "tailored": Candidate(
        "a linear model for decisions at the threshold P",
        lambda setting: properly.linear.TailoredLinearClassifierCV(setting.number),
        two_classes=True,
        class_rows=10,
        number="the threshold",
    ),
    "tree": Candidate("one decision tree, averaged over its prunings", _tree, linear=False),
    "boosting": Candidate("gradient-boosted trees", _boosting, linear=False, package="lightgbm"),
}
AUTO = ("logistic", "gev", "tree", "boosting")


def checked_methods(methods: str | Sequence[str]) -> list[str]:
    """Names of candidates, in a list or separated by commas; each perhaps with a number after a colon.

    >>> checked_methods("logistic,tailored:0.1")
    ['logistic', 'tailored:0.1']
    """
    wanted = [name.strip() for name in (methods.split(",") if isinstance(methods, str) else methods)]
    for each in wanted:
        name, _, number = each.partition(":")
        if each == "auto":
            continue
        if name not in CANDIDATES:
            raise ValueError(f"there is no method {name!r}; the methods are auto, {', '.join(CANDIDATES)}")
        if CANDIDATES[name].number:
            try:
                share(number)
            except ValueError as error:
                needed = f"{CANDIDATES[name].number} after a colon, such as {name}:0.1"
                raise ValueError(f"the method {name} needs {needed}, which {error}") from error
        elif number:
            raise ValueError(f"the method {name} takes no number, got {each!r}")
    return wanted


def build_candidates(methods: Sequence[str], setting: Setting) -> tuple[dict[str, Any], list[str]]:
    """The unfitted models by name, from the simplest on, and notes on those that "auto" leaves out."""
    found: dict[str, Any] = {}
    notes = []
    wanted = dict.fromkeys(name for entry in methods for name in (AUTO if entry == "auto" else (entry,)))
    for each in sorted(wanted, key=lambda name: list(CANDIDATES).index(name.partition(":")[0])):
        name, _, number = each.partition(":")
        candidate = CANDIDATES[name]
        if candidate.two_classes and len(setting.class_rows) > 2:
            reason = f"{name} is for two classes, the target has {len(setting.class_rows)}"
        elif min(setting.class_rows) < candidate.class_rows:
            rarest = min(setting.class_rows)
            reason = f"{name} needs {candidate.class_rows} rows of every class, the rarest has {rarest}"
        elif candidate.package and find_spec(candidate.package) is None:
            reason = f'{name} needs {candidate.package}, which is not installed: pip install "properly[cli]"'
        else:
            model = candidate.build(setting._replace(number=float(number or 0.0)))
            features = properly.tables.LinearFeatures(setting.categorical)
            found[each] = properly.tables.WithFeatures(features, model) if candidate.linear else model
            continue
        if each in methods:
            raise Misuse(f"{reason}.")
        notes.append(reason)
    return found, notes
