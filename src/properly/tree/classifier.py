"""A classification tree for any proper loss."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch, Tags
from sklearn.utils.validation import check_is_fitted

from properly.classifier import LogScoreClassifier
from properly.inputs.features import known_table, seen_categories, training_table
from properly.inputs.labels import checked_labels
from properly.inputs.options import check_interval, checked_count
from properly.inputs.weights import checked_class_weights, checked_weight
from properly.losses import Loss, get_loss
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, require_values
from properly.tree.averaging import averaged_over_prunings, most_probable_shrinkage, without_improbable_splits
from properly.tree.binning import bin_categories, bin_numbers, exact_weights
from properly.tree.display import LabelledTree, draw
from properly.tree.growth import grow, prune, pruning_path
from properly.tree.splits import Impurity
from properly.tree.structure import Integers, Tree

_FEATURES_AS = {"accept_sparse": "csc", "dtype": np.float64, "ensure_all_finite": "allow-nan"}


@dataclass(eq=False, repr=False)
class ProperTreeClassifier(LogScoreClassifier):
    """Class probabilities from a tree that splits by the entropy of any proper loss, averaged over all its prunings.

    The impurity of a node is the loss of its best constant forecast, weight · H(share of each class), H the entropy of
    the loss. Each split is the one that lowers it most. Squared loss gives the Gini tree of CART, log loss that of
    C4.5; `BetaLoss.tailored(c, concentration)` and `CostWeightedLoss(c)` give trees for decisions at the threshold c,
    whose splits are mostly where the probability crosses it.

    A tree that is grown until no split is left says too much: its leaves are too sure. By default, probabilities are
    therefore averaged over all subtrees with the same root (prunings), each weighted by how probable the training rows
    make it. The average is exact and costs next to nothing. Splits that do not lower the loss, and those that under
    10 % of the prunings (by weight) make where they could, are cut off. A number for `ccp_alpha` prunes by cost and
    complexity instead.

    Mathematics: formula (1.3).

    Parameters
    ----------
    loss : {"log", "squared", "boosting", "gev"} or Loss, default "log"
        Smooth or not, with a finite entropy at 0 and 1. Several classes: the sum over classes, each against the rest
        (for log loss -Σ p_k ln p_k).
    max_depth : int or None, default None
        The largest number of splits above a leaf; None means no limit.
    min_samples_leaf : float, default 10
        The least weight in a leaf: the number of rows if there are no weights.
    ccp_alpha : float or None, default None
        None averages over all prunings. A number is the price of a leaf in cost-complexity pruning, which keeps the
        smallest subtree that minimises the mean training loss + ccp_alpha · leaves. At 0 only subtrees that do not
        lower the loss at all are removed, and the probabilities of other leaves are too close to 0 and 1.
    shrinkage : float or None, default None
        The weight, in rows, of the parent's probability in the child's: p = (w_k + shrinkage · p_parent) /
        (w + shrinkage) from the root down, w_k the weight of the class and w of the node. None takes that of 0.03, 0.1,
        0.3, 1, 3 and 10 under which the training labels are most probable (1 with a number for `ccp_alpha`): little
        where the classes hardly overlap, much where they overlap. With 0, which needs a number for `ccp_alpha`, the
        probabilities are the shares of the classes in a leaf: 0 and 1 if it has one class only.
    n_bins : int, default 255
        A feature with more distinct values is cut into this many bins of about equal weight, and split between bins
        only. One with fewer can be split between any two values.
    categorical_features : sequence of int, str or bool, or None, default None
        Which columns hold categories, besides those of a data frame's own type for them: positions, names or a
        mask. The categories may be numbers or strings. A node sends any set of them left, not only one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    tree_ : `Tree`, one array entry per node, the root first
    shrinkage_ : float
    probabilities_ : array of shape (n_nodes, n_classes)
        Of every node as if it were a leaf, after averaging and shrinkage.
    feature_importances_ : array of shape (n_features,)
        The share of each feature in what the splits took off the training loss; all 0 if there is no split.
    categories_ : dict, the values seen in training of each categorical column, by its position
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Weight 2 means the row twice, also in `min_samples_leaf` and `shrinkage`; weights that sum to 1 therefore allow no
    split at all. Each weight is rounded to 2⁻⁵² of their sum, which makes all sums exact.

    Missing values (nan) go to the side where the loss is smaller; to the side of larger weight if the node had none in
    training. A category that was not seen in training counts as missing, one not seen in a node goes where missing
    values go.
    Two classes: no set of categories is better than the one found, unless `min_samples_leaf` forbids the best of all;
    then some other allowed set may be better. More classes: the sets tried are cuts in the order of the largest
    class's shares, which may miss the best.

    Averages over prunings: given the probabilities π of its parent, those of a leaf are a priori Dirichlet with the
    parameters shrinkage · π, and a node is split with the prior odds 1/Σ_f √c_f, where c_f is the number of places
    where the feature f could have been cut: the best of many splits looks better than it is. They are smaller where
    many categories are divided, by what the best division of noise gains. Weights of prunings are their posterior
    probabilities given the labels, whatever the loss, which decides where the splits are.

    Of equally good splits the one with the larger gain in squared loss is taken, then the more even one, then the
    first. That matters for `CostWeightedLoss`, whose entropy is straight on either side of c: a split has a gain only
    if the shares of its two children lie on different sides of c. A split without a gain may still lead to others that
    have one; if it does not, pruning removes it.

    References
    ----------
    Buja, Stuetzle & Shen (2005), Loss functions for binary class probability estimation and classification; Breiman,
    Friedman, Olshen & Stone (1984), Classification and Regression Trees; Cestnik (1990), Estimating
    probabilities, ECAI (the m-estimate); Buntine (1992), Learning classification trees, Statistics and Computing 2;
    Willems, Shtarkov & Tjalkens (1995), The context-tree weighting method, IEEE Transactions on Information Theory 41
    (averages over all prunings).

    Examples
    --------
    >>> from properly.datasets import make_hand_vinciotti
    >>> from properly.losses import CostWeightedLoss
    >>> X, y, p = make_hand_vinciotti(2000, random_state=0)
    >>> model = ProperTreeClassifier(CostWeightedLoss(0.3), max_depth=2).fit(X, y)
    >>> print(model.export_text(["x1", "x2"]))
    P(1) = 0.507, weight 2000
    ├─ x2 ≤ 0.144946: P(1) = 0.183, weight 291
    │  ├─ x1 ≤ 0.300511: P(1) = 0.409, weight 80
    │  └─ x1 > 0.300511: P(1) = 0.076, weight 211
    └─ x2 > 0.144946: P(1) = 0.564, weight 1709
    """

    loss: str | Loss = "log"
    _: KW_ONLY
    max_depth: int | None = None
    min_samples_leaf: float = 10
    ccp_alpha: float | None = None
    shrinkage: float | None = None
    n_bins: int = 255
    categorical_features: Sequence[Any] | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree, prune it, and set the probabilities of its nodes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features); nan is a missing value
            A sparse matrix is made dense: what it does not store is 0.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all. A class whose rows all have weight 0 stays among
            ``classes_``, with probability 0.
        """
        self._check_options()
        grown, n_cuts = self._grown(X, y, sample_weight)
        tree = prune(grown, float(self.ccp_alpha or 0.0))
        if self.shrinkage is not None:
            self.shrinkage_ = float(self.shrinkage)
        else:
            self.shrinkage_ = most_probable_shrinkage(tree, n_cuts) if self.ccp_alpha is None else 1.0
        if self.ccp_alpha is None:
            tree = without_improbable_splits(tree, n_cuts, self.shrinkage_)
            self.probabilities_, self._log_probabilities = averaged_over_prunings(tree, n_cuts, self.shrinkage_)
        else:
            self.probabilities_, self._log_probabilities = tree.shrunken(self.shrinkage_)
        self.tree_ = tree
        return self

    def cost_complexity_pruning_path(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Bunch:
        """The values of `ccp_alpha` at which the pruned tree changes, and its mean training loss from there on.

        Returns `ccp_alphas` and `impurities`, as scikit-learn's trees do.
        """
        self._check_options()
        tree, _ = clone(self)._grown(X, y, sample_weight)
        alphas, losses = pruning_path(tree)
        return Bunch(ccp_alphas=alphas, impurities=losses)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, one column per entry of ``classes_``."""
        leaf = self.apply(X)  # before the attribute, which an unfitted tree lacks
        return fn.rows(self.probabilities_, leaf)

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, also where those underflow; -inf where a probability is 0."""
        return self._log_scores(X)

    def _log_scores(self, X: Any) -> Array:
        leaf = self.apply(X)
        return fn.rows(self._log_probabilities, leaf)

    def apply(self, X: Any) -> Integers:
        """The leaf that each row falls into, as an index into the arrays of ``tree_``."""
        check_is_fitted(self)
        return self.tree_.leaf_of(_dense(known_table(self, X, self.categories_, **_FEATURES_AS)))

    def get_depth(self) -> int:
        """The largest number of splits above a leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.tree_.is_leaf))

    @property
    def feature_importances_(self) -> Array:
        check_is_fitted(self)
        inner = ~self.tree_.is_leaf
        gain = np.bincount(self.tree_.feature[inner], np.maximum(self.tree_.gain[inner], 0.0), self.n_features_in_)
        return gain / (gain.sum() or 1.0)

    def export_text(self, feature_names: Sequence[str] | None = None) -> str:
        """The tree as text: every node with its condition, its probability and its training weight.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the features; those seen in `fit` by default.
        """
        return self._labelled(feature_names).text()

    def plot(self, ax: Any = None, feature_names: Sequence[str] | None = None, *, max_depth: int | None = None) -> Any:
        """Draw the tree, or its upper `max_depth` levels of splits; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A figure of its own if not given.
        feature_names : list of str, optional
            Names of the features; those seen in `fit` by default.
        """
        labelled = self._labelled(feature_names)
        if max_depth is not None:
            depth = self.tree_.depth
            tree = self.tree_.cut(depth == checked_count(max_depth, "max_depth", 0))
            labelled = replace(labelled, tree=tree, probabilities=self.probabilities_[depth <= max_depth])
        return draw(labelled, ax)

    def _check_options(self) -> None:
        if self.max_depth is not None:
            checked_count(self.max_depth, "max_depth", 0)
        checked_count(self.n_bins, "n_bins", 2)
        check_interval(self.min_samples_leaf, "min_samples_leaf", 0.0, with_low=True)
        if self.ccp_alpha is not None:
            check_interval(self.ccp_alpha, "ccp_alpha", 0.0, with_low=True)
        if self.shrinkage is not None:
            check_interval(self.shrinkage, "shrinkage", 0.0, with_low=self.ccp_alpha is not None)

    def _grown(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Tree, Array]:
        """The tree before pruning, and at how many places each feature can be cut; records classes and features."""
        impurity = Impurity(get_loss(self.loss))
        require_values(X, "X")
        classes, codes = checked_labels(y)
        values, label, categories = training_table(self, X, codes, self.categorical_features, **_FEATURES_AS)
        values, label = _dense(values), label.astype(np.intp)
        weight = checked_weight(sample_weight, len(values))
        class_weight = checked_class_weights(np.bincount(label, weight, len(classes)).astype(np.float64), classes)
        if weight is not None:
            weight = self._exact(weight, label, classes, class_weight)
            kept = weight > 0.0
            values, label, weight = values[kept], label[kept], weight[kept]
        self.classes_ = classes
        values, self.categories_ = seen_categories(values, categories)
        self._has_missing = np.asarray(np.isnan(values).any(axis=0))
        bins = [
            bin_categories(column, len(self.categories_[position]))
            if position in self.categories_
            else bin_numbers(column, weight, int(self.n_bins))
            for position, column in enumerate(values.T)
        ]
        max_depth = np.inf if self.max_depth is None else int(self.max_depth)
        n_cuts = np.array([len(each.low) for each in bins]) - 1.0 + self._has_missing
        tree = grow(bins, label, weight, len(classes), impurity, max_depth, float(self.min_samples_leaf))
        return tree, n_cuts

    def _exact(self, weight: Array, label: Integers, classes: NDArray[Any], class_weight: Array) -> Array:
        """The weights, exact to add, after a look at what that leaves."""
        total = float(class_weight.sum())
        weight = exact_weights(weight)
        lost = np.flatnonzero((np.bincount(label, weight, len(classes)) == 0.0) & (class_weight > 0.0))
        if len(lost):
            raise ValueError(
                f"the rows of class {classes.tolist()[lost[0]]!r} have a weight of {class_weight[lost[0]]:.3g} in all, "
                f"too little to count beside {total:.3g}: weights are rounded to 2⁻⁵² of their sum. Make the "
                "weights less unequal."
            )
        if total < 2.0 * self.min_samples_leaf <= np.count_nonzero(weight):
            warnings.warn(
                f"sample_weight sums to {total:.6g}, too little for two leaves of min_samples_leaf="
                f"{self.min_samples_leaf}: no split is possible. Scale the weights so that they count rows.",
                UserWarning,
                stacklevel=4,
            )
        return weight

    def _labelled(self, feature_names: Sequence[str] | None) -> LabelledTree:
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        if len(feature_names) != self.n_features_in_:
            raise ValueError(f"feature_names must have {self.n_features_in_} entries, got {len(feature_names)}.")
        names = [str(name) for name in feature_names]
        return LabelledTree(self.tree_, self.probabilities_, names, self.classes_, self.categories_, self._has_missing)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X
