"""Data sets to try things on."""

from properly.datasets.synthetic import make_rare_events

__all__ = ["make_rare_events"]
