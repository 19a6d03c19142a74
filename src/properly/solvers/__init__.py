"""Solvers: a direction, a line search and a stopping rule, over coefficient-sized arrays only."""

from properly.solvers.newton import Solution, Status, minimise, shrinks_linearly
from properly.solvers.problem import Point, Problem

__all__ = ["Point", "Problem", "Solution", "Status", "minimise", "shrinks_linearly"]
