"""The learners of the study, with the settings that held-out presences chose (see nceas_settings.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from nceas_data import CATEGORIES, Presence, TargetGroup
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from properly.maxent import ClassRobustLogisticRegression, Maxent, MaxentFeatures, fit_species

Array = NDArray[np.float64]

# Piecewise linear in every variable, as in the paper.
FEATURES = MaxentFeatures("lh", n_hinges=10)
REGULARIZATION = 0.75
MAXENT = Maxent(REGULARIZATION, FEATURES, duplicates="once")
CLASS_ROBUST = ClassRobustLogisticRegression(regularization=REGULARIZATION, features=FEATURES, duplicates="once")
TREES = HistGradientBoostingClassifier(
    learning_rate=0.05,
    max_leaf_nodes=2,
    l2_regularization=1.0,
    max_iter=93,
    min_samples_leaf=5,
    max_features=0.2,
    random_state=0,
    early_stopping=False,
    categorical_features="from_dtype",
)


def fit_group(
    model: Any, group: TargetGroup, present: Presence | None = None, background: Any = None, progress: bool = False
) -> dict[str, Any]:
    """A fitted model of every species: its presences, in a pool with all places of the group or another background.

    A presence and the place of the background where it was recorded are one point of the pool, not two.
    """
    row, column = np.nonzero(group.present if present is None else present)
    pool = group.environment if background is None else background
    model = clone(model).set_params(features__categorical=categories(pool))
    return fit_species(model, group.environment.iloc[row], np.array(group.species)[column], pool, progress=progress)


def fit_records(group: TargetGroup) -> dict[str, Any]:
    """Maxent with every record as a point of the pool: a place counts as often as species were recorded there."""
    row, column = np.nonzero(group.present)
    model = clone(MAXENT).set_params(duplicates="keep", features__categorical=categories(group.environment))
    return fit_species(model, group.environment.iloc[row], np.array(group.species)[column])


def categories(environment: pd.DataFrame) -> list[str]:
    return [name for name in CATEGORIES if name in environment]


def fit_trees(trees: HistGradientBoostingClassifier, group: TargetGroup, present: NDArray[np.bool_]) -> Any:
    """Boosted trees that tell the presences of a species from all other places, either with half of the weight.

    A presence weighs 1, so the ridge of a leaf counts in presences.
    """
    weight = np.where(present, 1.0, present.sum() / (~present).sum())
    return clone(trees).fit(group.environment, present, weight)
