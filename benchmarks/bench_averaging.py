"""Rules for averaging models, by the log loss of new rows of real tables.

    PROPERLY_DATA=... python benchmarks/bench_averaging.py

The candidates of ``properly fit`` are cross-fitted on 70 % of the rows of the settling tables of bench_fit.py. Every
rule learns its weights from the held-out predictions and is judged on the other 30 %. Writes results/averaging.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench_fit import SETTLING, load, split_rows
from scipy.special import log_softmax, logsumexp

from properly.calibration import AutoCalibration
from properly.comparison import BestProbabilities, averaging
from properly.comparison.averaging import average, average_weights

RESULT = Path(__file__).parent / "results" / "averaging.md"
Array = np.ndarray[Any, np.dtype[np.float64]]


class Kept(BestProbabilities):
    """Keeps what the search has found."""

    def _finish(self, search: Any) -> None:
        super()._finish(search)
        self.names_ = search.usable()
        self.held_out_ = search.forms_of(self.names_)
        self.models_ = [search._model(name, self._calibrated(search, name)) for name in self.names_]

    @staticmethod
    def _calibrated(search: Any, name: str) -> bool:
        return search.tried[name].form is search.tried[name].calibrated


def mean_weights(log_p: Array, codes: Array, prior: float = 5.0) -> Array:
    """Of a mean of probabilities, by expectation-maximisation with a Dirichlet prior worth so many rows."""
    own = np.exp(log_p[:, np.arange(len(codes)), codes])
    weights = np.full(len(own), 1.0 / len(own))
    for _ in range(500):
        share = weights[:, None] * own
        share /= share.sum(axis=0)
        weights = (share.sum(axis=1) + prior / len(own)) / (len(codes) + prior)
    return weights


def recalibrated(held_out: Array, codes: Array, new: Array) -> Array:
    scores = [each[:, 1] - each[:, 0] if each.shape[1] == 2 else each for each in (held_out, new)]
    return AutoCalibration(input="score").fit(scores[0], codes).predict_log_proba(scores[1])


def rules(held_out: Array, codes: Array, new: Array) -> dict[str, Array]:
    """Log-probabilities of new rows by each rule."""
    found = {}
    losses = -held_out[:, np.arange(len(codes)), codes].mean(axis=1)
    found["the best single model"] = new[losses.argmin()]
    found["equal weights, probabilities"] = logsumexp(new, axis=0) - np.log(len(new))
    weights = mean_weights(held_out, codes)
    before, after = (logsumexp(each + np.log(weights)[:, None, None], axis=0) for each in (held_out, new))
    found["weighted mean of probabilities"] = after
    found["the same, calibrated again"] = recalibrated(before, codes, after)
    found["its weights for log-probabilities"] = log_softmax(np.tensordot(weights, new, axes=1), axis=1)
    usual = averaging._TRUST
    for trust in (3.0, 10.0, 30.0, 100.0):
        averaging._TRUST = trust
        found[f"log-probabilities, trust {trust:g}"] = average(new, average_weights(held_out, codes))
    averaging._TRUST = usual
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(SETTLING))
    parser.add_argument("--splits", type=int, default=1)
    asked = parser.parse_args()
    rows = {}
    for table in asked.tables.split(","):
        X, y, _ = load(table)
        for split in range(asked.splits):
            train, test = split_rows(y, split)
            texts = list(X.select_dtypes(exclude="number"))
            frame = X.astype(dict.fromkeys(texts, "category"))
            model = Kept(categorical_features=texts or None).fit(frame.iloc[train], y[train])
            codes = np.tile(y[train], model.comparison_.repeats)
            matrix = model._read(frame.iloc[test])
            new = np.array([each.log_probabilities(matrix) for each in model.models_])
            found = rules(model.held_out_, codes, new)
            rows[f"{table} {split}"] = {name: -p[np.arange(len(test)), y[test]].mean() for name, p in found.items()}
            print(
                f"{table} {split}",
                {name: round(loss, 4) for name, loss in rows[f"{table} {split}"].items()},
                flush=True,
            )
    losses = pd.DataFrame(rows).T
    ratio = losses.div(losses.min(axis=1), axis=0).mean().sort_values()
    lines = ["| rule | mean ratio |", "|---|---:|", *(f"| {name} | {value:.4f} |" for name, value in ratio.items())]
    head = (
        f"Log loss of new rows by rule, divided by the smallest on the split: the mean over {len(losses)} splits "
        f"({', '.join(losses.index)}; table and split). `python benchmarks/bench_averaging.py`."
    )
    RESULT.write_text("\n".join(["# Rules for averaging models", "", head, "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
