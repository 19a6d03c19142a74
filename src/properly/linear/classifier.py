"""Linear models for any proper loss and link."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from properly.engines import Engine, MemoryEngine
from properly.linear.estimator import LinearEstimator, dense
from properly.linear.fitting import Data, Fit, Penalty, certain_fit
from properly.links import Link, Logit
from properly.losses import Composite, LogLoss, Loss, SoftmaxComposite, SquaredLoss, get_loss
from properly.losses.softmax import AnyComposite
from properly.numeric.arrays import Array, as_float, columns_at, constant, to_numpy
from properly.numeric.limits import FARTHEST

_SQUARED_LOGIT = Composite(SquaredLoss(), Logit())  # the softmax generalises both links of the squared loss


@dataclass(eq=False, repr=False, kw_only=True)
class LinearClassifier(LinearEstimator):
    """A linear classifier for one composite and penalty; a subclass says which composite."""

    C: float = 1.0
    l1_ratio: float = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    warm_start: bool = False

    @abstractmethod
    def _composite(self) -> Composite:
        """The loss and the link, for two classes or one against the rest."""

    def _check_options(self) -> None:
        Penalty.of(self.C, self.l1_ratio)
        self._composite()

    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        penalty, composite = Penalty.of(self.C, self.l1_ratio), self._composite()
        if self.class_weight is not None:
            factor = self._class_factor(class_weight, classes)
            engine, class_weight = engine.reweighted(factor), class_weight * factor
            if np.count_nonzero(class_weight) == 1:
                return self._certain(engine, classes, class_weight)
        seen, softmax = np.flatnonzero(class_weight), _by_softmax(composite, len(classes))
        if softmax and len(seen) < len(classes):
            engine, class_weight = _rows_of(seen, engine), class_weight[seen]
        data, previous = self._described(engine, class_weight), self._previous(classes)
        fits = []
        for part, positive, rows in _parts(composite, len(classes), seen):
            if not softmax and positive not in seen:
                fits.append(certain_fit(-FARTHEST, self.n_features_in_))
                continue
            start = None if previous is None else (previous[0][rows], previous[1][rows])
            others = partial(self._further_starts, positive=positive)
            fits.append(self._fit_one(data, part, penalty, positive=positive, start=start, further_starts=others))
        if not softmax:
            return fits, composite.link
        (fit,) = fits  # only differences between classes matter
        coef, intercept = np.zeros((len(classes), self.n_features_in_)), np.full(len(classes), -FARTHEST)
        coef[seen] = fit.coef if any(penalty) else fit.coef - fit.coef.mean(axis=0)
        intercept[seen] = fit.intercept - fit.intercept.mean()
        return [fit._replace(coef=coef, intercept=intercept)], None

    def _further_starts(self, data: Data, penalty: Penalty, positive: int) -> Sequence[tuple[Array, Array]]:
        """Further starts (coefficients and intercepts), for a loss that may have several optima."""
        return ()

    def _previous(self, classes: NDArray[Any]) -> tuple[Array, Array] | None:
        """The coefficients to start from, if the last fit had the same classes and number of features."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        if not np.array_equal(self.classes_, classes) or self.coef_.shape[1] != self.n_features_in_:
            return None
        if np.abs(self.intercept_).max() >= FARTHEST:  # of a class that had no weight
            return None
        return dense(self.coef_), self.intercept_

    def _class_factor(self, total: Array, classes: NDArray[Any]) -> Array:
        """The factor on the weights of every class, whose weights add up to `total`."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            seen = total > 0.0
            return np.where(seen, total.sum() / (np.count_nonzero(seen) * np.where(seen, total, 1.0)), 1.0)
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(f'class_weight must be a dict, "balanced" or None, got {self.class_weight!r}.')
        unknown = [label for label in self.class_weight if label not in classes]
        if unknown:
            message = f"class_weight names {unknown[0]!r}, which is not among the classes {classes.tolist()}"
            if len(unknown) == len(self.class_weight):
                raise ValueError(f"{message}, and none of them.")
            # A fold of a cross-validation may lack a rare class.
            warnings.warn(f"{message}; its weight is not used.", UserWarning, stacklevel=4)
        factor = as_float([self.class_weight.get(label, 1.0) for label in classes.tolist()], "class_weight")
        if not (np.isfinite(factor).all() and (factor >= 0.0).all() and (factor * total > 0.0).any()):
            raise ValueError(
                f"class_weight must be finite and not negative, nor 0 for every class, got {self.class_weight!r}."
            )
        return factor


def _by_softmax(composite: Composite, n_classes: int) -> bool:
    """Whether several classes are fitted together: log and squared loss with their usual links."""
    return n_classes > 2 and composite in (Composite(LogLoss()), Composite(SquaredLoss()), _SQUARED_LOGIT)


def _parts(composite: Composite, n_classes: int, seen: NDArray[np.intp]) -> list[tuple[AnyComposite, int, Any]]:
    """What is fitted: (composite, the class that counts as 1, the rows of coef_)."""
    if _by_softmax(composite, n_classes):
        return [(SoftmaxComposite(composite.loss), 0, seen)]
    if n_classes == 2:
        return [(composite, 1, slice(None))]
    return [(composite, k, slice(k, k + 1)) for k in range(n_classes)]


def _rows_of(seen: NDArray[np.intp], engine: Engine) -> MemoryEngine:
    """The rows of the classes that have a weight, numbered anew."""
    if not isinstance(engine, MemoryEngine):
        raise ValueError("every row of some class has weight 0; leave these rows out of the data, or weight them.")
    rows = engine.rows(np.flatnonzero(np.isin(to_numpy(engine.y), seen)))
    offset = None if rows.offset is None else columns_at(rows.offset, seen)
    return type(engine)(rows.X, constant(np.searchsorted(seen, to_numpy(rows.y)), rows.X), rows.weight, offset)


@dataclass(eq=False, repr=False)
class ProperLinearClassifier(LinearClassifier):
    """Class probabilities from a linear score, for any proper loss and link.

    Minimises C · Σ_i weight_i · loss(y_i, x_i·w + b) + (1 - l1_ratio)/2 · ‖w‖² + l1_ratio · ‖w‖₁, with the intercept b
    free. With log loss the coefficients are those of scikit-learn's `LogisticRegression`.

    Parameters
    ----------
    loss : {"log", "squared", "boosting", "gev"} or Loss, default "log"
        What is minimised; see `properly.losses`.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit", "gev"} or Link or None, default None
        The map between score and probability; None means the canonical link of the loss, which makes the
        problem convex.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn; ``np.inf`` means none.
    l1_ratio : float, default 0.0
        0 is ridge, 1 is the lasso, between them the elastic net.
    fit_intercept : bool, default True
    class_weight : dict, "balanced" or None, default None
        Factors on the weights of the classes; a class of factor 0 has probability 0. The probabilities then refer to
        the weighted class proportions: correct them afterwards (`properly.prevalence`).
    tol : float, default 1e-8
        The fit stops when the Newton decrement √(gᵀH⁻¹g) is at most tol · √L, L the loss of the best constant forecast.
        The loss can then fall by about tol²/2 of L at most, whatever the scale of features, weights or loss.
        (If rounding prevents any further step before that, a hundred times this is accepted.) The default gives
        coefficients that are right to five decimals and usually far more.
    max_iter : int, default 100
    warm_start : bool, default False
        Start the next fit from the coefficients of the last one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    link_ : the link between score and probability; None stands for the softmax
    n_iter_ : array of int, iterations of each problem solved
    solutions_ : list of `properly.solvers.Solution`, how each problem ended
    n_passes_ : int, how often the rows were read; only if they are not in memory
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Three and more classes: log and squared loss with their usual links go through the softmax (for squared loss
    ½ Σ_k (p_k - y_k)², which for two classes would be twice the binary loss); all others are fitted one versus rest,
    and the probabilities are divided by their sum (they are all equal if every one of them is 0).

    A loss with another link than its own (tailored Beta or squared loss with the logit) is not convex, and few rows or
    offsets far apart may give it several optima. The best of a few starts is kept, and a warning is given where starts
    led to different optima; that a better one exists is not always noticed, also without offsets
    (benchmarks/results/several_optima.md counts how often).

    `X` may also be a `properly.engines.Stream` of files or blocks, a dask array or data frame, or a
    `properly.engines.Spark` frame: the rows are then visited where they are, in a few passes.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.losses import GEVLoss
    >>> X, y, p = make_rare_events(2000, 3, rate=0.05, random_state=0)
    >>> model = ProperLinearClassifier(loss=GEVLoss(0.2)).fit(X, y)
    >>> model.predict_proba(X).shape
    (2000, 2)
    """

    loss: str | Loss = "log"
    link: str | Link | None = None

    def _composite(self) -> Composite:
        loss = get_loss(self.loss)
        # A loss without a canonical link is refused below.
        composite = Composite(loss, Logit() if self.link is None and not loss.smooth else self.link)
        composite.require_smooth()
        return composite
