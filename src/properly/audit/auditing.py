"""An audit: are the probabilities right, and what is gained by recalibrating them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.audit.confusion import Confusion
from properly.audit.recalibration import Recalibrated, divide, recalibrate, recalibrate_several
from properly.audit.results import LEVEL, SCORES, Against, Audit, Decision, Score, ThresholdTable, paired
from properly.audit.sizes import detectable_of, ratio_of, sizes_of
from properly.diagnostics.groups import GroupCalibration, groups_of
from properly.diagnostics.murphy import murphy_of
from properly.diagnostics.reliability import multiclass_reliability_of, reliability_of
from properly.forecasts import audited_forecast
from properly.forecasts.counting import MOST_GROUPS, TooManyGroups, is_elsewhere
from properly.forecasts.several import CountedForecast
from properly.inputs.forecast import Forecast, Groups, read_clusters, read_forecast, read_groups, read_probabilities
from properly.inputs.frames import in_microseconds
from properly.inputs.labels import positive_last
from properly.inputs.misuse import Misuse
from properly.inputs.options import check_interval
from properly.losses import LogLoss
from properly.metrics.calibration_error import smooth_error_of
from properly.metrics.calibration_tests import calibration_test_of
from properly.metrics.decisions import class_costs, least_cost
from properly.metrics.ranking import auc_of
from properly.metrics.scores import losses_of
from properly.numeric.probabilities import Array

TOLERANCE = 0.02  # the relative change of the mean and of the log loss that does not matter
DETECT = 0.3  # the shift in log-odds that must be detectable for probabilities to be called right
_MOST_POINTS = 20_000  # of a reliability diagram, which is drawn some hundred pixels wide; its curve stays exact


def audit(
    y: ArrayLike,
    p: ArrayLike,
    *,
    group: ArrayLike | None = None,
    group_names: Sequence[str] | None = None,
    costs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    calibrated: ArrayLike | None = None,
    against: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    detect: float = DETECT,
    classes: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Audit:
    """Judge probabilities by the true labels.

    Tests of whether they are right, how large the fault is, and what could have been missed, which
    `properly.audit.verdict` puts into a word. Proper scores with their parts, reliability, what recalibration would
    gain on held-out rows, what decisions at every threshold cost, and calibration by group. The probabilities must be
    for rows that their model was not trained on.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two or more classes.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more; Stream, Spark, dask array
        Probabilities of the positive one of two classes, which the labels must tell: 0/1, false/true, no/yes or -1/1
        (or else `classes`); or of every class, in sorted order. A `Stream` or `Spark` frame brings
        labels, weights and groups with it (y is None); dask arrays come with dask arrays. Such rows are counted by
        probability in one pass: see Notes.
    group : array of shape (n,), optional
        Judge the calibration of every group as well; at most 1,000 groups.
    group_names : sequence of str, optional
        The names of the groups, if `group` holds their positions, whole numbers from 0.
    costs : (float, float) or str, optional
        The costs of a false positive and of a false negative, as in (1, 20) or "1:20"; for K > 2 classes a matrix
        (K, K) with cost[true, decision].
    sample_weight : array of shape (n,), optional
        Whole weights are numbers of rows: 2 is the row twice, 0 no row. Others, such as those that undo sampling, may
        have any scale: they count as the effective number of rows, and all intervals and tests allow for them.
    cluster : array of shape (n,), optional
        Rows of the same value (of a customer, of a day) need not be independent; all standard errors know it. Every
        row must have one.
    calibrated : array of the shape of p, optional
        Recalibrated probabilities of the same rows to compare with; by default those of `AutoCalibration` in
        cross-fitting.
    against : array of shape (n,) or (n, 2), optional
        Other probabilities of the same rows, judged as well and compared with p; for two classes.
    tolerance : float, default 0.02
        A fault that is real, but changes the mean and the log loss by no more than this share, is called nearly right.
    detect : float, default 0.3
        The shift in log-odds that the tests must find with a probability of 80 % for the verdict "right".
    classes : array of K labels, optional
        The labels in the order of the columns of p (negative, positive for one column), if y lacks some or its labels
        do not tell which of them is positive.
    class_names : sequence of str, optional
        Names of the classes for messages and pages; their labels by default.
    random_state : int, default 0
        Seed of the folds, the bands and the intervals.

    Notes
    -----
    Rows that are not in memory may be any number. Up to 2²⁰ distinct probabilities (times classes and groups) nothing
    is lost; beyond, probabilities that agree in their leading binary digits count as their mean. `cell_width` of the
    result says how far they may differ: some 10⁻⁵ of their size, more with groups, which share the room. The mean
    probability of all rows, and of every group, stays exact (`properly.score_counts`). Of more than two classes, each
    is counted against the rest, and the most probable one; the test of the whole vector and what recalibration would
    gain come from 131,072 rows at most, drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> p = random.random(2000)
    >>> y = random.random(2000) < p**2
    >>> result = audit(y, p)
    >>> print(f"mean probability {result.means[1]:.2f}, observed share {result.rates[1]:.2f}")
    mean probability 0.50, observed share 0.33
    >>> result.test.p_value < 0.001, result.scores["log loss"].gain.low > 0.0
    (True, True)
    """
    check_interval(tolerance, "tolerance", 0.0, with_low=True)
    check_interval(detect, "detect", 0.0)
    if is_elsewhere(p):
        for name, given in (("cluster", cluster), ("calibrated", calibrated), ("against", against)):
            if given is not None:
                raise ValueError(f"{name} needs all rows in memory, but p is a {type(p).__name__}; leave it out.")
        decide = None if costs is None else partial(least_cost, costs)
        forecast, group, width = audited_forecast(p, y, sample_weight, group, classes, decide)
    else:
        if classes is None and y is not None and np.ndim(p) == 1:
            classes = positive_last(y)
        forecast, width = read_forecast(y, p, sample_weight, classes), 0.0
    return audit_of(
        forecast,
        groups=None if group is None else _groups(group, group_names, forecast),
        costs=None if costs is None else class_costs(costs, len(forecast.class_weight)),
        cluster=None if cluster is None else read_clusters(cluster, forecast),
        calibrated=None if calibrated is None else _same_rows(calibrated, forecast, "calibrated"),
        against=None if against is None else _same_rows(against, forecast, "against"),
        tolerance=tolerance,
        detect=detect,
        class_names=class_names,
        random_state=random_state,
        cell_width=width,
    )


def _same_rows(p: ArrayLike, forecast: Forecast, name: str) -> Array:
    """Other probabilities of the rows of a forecast."""
    other = read_probabilities(p, name)[0]
    other = forecast.kept(other) if len(other) == forecast.n_given else other
    if other.shape != forecast.p.shape:
        raise ValueError(f"{name} must have the rows and classes of p, {forecast.p.shape}, got {other.shape}.")
    return other


def _groups(group: ArrayLike, names: Sequence[str] | None, forecast: Forecast) -> Groups:
    found, codes = read_groups(group, forecast.most_probable() if isinstance(forecast, CountedForecast) else forecast)
    return (
        Groups(found, codes) if names is None else Groups(tuple(names), np.array([int(each) for each in found])[codes])
    )


def audit_of(
    forecast: Forecast,
    *,
    groups: Groups | None = None,
    costs: Array | None = None,
    cluster: NDArray[Any] | None = None,
    calibrated: Array | None = None,
    against: Array | None = None,
    against_name: str = "other",
    tolerance: float = TOLERANCE,
    detect: float = DETECT,
    class_names: Sequence[str] | None = None,
    random_state: int = 0,
    cell_width: float = 0.0,
) -> Audit:
    """`audit` of a checked forecast, checked probabilities of its rows, and costs from `class_costs`."""
    known = in_microseconds(forecast.classes).tolist()
    names = tuple(str(label) for label in (known if class_names is None else class_names))
    forecast = forecast.in_rows()
    _check(forecast, names, groups, against, cluster)
    common: dict[str, Any] = {"groups": groups, "costs": costs, "cluster": cluster}
    common |= {"tolerance": tolerance, "detect": detect, "class_names": names, "random_state": random_state}
    other = None
    if against is not None:
        other = audit_of(forecast.with_p(against), **common)
    n_rows, surprises, folds = forecast.n_rows, forecast.surprises, None
    if forecast.binary:
        divided = divide(forecast, random_state) if calibrated is None else None
        place: NDArray[np.intp] | slice = slice(None)
        if divided is not None:
            forecast, place, folds = divided
        order = np.argsort(forecast.p, kind="stable")  # sorting what is sorted already takes no time below
        forecast, folds = forecast.take(order), None if folds is None else folds[order]
        place = order if isinstance(place, slice) else place[order]
        del order
        groups = None if groups is None else Groups(groups.names, groups.codes[place])
        cluster, calibrated, against = (
            None if each is None else each[place] for each in (cluster, calibrated, against)
        )
        del place
    by_group = None if groups is None else _by_group(forecast, groups, cluster)
    del groups  # arrays of many rows are held no longer than they are needed
    question = forecast if forecast.binary else forecast.most_probable()
    if calibrated is not None:
        recalibrated: Recalibrated | None = Recalibrated(forecast, forecast.with_p(calibrated))
    elif forecast.binary:
        recalibrated = recalibrate(forecast, folds)
    else:
        recalibrated = recalibrate_several(forecast, random_state)
    after = None if recalibrated is None else recalibrated.after
    level = LEVEL if by_group is None else 0.5 * LEVEL
    found = Audit(
        classes=names,
        n_rows=n_rows,
        total=forecast.total,
        rates=forecast.rates,
        means=forecast.means,
        hit_rate=float(question.rates[1]),
        confidence=question.mean(question.p),
        surprises=surprises,
        test=calibration_test_of(forecast, cluster, names),
        sizes=sizes_of(question, cluster),
        detectable=detectable_of(question, detect, level if forecast.binary else level / 3.0, cluster),
        tolerance=tolerance,
        scores={name: Score.of(name, forecast, recalibrated, random_state, cluster) for name in SCORES},
        smooth_error=smooth_error_of(question),
        n_recalibrated=0 if recalibrated is None else recalibrated.n_drawn or n_rows,
        n_folds=None if recalibrated is None else recalibrated.n_folds,
        groups=by_group,
        cell_width=cell_width,
    )
    if not forecast.binary:
        diagrams = multiclass_reliability_of(forecast, random_state=random_state, cluster=cluster)
        ratios = tuple(ratio_of(each, cluster) for each in forecast.against_rest())
        confusion = Confusion.of(forecast, costs)
        return replace(found, multiclass_reliability=diagrams, confusion=confusion, class_ratios=ratios)
    found = _with_binary_parts(found, forecast, after, costs, random_state, cluster)
    if against is None or other is None:
        return found
    return replace(found, against=_against(against_name, other, forecast, against, cluster, random_state))


def _against(
    name: str, other: Audit, forecast: Forecast, p: Array, cluster: NDArray[Any] | None, random_state: int
) -> Against:
    """The scores of a forecast less those of other probabilities of its rows, and the Murphy curves of both."""
    two, differences = forecast.with_p(p), {}
    for score, (loss, unit) in SCORES.items():
        with np.errstate(invalid="ignore"):
            difference = unit * (losses_of(forecast, loss) - losses_of(two, loss))
        finite = bool(np.isfinite(difference).all())
        differences[score] = paired(difference, forecast, cluster, random_state) if finite else None
    return Against(name, other, differences, murphy_of({"audited": forecast, name: two}))


def _with_binary_parts(
    found: Audit,
    forecast: Forecast,
    after: Forecast | None,
    costs: Array | None,
    random_state: int,
    cluster: NDArray[Any] | None,
) -> Audit:
    """The audit with what there is for two classes only; the rows are sorted by p."""
    drawn = partial(reliability_of, random_state=random_state, max_points=_MOST_POINTS, cluster=cluster)
    decision = None if costs is None else Decision.of(forecast, after, costs, random_state, cluster)
    wanted = [] if decision is None else [decision.choice.theoretical_threshold, decision.choice.threshold]
    return replace(
        found,
        auc=auc_of(forecast) if forecast.class_weight.all() else None,
        reliability=drawn(forecast),
        reliability_after=None if after is None else drawn(after),
        murphy=murphy_of({"as given": forecast} | ({} if after is None else {"recalibrated": after})),
        decision=decision,
        thresholds=ThresholdTable.of(forecast, np.array([0.5, forecast.rates[1], *wanted])),
    )


def _by_group(forecast: Forecast, groups: Groups, cluster: NDArray[Any] | None) -> GroupCalibration:
    """Every group by itself; right probabilities have any group flagged with half the probability of a false alarm."""
    used = np.flatnonzero(np.bincount(groups.codes, minlength=len(groups.names)))
    codes = groups.codes if len(used) == len(groups.names) else np.searchsorted(used, groups.codes)
    names = tuple(groups.names[int(k)] for k in used)
    confidence = (1.0 - 0.5 * LEVEL) ** (1.0 / len(names))  # Šidák
    return groups_of(forecast, names, codes, LogLoss(), confidence, cluster)


def _check(
    forecast: Forecast,
    names: tuple[str, ...],
    groups: Groups | None,
    against: Array | None,
    cluster: NDArray[Any] | None,
) -> None:
    """Refuse what is checked and yet cannot be audited."""
    n_classes = len(forecast.class_weight)
    if len(names) != n_classes:
        raise ValueError(f"class_names has {len(names)} names for {n_classes} classes; give one name for each class.")
    if not forecast.binary and against is not None:
        raise Misuse(f"against is for two classes, y has {n_classes}; leave it out, or audit one class.")
    if cluster is not None and (cluster == cluster[0]).all():
        raise Misuse("cluster has the same value in every row, but chance is measured between clusters; leave it out.")
    if groups is not None and len(groups.names) > MOST_GROUPS:
        raise TooManyGroups
