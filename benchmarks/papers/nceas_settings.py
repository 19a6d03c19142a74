"""Settings of the learners of nceas.py, chosen by held-out presences; the surveys that judge them are not looked at.

    python benchmarks/papers/nceas_settings.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes benchmarks/results/nceas_settings/tables.md. The presences of every species are dealt
into five folds. A fold is left unlabelled, and the model of the others is judged by its gain: the mean of ln q(x)/π̃(x)
over the presences of the fold, where q is the model's density over the pool and π̃ the even one. Gains are averaged over
the presences of a species, and then over species.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from gev_common import markdown
from nceas_data import QUICK_REGIONS, REGIONS, TargetGroup, read_regions
from nceas_models import MAXENT, TREES, Array, fit_group, fit_trees
from numpy.typing import NDArray
from sklearn.base import clone
from study import Options, machine, main, progress, write_tables

from properly.maxent import MaxentFeatures

N_FOLDS = 5
REGULARIZATIONS = (0.5, 0.75, 1.0, 1.5)
FEATURES = [MaxentFeatures("lq"), MaxentFeatures("auto", n_hinges=20)] + [
    MaxentFeatures(kinds, n_hinges=n_hinges) for kinds in ("lh", "lqph") for n_hinges in (10, 20, 40)
]
LEAVES, RIDGES, N_TREES = (2, 4, 8), (1.0, 4.0, 16.0), 200
TREES_PER_GROUP = 6  # species of a group that the trees are tried on, with one fold only: they take their time


def folds(group: TargetGroup) -> NDArray[np.int64]:
    """The fold of every presence, -1 elsewhere, in the shape of `group.present`."""
    random = np.random.RandomState(0)
    result = np.full(group.present.shape, -1)
    for column, present in zip(result.T, group.present.T, strict=True):
        rows = random.permutation(np.flatnonzero(present))
        column[rows] = np.arange(len(rows)) % N_FOLDS
    return result


def maxent_gains(model: Any, group: TargetGroup) -> Array:
    """Held-out gain of every species of a group."""
    fold = folds(group)
    total = np.zeros(len(group.species))
    for held_out in range(N_FOLDS):
        models = fit_group(model, group, group.present & (fold != held_out))
        for k, name in enumerate(group.species):
            rows = np.flatnonzero(fold[:, k] == held_out)
            if len(rows):
                total[k] += models[name].class_scores(group.environment.iloc[rows]).sum()
    return total / group.present.sum(axis=0)


def tree_gains(trees: Any, group: TargetGroup) -> Array:
    """Held-out gain of some species after 1, 2, … trees: e^score, scaled to sum 1 over the pool, is their density."""
    fold = folds(group)
    gains = []
    for k in range(0, len(group.species), max(1, len(group.species) // TREES_PER_GROUP)):
        held_out = fold[:, k] == 0
        fitted = fit_trees(trees, group, group.present[:, k] & ~held_out)
        scores = fitted.staged_decision_function(group.environment)
        gains.append([score[held_out].mean() - np.log(np.exp(score).mean()) for score in scores])
    return np.array(gains)


def study(options: Options) -> None:
    start = time.perf_counter()
    groups = [group for region in read_regions(QUICK_REGIONS if options.quick else REGIONS) for group in region.groups]
    tried = [(features, regularization) for features in FEATURES for regularization in REGULARIZATIONS]
    gains = {}
    for features, regularization in progress(tried, len(tried), "settings of maxent"):
        model = clone(MAXENT).set_params(regularization=regularization, features=features)
        gain = np.concatenate([maxent_gains(model, group) for group in groups]).mean()
        row = (features.kinds, "" if features.kinds == "lq" else f"{features.n_hinges}")
        gains.setdefault(row, []).append(f"{gain:.4f}")
    tree_rows = []
    choices = [(leaves, ridge) for leaves in LEAVES for ridge in RIDGES]
    for leaves, ridge in progress(choices, len(choices), "settings of trees"):
        trees = clone(TREES).set_params(max_leaf_nodes=leaves, l2_regularization=ridge, max_iter=N_TREES)
        gain = np.concatenate([tree_gains(trees, group) for group in groups]).mean(axis=0)
        tree_rows.append([f"{leaves}", f"{ridge:g}", f"{gain.argmax() + 1}", f"{gain.max():.4f}"])
    n_species = sum(len(group.species) for group in groups)
    lines = [
        "# Settings chosen by held-out presences",
        "",
        f"Mean gain over {n_species} species, larger is better, by features, knots of "
        f"every variable and β. {machine(time.perf_counter() - start)}",
        "",
        *markdown(
            ["features", "knots", *(f"β = {value:g}" for value in REGULARIZATIONS)],
            [[*row, *values] for row, values in gains.items()],
        ),
        "",
        f"Boosted trees, learning rate {TREES.learning_rate:g}, up to {N_TREES} trees; some species, one fold.",
        "",
        *markdown(["leaves", "ridge", "best number of trees", "gain"], tree_rows),
    ]
    write_tables(lines, options.output)


if __name__ == "__main__":
    raise SystemExit(main("nceas_settings", __doc__, study))
