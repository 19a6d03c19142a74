"""Which of several models gives the best probabilities for held-out rows, and the best that a table allows."""

from properly.comparison.best import AVERAGE, BestProbabilities, Part
from properly.comparison.comparing import CALIBRATED, Comparison, compare
from properly.crossfit import cross_calibrated, stratified_folds

__all__ = [
    "AVERAGE",
    "CALIBRATED",
    "BestProbabilities",
    "Comparison",
    "Part",
    "compare",
    "cross_calibrated",
    "stratified_folds",
]
