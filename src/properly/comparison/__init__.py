"""Which of several models gives the best probabilities for rows it has not seen, and which differences are real."""

from properly.comparison.held_out import cross_calibrated, stratified_folds
from properly.comparison.judging import Comparison
from properly.comparison.models import CALIBRATED, compare

__all__ = ["CALIBRATED", "Comparison", "compare", "cross_calibrated", "stratified_folds"]
