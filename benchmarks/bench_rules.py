"""Tables of categories in which a rule without exceptions decides: ``BestProbabilities`` and peers on new rows.

    python benchmarks/bench_rules.py [--tables monks1,hierarchy2]

The rules are made here, so that they can settle how categories and rules are dealt with without a look at the tables
that judge: all end positions of noughts and crosses (does X win?), the three problems of the monks (without the noise
of the third), and hierarchies: ordered categories are combined, two or three at a time, by random monotone tables with
a veto, as in decision support; the names of the categories are in arbitrary order. In "unordered" hierarchies the
tables are random. One split of 70/30 each. Writes benchmarks/results/rules.md; tables that are not run keep their line.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from properly.comparison import BestProbabilities

RESULTS = Path(__file__).parent / "results"
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
FEWEST = 15  # rows of a class
Codes = NDArray[np.int64]


def grid(levels: list[int]) -> Codes:
    return np.array(list(itertools.product(*map(range, levels))))


def noughts_and_crosses() -> tuple[Codes, Codes]:
    """Every board at the end of a game, X first: 0 empty, 1 X, 2 O; and whether X has three in a line."""
    found: dict[tuple[int, ...], bool] = {}

    def has_won(board: list[int], player: int) -> bool:
        return any(all(board[k] == player for k in line) for line in LINES)

    def play(board: list[int], player: int) -> None:
        if has_won(board, 3 - player) or 0 not in board:
            found[tuple(board)] = has_won(board, 1)
            return
        for k in range(9):
            if board[k] == 0:
                play([*board[:k], player, *board[k + 1 :]], 3 - player)

    play([0] * 9, 1)
    return np.array(list(found)), np.array(list(found.values())).astype(np.int64)


def monks(problem: int) -> tuple[Codes, Codes]:
    X = grid([3, 3, 2, 3, 4, 2])
    a = X.T + 1
    rules = {
        1: (a[0] == a[1]) | (a[4] == 1),
        2: (a == 1).sum(axis=0) == 2,
        3: ((a[4] == 3) & (a[3] == 1)) | ((a[4] != 4) & (a[1] != 3)),
    }
    return X, rules[problem].astype(np.int64)


def hierarchy(seed: int, ordered: bool) -> tuple[Codes, Codes]:
    random, levels = np.random.default_rng(seed), [4, 4, 4, 3, 3, 3]
    X = grid(levels)
    nodes = [(X[:, j], levels[j]) for j in random.permutation(len(levels))]
    while len(nodes) > 1:
        taken = int(random.integers(2, 4))
        group, nodes = nodes[:taken], nodes[taken:]
        cells = grid([n for _, n in group])
        value = random.normal(size=len(cells))
        if ordered:
            value = sum(np.cumsum(random.exponential(size=n))[cells[:, j]] for j, (_, n) in enumerate(group))
            value[cells[:, int(random.integers(len(group)))] == 0] = value.min()  # the veto
        n_values = int(random.integers(3, 5)) if nodes else 4
        cuts = np.quantile(value, np.sort(random.uniform(0.2, 0.97, size=n_values - 1)))
        at = np.ravel_multi_index([codes for codes, _ in group], [n for _, n in group])
        nodes.append((np.searchsorted(cuts, value)[at], n_values))
    y = nodes[0][0]
    names = [random.permutation(n) for n in levels]
    kept = np.bincount(y)[y] >= FEWEST
    return np.column_stack([names[j][X[:, j]] for j in range(len(levels))])[kept], y[kept]


TABLES: dict[str, Callable[[], tuple[Codes, Codes]]] = {
    "noughts and crosses": noughts_and_crosses,
    **{f"monks {k}": lambda k=k: monks(k) for k in (1, 2, 3)},
    **{f"hierarchy {k}": lambda k=k: hierarchy(k, True) for k in range(4)},
    **{f"unordered {k}": lambda k=k: hierarchy(k, False) for k in range(2)},
}


def measured(name: str) -> dict[str, object]:
    X, y = TABLES[name]()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    columns = list(range(X.shape[1]))
    found: dict[str, object] = {"table": name, "rows": len(y), "classes": len(np.unique(y))}
    models = {
        "HistGradientBoosting": HistGradientBoostingClassifier(categorical_features=columns, random_state=0),
        "BestProbabilities": BestProbabilities(categorical_features=columns),
    }
    for method, model in models.items():
        start = time.process_time()
        model.fit(X[train].astype(np.float64), y[train])
        found[method] = log_loss(y[test], model.predict_proba(X[test].astype(np.float64)))
        found[f"{method}, processor seconds"] = round(time.process_time() - start, 1)
    return found | {"chosen": model.comparison_.choice}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    warnings.simplefilter("ignore")
    path = RESULTS / "rules.csv"
    for name in parser.parse_args().tables:
        new = pd.DataFrame([measured(name)])
        print(new.to_string(index=False, header=False), flush=True)
        before = pd.read_csv(path) if path.exists() else new[:0]
        found = pd.concat([before[before["table"] != name], new])
        found.to_csv(path, index=False, float_format="%.6g")
        lines = [
            "# Rules without exceptions",
            "",
            f"Log loss of new rows; {len(found)} of {len(TABLES)} tables of bench_rules.py.",
            "",
        ]
        lines += ["| " + " | ".join(found) + " |", "|---|" + "---:|" * (found.shape[1] - 1)]
        for row in found.itertuples(index=False):
            cells = [f"{value:.4f}" if isinstance(value, float) and value < 10 else str(value) for value in row]
            lines.append("| " + " | ".join(cells) + " |")
        (RESULTS / "rules.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
