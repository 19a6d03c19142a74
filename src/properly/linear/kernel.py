"""Kernel machines for any proper loss and link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import Tags, assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from properly.classifier import LinkScoreClassifier, chosen
from properly.inputs.features import checked_features
from properly.inputs.finite import columns_named
from properly.inputs.labels import checked_labels
from properly.inputs.options import check_finite, check_interval, checked_count, choose
from properly.linear.classifier import ProperLinearClassifier
from properly.links import Link
from properly.losses import Loss
from properly.numeric.probabilities import Array

MOST_ROWS = 5000  # with more, the kernel is that of a sample of them
_EXACT = 1e-10  # of the largest diagonal entry: what the factor of the kernel matrix may miss


@dataclass(eq=False, repr=False)
class ProperKernelClassifier(LinkScoreClassifier):
    """Class probabilities from a score in the space of a kernel, for any proper loss and link.

    Minimises C · Σ_i weight_i · loss(y_i, f(x_i) + b) + ½‖f‖² over functions f(x) = Σ_j α_j k(x, x_j), with ‖f‖² = αᵀKα
    and the intercept b free: convex for a loss with its canonical link, as GEV-canonical regression with a kernel. The
    kernel matrix is factored, K = LLᵀ, and the linear problem with the features L is solved; nothing is approximated up
    to 5,000 rows (K to 1e-10 of its diagonal). With more, f is a combination of the kernels of a random sample of
    `n_components` rows (Nystroem).

    Mathematics: formula (6.7).

    Parameters
    ----------
    kernel : str or callable, default "rbf"
        A kernel of `sklearn.metrics.pairwise.pairwise_kernels`, a function k(x, z) of two rows, or "precomputed": X is
        then the kernel matrix, of shape (n_samples, n_training_rows). One that is not positive semi-definite
        ("sigmoid", or distances) is an error.
    loss, link :
        As in `ProperLinearClassifier`; None is the canonical link.
    gamma, degree, coef0 : float
        Of the kernels that have them; gamma None means 1/n_features. Scale the features first: a kernel measures
        distances.
    C : float, default 1.0
        Inverse strength of the penalty ½‖f‖².
    n_components : int, default 1000
        The size of the sample where there are more than 5,000 rows.
    random_state : int, RandomState or None, default None
        Of the sample.
    class_weight, fit_intercept, tol, max_iter :
        As in `ProperLinearClassifier`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    X_fit_ : array of shape (n_kept, n_features)
        The rows whose kernels make up f; fewer than there are where the kernel matrix has a lower rank. Of a
        precomputed kernel it is None.
    kept_ : array of shape (n_kept,)
        Their numbers among the training rows.
    dual_coef_ : array of shape (n_scores, n_kept)
        Their coefficients α.
    intercept_, link_, solutions_, n_iter_ : as in `ProperLinearClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Time grows with the cube of the rows kept, memory with their square.

    References
    ----------
    Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), section 3.2; Williams & Seeger (2001), Using the Nyström
    method to speed up kernel machines, NIPS 13.

    Examples
    --------
    >>> from properly.losses import GEVLoss
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-2, 2, size=(400, 2))
    >>> y = random.random(400) < np.where(np.hypot(*X.T) < 1.0, 0.6, 0.05)  # a disc
    >>> model = ProperKernelClassifier(loss=GEVLoss(0.2)).fit(X, y)
    >>> model.predict_proba([[0.0, 0.0], [1.8, 1.8]])[:, 1].round(1)
    array([0.5, 0.1])
    """

    kernel: str | Callable[..., Any] = "rbf"
    loss: str | Loss = "log"
    link: str | Link | None = None
    _: KW_ONLY
    gamma: float | None = None
    degree: float = 3.0
    coef0: float = 1.0
    C: float = 1.0
    n_components: int = 1000
    random_state: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 100

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or scipy.sparse matrix of shape (n_samples, n_features), or the kernel matrix of the rows
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        checked_count(self.n_components, "n_components", 1)
        if self.gamma is not None:
            check_interval(self.gamma, "gamma", 0.0)
        check_interval(self.degree, "degree", 0.0)
        check_finite(self.coef0, "coef0")
        X = self._read(X, reset=True)
        checked_labels(y, X.shape[0])  # before anything is computed
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix with kernel='precomputed', got shape {X.shape}.")
        rows = self._sampled(X.shape[0])
        between = self._kernel(X, X[rows], rows)
        kept, factor = _factored(between if len(rows) == X.shape[0] else between[rows], self.kernel)
        # A row's features are L⁻¹ of its kernels with the rows kept, which span those of all rows.
        features = linalg.solve_triangular(factor, between[:, kept].T, lower=True).T
        linear = ProperLinearClassifier(
            self.loss, self.link, C=self.C, class_weight=self.class_weight, fit_intercept=self.fit_intercept,
            tol=self.tol, max_iter=self.max_iter,
        ).fit(features, y, sample_weight)  # fmt: skip
        self.kept_ = rows[kept]
        self.X_fit_ = None if self.kernel == "precomputed" else X[self.kept_]
        self.dual_coef_ = linalg.solve_triangular(factor, linear.coef_.T, lower=True, trans="T").T
        self.classes_, self.link_, self.intercept_ = linear.classes_, linear.link_, linear.intercept_
        self.solutions_, self.n_iter_ = linear.solutions_, linear.n_iter_
        return self

    def decision_function(self, X: Any) -> Array:
        """The score minus the score of p = 1/2, so that a positive value means the second class."""
        return self._decisions(self._scores(X))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, one column per entry of ``classes_``."""
        return self._probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the class probabilities, finite also where a probability is too small for float64."""
        return self._log_probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return chosen(self.decision_function(X), self.classes_)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._kernel(self._read(X), self.X_fit_, self.kept_) @ self.dual_coef_.T + self.intercept_

    def _read(self, given: Any, *, reset: bool = False) -> Any:
        X = checked_features(self, given, reset=reset)
        if reset:
            with columns_named(given):
                assert_all_finite(X, input_name="X")  # `checked_features` leaves that to the fit
        X = X.astype(np.float64, copy=False)
        if sparse.issparse(X):
            return X.toarray() if self.kernel == "precomputed" else X.tocsr()
        return X

    def _sampled(self, n_rows: int) -> NDArray[np.intp]:
        if n_rows <= MOST_ROWS:
            return np.arange(n_rows)
        random = check_random_state(self.random_state)
        return np.sort(random.choice(n_rows, min(self.n_components, n_rows), replace=False))

    def _kernel(self, X: Any, others: Any, columns: NDArray[np.intp]) -> Array:
        if self.kernel == "precomputed":
            return X[:, columns]
        if not callable(self.kernel):
            choose(self.kernel, PAIRWISE_KERNEL_FUNCTIONS, "kernel, if not a function or 'precomputed',")
        options = {} if callable(self.kernel) else {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(X, others, metric=self.kernel, filter_params=True, **options))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _factored(K: Array, kernel: Any) -> tuple[NDArray[np.intp], Array]:
    """The rows whose kernels span all others, and the lower triangular L with K = LLᵀ among them.

    Rows are taken in the order of what those before leave of their diagonal, until nothing is left. What is left of a
    positive semi-definite matrix is one, with no entry larger than its diagonal: that is the test.
    """
    name = f"kernel={kernel!r}"
    scale = float(np.abs(np.diag(K)).max())
    if not np.isfinite(K).all():
        raise ValueError(f"{name} has values that are not finite; scale the features, or use a smaller degree.")
    if np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
        raise ValueError(f"{name} is not symmetric: k(x, z) must be k(z, x).")
    least = float(np.diag(K).min())
    if least < -_EXACT * scale:
        raise ValueError(f"{name} is not positive semi-definite: k(x, x) is {least:.3g} in row {np.diag(K).argmin()}.")
    if scale == 0.0:
        what = "k(x, x) is 0 for every row, but k(x, z) is not" if K.any() else "it is 0 for all rows"
        raise ValueError(f"{name} is not a positive semi-definite kernel with features: {what}; use another one.")
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=_EXACT * scale, lower=1)
    order = pivots.astype(np.intp) - 1
    lower = np.tril(factor)[:, :rank]
    left = np.abs(K[np.ix_(order, order)] - lower @ lower.T).max()
    if left > 1e-6 * scale:
        raise ValueError(
            f"{name} is not positive semi-definite: a part of it of the size {left / scale:.2g} of its diagonal cannot "
            "be a product of features. Use 'rbf', 'laplacian', 'polynomial' or 'linear', or add to its diagonal."
        )
    return order[:rank], lower[:rank]
