"""The class proportions of unlabelled data, from a classifier's probabilities for it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from properly.forecasts import counted_forecast
from properly.forecasts.counting import is_elsewhere
from properly.inputs.optional import require
from properly.inputs.options import check_interval, checked_count, choose
from properly.numeric.probabilities import Array
from properly.prevalence.label_shift import METHODS, SINGULAR, checked_validation
from properly.prevalence.prior import as_columns, as_prior

_WEAK = 1e3  # beyond, small errors of the confusion matrix become large ones of the estimate
_WIDE = 0.5  # an interval that tells little
_CONDITION = "the condition number of the confusion matrix is"


@dataclass(frozen=True)
class PriorEstimate:
    """What `estimate_prior` found.

    Attributes
    ----------
    classes : array of shape (K,)
        The labels of the validation data, or 0, 1, …
    prior : array of shape (K,)
        The estimated class proportions; they add up to 1.
    interval : array of shape (K, 2), or None without bootstrap
        The confidence interval of each proportion.
    condition : float
        The condition number of the confusion matrix, 1 for a perfect classifier, infinite for predictions that do not
        depend on the class: errors of the predictions may become that much larger in the prior.
    """

    classes: NDArray[Any]
    prior: Array
    interval: Array | None
    condition: float

    def frame(self) -> Any:
        """A pandas data frame with a row for each class: its estimated share, and the interval's ends."""
        pd = require("pandas", "frames")
        columns = {"prior": self.prior}
        if self.interval is not None:
            columns |= {"low": self.interval[:, 0], "high": self.interval[:, 1]}
        return pd.DataFrame(columns, index=pd.Index(self.classes, name="class"))


def estimate_prior(
    p: ArrayLike,
    train_prior: ArrayLike,
    p_validation: ArrayLike | None = None,
    y_validation: ArrayLike | None = None,
    *,
    method: str = "em",
    n_bootstrap: int | None = 200,
    level: float = 0.95,
    random_state: Any = None,
) -> PriorEstimate:
    """The class proportions of unlabelled target data, from a classifier trained at other proportions.

    It assumes *label shift*: the rows of a class have the same distribution in training and target data, only the
    proportions of the classes differ. The mean of p does not estimate them: for two classes it lies between the
    training prior and the true one.

    Mathematics: formula (4.8).

    Parameters
    ----------
    p : array of shape (n,), the probability of the second of two classes, or (n, K)
        The classifier's probabilities for the target rows, at the training prior: not corrected. A `Stream`, a
        `Spark` frame or a dask array, of two classes, is counted by probability (`properly.score_counts`).
    train_prior : float, the share of the second of two classes, or array of shape (K,)
        The class proportions that p is for; after class weights or sampling see `prior_after_weighting` and
        `prior_after_sampling`. It is also returned if the data do not determine the proportions.
    p_validation, y_validation : array like p, array of labels; for "bbse-hard" and "bbse-soft"
        Probabilities and labels of rows that the classifier was not trained on. They may have any proportions, but
        all K classes, sorted in the order of p's columns.
    method : {"em", "bbse-hard", "bbse-soft"}, default "em"
        - "em": maximum likelihood, Σ_i ln Σ_k π_k p_ik/τ_k, where expectation maximisation ends (Saerens et al. 2002).
          The most precise if p is calibrated, and biased if it is not. Needs no validation data.
        - "bbse-hard": solves C π = μ, with C_jk the share of the validation rows of class k that are predicted to be
          in class j, and μ_j that of the target rows (Lipton et al. 2018). Right for every classifier, calibrated or
          not, but less precise, and not possible if a class is never predicted.
        - "bbse-soft": the same with mean probabilities instead of shares of predictions.

        Where the solution of the equations is no distribution, the nearest one is taken (in squared distance).
    n_bootstrap : int, default 200
        How often target rows, and validation rows within their class, are drawn again for the interval: at least
        2 times. 0 or None: no interval.
    level : float, default 0.95
        The confidence level of the percentile interval. Where a class may be absent (the interval reaches 0), its upper
        end is at least the largest share that a likelihood ratio test does not reject, of normally distributed means
        for the "bbse" methods, and likewise at 1.
        The interval covers the error of sampling, not that of an assumption that fails or, for "em", of p that is not
        calibrated.
    random_state : int, RandomState or None

    Returns
    -------
    PriorEstimate
        A warning tells if the data hardly determine the proportions. If they do not at all (condition above 1e12: p is
        the same for all rows, a class is never predicted, two classes look the same) the prior is `train_prior` and the
        interval [0, 1].

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities: a
    simple procedure, Neural Computation 14. Lipton, Wang & Smola (2018), Detecting and correcting for label shift with
    black box predictors, ICML. Alexandari, Kundaje & Shrikumar (2020), Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation, ICML.

    Examples
    --------
    Trained where 30 % are ill, used where 5 % are:

    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> random = np.random.default_rng(0)
    >>> ill = random.random(5000) < 0.05
    >>> x = random.normal(2.0 * ill)
    >>> p = expit(2.0 * x - 2.0 + logit(0.3))
    >>> print(round(p.mean(), 3))
    0.173
    >>> result = estimate_prior(p, train_prior=0.3, random_state=0)
    >>> result.prior
    array([0.95, 0.05])
    """
    count = None
    if is_elsewhere(p):
        found = counted_forecast(p, None, None, labelled=False)
        p, count = found.score, found.rows
    columns = as_columns(p, "p")
    train = as_prior(train_prior, columns.shape[1], "train_prior")
    if n_bootstrap is not None and n_bootstrap != 0:
        checked_count(n_bootstrap, "n_bootstrap, if not 0,", 2)
    check_interval(level, "level", 0.0, 1.0)
    build = choose(method, METHODS, "method")
    validation = checked_validation(p_validation, y_validation, columns.shape[1])
    classes, by_class = (np.arange(columns.shape[1]), None) if validation is None else validation
    sample = build(columns, np.ones(len(columns)) if count is None else count, train, by_class)
    condition = float(np.linalg.cond(sample.confusion))
    if not condition <= SINGULAR:  # nan as well
        _warn(f"do not determine the class proportions: {_CONDITION} {condition:.3g}. The prior is train_prior", method)
        return PriorEstimate(classes, train, np.tile([0.0, 1.0], (len(train), 1)) if n_bootstrap else None, np.inf)
    interval = None
    if n_bootstrap:
        interval = sample.interval(int(n_bootstrap), check_random_state(random_state), float(level))
        low, high = interval[np.argmax(interval[:, 1] - interval[:, 0])]
    if condition > _WEAK:
        _warn(f"hardly determine the class proportions: {_CONDITION} {condition:.3g}", method)
    elif interval is not None and high - low > _WIDE:
        _warn(f"hardly determine the class proportions: the widest interval is [{low:.3g}, {high:.3g}]", method)
    return PriorEstimate(classes, sample.prior, interval, condition)


def _warn(what: str, method: str) -> None:
    other = ', use method="bbse-soft"' if method == "bbse-hard" else ""
    warnings.warn(
        f"the data {what}. Get more rows{other}, merge classes that look alike, or use a classifier that separates "
        "them better.",
        UserWarning,
        stacklevel=3,
    )
