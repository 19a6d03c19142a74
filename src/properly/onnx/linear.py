"""Linear models: scores, probabilities and the most probable class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from properly.linear.estimator import LinearPredictor
from properly.linear.gev_cv import GEVCanonicalRegressionCV
from properly.onnx.graph import Value, softmax
from properly.onnx.links import logistic_pair, pair_of

_FARTHEST = 745.0  # log-odds of the smallest float64, as in GEVCanonicalRegressionCV


class Classified(NamedTuple):
    """The probabilities (rows, classes), and the place of the chosen class, (rows,)."""

    probabilities: Value
    choice: Value


def linear_scores(model: Any, X: Value) -> Value:
    """x·w + b: a column per row of coef_, which may be sparse, or a single row without its second axis."""
    coef = np.atleast_2d(model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_)
    return X @ np.ascontiguousarray(coef.T) + np.reshape(model.intercept_, (1, -1))


def decision_of_linear(model: LinearPredictor, X: Value) -> Value:
    """`decision_function`: one column for two classes, one per class for more."""
    if isinstance(model, GEVCanonicalRegressionCV) and model.link_ is None:
        p, q = _average(model, X)
        return (p.log() - q.log()).clip(-_FARTHEST, _FARTHEST)
    scores = linear_scores(model, X)
    return scores if model.link_ is None else scores - float(model.link_.link(0.5))


def classify_linear(model: LinearPredictor, X: Value) -> Classified:
    decision = decision_of_linear(model, X)
    if isinstance(model, GEVCanonicalRegressionCV):
        p, q = _average(model, X)
        return two_classes(p, q, decision)
    if model.link_ is None:
        return Classified(softmax(decision), decision.argmax())
    p, q = pair_of(model.link_, linear_scores(model, X))
    if len(model.classes_) == 2:
        return two_classes(p, q, decision)
    total = p.sum()
    shares = (total > 0.0).where(p / (total > 0.0).where(total, 1.0), 1.0 / len(model.classes_))
    return Classified(shares, decision.argmax())


def classify_logistic(model: LogisticRegression, X: Value) -> Classified:
    """scikit-learn's own logistic regression."""
    scores = linear_scores(model, X)
    if len(model.classes_) == 2:
        return two_classes(*logistic_pair(scores), scores)
    return Classified(softmax(scores), scores.argmax())


def two_classes(p: Value, q: Value, decision: Value) -> Classified:
    """From the pair of columns, and the column that is positive where the second class is chosen."""
    return Classified(q.beside(p), (decision > 0.0).cast("INT64").reshape(-1))


def _average(model: GEVCanonicalRegressionCV, X: Value) -> tuple[Value, Value]:
    scores = linear_scores(model, X)
    pairs = [pair_of(link, scores.column(i)) for i, link in enumerate(model.links_)]
    p, q = (side[0].beside(*side[1:]) @ model.weights_[:, None] for side in zip(*pairs, strict=True))
    return p / (p + q), q / (p + q)
