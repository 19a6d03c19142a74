"""``properly fit`` against boosting, calibrated forests, logistic regression and AutoGluon: log loss of new rows.

Every method meets the same splits of real tables: at most 6,000 rows, drawn once, 70 % for training, stratified; three
splits of a table, ten if it has fewer than 1,000 rows (AutoGluon: three). Rules of ``properly fit`` may be settled on
the first group of tables; the second only judges it, and the third was first run when the rules were final.

    OMP_NUM_THREADS=1 PROPERLY_DATA=... PROPERLY_AUTOGLUON=.../bin/python python benchmarks/bench_fit.py \\
        --records fit.jsonl [--methods "properly fit,LightGBM"] [--tables pima,car] [--again]

Every table, split and method is a line of the records, with the loss of every test row; what has a line is not run
again, unless --again asks for it (the last line counts). Writes benchmarks/results/fit.md and fit.csv from all records.
PROPERLY_AUTOGLUON names the interpreter of an environment with AutoGluon.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import time
import traceback
import warnings
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
from fit_page import write_results
from fit_peers import AUTOGLUON, METHODS, Method, available
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from properly.audit import audit, verdict
from properly.datasets import BENCHMARK_SETS, load_benchmark

SETTLING = ["phoneme", "winequality_red", "pima", "spambase", "vehicle", "cmc", "german_credit", "page_blocks", "adult"]
JUDGING = ["satimage", "yeast", "mammography", "car", "transfusion", "nursery", "abalone"]
FRESH = ["covtype", "ecoli", "glass", "haberman", "letter"]
GROUPS = {"Settling": SETTLING, "Judging": JUDGING, "Fresh": FRESH}
TABLES = [name for names in GROUPS.values() for name in names]
MOST_ROWS, TEST_SHARE, FEWEST_OF_A_CLASS = 6000, 0.3, 10
MOST_SPLITS = 10
RINGS = [8, 10]  # abalone: up to 8 rings, 9 or 10, more
SMALLEST = np.finfo(np.float64).eps  # what scikit-learn's log_loss puts for a probability of 0


def load(name: str) -> tuple[pd.DataFrame, NDArray[np.int64], list[str]]:
    """Features, classes as codes, and the classes that were left out because they have too few rows."""
    X, _ = load_benchmark(name)
    entry = BENCHMARK_SETS[name]
    path = Path(os.environ["PROPERLY_DATA"]) / entry.file
    label = (pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path))[entry.label]
    if name == "abalone":
        label = pd.Series(np.searchsorted(RINGS, label))
    X.columns = [f"x{k}" for k in range(X.shape[1])]  # LightGBM refuses some names
    if len(X) > MOST_ROWS:
        X = X.sample(MOST_ROWS, random_state=0)
        label = label[X.index]
    rows = label.value_counts()
    left_out = rows.index[rows < FEWEST_OF_A_CLASS]
    kept = ~label.isin(left_out)
    y = np.unique(label[kept].astype(str), return_inverse=True)[1]
    return X[kept].reset_index(drop=True), y, [str(each) for each in left_out]


def n_splits(method: str, y: NDArray[np.int64]) -> int:
    return MOST_SPLITS if len(y) < 1000 and method != AUTOGLUON else 3


def split_rows(y: NDArray[np.int64], split: int) -> list[NDArray[np.int64]]:
    """The training and the test rows of a split."""
    return train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=split, stratify=y)


def record(method: Method, X: pd.DataFrame, y: NDArray[np.int64], split: int) -> dict[str, Any]:
    """What a method costs and achieves on a split."""
    train, test = split_rows(y, split)
    wall, cpu = time.monotonic(), sum(os.times()[:4])  # with those of child processes
    p = method(X.iloc[train], y[train], X.iloc[test])
    spent = {"seconds": time.monotonic() - wall, "cpu_seconds": sum(os.times()[:4]) - cpu}
    p = p / p.sum(axis=1, keepdims=True)
    losses = -np.log(np.maximum(p[np.arange(len(test)), y[test]], SMALLEST))
    judged = audit(y[test], p, classes=range(p.shape[1]))
    return {
        "log_loss": float(losses.mean()),
        **{name: round(value, 2) for name, value in spent.items()},
        "audit_p": judged.test.p_value,
        "verdict": verdict(judged),
        "impossible": judged.surprises,
        "losses": base64.b64encode(losses.astype("<f4").tobytes()).decode(),
    }


def read_records(path: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The records by table, split and method; of several the last."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {(each["table"], each["split"], each["method"]): each for each in map(json.loads, lines)}
    for each in found.values():
        each["losses"] = np.frombuffer(base64.b64decode(each["losses"]), "<f4").astype(np.float64)
    return found


def run(path: Path, methods: dict[str, Method], tables: dict[str, Any], again: bool) -> None:
    """Append the records that are missing."""
    there = set() if again else set(read_records(path))
    for name, split, table in product(methods, range(MOST_SPLITS), tables):
        X, y, _ = tables[table]
        if split >= n_splits(name, y) or (table, split, name) in there:
            continue
        try:
            found = {"table": table, "split": split, "method": name, **record(methods[name], X, y, split)}
        except Exception:  # the other methods go on; the page shows what is missing
            print(f"{name} fails on split {split} of {table}:", flush=True)
            traceback.print_exc()
            continue
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        print(" ".join(str(value) for key, value in found.items() if key != "losses"), flush=True)


def main() -> None:
    listed = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=Path(gettempdir()) / "properly_fit.jsonl")
    parser.add_argument("--methods", type=listed, default=METHODS)
    parser.add_argument("--tables", type=listed, default=TABLES)
    parser.add_argument("--again", action="store_true", help="run what has a record, too")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {name: load(name) for name in TABLES}
    methods = {name: method for name, method in available().items() if name in asked.methods}
    run(asked.records, methods, {name: tables[name] for name in asked.tables}, asked.again)
    left_out = {name: classes for name, (_, _, classes) in tables.items() if classes}
    test_rows = {
        (name, split): split_rows(y, split)[1] for name, (_, y, _) in tables.items() for split in range(n_splits("", y))
    }
    write_results(read_records(asked.records), GROUPS, test_rows, left_out)


if __name__ == "__main__":
    main()
