"""The class proportions that a fitted classifier believes in: its priors, or those of its sample times its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from properly.inputs.options import choose
from properly.numeric.probabilities import Array
from properly.prevalence.prior import as_prior, by_class, prior_after_weighting


class ClassTotals(NamedTuple):
    """The classes of the sample, and how many rows and how much weight each has."""

    labels: NDArray[Any]
    rows: NDArray[Any]
    weight: NDArray[Any]


# How boosting libraries call a weight of the second class, and (LightGBM, with its other names) equal weights by rows.
_OF_TWO_CLASSES = ("scale_pos_weight", "is_unbalance", "unbalance", "unbalanced_sets")
# Priors that naive Bayes and discriminant analysis are given.
_PRIORS = ("priors", "class_prior")
# What CatBoost and the ensembles of imbalanced-learn call their weights and samples; their effect is not known here.
_UNKNOWN = ("class_weights", "auto_class_weights", "sampling_strategy")
PriorRule = Callable[[ClassTotals, Any], Array]


def prior_rule(prior: Any, table: Mapping[str, PriorRule], classes: NDArray[Any], name: str) -> PriorRule:
    """How a prior is found once the estimator is fitted; what the user gave is checked at once."""
    if isinstance(prior, str):
        return choose(prior, table, name)
    values = by_class(prior, classes, name) if isinstance(prior, Mapping) else prior
    given = as_prior(values, len(classes), name)
    return lambda totals, fitted: given


def _from_y(totals: ClassTotals, fitted: Any) -> Array:
    if (totals.weight == 0).any():
        empty = totals.labels[totals.weight == 0].tolist()[0]
        raise ValueError(
            f"class {empty!r} has no rows in y but such of weight zero; add some, or give the priors as numbers."
        )
    return totals.weight / totals.weight.sum()


def _from_class_weight(totals: ClassTotals, fitted: Any) -> Array:
    """The priors of the fitted estimator, or the shares in y as its weighting parameters change them."""
    classifier = _innermost(fitted)
    params = _weighting(classifier)
    if isinstance(classifier, SVC | NuSVC):  # Platt's sigmoid, which makes the probabilities, heeds no weights
        return _from_y(totals._replace(weight=totals.rows), fitted)
    given = [params[name] for name in _PRIORS if params.get(name) is not None]
    if given:
        return as_prior(np.asarray(given[0]) / np.sum(given[0]), len(totals.labels), "the estimator's prior")
    if params.get("fit_prior") is False:
        return np.full(len(totals.labels), 1.0 / len(totals.labels))
    prior = _from_y(totals, fitted)
    if params.get("class_weight") is not None:
        # "balanced_subsample" of forests balances every tree's sample.
        how = "balanced" if params["class_weight"] == "balanced_subsample" else params["class_weight"]
        prior = prior_after_weighting(prior, how, totals.labels)
    of_two_classes = [name for name in _OF_TWO_CLASSES if _weighs(params.get(name))]
    if of_two_classes and len(prior) > 2:  # with more, boosting libraries ignore them or weight in other ways
        raise ValueError(f"{of_two_classes[0]} is for two classes; leave it out, and use class_weight.")
    if any(name != "scale_pos_weight" for name in of_two_classes):
        prior = prior_after_weighting(prior, 1.0 / totals.rows)
    if "scale_pos_weight" in of_two_classes:
        prior = prior_after_weighting(prior, [1.0, params["scale_pos_weight"]])
    return prior


def _weighs(value: Any) -> bool:
    """Whether a parameter does anything: a weight other than 1, or a switch that is on (which equals 1)."""
    return np.ndim(value) > 0 or value is True or value not in (None, 1, False)


TRUE_PRIORS: dict[str, PriorRule] = {"from y": _from_y}
TRAIN_PRIORS: dict[str, PriorRule] = {"from class_weight": _from_class_weight, "from y": _from_y}


def _innermost(fitted: Any) -> Any:
    """The classifier inside frozen estimators, pipelines (which must not sample rows) and searches."""
    while True:
        if isinstance(fitted, FrozenEstimator):
            fitted = fitted.estimator
        elif isinstance(fitted, Pipeline):
            sampling = [name for name, step in fitted.steps if hasattr(step, "fit_resample")]
            if sampling:
                raise ValueError(
                    f"step {sampling[0]!r} of the pipeline samples rows, and which proportions are left is not known; "
                    "give train_prior as numbers, 0.5 where it makes two classes equal."
                )
            fitted = fitted.steps[-1][1]
        elif hasattr(fitted, "best_estimator_"):
            fitted = fitted.best_estimator_
        else:
            return fitted


def _weighting(classifier: Any) -> dict[str, Any]:
    """The parameters of a classifier, none of which may weight classes in a way that is not known.

    That is so of classifiers further inside, whatever their parameters are called.
    """
    params: dict[str, Any] = classifier.get_params(deep=True)
    for name, value in params.items():
        *outer, last = name.split("__")
        weighs = last in ("class_weight", *_OF_TWO_CLASSES, *_PRIORS, *_UNKNOWN) and _weighs(value)
        if (outer or last in _UNKNOWN) and (weighs or (last == "fit_prior" and value is False)):
            raise ValueError(
                f"{type(classifier).__name__} has {name}={value!r}, and what it makes of that is not known; give "
                'train_prior as numbers, or "from y" if the weights do not reach its probabilities.'
            )
    return params
