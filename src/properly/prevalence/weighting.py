"""The class proportions that a fitted classifier believes in: those of its sample, times its class weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from properly.options import choose
from properly.prevalence.prior import as_prior, by_class, prior_after_weighting
from properly.probabilities import Array


class ClassTotals(NamedTuple):
    """The classes of the sample, and how many rows and how much weight each has."""

    labels: NDArray[Any]
    rows: NDArray[Any]
    weight: NDArray[Any]


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
    """The shares in y, as the weighting parameters of the fitted estimator change them."""
    params = _weighting(_innermost(fitted))
    prior = _from_y(totals, fitted)
    if params.get("class_weight") is not None:
        # "balanced_subsample" of forests balances every tree's sample.
        how = "balanced" if params["class_weight"] == "balanced_subsample" else params["class_weight"]
        prior = prior_after_weighting(prior, how, totals.labels)
    if params.get("is_unbalance"):
        prior = prior_after_weighting(prior, 1.0 / totals.rows)
    if params.get("scale_pos_weight") not in (None, 1):
        if len(prior) > 2:
            raise ValueError("scale_pos_weight is for two classes; leave it out, and use class_weight.")
        prior = prior_after_weighting(prior, [1.0, params["scale_pos_weight"]])
    return prior


TRUE_PRIORS: dict[str, PriorRule] = {"from y": _from_y}
TRAIN_PRIORS: dict[str, PriorRule] = {"from class_weight": _from_class_weight, "from y": _from_y}


def _innermost(fitted: Any) -> Any:
    """The classifier inside frozen estimators, pipelines and searches."""
    while True:
        if isinstance(fitted, FrozenEstimator):
            fitted = fitted.estimator
        elif isinstance(fitted, Pipeline):
            fitted = fitted.steps[-1][1]
        elif hasattr(fitted, "best_estimator_"):
            fitted = fitted.best_estimator_
        else:
            return fitted


def _weighting(classifier: Any) -> dict[str, Any]:
    """The parameters of a classifier, none of which may weight classes further inside, where it is not known how."""
    params: dict[str, Any] = classifier.get_params(deep=True)
    inner = [
        name
        for name, value in params.items()
        if name.endswith(("__class_weight", "__scale_pos_weight", "__is_unbalance")) and value not in (None, 1, False)
    ]
    if inner:
        raise ValueError(
            f"{type(classifier).__name__} has {inner[0]}={params[inner[0]]!r}, and what it makes of that is not known; "
            'give train_prior as numbers, or "from y" if the weights do not reach its probabilities.'
        )
    return params
