"""The class proportions that a fitted classifier was trained for: its priors, or those of y times its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from properly.inputs.options import choose
from properly.inputs.unwrap import layers
from properly.numeric.probabilities import Array
from properly.prevalence.prior import as_prior, by_class, weighted_prior


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
    given = as_prior(by_class(prior, classes, name) if isinstance(prior, Mapping) else prior, len(classes), name)
    return lambda totals, fitted: given


def _from_y(totals: ClassTotals, fitted: Any) -> Array:
    if (totals.weight == 0).any():
        empty = totals.labels[totals.weight == 0].tolist()[0]
        raise ValueError(
            f"class {empty!r} has no row of positive weight in y; add some, or give train_prior and true_prior as "
            "numbers."
        )
    return totals.weight / totals.weight.sum()


def _from_class_weight(totals: ClassTotals, fitted: Any) -> Array:
    """The priors of the fitted estimator, or the shares in y as its weighting parameters change them."""
    classifier = _without_sampling(fitted)
    params = _weighting_parameters(classifier)
    if isinstance(classifier, SVC | NuSVC):  # Platt's sigmoid, which makes the probabilities, ignores weights
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
        prior = weighted_prior(prior, how, totals.labels)
    of_two_classes = [name for name in _OF_TWO_CLASSES if _has_effect(params.get(name))]
    if of_two_classes and len(prior) > 2:  # with more, boosting libraries ignore them or weight in other ways
        raise ValueError(f"{of_two_classes[0]} is for two classes; leave it out, and use class_weight.")
    if any(name != "scale_pos_weight" for name in of_two_classes):
        prior = weighted_prior(prior, 1.0 / totals.rows, None)
    if "scale_pos_weight" in of_two_classes:
        prior = weighted_prior(prior, [1.0, params["scale_pos_weight"]], None)
    return prior


TRUE_PRIORS: dict[str, PriorRule] = {"from y": _from_y}
TRAIN_PRIORS: dict[str, PriorRule] = {"from class_weight": _from_class_weight, "from y": _from_y}


def _without_sampling(fitted: Any) -> Any:
    """The classifier inside frozen estimators, searches and pipelines, none of which may sample rows."""
    for layer in layers(fitted):
        for name, step in layer.steps if isinstance(layer, Pipeline) else ():
            if hasattr(step, "fit_resample"):
                raise ValueError(
                    f"step {name!r} of the pipeline samples rows, and which proportions are left is not known; give "
                    "train_prior as numbers, 0.5 where it makes two classes equal."
                )
    return layer


def _weighting_parameters(classifier: Any) -> dict[str, Any]:
    """The parameters of a classifier; one that weights classes in a way that is not known is refused.

    Not known is also what a classifier further inside makes of its own, whatever they are called.
    """
    params: dict[str, Any] = classifier.get_params(deep=True)
    for name, value in params.items():
        *outer, last = name.split("__")
        weights = last in ("class_weight", *_OF_TWO_CLASSES, *_PRIORS, *_UNKNOWN) and _has_effect(value)
        if (outer or last in _UNKNOWN) and (weights or (last == "fit_prior" and value is False)):
            raise ValueError(
                f"{type(classifier).__name__} has {name}={value!r}, whose effect on its probabilities is not known; "
                'give train_prior as numbers, or as "from y" if the weights do not change them.'
            )
    return params


def _has_effect(value: Any) -> bool:
    """Whether a parameter does anything: a weight other than 1, or a switch that is on (which equals 1)."""
    return np.ndim(value) > 0 or value is True or value not in (None, 1, False)
