"""Maxent of the package elapid, the usual one in Python, with its default settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from nceas_data import CATEGORIES, TargetGroup
from nceas_models import Array
from numpy.typing import NDArray


def installed() -> bool:
    return find_spec("elapid") is not None


def fit_elapid(group: TargetGroup, present: NDArray[np.bool_]) -> Any:
    """The presences of a species against all places of its group, on one core."""
    from elapid import MaxentModel

    X = pd.concat([group.environment[present], group.environment])
    y = np.repeat([1, 0], [present.sum(), len(group.environment)])
    model = MaxentModel(n_cpus=1)
    model.fit(X, y)
    return model


def score_elapid(model: Any, group: TargetGroup, environment: pd.DataFrame) -> Array:
    """elapid refuses categories that it has not seen; such sites are given the commonest one."""
    changed = environment.copy()
    for name in set(CATEGORIES) & set(environment):
        known = environment[name].isin(group.environment[name].unique())
        changed[name] = environment[name].where(known, group.environment[name].mode()[0])
    return np.asarray(model.predict(changed))
