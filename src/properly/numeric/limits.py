"""Limits of float64 that several layers keep to."""

import numpy as np

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
LOG_SMALLEST = float(np.log(SMALLEST))
FARTHEST = 1e100  # scores beyond count as this: their squares and sums are still numbers
