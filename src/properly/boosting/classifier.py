"""Boosted trees for any proper loss and link."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from properly.boosting.rows import Indices, Rows, check_rounds, splits_of
from properly.boosting.threads import safe_threads
from properly.boosting.training import Boosted, Growth, Limits, Trainer
from properly.classifier import LinkScoreClassifier, chosen
from properly.engines.memory import number_of_threads
from properly.inputs.features import known_table, seen_categories, training_table
from properly.inputs.labels import checked_labels
from properly.inputs.optional import require
from properly.inputs.options import check_boolean, check_interval, checked_count, choose
from properly.inputs.weights import row_weights
from properly.links import Link, Logit, get_link
from properly.losses import Composite, LogLoss, Loss, SoftmaxComposite, get_loss
from properly.losses.softmax import AnyComposite
from properly.numeric.arrays import Array, require_values

_FEATURES_AS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": "allow-nan"}
_LARGEST_INT, _MOST_LEAVES = 2**31 - 1, 131_072  # of LightGBM
_AT_ONCE = 30_000  # rows to predict; Ctrl-C is heard in between
_CELLS_PER_THREAD = 5_000_000  # of the feature matrix; with fewer, a second thread costs more than it saves
_WIDE, _FEWER_BINS = 300, 63  # columns; with more, so many bins of each instead of 255
_HISTOGRAMS = 50.0  # MB that a booster may keep; with thousands of columns it would be gigabytes
_STARTS = {"log loss": True, "base rate": False}
_UNSAVED = ("_boosters", "held_out_proba_")  # read from texts again, and only of use with the training rows
_GROWTHS = (
    Growth(63, 5, 1.0, 0.7, 1.0, True),
    Growth(8, 5, 1.0, 0.7, 1.0, True),
    Growth(31, 5, 3.0, 0.5, 0.7, False),
    Growth(6, 10, 1.0, 0.5, 0.8, False),
    Growth(31, 20, 0.0, 1.0, 1.0, False),
)


@dataclass(eq=False, repr=False)
class ProperBoostingClassifier(LinkScoreClassifier):
    """Class probabilities from boosted trees, for any proper loss and link; needs the extra ``boosting``.

    Minimises the mean of loss(y, v(x)) (the smaller the better) over scores v = ψ(ȳ) + Σ trees, with ψ the link and ȳ
    the base rate, one small tree at a time: LightGBM grows it from the gradient and curvature of the loss. The
    probability is that of the link, p = ψ⁻¹(v). More trees may still rank the rows better when their probabilities have
    long become overconfident. So the rows are divided into folds, and the number of trees, and how they grow, are those
    with the smallest loss of rows that were held out; then all rows are fitted in this way, with as many more trees as
    there are more rows.

    By default a loss other than log loss is minimised in two phases (see `start`): trees for log loss until held-out
    log loss no longer falls, then trees for `loss`, if they clearly lower it on held-out rows. If they do not, the
    result is the log-loss booster, as ``summary_`` says.

    Parameters
    ----------
    loss : {"log", "squared", "boosting", "gev"} or Loss, default "log"
        What is minimised; see `properly.losses`. `BetaLoss.tailored` cares about probabilities near a threshold.
        One without a lower bound (`GEVLoss` with ξ ≥ 1) only goes with its own link.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit", "gev"} or Link or None, default None
        The scale on which trees add up. None means the logit, whatever the loss: trees can fit on any scale, and no
        finite score has the probability 0 or 1 on this one. ``get_loss(loss).canonical_link`` makes the problem convex.
    start : {"log loss", "base rate"}, default "log loss"
        Where boosting with `loss` begins. "base rate" uses `loss` from the first tree on. "log loss" has two phases;
        of all losses log loss learns the most from each row, so this takes the noise out of the others.

        1. Trees for log loss, back to where the mean log loss of held-out rows is smallest. It also decides how they
           grow, since it is the least noisy judge.
        2. From there, trees for `loss`, back to where its expected mean over held-out rows is smallest if each of
           their n labels is wrong with probability 1/(n + 2): that no held-out label contradicts a forecast close to 0
           or 1 does not mean that none ever will. These trees are kept if that mean falls by more than a standard
           error of the difference, each fold judged after the number of trees that is best for the other folds: the
           smallest of many means looks smaller than it is.

        If then the mean `loss` of held-out rows is larger than at the base rate, all trees are dropped, and boosting
        begins again as for "base rate". That is also used if the loss is log loss, if there is no early stopping, and
        if the link has p = 0 or 1 at a finite score.
    n_estimators : int, default 2000
        The largest number of trees, for log loss and `loss` each.
    learning_rate : float, default 0.05
        Factor on every tree.
    num_leaves, min_samples_leaf : int or None, default None
        The largest number of leaves of a tree (2 makes stumps, that is an additive model), and the smallest number of
        rows in a leaf. For these and the next four, None means that five ways of growing trees are tried; what you set
        holds in all of them. Without held-out rows the first way is taken. The last is for tables without noise, in
        which a rule decides: a tree that may not see all features, or whose leaves are shrunk, cannot state it.

        ==========  ================  =================  ============  ===========  ===========
        num_leaves  min_samples_leaf  l2_regularization  max_features  max_samples  extra_trees
        ==========  ================  =================  ============  ===========  ===========
        63          5                 1                  0.7           1            True
        8           5                 1                  0.7           1            True
        31          5                 3                  0.5           0.7          False
        6           10                1                  0.5           0.8          False
        31          20                0                  1             1            False
        ==========  ================  =================  ============  ===========  ===========
    l2_regularization : float or None, default None
        Ridge penalty on the leaves, in the unit of log loss: as much as rows of weight 1 whose p (1-p) add up to this.
        With 0, splits between categories are not smoothed either, as LightGBM otherwise does.
    max_features, max_samples : float or None, default None
        The share of features that a tree may use, and of rows that it is fitted to.
    extra_trees : bool or None, default None
        Whether a split tries one random threshold of each feature, and not all: such trees are less alike, and their
        sum is smoother.
    early_stopping : bool, default True
        Whether to stop when the loss of held-out rows has not fallen for `n_iter_no_change` trees, and to go back
        to where it was smallest. False keeps all trees.
    cv : int, splitter or pairs of row numbers, default 5
        Which rows are held out, unless `fit` is given an `eval_set`: a number of folds, each with its share of every
        class, or what else scikit-learn takes. For groups or periods pass pairs, such as
        ``list(GroupKFold().split(X, y, groups))``. A class of a single row is not held out, and neither is a row of a
        class that the training rows lack.
    n_iter_no_change : int, default 50
    categorical_features : sequence of int, str or bool, or None, default None
        Which columns hold categories, besides those of a data frame's own type for them: positions, names or a
        mask. The categories may be numbers or strings.
    random_state : int, RandomState or None, default None
        Draws the folds, features, rows and thresholds.
    n_jobs : int or None, default None
        Threads. None takes one for every five million cells of X, so that small data are not slowed down by threads
        that wait for one another; -1 takes all. "All" are as many as BLAS uses, which ``OMP_NUM_THREADS`` limits. A
        process that was forked uses one, since those of its parent are gone.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    link_ : the link between score and probability; None for a softmax
    models_ : list of str
        LightGBM's text of the trees: one for two classes and for a softmax, otherwise one for each class.
    starts_ : array, the scores of the base rates, to which the trees add
    best_iteration_ : array of int, how many trees each score has
    log_iterations_ : array of int
        How many of them minimise log loss. If that is all of them, as it often is, this is the log-loss booster.
    summary_ : str
        Which trees were kept, in words.
    growths_ : list of dict, how the trees of each text were grown
    train_losses_ : list of arrays
        For each text, the mean of `loss` after 0, 1, 2, ... trees.
    validation_losses_ : list of arrays
        The same of held-out rows, all folds together, including the last trees that were not kept; empty if nothing was
        held out.
    held_out_proba_ : array of shape (n_samples, n_classes)
        The probabilities of each row from the trees that were fitted without its fold; nan where it was in none. The
        number of trees and their growth were chosen on these rows. It is not saved with the model, and not there with
        an `eval_set`.
    feature_importances_ : array of shape (n_features,)
        The gain in loss by splits at each feature, as parts of 1 (all 0 without a split).
    categories_ : dict, the values seen in training of each categorical column, by its position
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Missing values (nan) go to the side of a split where the loss is smaller. A category that was not seen in training
    counts as missing. Weights multiply losses, so weight 2 is the row twice and weight 0 none, but bins are made by
    counting rows, and folds are drawn row by row: a row given twice is not quite a row of weight 2; of several classes,
    one whose rows all have weight 0 takes its share of the random draws. LightGBM
    estimates the number of rows in a leaf from its share of the curvature, so `min_samples_leaf` holds only roughly;
    and it reads features below 1e-35 in size as 0.

    Three and more classes: with log loss and the logit the scores of all classes grow together, and the probabilities
    are their softmax. For other losses and links there is one score for each class against the rest, and the
    probabilities are divided by their sum.

    With many rows, the ways of growing trees are compared on as many folds as hold 10,000 rows. With more than 300
    columns, each is divided into 63 bins instead of 255.

    Steps use the largest of expected curvature, observed curvature, that of log loss, and |gradient|/100; see
    `properly.boosting.objective.Objective` for the reasons.

    References
    ----------
    Buja, Stuetzle & Shen (2005), Loss functions for binary class probability estimation and classification; Friedman,
    Hastie & Tibshirani (2000), The Annals of Statistics 28; Ke et al. (2017), LightGBM, NeurIPS 30.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.losses import BetaLoss
    >>> X, y, _ = make_rare_events(2000, 3, rate=0.2, random_state=0)
    >>> model = ProperBoostingClassifier(BetaLoss.tailored(0.1, 10), num_leaves=2, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (2000, 2)
    >>> print(model.summary_)
    1: 264 trees for log loss, then 0 for BetaLoss(alpha=1.0, beta=9.0, log_scale=3.25...), which did not fall clearly
    on held-out rows: this is the log-loss booster.
    """

    loss: str | Loss = "log"
    link: str | Link | None = None
    _: KW_ONLY
    start: str = "log loss"
    n_estimators: int = 2000
    learning_rate: float = 0.05
    num_leaves: int | None = None
    min_samples_leaf: int | None = None
    l2_regularization: float | None = None
    max_features: float | None = None
    max_samples: float | None = None
    extra_trees: bool | None = None
    early_stopping: bool = True
    cv: Any = 5
    n_iter_no_change: int = 50
    categorical_features: Sequence[Any] | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, eval_set: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        eval_set : (X, y) or (X, y, sample_weight), optional
            Held-out rows, instead of folds of the others.
        """
        limits, growths, params = self._limits(), self._growths(), self._params()
        require_values(X, "X")
        self.classes_, codes = checked_labels(y)
        composite = self._composite(len(self.classes_))
        X, codes, categories = training_table(self, X, codes, self.categorical_features, **_FEATURES_AS)
        rows = Rows.training(_for_lightgbm(X), codes, sample_weight, self.classes_)
        counted = np.flatnonzero(row_weights(sample_weight, len(codes)))
        X, self.categories_ = seen_categories(rows.X, categories)
        rows, random, splits = rows._replace(X=X), check_random_state(self.random_state), []
        params |= {"seed": int(random.randint(_LARGEST_INT)), "num_threads": self._threads(X)}
        params |= {"max_bin": _FEWER_BINS} if X.shape[1] > _WIDE else {}
        given = rows.given(self, eval_set)
        if given is None and self.early_stopping:
            splits = splits_of(self.cv, rows.codes, counted, len(codes), random)
        if given is None and self.early_stopping and not splits:
            limits = limits._replace(n_estimators=0)
            if len(np.unique(rows.codes)) > 1:  # a single class is certain
                warnings.warn(
                    "no two classes have two rows each, so that none can be held out to find the number of trees, and "
                    "every row gets the base rates; pass eval_set, or set early_stopping=False.",
                    UserWarning,
                    stacklevel=2,
                )
        trainer = Trainer(rows, len(self.classes_), given, splits, list(self.categories_), params)
        self.link_ = composite.link if isinstance(composite, Composite) else None
        scored = [1] if self.link_ is None or len(self.classes_) == 2 else range(len(self.classes_))
        scores = [trainer.boost(composite, code, growths, limits) for code in scored]
        self._keep(scores)
        self._keep_held_out(scores, [counted[test] for _, test in splits], len(codes))
        return self

    def _keep(self, scores: Sequence[Boosted]) -> None:
        """What is fitted, from the scores of a softmax, or each score by itself."""
        self.models_ = [score.text for score in scores]
        self.starts_ = np.concatenate([score.start for score in scores])
        width = len(self.starts_) // len(scores)
        self.best_iteration_ = np.repeat([score.best_iteration for score in scores], width)
        self.log_iterations_ = np.repeat([score.log_iterations for score in scores], width)
        self.growths_ = [score.growth._asdict() for score in scores]
        self.train_losses_ = [score.train_losses for score in scores]
        self.validation_losses_ = [score.validation_losses for score in scores]
        gains = np.sum([score.gains for score in scores], axis=0)
        self.feature_importances_ = gains / gains.sum() if gains.sum() > 0.0 else gains
        self.__dict__.pop("_boosters", None)  # those of an earlier fit
        self._trees()

    def _keep_held_out(self, scores: Sequence[Boosted], rows: Sequence[Indices], n_rows: int) -> None:
        """The probabilities of the rows of all splits, each from trees that were fitted without it."""
        self.__dict__.pop("held_out_proba_", None)
        if rows:
            held_out = np.column_stack([score.held_out for score in scores])
            self.held_out_proba_ = np.full((n_rows, len(self.classes_)), np.nan)
            self.held_out_proba_[np.concatenate(rows)] = self._probabilities(held_out)

    @property
    def summary_(self) -> str:
        check_is_fitted(self)
        scores = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        counts = zip(scores.tolist(), self.best_iteration_.tolist(), self.log_iterations_.tolist(), strict=True)
        return "\n".join(f"{label!r}: {self._kept(every, for_log)}" for label, every, for_log in counts)

    def _kept(self, every: int, for_log: int) -> str:
        loss = get_loss(self.loss)
        if isinstance(loss, LogLoss):
            return f"{every} trees for log loss."
        kept = f"{for_log} trees for log loss, then {every - for_log} for {loss}"
        if for_log and for_log == every:
            return f"{kept}, which did not fall clearly on held-out rows: this is the log-loss booster."
        return f"{kept}."

    def _composite(self, n_classes: int) -> AnyComposite:
        composite = Composite(get_loss(self.loss), Logit() if self.link is None else get_link(self.link))
        composite.require_smooth()
        best = composite.loss.entropy([0.0, 1.0], [1.0, 0.0])
        if not composite.canonical and not np.isfinite(best).all():
            raise ValueError(
                f"loss must be bounded below for a link other than its own, but a right forecast of probability 1 has "
                f"the loss {best.min()} for {composite.loss!r}, so that trees would make the scores ever larger. Use "
                f"link={composite.loss.canonical_link!r} or another loss."
            )
        return SoftmaxComposite(LogLoss()) if n_classes > 2 and composite == Composite(LogLoss()) else composite

    def _limits(self) -> Limits:
        check_rounds(self)
        log_first = choose(self.start, _STARTS, "start")
        return Limits(int(self.n_estimators), int(self.n_iter_no_change) if self.early_stopping else None, log_first)

    def _growths(self) -> list[Growth]:
        """The ways to grow trees that are tried, with what the user has set in each of them."""
        for name, least, most in (("num_leaves", 2, _MOST_LEAVES), ("min_samples_leaf", 1, _LARGEST_INT)):
            if getattr(self, name) is not None:
                checked_count(getattr(self, name), name, least, most)
        if self.l2_regularization is not None:
            check_interval(self.l2_regularization, "l2_regularization", 0.0, with_low=True)
        for name in ("max_features", "max_samples"):
            share = getattr(self, name)
            if share is not None and share != 1.0:
                check_interval(share, name, 0.0, 1.0)
        if self.extra_trees is not None:
            check_boolean(self.extra_trees, "extra_trees")
        given = {name: getattr(self, name) for name in Growth._fields if getattr(self, name) is not None}
        return list(dict.fromkeys(growth._replace(**given) for growth in _GROWTHS))

    def _params(self) -> dict[str, Any]:
        """LightGBM's parameters, but for the growth of trees."""
        self._checked_jobs()
        return {
            "objective": "none",
            "metric": "none",
            "learning_rate": float(self.learning_rate),
            "min_sum_hessian_in_leaf": 1e-3,  # LightGBM's default
            "feature_pre_filter": False,  # bins serve all ways of growing
            "force_col_wise": True,
            "deterministic": True,
            "histogram_pool_size": _HISTOGRAMS,
            "verbosity": -1,
        }

    def _checked_jobs(self) -> int | None:
        if self.n_jobs is None or self.n_jobs == -1:
            return self.n_jobs
        return checked_count(self.n_jobs, "n_jobs, if not None or -1 for all threads,", 1, _LARGEST_INT)

    def _threads(self, X: Any) -> int:
        """The number for LightGBM: each has its share of the cells, since waiting for one another takes longer."""
        if self.n_jobs is not None:
            return safe_threads(number_of_threads() if self.n_jobs == -1 else int(self.n_jobs))
        cells = X.nnz if sparse.issparse(X) else X.shape[0] * X.shape[1]
        return safe_threads(max(min(number_of_threads(), cells // _CELLS_PER_THREAD), 1))

    def __getstate__(self) -> dict[str, Any]:
        # The texts of the trees are all that is worth keeping, and all that can be saved without running code.
        return {name: value for name, value in super().__getstate__().items() if name not in _UNSAVED}

    def _trees(self) -> list[Any]:
        """LightGBM's boosters, read from their texts when they are first needed; None for a score without trees."""
        if not hasattr(self, "_boosters"):
            booster = require("lightgbm", "boosting").Booster
            safe_threads(0)
            self._boosters = [booster(model_str=text) if text else None for text in self.models_]
        return self._boosters

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return _for_lightgbm(known_table(self, X, self.categories_, **_FEATURES_AS))

    def _scores(self, X: Any) -> Array:
        """Of shape (n_samples, scores)."""
        X = self._read(X)
        v = np.tile(self.starts_, (X.shape[0], 1))
        for start in range(0, len(v), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            self._add(v[rows], X[rows])
        return v

    def _add(self, v: Array, X: Any, **which: int) -> None:
        """Add the trees, or `which` of them, to scores."""
        width, threads = len(self.starts_) // len(self.models_), self._threads(X)
        for k, booster in enumerate(self._trees()):
            if booster is not None:
                added = booster.predict(X, raw_score=True, num_threads=threads, **which)
                v[:, k * width : (k + 1) * width] += added.reshape(len(v), width)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        """The scores after 1, 2, ... trees; one that has no more trees stays where it is."""
        X = self._read(X)
        v = np.tile(self.starts_, (X.shape[0], 1))
        for tree in range(max(self.best_iteration_.tolist())):
            self._add(v, X, start_iteration=tree, num_iteration=1)
            yield v.copy()

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
        0 or 1 outside it; if that is 0 for each of more than two classes, all get the same probability.
        """
        return self._probabilities(self._scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after 1, 2, ... trees."""
        return map(self._probabilities, self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after 1, 2, ... trees."""
        return (chosen(v, self.classes_) for v in self.staged_decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, also where those underflow."""
        return self._log_probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return chosen(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _for_lightgbm(X: Any) -> Any:
    """LightGBM takes sparse matrices, but not sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X
