"""From trees to scores, probabilities and classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy import special as sc
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from properly.inputs.features import Categories, known_table
from properly.inputs.optional import require
from properly.inputs.options import checked_count
from properly.links import Link
from properly.numeric.probabilities import Array

FEATURES_AS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": "allow-nan"}
LARGEST_INT = 2**31 - 1  # of LightGBM


class BoostedPredictor(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are sums of trees; `fit` sets these attributes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    link_ : the link between score and probability
    models_ : list of str, the trees of each score as LightGBM writes them; empty text if there are none
    starts_ : array, what the trees of each score are added to
    best_iteration_ : array of int, how many trees each score has
    categories_ : dict, the values seen in training of each categorical column, by its position
    """

    n_jobs: int | None
    classes_: NDArray[Any]
    link_: Link
    models_: list[str]
    starts_: Array
    best_iteration_: NDArray[np.intp]
    categories_: Categories

    def __getstate__(self) -> dict[str, Any]:
        # The texts of the trees are all that is worth keeping, and all that can be saved without running code.
        return {name: value for name, value in super().__getstate__().items() if name != "_boosters"}

    def _trees(self) -> list[Any]:
        """LightGBM's boosters, read from their texts when they are first needed; None for a score without trees."""
        if not hasattr(self, "_boosters"):
            booster = require("lightgbm", "boosting").Booster
            self._boosters = [booster(model_str=text) if text else None for text in self.models_]
        return self._boosters

    def _threads(self) -> int:
        """The number for LightGBM, where 0 means all."""
        if self.n_jobs is None or self.n_jobs == -1:
            return 0
        try:
            return checked_count(self.n_jobs, "n_jobs", 1, LARGEST_INT)
        except ValueError as error:
            raise ValueError(f"{error} None and -1 mean all threads.") from None

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return readable(known_table(self, X, self.categories_, **FEATURES_AS))

    def _scores(self, X: Any) -> Array:
        """Of shape (n_samples, scores)."""
        X = self._read(X)
        v = np.tile(self.starts_, (X.shape[0], 1))
        for k, booster in enumerate(self._trees()):
            if booster is not None:
                v[:, k] += booster.predict(X, raw_score=True, num_threads=self._threads())
        return v

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        """The scores after 1, 2, ... trees; one that has no more trees stays where it is."""
        X = self._read(X)
        v = np.tile(self.starts_, (X.shape[0], 1))
        for tree in range(max(self.best_iteration_.tolist())):
            for k in np.flatnonzero(self.best_iteration_ > tree):
                v[:, k] += self._trees()[k].predict(
                    X, raw_score=True, start_iteration=tree, num_iteration=1, num_threads=self._threads()
                )
            yield v.copy()

    def _decisions(self, v: Array) -> Array:
        v = v - self.link_.link(0.5)
        return v[:, 0] if len(self.classes_) == 2 else v

    def _log_probabilities(self, v: Array) -> Array:
        with np.errstate(all="ignore"):
            log_p, log_q = self.link_._logs(v)
        if len(self.classes_) == 2:
            return np.hstack((log_q, log_p))
        log_p = np.where(np.isneginf(log_p).all(axis=1, keepdims=True), 0.0, log_p)
        return np.asarray(sc.log_softmax(log_p, axis=1))

    def _probabilities(self, v: Array) -> Array:
        if len(self.classes_) > 2:
            return np.exp(self._log_probabilities(v))
        p, q = self.link_.inverse_pair(v)
        return np.hstack((q, p))

    def decision_function(self, X: Any) -> Array:
        """The score, measured from the score of p = 1/2, so that positive means the second class.

        With the logit, the log-odds. Of shape (n_samples,) for two classes, (n_samples, n_classes) otherwise.
        """
        return self._decisions(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after 1, 2, ... trees."""
        return map(self._decisions, self._staged_scores(X))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, one column per entry of ``classes_``.

        Both columns of a binary model are accurate to their own last digits. A link with bounded support gives exactly
        0 or 1 outside it; if that is 0 for each of more than two classes, they are given the same probability.
        """
        return self._probabilities(self._scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after 1, 2, ... trees."""
        return map(self._probabilities, self._staged_scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, also where those underflow."""
        return self._log_probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        decision = self.decision_function(X)
        index = (decision > 0.0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def readable(X: Any) -> Any:
    """LightGBM knows sparse matrices, but not sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X
