"""Solvers: a direction, a line search and a stopping rule, over coefficient-sized arrays only."""

from properly.solvers.directions import Point, Problem
from properly.solvers.newton import Solution, Status, fuses, minimise, shrinks_linearly

__all__ = ["Point", "Problem", "Solution", "Status", "fuses", "minimise", "shrinks_linearly"]
