"""Many species at once: one table of records, one background, features computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, column_or_1d

from properly.inputs.frames import frame_or_array, missing_in, stacked
from properly.inputs.unwrap import last_step
from properly.maxent.design_matrix import DesignMatrix
from properly.maxent.features import MaxentFeatures, checked_kinds
from properly.maxent.sample import UNLABELLED, pooled_sample
from properly.maxent.semi_supervised import SemiSupervisedClassifier, warn_about
from properly.numeric.arrays import require_values
from properly.progress import tracked

Model = TypeVar("Model", bound=SemiSupervisedClassifier)
# A model with fitted features, those of all points (the background, then all records), and the sites of these.
Prepared = tuple[Model, DesignMatrix, NDArray[np.intp] | None]


def fit_species(
    model: Model,
    X: Any,
    species: ArrayLike,
    background: Any = None,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> dict[Hashable, Model]:
    """One model for every species, from the records of all of them.

    Features are computed once, from the background and the records of all species, so ranges and knots are the same for
    every species; with ``kinds="auto"`` the number of its records decides the kinds of each. To fit one species
    alone with the same features, pass ``features=FrozenEstimator(models[name].features_)``.

    Parameters
    ----------
    model : Maxent, EntropyWeightedMaxent or ClassRobustLogisticRegression, unfitted
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Presence records.
    species : array of shape (n_records,)
        The species of every record.
    background : like X, optional
        Points that are added to the records of a species to make up its pool. None means the target group: the pool of
        every species is all records, so that places which nobody visited do not look like absences.
    n_jobs : int, optional
        The number of processes; None means 1, -1 all cores.
    progress : bool, default False
        Show a progress bar, of rich if that is installed.

    Returns
    -------
    dict from species, in sorted order, to the fitted model

    Notes
    -----
    The parameter `duplicates` of the model says whether several records of one species at one site, or of several
    species in a target group, are all kept or count once.

    References
    ----------
    Phillips et al. (2009), Sample selection bias and presence-only distribution models, Ecological Applications 19, for
    the target group.

    Examples
    --------
    >>> import numpy as np
    >>> from properly.maxent import Maxent, MaxentFeatures
    >>> random = np.random.default_rng(0)
    >>> records, background = random.normal(size=(90, 2)), random.normal(size=(400, 2))
    >>> species = np.repeat(["fern", "moss", "oak"], 30)
    >>> records[species == "oak"] += 1.0
    >>> models = fit_species(Maxent(features=MaxentFeatures("lq")), records, species, background)
    >>> {name: round(float(fitted.relative_gain_[0]), 1) for name, fitted in models.items()}
    {'fern': 0.0, 'moss': 0.0, 'oak': 0.5}
    """
    if not isinstance(model, SemiSupervisedClassifier):
        raise ValueError(
            f"model must be Maxent, EntropyWeightedMaxent or ClassRobustLogisticRegression, got {type(model).__name__}."
        )
    require_values(species, "species")
    names = column_or_1d(species)
    X = frame_or_array(X)
    check_consistent_length(X, names)
    if not len(names):
        raise ValueError("X has no records; at least one is needed.")
    missing = missing_in(names)
    if missing.any():
        raise ValueError(f"species is missing in row {int(np.argmax(missing))}; name it, or drop the record.")
    table = X if background is None else stacked(background, X)
    n_background = table.shape[0] - len(names)
    if background is not None and not n_background:
        raise ValueError("background has no rows; add some, or leave it out: None means the records of all species.")
    try:
        found, counts = np.unique(names, return_counts=True)
    except TypeError as error:
        raise ValueError(f"species must be all text or all numbers: {error}.") from error
    kinds = _kinds(model, counts)
    prepared = {each: _with_features(model, table, each) for each in sorted(set(kinds))}
    tasks = [
        (prepared[each], n_background + np.flatnonzero(names == name), n_background or len(names), name)
        for name, each in zip(found.tolist(), kinds, strict=True)
    ]
    fits = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_fit_one)(*task) for task in tasks)
    models = {}
    for task, (fitted, warnings) in zip(tasks, tracked(fits, len(tasks), "species", progress), strict=True):
        (shared, *_), *_, name = task
        fitted.features_ = shared.features_  # one for all, also where another process has sent a copy
        warn_about(warnings, f"species {name!r}: ")
        models[name] = fitted
    return models


def _kinds(model: SemiSupervisedClassifier, counts: NDArray[np.intp]) -> list[str]:
    """The kinds of features that every species has; empty without `MaxentFeatures`."""
    features = last_step(model.features)
    if not isinstance(features, MaxentFeatures):
        return [""] * len(counts)
    return [checked_kinds(features.kinds, count) for count in counts]


def _with_features(model: Model, table: Any, kinds: str) -> Prepared[Model]:
    shared = clone(model)
    shared._check_parameters()
    if kinds:
        last_step(shared.features).set_params(kinds=kinds)
    n_points = table.shape[0]
    design = shared._fit_features(table, np.full(n_points, UNLABELLED), np.ones(n_points))
    return shared, design, shared._sites(design)


def _fit_one(
    prepared: Prepared[Model], own: NDArray[np.intp], n_shared: int, name: object
) -> tuple[Model, list[Warning]]:
    """One species: its own records, and the first points, which are in the pool of every species."""
    shared, design, site = prepared
    classes, weight = np.full(design.n_points, UNLABELLED), np.zeros(design.n_points)
    classes[own] = 1
    weight[:n_shared] = 1.0
    weight[own] = 1.0
    fitted = clone(shared)
    vars(fitted).update({key: value for key, value in vars(shared).items() if key.endswith("_")})  # features and names
    try:
        return fitted, fitted._fit_sample(pooled_sample(design, classes, weight, site))
    except ValueError as error:
        raise ValueError(f"species {name!r}: {error}") from error
