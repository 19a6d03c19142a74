"""Generative and discriminative learning with unknown labelling bias: the paper's experiment on the NCEAS data.

M. Dudík and S. J. Phillips, "Generative and discriminative learning with unknown labeling bias", NIPS 21, 2009.

    python benchmarks/papers/nceas.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes tables and figures to benchmarks/results/nceas. 226 species are learnt from presence records, with the places
where other species of their group were recorded as unlabelled examples, and judged on independent surveys, by the
area under the ROC curve and by log loss at many default prevalences. nceas_settings.py says how the settings were
chosen, nceas_speed.py measures times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import nceas_figures
import nceas_tables
import numpy as np
import pandas as pd
from nceas_data import QUICK_REGIONS, REGIONS, Region, TargetGroup, read_regions
from nceas_measures import (
    DEFAULT,
    DEFAULTS,
    ENTROPY,
    MOVED,
    ORACLE,
    ROBUST,
    TREES_DEFAULT,
    TREES_ENTROPY,
    Labels,
    Result,
    area,
    cap_bounds,
    log_loss,
    result_of,
    reweighted,
)
from nceas_models import CLASS_ROBUST, MAXENT, TREES, Array, fit_group, fit_records, fit_trees
from scipy.special import logit
from sklearn.base import clone
from study import Options, machine, main, progress

CERTAIN = logit(0.99)  # log-odds beyond which a model counts as certain


def study_group(group: TargetGroup) -> Iterator[Result]:
    """Every species of a group, with every learner."""
    maxent = fit_group(MAXENT, group)
    robust = [fit_group(clone(CLASS_ROBUST).set_params(default_prevalence=default), group) for default in DEFAULTS]
    for survey in group.surveys:
        for name in survey.species:
            result, y = result_of(group, survey, name)
            add_generative(result, y, maxent[name], survey.environment)
            trees = fit_trees(TREES, group, group.present[:, group.species.index(name)])
            add_trees(result, y, trees.decision_function(survey.environment))
            add_robust(result, y, [models[name] for models in robust], group, survey.environment)
            yield result


def add_generative(result: Result, y: Labels, model: Any, environment: pd.DataFrame) -> None:
    log_ratio = model.class_scores(environment)[:, 0]
    result.gain = float(model.relative_gain_[0])
    result.area["maxent"] = area(y, log_ratio)
    for method, log_odds in zip((ENTROPY, DEFAULT), reweighted(log_ratio, result.gain), strict=True):
        result.loss[method] = log_loss(y, log_odds)
    result.loss[ORACLE] = log_loss(y, log_ratio + logit(result.prevalence))


def add_trees(result: Result, y: Labels, log_ratio: Array) -> None:
    """Trained with equal weights of the classes, their log-odds are those of prevalence ½: a change of prior adds."""
    result.area["trees"] = area(y, log_ratio)
    for method, log_odds in zip((TREES_ENTROPY, TREES_DEFAULT), reweighted(log_ratio, result.gain), strict=True):
        result.loss[method] = log_loss(y, log_odds)


def add_robust(result: Result, y: Labels, models: list[Any], group: TargetGroup, environment: pd.DataFrame) -> None:
    log_odds = np.array([model.decision_function(environment) for model in models])
    result.area["class-robust"] = np.array([area(y, scores) for scores in log_odds])
    result.loss[ROBUST] = log_loss(y, log_odds)
    result.reached = np.array([model.prevalence_[1] for model in models])
    moved = logit(result.prevalence) - logit(result.reached)
    result.loss[MOVED] = log_loss(y, log_odds + moved[:, None])
    result.certain = (np.abs(log_odds) > CERTAIN).mean(axis=1)
    result.cap = cap_bounds(models[-1].decision_function(group.environment), DEFAULTS[-1])


def number_of_results(groups: list[TargetGroup]) -> int:
    return sum(len(survey.species) for group in groups for survey in group.surveys)


def variants() -> dict[str, Callable[[TargetGroup, Region], dict[str, Any]]]:
    """How else maxent could have been fitted."""
    result = {
        "as above": lambda group, region: fit_group(MAXENT, group),
        "every record counts": lambda group, region: fit_records(group),
        "10,000 random points as background": lambda group, region: fit_group(
            clone(MAXENT).set_params(duplicates="keep"), group, background=region.random_points
        ),
    }
    for regularization in (0.5, 1.0, 1.5):
        model = clone(MAXENT).set_params(regularization=regularization)
        result[f"β = {regularization:g}"] = lambda group, region, model=model: fit_group(model, group)
    for kinds in ("lq", "lqph", "auto"):
        model = clone(MAXENT).set_params(features__kinds=kinds)
        result[f"features {kinds}"] = lambda group, region, model=model: fit_group(model, group)
    for n_hinges in (20, 40):
        model = clone(MAXENT).set_params(features__n_hinges=n_hinges)
        result[f"{n_hinges} knots"] = lambda group, region, model=model: fit_group(model, group)
    return result


def study_variant(fit: Callable[[TargetGroup, Region], dict[str, Any]], region: Region) -> Iterator[Result]:
    for group in region.groups:
        models = fit(group, region)
        for survey in group.surveys:
            for name in survey.species:
                result, y = result_of(group, survey, name)
                add_generative(result, y, models[name], survey.environment)
                yield result


def study(options: Options) -> None:
    start = time.perf_counter()
    regions = list(read_regions(QUICK_REGIONS if options.quick else REGIONS))
    groups = [group for region in regions for group in region.groups]
    every = (result for group in groups for result in study_group(group))
    results = list(progress(every, number_of_results(groups), "species"))
    pairs = [(name, fit, region) for region in regions for name, fit in variants().items()]
    otherwise: dict[str, list[Result]] = {name: [] for name in variants()}
    for name, fit, region in progress(pairs, len(pairs), "other choices"):
        otherwise[name] += study_variant(fit, region)
    nceas_tables.write_all(results, otherwise, machine(time.perf_counter() - start), options.output)
    nceas_figures.draw_all(results, options.output)


if __name__ == "__main__":
    raise SystemExit(main("nceas", __doc__, study))
