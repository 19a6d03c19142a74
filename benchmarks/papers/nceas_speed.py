"""How long maxent takes for all 226 species, beside elapid: with target groups, and with many points as background.

    PROPERLY_DATA=folder python benchmarks/papers/nceas_speed.py

writes benchmarks/results/nceas_speed.md. elapid (pip install elapid) is measured in the same run if it is installed,
which takes half an hour. Region by region all the runs take turns, each in a process of its own on one core, so that
they meet the same machine and their peak memory is their own. Both packages fit every species and score its surveys;
importing and reading the data are not counted, the progress bar is.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from gev_common import markdown
from nceas_data import CATEGORIES, REGIONS, Region, TargetGroup, read_region
from nceas_elapid import fit_elapid, installed, score_elapid
from nceas_measures import area
from nceas_models import MAXENT, Array, fit_group
from sklearn.base import clone
from study import DataMissing

from properly.maxent import Maxent, MaxentFeatures
from properly.progress import tracked

RESULTS = Path(__file__).parents[1] / "results" / "nceas_speed.md"
MANY = 120_000
JITTER = 0.01  # standard deviations
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Scores = dict[str, Array]  # of every species at the sites of its survey
Background = Callable[[Region, TargetGroup], pd.DataFrame | None]


class Run(NamedTuple):
    """Who fits what; `few` means the median species of every group, for what would take hours."""

    title: str
    background: Background
    model: Maxent | None = None  # None is elapid
    few: bool = False


def target_group(region: Region, group: TargetGroup) -> None:
    """The places of the group itself."""


def random_points(region: Region, group: TargetGroup) -> pd.DataFrame:
    return region.random_points


def many_points(region: Region, group: TargetGroup) -> pd.DataFrame:
    """The random points drawn again and again, with noise that makes them distinct."""
    random = np.random.RandomState(0)
    points = region.random_points.iloc[random.randint(len(region.random_points), size=MANY)].reset_index(drop=True)
    for name in points.columns.difference(CATEGORIES):
        points[name] = points[name] + JITTER * points[name].std() * random.standard_normal(MANY)
    return points


# Random points stand for area, so each of them counts; the records of a target group count by place.
EVERY_POINT = clone(MAXENT).set_params(duplicates="keep")
LIKE_ELAPID = clone(MAXENT).set_params(features=MaxentFeatures("lph", n_hinges=10))
DEFAULT = Maxent(features=MaxentFeatures(), duplicates="once")
RUNS = {
    "target": Run("target group", target_group, MAXENT),
    "target elapid": Run("target group, elapid", target_group),
    "target like elapid": Run("target group, the kinds of features of elapid", target_group, LIKE_ELAPID),
    "target default": Run("target group, default features (50 knots)", target_group, DEFAULT),
    "random": Run("10,000 random points", random_points, EVERY_POINT),
    "random elapid": Run("10,000 random points, elapid", random_points),
    "many": Run(f"{MANY:,} points", many_points, EVERY_POINT),
    "many elapid": Run(f"{MANY:,} points, elapid", many_points, few=True),
}


def chosen_species(run: Run, group: TargetGroup) -> list[str]:
    names = [name for survey in group.surveys for name in survey.species]
    if not run.few:
        return names
    counts = [int(group.present[:, group.species.index(name)].sum()) for name in names]
    return [names[np.argsort(counts, kind="stable")[len(names) // 2]]]


def properly_scores(run: Run, group: TargetGroup, points: pd.DataFrame | None, names: list[str]) -> Scores:
    models = fit_group(run.model, group, background=points, progress=True)
    return {
        name: models[name].class_scores(survey.environment)[:, 0]
        for survey in group.surveys
        for name in survey.species
        if name in names
    }


def elapid_scores(run: Run, group: TargetGroup, points: pd.DataFrame | None, names: list[str]) -> Scores:
    background = group.environment if points is None else points
    scores = {}
    for name in tracked(names, len(names), "species", True):
        presences = group.environment[group.present[:, group.species.index(name)]]
        model = fit_elapid(presences, background)
        for survey in group.surveys:
            if name in survey.species:
                scores[name] = score_elapid(model, [presences, background], survey.environment)
    return scores


def measure(key: str, region_name: str) -> dict[str, Any]:
    """One run in one region: areas of the species, seconds, and memory in MB before and at its peak."""
    run, region = RUNS[key], read_region(region_name)
    result: dict[str, Any] = {"areas": [], "wall": 0.0, "processor": 0.0, "species": 0, "before": peak_memory()}
    for group in region.groups:
        points, names = run.background(region, group), chosen_species(run, group)
        result["species"] += len(chosen_species(run._replace(few=False), group))
        start = time.perf_counter(), time.process_time()
        scores = (elapid_scores if run.model is None else properly_scores)(run, group, points, names)
        result["wall"] += time.perf_counter() - start[0]
        result["processor"] += time.process_time() - start[1]
        for survey in group.surveys:
            for column, name in enumerate(survey.species):
                if name in scores:
                    result["areas"].append(float(area(survey.present[:, column], scores[name])))
    return result | {"peak": peak_memory()}


def peak_memory() -> float:
    """Largest size of this process so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def measured_apart(key: str, region: str) -> dict[str, Any]:
    print(f"{region}: {RUNS[key].title}", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, key, region]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=os.environ | ONE_CORE)
    return dict(json.loads(finished.stdout))


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    try:
        read_region(REGIONS[0])
    except DataMissing as missing:
        print(missing)
        return
    keys = [key for key, run in RUNS.items() if run.model is not None or installed()]
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in keys}
    for region in REGIONS:
        for key in keys:
            found[key].append(measured_apart(key, region))
    RESULTS.write_text("\n".join(report(found)) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def seconds(regions: list[dict[str, Any]], clock: str) -> float:
    """Of all species; where few were fitted, the others of a region are taken to need as long as they."""
    return float(sum(region[clock] * region["species"] / len(region["areas"]) for region in regions))


def report(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    rows = []
    for key, regions in found.items():
        areas = np.concatenate([region["areas"] for region in regions])
        total = sum(region["species"] for region in regions)
        few = len(areas) < total
        own = found[key.partition(" ")[0]]
        times = [(seconds(regions, clock), seconds(own, clock)) for clock in ("wall", "processor")]
        rows.append(
            [
                RUNS[key].title,
                f"{len(areas)} of {total}",
                "" if few else f"{areas.mean():.4f}",
                *(f"{'about ' if few else ''}{taken:.1f}" for taken, _ in times),
                *("" if regions is own else f"{taken / ours:.0f}" for taken, ours in times),
                f"{max(region['before'] for region in regions):.0f}",
                f"{max(region['peak'] for region in regions):.0f}",
            ]
        )
    header = [
        "background", "species", "mean area", "seconds", "of processor time", "ratio", "of processor time",
        "MB with data read", "peak MB",
    ]  # fmt: skip
    packages = ("numpy", "scikit-learn", *(["elapid"] if installed() else []))
    return [
        "# Maxent for 226 species: time",
        "",
        f"One core of {platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(f"{package} {version(package)}" for package in packages)
        + ". Fit and score, one run in which all rows take turns region by region, each in a process of its own."
        " Ratios are to the first row with the same background. On a machine that others use as well, processor time is"
        " the fairer measure. Where few species were fitted (the median one of every target group), the seconds are"
        " those of all species, had each taken as long as the fitted ones of its region. Memory is the largest of the"
        " six regions.",
        "",
        *markdown(header, rows),
        "",
        "The same by region: seconds, and peak MB.",
        "",
        *markdown(
            ["background", *REGIONS],
            [
                [RUNS[key].title, *(f"{region['wall']:.1f} s, {region['peak']:.0f} MB" for region in regions)]
                for key, regions in found.items()
            ],
        ),
    ]


if __name__ == "__main__":
    main()
