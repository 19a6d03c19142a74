"""A classifier that was trained at other class proportions than it is used at, corrected for that.

Those it was trained at are its priors, or those of y times its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, check_is_fitted

from properly.classifier import LogScoreClassifier, difference
from properly.engines import PartitionedEngine, by_parts
from properly.inputs.labels import label_column, require_several_classes
from properly.inputs.options import choose
from properly.inputs.unwrap import layers, weight_parameter
from properly.inputs.weights import checked_weight
from properly.numeric.arrays import Array, constant, floats, namespace, require_values
from properly.prevalence.prior import as_prior, log_prior_ratio, shares_of, weighted_prior


@dataclass(eq=False, repr=False)
class PriorCorrectedClassifier(MetaEstimatorMixin, LogScoreClassifier):
    """Any classifier, with its probabilities corrected from the class proportions it was trained with to the true ones.

    A model that was trained with class weights, `scale_pos_weight` or under-sampling gives probabilities for a
    population in which the rare class is common: they are far too large. `properly.prevalence.adjust_prior` corrects
    them; by default for the class weights of the estimator.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        It may be a pipeline. A classifier that is fitted already comes as
        ``sklearn.frozen.FrozenEstimator(classifier)``; then give `fit` the labels it was trained with, or both priors
        as numbers.
    train_prior : {"from class_weight", "from y"}, float, array or dict, default "from class_weight"
        The class proportions that the estimator's probabilities are for.

        - "from class_weight": the shares of the classes in y times what the estimator's parameters `class_weight`,
          `scale_pos_weight` and `is_unbalance` make of them; the `priors` or `class_prior` of naive Bayes and
          discriminant analysis where they are given. In a pipeline those of the last step, in a search those of the
          best estimator. Parameters and steps whose effect is not known, such as one that samples rows, are refused.
        - "from y": the shares of the classes in y.
        - A float is the share of the positive one of two classes, which the labels must tell: 0/1, false/true, no/yes
          or -1/1. A dict has the shares by label, of two classes perhaps of one only, as in {"fraud": 0.002}. An array
          has those of all classes in sorted order.
    true_prior : "from y", float, array or dict, default "from y"
        The class proportions where the probabilities will be used.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimator_ : the fitted classifier
    train_prior_, true_prior_ : arrays of shape (n_classes,)
    n_features_in_, feature_names_in_ : those of the estimator, if it has them

    Notes
    -----
    Shares are weighted by `sample_weight`, those of the training prior only if the estimator gets the weights: a frozen
    one does not, nor one that does not request them, nor the probabilities of `SVC` and `NuSVC`, whose last step
    ignores class weights, too. ``class_weight="balanced"`` is taken to make the *weights* of the classes
    equal, as scikit-learn's and this package's linear models do. Trees and boosting count *rows* instead: if classes
    differ in their mean `sample_weight`, give `train_prior` as numbers there. ``is_unbalance`` of LightGBM counts rows.

    The correction is exact for probabilities that are fitted well. A penalty acts differently in a weighted sample, so
    a strongly penalised model is not quite the model without weights after the correction. Weights hardly change a tree
    or forest that is grown until its leaves hold one class only, and its corrected probabilities are far too small: use
    leaves with many rows (`min_samples_leaf`), or calibrate.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI; Saerens et al. (2002), Neural Computation 14.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(5000, 3, rate=0.03, random_state=0)
    >>> balanced = LogisticRegression(class_weight="balanced")
    >>> print(round(balanced.fit(X, y).predict_proba(X)[:, 1].mean(), 2))
    0.43
    >>> model = PriorCorrectedClassifier(balanced).fit(X, y)
    >>> print(round(model.predict_proba(X)[:, 1].mean(), 2))
    0.03
    """

    estimator: Any
    train_prior: str | ArrayLike | Mapping[Any, float] = "from class_weight"
    true_prior: str | ArrayLike | Mapping[Any, float] = "from y"

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit a clone of the estimator and determine both priors.

        Parameters
        ----------
        X : what the estimator takes
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Goes to the estimator, in a pipeline to its last step, in a search to what is searched. Weight 2 means the
            row twice, weight 0 not at all.
        **fit_params
            Goes to the estimator's `fit`. If metadata routing is enabled in scikit-learn, weights and these go where
            they are requested.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, but {type(self.estimator).__name__} has none; wrap it in "
                "properly.calibration.CalibratedClassifier to get probabilities."
            )
        labels, classes = self._labels(X, y)
        train_prior = prior_rule(self.train_prior, TRAIN_PRIORS, classes, "train_prior")
        true_prior = prior_rule(self.true_prior, TRUE_PRIORS, classes, "true_prior")
        codes = np.searchsorted(classes, labels)
        weight = checked_weight(sample_weight, len(codes), positive_sum=True)
        rows = np.bincount(codes, minlength=len(classes))
        totals = ClassTotals(classes, rows, rows if weight is None else np.bincount(codes, weight, len(classes)))
        self.true_prior_ = true_prior(totals, self.estimator)
        params = self._routed(sample_weight, fit_params)
        fitted = clone(self.estimator).fit(X, y, **params)  # a frozen one is neither cloned nor fitted
        if not np.array_equal(fitted.classes_, classes):
            raise ValueError(
                f"the estimator has the classes {fitted.classes_}, but y has {classes.tolist()}; they must be the same."
            )
        seen = any(name.split("__")[-1] == "sample_weight" for name in params)
        self.train_prior_ = train_prior(totals if seen else totals._replace(weight=rows), fitted)
        self.estimator_, self.classes_ = fitted, classes
        return self

    def _labels(self, X: Any, y: ArrayLike | None) -> tuple[NDArray[Any], NDArray[Any]]:
        """The labels, and the sorted classes: those of a frozen estimator, or else those of y."""
        require_values(X, "X")
        labels = label_column(y, _num_samples(X))
        found = classes = np.unique(labels)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            classes = np.asarray(self.estimator.classes_)
        unknown = np.setdiff1d(found, classes)
        if len(unknown):
            raise ValueError(
                f"y holds {unknown.tolist()[0]!r}, but the estimator was trained with the classes {classes.tolist()}."
            )
        require_several_classes(classes)
        return labels, classes

    def _routed(self, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What goes to the estimator's `fit`."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", sample_weight=sample_weight, **fit_params).estimator.fit)
        if sample_weight is None or isinstance(self.estimator, FrozenEstimator):
            return fit_params
        name = weight_parameter(self.estimator)
        if name is None:
            raise ValueError(
                f"{type(self.estimator).__name__}.fit has no parameter sample_weight; leave it out, use another "
                "estimator, or enable metadata routing in scikit-learn."
            )
        return {**fit_params, name: sample_weight}

    def _log_scores(self, X: Any) -> Array:
        """Corrected log-odds (n,) of the second of two classes, or logarithms (n, K), up to a constant a row."""
        log_ratio = log_prior_ratio(self.train_prior_, self.true_prior_, len(self.classes_))
        with np.errstate(divide="ignore"):
            if hasattr(self.estimator_, "predict_log_proba"):  # it may know what predict_proba rounds to 0
                (log_p,) = floats(predict_log_proba=self.estimator_.predict_log_proba(X))
            else:
                (p,) = floats(predict_proba=self.estimator_.predict_proba(X))
                log_p = namespace(p).log(p)
        if len(self.classes_) == 2:
            return difference(log_p) + float(log_ratio[1] - log_ratio[0])
        return log_p + constant(log_ratio, log_p)

    predict_proba = by_parts(LogScoreClassifier.predict_proba, PartitionedEngine)
    predict_log_proba = by_parts(LogScoreClassifier.predict_log_proba, PartitionedEngine)
    decision_function = by_parts(LogScoreClassifier.decision_function, PartitionedEngine)
    predict = by_parts(LogScoreClassifier.predict, PartitionedEngine)

    @property
    def _takes_parts(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.estimator_, "_takes_parts", False))

    @property
    def n_features_in_(self) -> int:
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return np.asarray(self.estimator_.feature_names_in_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Who may ask for what in `fit`, if metadata routing is enabled in scikit-learn."""
        router, fit = MetadataRouter(owner=self).add_self_request(self), MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self.estimator, method_mapping=fit)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


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
    given = as_prior(shares_of(prior, classes, name), len(classes), name)
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
