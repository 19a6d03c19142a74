"""What every metric of labels and probabilities must do."""

import warnings

import numpy as np
import pytest

from properly import metrics
from properly.losses import BetaLoss, BoostingLoss, GEVLoss
from properly.metrics.scorers import METRICS

# The metrics that are one number, and variants and relatives of them.
BINARY = {name: metric.function for name, metric in metrics.METRICS.items()} | {
    "proper_score gev": lambda y, p, **options: metrics.proper_score(y, p, GEVLoss(0.3), **options),
    "proper_score boosting": lambda y, p, **options: metrics.proper_score(y, p, BoostingLoss(), **options),
    "skill_score reference": lambda y, p, **options: metrics.skill_score(y, p, "squared", reference=0.3, **options),
    "score_decomposition": metrics.score_decomposition,
    "ece mass": lambda y, p, **options: metrics.expected_calibration_error(y, p, strategy="mass", **options),
    "ece debiased 1": lambda y, p, **options: metrics.expected_calibration_error(y, p, debiased=True, **options),
    "ece debiased 2": lambda y, p, **options: metrics.expected_calibration_error(
        y, p, norm=2, debiased=True, n_bins=4, **options
    ),
    "cost_weighted_error": lambda y, p, **options: metrics.cost_weighted_error(y, p, 0.3, **options),
    "best_threshold": lambda y, p, **options: metrics.best_threshold(y, p, (1, 3), **options),
    "auc with interval": metrics.auc,
    "auc_difference": lambda y, p, **options: metrics.auc_difference(y, p, _bent(p), **options),
}
MULTICLASS = {name: metric.function for name, metric in metrics.METRICS.items() if metric.multiclass} | {
    "proper_score beta": lambda y, p, **options: metrics.proper_score(y, p, BetaLoss(1, 3), **options),
    "score_decomposition": metrics.score_decomposition,
}
RANKINGS = {"auc", "auc with interval", "auc_difference"}


def _bent(p):
    """Another ranking of the same rows."""
    try:
        p = np.asarray(p, dtype=float)
    except ValueError:
        return p
    return np.abs((p[:, -1] if p.ndim == 2 else p) - 0.35)


@pytest.fixture(params=sorted(BINARY))
def binary(request):
    return BINARY[request.param]


@pytest.fixture(params=sorted(MULTICLASS))
def multiclass(request):
    return MULTICLASS[request.param]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 300), 2)  # with ties
    p = np.clip(p, 0.01, 0.99)
    return (rng.random(300) < p**1.3).astype(int), p, rng.integers(0, 4, 300)


@pytest.fixture
def data3():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 2.0, 3.0], 300)
    y = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    return y, p, rng.integers(0, 4, 300)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def test_weights_count_rows(binary, data):
    y, p, weight = data
    close(binary(y, p, sample_weight=weight), binary(np.repeat(y, weight), np.repeat(p, weight)), 1e-10)


def test_weights_count_rows_of_many_classes(multiclass, data3):
    y, p, weight = data3
    close(multiclass(y, p, sample_weight=weight), multiclass(np.repeat(y, weight), np.repeat(p, weight, axis=0)), 1e-10)


def test_order_does_not_matter(binary, data):
    y, p, weight = data
    turn = np.random.default_rng(2).permutation(len(y))
    close(binary(y, p, sample_weight=weight), binary(y[turn], p[turn], sample_weight=weight[turn]), 1e-10)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (0.0, 1.0), (3, 8)])
def test_labels_may_be_anything(binary, data, labels):
    y, p, _ = data
    close(binary(np.array(labels)[y], p), binary(y, p))
    close(binary(np.array(labels, dtype=object)[y], p), binary(y, p))
    close(binary([labels[1 - i] for i in y], p, classes=labels[::-1]), binary(y, p))


def test_two_columns_are_as_good_as_one(binary, data):
    y, p, weight = data
    both = np.stack([1.0 - p, p], axis=1)
    close(binary(y, both, sample_weight=weight), binary(y, p, sample_weight=weight))
    close(binary(y, p[:, None]), binary(y, p))


def test_labels_of_many_classes(multiclass, data3):
    y, p, _ = data3
    names = np.array(["a", "b", "c"])
    close(multiclass(names[y], p), multiclass(y, p))
    close(multiclass(names[y], p[:, [2, 0, 1]], classes=["c", "a", "b"]), multiclass(y, p))


def test_a_missing_class_needs_naming(multiclass, data3):
    y, p, _ = data3
    rows = y < 2
    with pytest.raises(ValueError, match=r"y holds 2 of 3 classes only \(0, 1\); pass classes="):
        multiclass(y[rows], p[rows])
    result = np.asarray(multiclass(y[rows], p[rows], classes=[0, 1, 2]))
    assert np.isfinite(result).all()


def test_a_ranking_needs_two_classes():
    for name in RANKINGS:
        with pytest.raises(ValueError, match="needs rows of both classes"):
            BINARY[name]([0, 0], [0.1, 0.2])


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", sorted(set(BINARY) - RANKINGS))
def test_one_class_is_understood(name, label):
    binary = BINARY[name]
    p = np.array([0.2, 0.5, 0.5, 0.9])
    result = binary([label] * 4, p)
    assert not np.isnan(np.asarray(result, dtype=float)).any()
    close(binary([f"label {label}"] * 4, p, classes=["label 0", "label 1"]), result)
    assert not np.isnan(np.asarray(binary([label], [0.25]), dtype=float)).any()


def test_forecasts_of_zero_and_one_warn_of_nothing(binary):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrong = np.asarray(binary([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0]), dtype=float)
        right = np.asarray(binary([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0]), dtype=float)
    assert not np.isnan(wrong).any()
    assert np.isfinite(right).all()


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [0.5, 1.2], {}, r"p must lie in \[0, 1\], got 1.2 in row 1"),
        ([0, 1], [0.5, np.nan], {}, r"got nan in row 1; drop missing values"),
        ([0, 1], [0.5], {}, "y has 2 rows, p has 1"),
        ([0, 1], 0.5, {}, r"p must have shape \(n,\) or \(n, K\) .* got a single number"),
        ([], [], {}, "at least one row"),
        ([0, 1], ["a", "b"], {}, "p must be numbers"),
        ([0, 1, 2], [0.5, 0.5, 0.5], {}, r"y holds 3 classes \(0, 1, 2\), but p has one column"),
        ([0.2, 0.7], [0.5, 0.5], {}, "y must hold labels, got the fraction 0.2"),
        ([0, np.nan], [0.5, 0.5], {}, "NaN"),
        ([0, None], [0.5, 0.5], {}, "labels of one kind"),
        (["a", "a"], [0.5, 0.5], {}, r"y holds 1 of 2 classes only \('a'\); pass classes="),
        (None, [0.5, 0.5], {}, "y is None"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1.0, -1.0]}, "must not be negative, got -1"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [0.0, 0.0]}, "zero for every row"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1e308, 1e308]}, "more than float64 can hold"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1.0]}, "sample_weight has 1 entries"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1.0, np.inf]}, "must be finite"),
        ([0, 1], [[0.5, 0.6], [0.5, 0.5]], {}, "row 0 adds up to 1.1"),
        ([0, 1], [0.5, 0.5], {"classes": [0, 1, 2]}, "classes must be 2 different labels"),
        ([0, 1], [0.5, 0.5], {"classes": [0, 0]}, "classes must be 2 different labels"),
        ([0, 1], [0.5, 0.5], {"classes": ["0", "1"]}, "y holds the label 0, which is not among classes"),
    ],
)
def test_bad_input(binary, y, p, options, message):
    with pytest.raises(ValueError, match=message):
        binary(y, p, **options)


FOR_MANY = {*MULTICLASS, "proper_score gev", "proper_score boosting", "skill_score reference"}


@pytest.mark.parametrize("name", sorted(set(BINARY) - FOR_MANY))
def test_what_is_for_two_classes_says_so(name, data3):
    y, p, _ = data3
    with pytest.raises(ValueError, match="defined for two classes, but p has 3 columns"):
        BINARY[name](y, p)


def test_tables_and_other_containers(data):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    y, p, _ = data
    expected = metrics.log_loss(y, p)
    assert metrics.log_loss(pandas.Series(y), pandas.Series(p)) == expected
    assert metrics.log_loss(pandas.Series(np.array(["a", "b"])[y], dtype="category"), p) == expected
    assert metrics.log_loss(pandas.Series(np.array(["a", "b"])[y]), pandas.DataFrame({"a": 1 - p, "b": p})) == (
        pytest.approx(expected, rel=1e-12)
    )
    assert metrics.log_loss(polars.Series(y), polars.Series(p)) == expected


@pytest.mark.parametrize("share", ["right", "wrong"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", METRICS)
def test_perfect_and_perfectly_wrong_forecasts_have_a_number(name, n_classes, share):
    if n_classes > 2 and not METRICS[name].multiclass:
        pytest.skip("for two classes")
    y = np.arange(42) % n_classes
    p = np.eye(n_classes)[y if share == "right" else (y + 1) % n_classes]
    assert not np.isnan(METRICS[name].function(y, p[:, 1] if n_classes == 2 else p))
