"""Maxent of the package elapid, the usual one in Python, with its default settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from nceas_data import CATEGORIES
from nceas_models import Array


def installed() -> bool:
    return find_spec("elapid") is not None


def fit_elapid(presences: pd.DataFrame, background: pd.DataFrame) -> Any:
    """The presences of a species against the background, on one core."""
    from elapid import MaxentModel

    model = MaxentModel(n_cpus=1)
    model.fit(pd.concat([presences, background]), np.repeat([1, 0], [len(presences), len(background)]))
    return model


def score_elapid(model: Any, training: list[pd.DataFrame], environment: pd.DataFrame) -> Array:
    """elapid refuses categories that it has not seen in training; such sites are given the commonest one."""
    changed = environment.copy()
    for name in set(CATEGORIES) & set(environment):
        known = pd.concat([table[name] for table in training])
        changed[name] = environment[name].where(environment[name].isin(known.unique()), known.mode()[0])
    return np.asarray(model.predict(changed))
