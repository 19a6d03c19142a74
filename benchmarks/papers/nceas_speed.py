"""How long maxent takes for all 226 species: with target groups, with many random points, and beside elapid.

    PROPERLY_DATA=folder python benchmarks/papers/nceas_speed.py

writes benchmarks/results/nceas/speed.md. One core. elapid (pip install elapid) is measured in the same run if it is
installed, and takes some ten minutes. Both fit every species and score its survey. The data are read one region at a
time; reading is not counted.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from gev_common import markdown
from nceas_data import CATEGORIES, N_SPECIES, DataMissing, Region, TargetGroup, read_regions
from nceas_elapid import fit_elapid, installed, score_elapid
from nceas_measures import area
from nceas_models import MAXENT, fit_group
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from properly.prevalence.progress import tracked

RESULTS = Path(__file__).parents[1] / "results" / "nceas"
MANY = 120_000
JITTER = 0.01  # standard deviations

Background = Callable[[Region], pd.DataFrame | None]


class Measured(NamedTuple):
    """One species: area under the ROC curve, and its share of the seconds of its group."""

    area: float
    wall: float
    processor: float


def target_group(region: Region) -> None:
    """The places of the group itself."""


def random_points(region: Region) -> pd.DataFrame:
    return region.random_points


def many_points(region: Region) -> pd.DataFrame:
    """The random points drawn again and again, with noise that makes them distinct."""
    random = np.random.RandomState(0)
    points = region.random_points.iloc[random.randint(len(region.random_points), size=MANY)].reset_index(drop=True)
    for name in points.columns.difference(CATEGORIES):
        points[name] = points[name] + JITTER * points[name].std() * random.standard_normal(MANY)
    return points


def properly_species(background: Background) -> Iterator[Measured]:
    for region in read_regions():
        points = background(region)
        # Random points stand for area, so each of them counts; the records of a target group count by place.
        model = MAXENT if points is None else clone(MAXENT).set_params(duplicates="keep")
        for group in region.groups:
            start = time.perf_counter(), time.process_time()
            models = fit_group(model, group, background=points)
            scores = {
                name: models[name].class_scores(survey.environment)[:, 0]
                for survey in group.surveys
                for name in survey.species
            }
            yield from _measured(group, scores, start)


def elapid_species() -> Iterator[Measured]:
    for region in read_regions():
        for group in region.groups:
            for survey in group.surveys:
                for column, name in enumerate(survey.species):
                    start = time.perf_counter(), time.process_time()
                    model = fit_elapid(group, group.present[:, group.species.index(name)])
                    score = score_elapid(model, group, survey.environment)
                    seconds = time.perf_counter() - start[0], time.process_time() - start[1]
                    yield Measured(float(area(survey.present[:, column], score)), *seconds)


def _measured(group: TargetGroup, scores: dict[str, np.ndarray], start: tuple[float, float]) -> Iterator[Measured]:
    wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
    for survey in group.surveys:
        for column, name in enumerate(survey.species):
            found = float(area(survey.present[:, column], scores[name]))
            yield Measured(found, wall / len(scores), processor / len(scores))


def main() -> None:
    runs: dict[str, Iterator[Measured]] = {
        "properly, target group": properly_species(target_group),
        "properly, 10,000 random points": properly_species(random_points),
        f"properly, {MANY:,} points": properly_species(many_points),
    }
    if installed():
        runs["elapid, target group"] = elapid_species()
    rows = []
    try:
        with threadpool_limits(1):
            for name, species in runs.items():
                rows.append((name, np.array(list(tracked(species, N_SPECIES, name, True))), peak_memory()))
    except DataMissing as missing:
        print(missing)
        return
    (RESULTS / "speed.md").write_text("\n".join(report(rows)) + "\n", encoding="utf-8")
    print((RESULTS / "speed.md").read_text(encoding="utf-8"))


def report(rows: list[tuple[str, np.ndarray, float]]) -> list[str]:
    first = rows[0][1].sum(axis=0)
    table = []
    for name, measured, memory in rows:
        _, wall, processor = measured.sum(axis=0)
        ratios = f"{wall / first[1]:.1f}", f"{processor / first[2]:.1f}"
        table.append(
            [name, f"{measured[:, 0].mean():.4f}", f"{wall:.1f}", f"{processor:.1f}", *ratios, f"{memory:.0f}"]
        )
    header = ["", "mean area", "seconds", "of processor time", "ratio", "of processor time", "peak MB so far"]
    packages = ("numpy", "scikit-learn", *(["elapid"] if installed() else []))
    return [
        "# Maxent for 226 species: time",
        "",
        f"One core, {platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(f"{package} {version(package)}" for package in packages)
        + ". Fit and score, all species, one run; ratios to the first row. On a machine that others use as well,"
        " processor time is the fairer measure.",
        "",
        *markdown(header, table),
    ]


def peak_memory() -> float:
    """Largest size of this process so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
