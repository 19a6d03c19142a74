"""The best probabilities that a table allows: many kinds of models, tuned, calibrated, compared and averaged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from properly.calibration.methods import METHODS
from properly.classifier import LogScoreClassifier, difference
from properly.comparison.averaging import cross_weighted
from properly.comparison.candidates import CANDIDATES, WIDE, Setting, build_candidates, checked_methods
from properly.comparison.comparing import CALIBRATED, as_good, ranked
from properly.comparison.rows import Rows
from properly.comparison.search import Data, Search, mean_log_loss
from properly.inputs.features import known_table, training_table
from properly.inputs.frames import column_at, is_frame, missing_in
from properly.inputs.labels import checked_labels
from properly.inputs.options import check_boolean, check_interval, checked_count, choose
from properly.inputs.weights import checked_weight
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, constant, is_foreign, namespace, require_values
from properly.prevalence.prior import as_prior, log_prior_ratio, shares_of
from properly.progress import Tell, reported
from properly.tables.encoder import UNSEEN_RULES, UnseenCategories

AVERAGE = "average"
CALIBRATIONS = dict.fromkeys(["auto", "none", *METHODS])
_FEATURES_AS = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
_ERRORS = 2.0  # by which the average may be worse than the best single model
_AVERAGE_REASON = (
    "averages vary less from sample to sample, and its score exceeds the best by no more than two standard errors of "
    "the difference"
)
_FEW_LEVELS = 10
_TIE = 1e-4  # scores that differ by a smaller share are taken as equal
_FEW_ROWS = 1_000  # with fewer, folds are made several times
_REPEATS = 2


@dataclass(eq=False, repr=False)
class BestProbabilities(LogScoreClassifier):
    """The best class probabilities that a table allows: models of many kinds, tuned, calibrated, compared, averaged.

    Every candidate is fitted to all folds but one and predicts that one, fold after fold. Its settings (a penalty, the
    size of leaves) are those with the smallest log loss on the other folds, and its calibrator learns from the
    predictions for the other folds; so no row judges a choice that its own prediction depends on. (Two things are
    chosen for all folds together: the number of trees of boosting, and whether a model is averaged with or without
    calibration.) The candidates are then averaged: with weights b_m ≥ 0, ln p = Σ_m b_m ln p_m less a constant in every
    row. The weights minimise the log loss of held-out predictions, with a prior that models of the same quality count
    equally; for what is reported, again without the fold in question. The average, fitted to all rows, is the result,
    unless its log loss exceeds that of the best single model by more than two standard errors of their difference: then
    that one is taken. If it is no better than the simplest candidate, one model is taken as with `single`. ``properly
    fit`` does the same with tables in files.

    Mathematics: formula (6.3), formula (6.4).

    Parameters
    ----------
    method : str or sequence of str, default "auto"
        Names of candidates, in a list or separated by commas; "auto" tries those that suit the data. See
        `properly.comparison.candidates.CANDIDATES`.
    single : bool, default False
        Keep one plain model instead of an average: the simplest whose log loss exceeds the smallest by no more than one
        standard error of their difference.
    calibration : str, default "auto"
        "auto" compares every model with and without calibration, "none" calibrates nothing, the name of a calibration
        method uses that one for every model. In an average of "auto", a model takes part in the better form; models
        that may give a class the probability 0, such as forests, in the calibrated one.
    population_rate : float or dict, optional
        Share of the positive class where the model will be used, if it differs from that in the training data; a dict
        such as {"fraud": 0.002} if the labels do not tell which class is the positive one. Two classes only.
    cv : int, default 5
        The number of folds; lowered to the number of rows (or groups) of the rarest class. With fewer than 1,000 rows
        the rows are divided twice, in two ways (once if there are more than 300 columns). Of more than 50,000 rows a
        sample of 20,000 is used to compare models, of tables with more than ten million cells one of ten million. What
        is chosen is fitted to all rows, or, if it is not boosted, to 200,000; `notes_` say so.
    categorical_features : sequence of int, str or bool, or None, default None
        Which columns hold categories, besides those of a data frame's own type for them.
    time_budget : float, optional
        Seconds after which no further candidate is begun, and the one at work is given up. What is fitted to all rows
        in the end comes on top. The first candidate is always fitted.
    keep_best : bool, default False
        Whether Ctrl-C ends the search instead of the fit: the candidates that are done make up the result.
    unseen : {"missing", "refuse"}, default "missing"
        What becomes of a category that did not occur in training when new rows are predicted: it counts as missing,
        with a warning (`UnseenCategories`), or it is an error.
    random_state : int, default 0
    progress : callable, bool or None, default None
        Called as ``progress(share, note)`` with the share of the work that is done. By default a bar is shown on
        terminals and in notebooks, with True always, with False never.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    parts_ : list of `Part`
        The models that are averaged, the largest weight first; a single one with weight 1 if there is no average.
    comparison_ : Comparison
        All candidates by their log loss on held-out rows, with standard errors. It is not saved.
    notes_ : list of str
        What was left out, and why.
    interrupted_ : bool
        Whether the search ended early.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(400, 3, rate=0.3, signal=2.0, random_state=0)
    >>> model = BestProbabilities("logistic,tree", cv=3).fit(X, y)
    >>> model.comparison_.choice, len(model.parts_)
    ('logistic', 1)
    >>> model.predict_proba(X).shape
    (400, 2)
    """

    method: str | Sequence[str] = "auto"
    _: KW_ONLY
    single: bool = False
    calibration: str = "auto"
    population_rate: float | Mapping[Any, float] | None = None
    cv: int = 5
    categorical_features: Sequence[Any] | None = None
    time_budget: float | None = None
    keep_best: bool = False
    unseen: str = "missing"
    random_state: int = 0
    progress: Tell | bool | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        time: ArrayLike | None = None,
        class_names: Sequence[Any] | None = None,
    ) -> Self:
        """Find and fit the best model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Values may be missing.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, in the same fold; weight 0 not at all.
        group : array of shape (n_samples,), optional
            What a row belongs to, such as a customer: all rows of a group are in one fold.
        time : array of shape (n_samples,), optional
            When a row was known: every fold is predicted by models of earlier rows. Excludes `group`.
        class_names : sequence of length n_classes, optional
            What messages call the classes, in their sorted order, if `y` holds codes.
        """
        methods = self._checked_options()
        require_values(X, "X")
        self.classes_, codes = checked_labels(y)
        names = self.classes_ if class_names is None else _checked_names(class_names, len(self.classes_))
        X, codes, self.categories_ = training_table(self, X, codes, self.categorical_features, **_FEATURES_AS)
        weight = checked_weight(sample_weight, len(codes))
        self.log_ratio_ = self.prior_change(codes, weight)
        n_counted = len(codes) if weight is None else int(np.count_nonzero(weight))
        repeats = _REPEATS if n_counted < _FEW_ROWS and X.shape[1] <= WIDE else 1
        rows = Rows.divided(names, codes, self.cv, sample_weight, self.random_state, group, time, True, repeats)
        setting = _setting(X, rows, list(self.categories_), self.random_state)
        options, notes = build_candidates(methods, setting)
        data = Data.drawn(X, rows, setting.n_features, self.random_state)
        notes = data.notes + notes
        self.interrupted_ = False
        with reported(self.progress, "Fitting") as tell:
            self._ongoing = Search(data, self.calibration, notes, tell, self.time_budget, "auto" in methods)
            try:
                self._ongoing.run(options)
                self._finish(self._ongoing)
            except KeyboardInterrupt:
                if not (self.keep_best and self._ongoing.fitted):
                    raise
                self.end_early()
            finally:
                del self._ongoing
        return self

    def end_early(self) -> None:
        """Take the best model that is fitted to all rows by now; for a thread that hears Ctrl-C while `fit` is at work.

        The candidate at work is given up. Does nothing if there is no such model.
        """
        search = getattr(self, "_ongoing", None)
        if search is None:
            return
        with search.ending:  # both threads may have heard it
            if search.fitted and not self.interrupted_:
                search.notes.append("the search was interrupted")
                found, seconds = search.competitors()
                forms = [each for each in found if each.removesuffix(CALIBRATED) == search.best]
                choice = min(forms, key=lambda each: mean_log_loss(found[each], search.rows))
                self._conclude(search, found, seconds, choice)
                self.interrupted_ = True

    def _finish(self, search: Search) -> None:
        """Compare, choose, and fit to all rows what is chosen."""
        found, seconds = search.competitors()
        names, choice, reason = search.usable() if not self.single else [], None, ""
        scores = {name: mean_log_loss(p, search.rows) for name, p in found.items()}
        by_simplicity = self.single  # whether the simplest model within the noise is taken
        if len(names) > 1:
            search.tell(0.96, AVERAGE)
            start = perf_counter()
            found[AVERAGE] = np.exp(cross_weighted(search.forms_of(names), search.rows))
            seconds[AVERAGE] = sum(each.seconds for each in search.tried.values()) + perf_counter() - start
            by_simplicity = next(iter(scores.values())) <= (1.0 + _TIE) * mean_log_loss(found[AVERAGE], search.rows)
            if as_good(found, AVERAGE, search.rows, _ERRORS) and not by_simplicity:
                choice, reason = AVERAGE, _AVERAGE_REASON
        if choice is None and not by_simplicity:
            choice = min(scores, key=scores.__getitem__)
        self._conclude(search, found, seconds, choice, reason)

    def _conclude(
        self, search: Search, found: dict[str, Array], seconds: dict[str, float], choice: str | None, reason: str = ""
    ) -> None:
        self.notes_ = search.notes
        self.comparison_ = ranked(
            found, seconds, search.rows, random_state=self.random_state, choice=choice, reason=reason
        )
        self.comparison_ = replace(self.comparison_, sample=search.data.sample)
        choice = self.comparison_.choice
        self.parts_ = (
            search.parts(mean_log_loss(found[AVERAGE], search.rows)) if choice == AVERAGE else [search.alone(choice)]
        )

    def _checked_options(self) -> list[str]:
        methods = checked_methods(self.method)
        choose(self.calibration, CALIBRATIONS, "calibration")
        check_boolean(self.single, "single")
        check_boolean(self.keep_best, "keep_best")
        choose(self.unseen, UNSEEN_RULES, "unseen")
        checked_count(self.cv, "cv", 2)
        checked_count(self.random_state, "random_state", 0)
        if self.time_budget is not None:
            check_interval(self.time_budget, "time_budget", 0.0)
        return methods

    def prior_change(self, codes: NDArray[Any], weight: Array | None) -> Array | None:
        """What `population_rate` adds to the log-probabilities of the classes; None if it was not given.

        Parameters
        ----------
        codes : array of shape (n_samples,)
            The classes of the rows, as numbers of `classes_`.
        weight : array of shape (n_samples,) or None
            Weights of the rows.
        """
        if self.population_rate is None:
            return None
        n_classes = len(self.classes_)
        if n_classes != 2:
            raise ValueError(f"population_rate is for two classes, y has {n_classes}.")
        here = np.bincount(codes, weight, n_classes)
        there = as_prior(
            shares_of(self.population_rate, self.classes_, "population_rate"), n_classes, "population_rate"
        )
        return log_prior_ratio(here / here.sum(), there, n_classes)

    def _read(self, X: Any) -> Any:
        matrix = known_table(self, super()._read(X), self.categories_, **_FEATURES_AS)
        if not is_foreign(X):
            self._tell_unseen(X, matrix)
        return matrix

    def _tell_unseen(self, X: Any, matrix: Array) -> None:
        """Warn of categories that did not occur in training, which count as missing, or refuse them."""
        lenient = choose(self.unseen, UNSEEN_RULES, "unseen")
        for j in self.categories_:
            if np.isnan(matrix[:, j]).any():
                values = np.asarray(column_at(X, j) if is_frame(X) else np.asarray(X, dtype=object)[:, j])
                strange = np.isnan(matrix[:, j]) & ~missing_in(values)
                if strange.any():
                    name = str(getattr(self, "feature_names_in_", range(matrix.shape[1]))[j])
                    example = str(values[strange][0])
                    if not lenient:
                        raise ValueError(f"column {name!r}: the category {example!r} did not occur in training.")
                    warnings.warn(UnseenCategories("X", name, example, int(strange.sum())), stacklevel=4)

    def _log_scores(self, X: Any) -> Array:
        parts = [part.model.log_probabilities(X) for part in self.parts_]
        log_p = parts[0]
        if len(parts) > 1:
            xp = namespace(log_p)
            log_p = fn.log_softmax(
                sum((part.weight * each for part, each in zip(self.parts_, parts, strict=True)), xp.zeros_like(log_p)),
                axis=1,
            )
        if self.log_ratio_ is not None:
            log_p = log_p + constant(self.log_ratio_, log_p)
        return difference(log_p) if len(self.classes_) == 2 else log_p

    @property
    def unsaved_parts(self) -> list[str]:
        """The names of the parts that cannot be saved, since their files could not be checked."""
        plain = [part.name.removesuffix(CALIBRATED).partition(":")[0] for part in getattr(self, "parts_", [])]
        return [name for name in plain if not CANDIDATES[name].saved]

    def __getstate__(self) -> dict[str, Any]:
        # Held-out predictions are as large as the training data, and what reports progress cannot be saved.
        state = super().__getstate__()
        unsaved = ("comparison_", "_ongoing")
        return {name: value for name, value in state.items() if name not in unsaved} | {"progress": None}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags


def _checked_names(class_names: Sequence[Any], n_classes: int) -> NDArray[Any]:
    if len(class_names) != n_classes:
        raise ValueError(f"class_names must name the {n_classes} classes, got {len(class_names)} names.")
    return np.array(class_names, dtype=object)


def _setting(X: Array, rows: Rows, categorical: list[int], seed: int) -> Setting:
    counted = rows.codes if rows.weight is None else rows.codes[rows.weight > 0.0]
    class_rows = [int((counted == code).sum()) for code in range(len(rows.classes))]
    levels = {j: len(np.unique(X[:, j])) for j in categorical}
    n_features = X.shape[1] - len(categorical) + sum(min(count, 31) for count in levels.values())
    unordered = tuple(j for j, count in levels.items() if count > _FEW_LEVELS)
    return Setting(class_rows, categorical, seed, n_features, unordered=unordered, n_columns=X.shape[1])
