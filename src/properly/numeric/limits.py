"""The limits of float64 that formulas have to respect."""

import numpy as np

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)  # below it digits are lost one by one
LOG_SMALLEST = float(np.log(SMALLEST))
FARTHEST = 1e100  # a score beyond is treated as this far away: its square is still a number
EPS = 2.0**-52
