"""ProperBoostingClassifier at its defaults against CatBoost, LightGBM and scikit-learn: held-out log loss and CPU time.

Real tables (at most 6,000 rows, classes of at least 10 rows), 70/30 splits stratified by class, the same for all:

- LightGBM, HistGradientBoosting and CatBoost at their defaults;
- LightGBM tuned: 12 settings (leaves 7, 31, 127; least rows of a leaf 5, 20; all features or 0.7 of them) with a
  learning rate of 0.05, the number of trees by early stopping in five folds, then a fit to all rows;
- ours.

The ways in which our trees may grow were settled on the first nine tables; the others only judge. One thread each.

    pip install catboost
    OMP_NUM_THREADS=1 PROPERLY_DATA=... python benchmarks/bench_boosting_defaults.py [--splits 3] [--tables ...]

adds what is missing to benchmarks/results/boosting_defaults.csv, a row for each table, split and model, and writes
boosting_defaults.md from it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

from properly.boosting import ProperBoostingClassifier

RESULTS = Path(__file__).parent / "results" / "boosting_defaults"
SETTLED_ON = (
    "adult", "cmc", "german_credit", "page_blocks", "phoneme", "pima", "spambase", "vehicle", "winequality_red",
)  # fmt: skip
JUDGES = ("abalone", "car", "letter", "mammography", "nursery", "satimage", "transfusion", "yeast")
MOST_ROWS, FEWEST_OF_A_CLASS = 6_000, 10
COLUMNS = ["table", "split", "model", "log_loss", "seconds"]


def split_table(name: str, split: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Training rows and others, texts as categories, classes as codes."""
    table = pd.read_csv(Path(os.environ["PROPERLY_DATA"], name, f"{name}.csv.gz"))
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    counts = table["target"].value_counts()
    table = table[table["target"].isin(counts[counts >= FEWEST_OF_A_CLASS].index)].reset_index(drop=True)
    codes = np.unique(table.pop("target").astype(str), return_inverse=True)[1]
    table.columns = [f"f{k}" for k in range(table.shape[1])]
    train, judge = train_test_split(np.arange(len(codes)), test_size=0.3, random_state=split, stratify=codes)
    for column in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        known = sorted(table[column].iloc[train].dropna().unique())
        table[column] = pd.Categorical(table[column].where(table[column].isin(known)), categories=known)
    return table.iloc[train], codes[train], table.iloc[judge], codes[judge]


def ours(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    return ProperBoostingClassifier(random_state=0, n_jobs=1).fit(X, y).predict_proba(new)


def lightgbm_default(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    return lightgbm.LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y).predict_proba(new)


def lightgbm_tuned(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    n_classes = int(y.max()) + 1
    several = {"objective": "multiclass", "num_class": n_classes} if n_classes > 2 else {"objective": "binary"}
    usual = {**several, "learning_rate": 0.05, "num_threads": 1, "seed": 0, "verbosity": -1}
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    best: tuple[float, int, dict[str, Any]] = (np.inf, 0, {})
    for leaves, fewest, features in itertools.product((7, 31, 127), (5, 20), (1.0, 0.7)):
        params = {**usual, "num_leaves": leaves, "min_data_in_leaf": fewest, "feature_fraction": features}
        data = lightgbm.Dataset(X, y, params={"verbosity": -1})
        stop = lightgbm.early_stopping(30, verbose=False)
        losses = min(lightgbm.cv(params, data, 1500, folds=folds, callbacks=[stop]).items())[1]  # the means
        best = min(best, (losses[-1], len(losses), params), key=lambda found: found[0])
    _, rounds, params = best
    p = lightgbm.train(params, lightgbm.Dataset(X, y), rounds).predict(new)
    return np.column_stack([1.0 - p, p]) if n_classes == 2 else p


def hist_gradient_boosting(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return model.fit(X, y).predict_proba(new)


def catboost_default(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    from catboost import CatBoostClassifier

    texts = list(X.select_dtypes("category").columns)
    X, new = (each.astype(dict.fromkeys(texts, str)) for each in (X, new))
    model = CatBoostClassifier(verbose=0, thread_count=1, random_seed=0, cat_features=texts, allow_writing_files=False)
    return model.fit(X, y).predict_proba(new)


MODELS: dict[str, Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], np.ndarray]] = {
    "ours": ours,
    "CatBoost": catboost_default,
    "LightGBM, tuned": lightgbm_tuned,
    "LightGBM": lightgbm_default,
    "HistGradientBoosting": hist_gradient_boosting,
}


def measure(records: pd.DataFrame, tables: list[str], splits: int, models: list[str]) -> None:
    """Add what is missing to the stored records."""
    done = set(records[COLUMNS[:3]].itertuples(index=False, name=None))
    for split, table, model in itertools.product(range(splits), tables, models):
        if (table, split, model) in done:
            continue
        X, y, new, labels = split_table(table, split)
        start = time.process_time()
        p = np.asarray(MODELS[model](X, y, new), dtype=float)
        seconds = time.process_time() - start
        loss = log_loss(labels, p / p.sum(axis=1, keepdims=True), labels=np.arange(p.shape[1]))
        row = pd.DataFrame([[table, split, model, round(loss, 6), round(seconds, 2)]], columns=COLUMNS)
        row.to_csv(f"{RESULTS}.csv", mode="a", header=not Path(f"{RESULTS}.csv").exists(), index=False)
        print(row.to_string(header=False, index=False), flush=True)


def page(records: pd.DataFrame) -> list[str]:
    """Means over splits, over the splits that all models have."""
    models = [model for model in MODELS if model in set(records["model"])]
    losses = records.pivot(index=["table", "split"], columns="model", values="log_loss")[models].dropna()
    seconds = records.pivot(index=["table", "split"], columns="model", values="seconds").loc[losses.index, models]
    lines = [
        "# Boosting at its defaults",
        "",
        f"Mean log loss of 30 % held-out rows over {losses.groupby('table').size().max()} splits, at most "
        f"{MOST_ROWS:,} rows of a table, one thread; the best in bold. Ratio: the mean over tables (with a best above "
        "0.05) of the loss to the smallest. Rank: the mean over tables. Seconds: CPU, the mean over tables.",
    ]
    for title, names in (
        ("Tables on which no rule was settled", JUDGES),
        ("Tables on which ours was settled", SETTLED_ON),
    ):
        mean = losses.groupby("table").mean()
        mean = mean[mean.index.isin(names)]
        if not len(mean):
            continue
        ratio = mean.div(mean.min(axis=1), axis=0)[mean.min(axis=1) > 0.05].mean()
        time_taken = seconds.groupby("table").mean().loc[mean.index].mean()
        lines += ["", f"## {title}", "", f"| table | {' | '.join(models)} |", "|---|" + "---:|" * len(models)]
        for table, row in mean.iterrows():
            cells = (f"**{loss:.4f}**" if loss == row.min() else f"{loss:.4f}" for loss in row)
            lines.append(f"| {table} | {' | '.join(cells)} |")
        lines += [
            f"| ratio | {' | '.join(f'{each:.3f}' for each in ratio)} |",
            f"| rank | {' | '.join(f'{each:.2f}' for each in mean.rank(axis=1).mean())} |",
            f"| seconds | {' | '.join(f'{each:.1f}' for each in time_taken)} |",
        ]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("lightgbm", "catboost", "scikit-learn", "numpy"))
    return [*lines, "", f"{platform.machine()}, Python {platform.python_version()}, {libraries}."]


def stored() -> pd.DataFrame:
    path = Path(f"{RESULTS}.csv")
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=[*JUDGES, *SETTLED_ON])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    arguments = parser.parse_args()
    measure(stored(), arguments.tables, arguments.splits, arguments.models)
    lines = page(stored())
    Path(f"{RESULTS}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
