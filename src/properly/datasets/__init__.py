"""Data sets to try things on."""

from properly.datasets.real import BENCHMARK_SETS, BenchmarkSet, load_benchmark
from properly.datasets.synthetic import make_hand_vinciotti, make_rare_events

__all__ = ["BENCHMARK_SETS", "BenchmarkSet", "load_benchmark", "make_hand_vinciotti", "make_rare_events"]
