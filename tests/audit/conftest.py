"""Forecasts whose faults are known."""

import numpy as np
import pytest
from scipy import special as sc


def make_forecasts(n=3_000, slope=1.0, intercept=0.0, centre=-1.0, seed=0):
    """Labels, and probabilities whose log-odds should be intercept + slope times what they are."""
    random = np.random.default_rng(seed)
    score = random.normal(size=n) * 2.0 + centre
    return (random.random(n) < sc.expit(intercept + slope * score)).astype(int), sc.expit(score)


@pytest.fixture(scope="session")
def forecasts():
    return make_forecasts
