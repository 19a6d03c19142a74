"""Scores that are sums, and decisions, of arrays of any library; other metrics copy them to NumPy."""

import numpy as np
import pytest

from properly.losses import BetaLoss, CostWeightedLoss
from properly.metrics import (
    METRICS,
    auc,
    brier_score,
    cost_weighted_error,
    decide,
    expected_calibration_error,
    log_loss,
    probability_rmse,
    proper_score,
    row_losses,
    score_decomposition,
    skill_score,
)
from properly.numeric.arrays import to_numpy

RANDOM = np.random.default_rng(0)
TWO = RANDOM.dirichlet([1.0, 1.0], 60)
THREE = RANDOM.dirichlet([1.0, 1.0, 1.0], 60)
WEIGHT = RANDOM.integers(0, 3, 60).astype(float)
FORECASTS = {"one column": TWO[:, 1], "two columns": TWO, "three columns": THREE}


@pytest.fixture(params=FORECASTS)
def rows(request):
    """Labels and probabilities."""
    p = FORECASTS[request.param]
    return RANDOM.integers(0, 3 if p.shape[1:] == (3,) else 2, 60), p


@pytest.mark.parametrize("loss", ["log", "squared", "gev", BetaLoss(2, 5), CostWeightedLoss(0.3)], ids=repr)
def test_scores(rows, loss, library):
    y, p = rows
    given = [library.asarray(each) for each in rows]
    losses = row_losses(*given, loss)
    assert type(losses) is type(given[1])
    np.testing.assert_allclose(to_numpy(losses), row_losses(y, p, loss), rtol=1e-12)
    for weight in (None, WEIGHT):
        there = None if weight is None else library.asarray(weight)
        for score in (proper_score, skill_score):
            found = score(*given, loss, sample_weight=there)
            assert isinstance(found, float)
            assert found == pytest.approx(score(y, p, loss, sample_weight=weight), rel=1e-11)


def test_named_scores(rows, library):
    y, p = rows
    for score in (log_loss, brier_score):
        assert score(library.asarray(y), library.asarray(p)) == pytest.approx(score(y, p), rel=1e-12)
    constant = p.mean(axis=0)
    found = skill_score(library.asarray(y), library.asarray(p), reference=library.asarray(constant))
    assert found == pytest.approx(skill_score(y, p, reference=constant), rel=1e-11)
    assert probability_rmse(library.asarray(p), library.asarray(p)) == 0.0


def test_infinite_scores(library):
    y, p = library.asarray([0, 1]), library.asarray([0.5, 0.0])
    assert log_loss(y, p) == np.inf
    assert log_loss(y, p, sample_weight=library.asarray([1.0, 0.0])) == pytest.approx(np.log(2.0))


def test_labels_may_be_text(library):
    y = np.array(["no", "yes"])[RANDOM.integers(0, 2, 60)]
    for labels in (y, y.tolist(), y.astype(object)):
        assert log_loss(labels, library.asarray(TWO)) == pytest.approx(log_loss(y, TWO), rel=1e-12)


COPIED = ("kernel_calibration_error",)  # metrics that are computed on the host


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name, library, monkeypatch):
    """Also those that need an order, and without copies of the rows."""
    metric, rng = METRICS[name].function, np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0], 300).round(2)
    p[:, 0] = 1.0 - p[:, 1]
    for rows in (p[:, 1], p, rng.dirichlet([1.0, 1.0, 1.0], 300))[: 3 if METRICS[name].multiclass else 2]:
        y = rng.integers(0, 3 if rows.shape[1:] == (3,) else 2, 300)
        for weight in (None, rng.integers(0, 3, 300).astype(float)):
            expected = metric(y, rows, sample_weight=weight)
            there = [None if x is None else library.asarray(x) for x in (y, rows, weight)]
            with monkeypatch.context() as patch:
                if name not in COPIED:
                    forbid_copies(patch, there[1], 150)
                found = metric(*there[:2], sample_weight=there[2])
            assert found == pytest.approx(expected, rel=1e-10, abs=1e-13)


def forbid_copies(monkeypatch, like, size):
    """Copies of so many numbers to NumPy fail; the grid of the smooth error is larger, and no row."""
    original = type(like).__array__

    def guarded(self, *args, **options):
        assert not size <= np.prod(self.shape) < 65_536, "rows were copied to the host"
        return original(self, *args, **options)

    monkeypatch.setattr(type(like), "__array__", guarded)


@pytest.mark.parametrize("options", [{"strategy": "mass"}, {"norm": 2, "debiased": True}, {"n_bins": 40}], ids=str)
def test_options_of_calibration_errors(options, library):
    y, p = RANDOM.integers(0, 2, 60), RANDOM.random(60).round(1)
    expected = expected_calibration_error(y, p, **options)
    assert expected_calibration_error(library.asarray(y), library.asarray(p), **options) == pytest.approx(expected)


def test_areas_have_intervals(library):
    y, p = RANDOM.integers(0, 2, 60), RANDOM.random(60).round(1)
    assert tuple(auc(library.asarray(y), library.asarray(p))) == pytest.approx(tuple(auc(y, p)), rel=1e-12)


def test_other_metrics_take_copies(library):
    y = RANDOM.integers(0, 2, 60)
    at = [0.2, 0.5]
    np.testing.assert_allclose(
        cost_weighted_error(library.asarray(y), library.asarray(TWO), at), cost_weighted_error(y, TWO, at), rtol=1e-12
    )
    found = score_decomposition(library.asarray(y), library.asarray(TWO))
    assert tuple(found) == pytest.approx(tuple(score_decomposition(y, TWO)), rel=1e-10)


@pytest.mark.parametrize("reject_cost", [None, 0.3])
@pytest.mark.parametrize("p", FORECASTS.values(), ids=FORECASTS)
def test_decisions(p, reject_cost, library):
    k = 3 if p.shape[1:] == (3,) else 2
    given, labels = library.asarray(p), list("abc")[:k]
    for costs in ([[0, 1, 4], [1, 0, 1], [4, 1, 0]] if k == 3 else (1, 2), RANDOM.random((60, k, k))):
        there = library.asarray(costs) if isinstance(costs, np.ndarray) else costs
        found, expected = decide(given, there, reject_cost=reject_cost), decide(p, costs, reject_cost=reject_cost)
        assert type(found) is type(given)
        assert to_numpy(found).tolist() == expected.tolist()
        named = decide(given, there, reject_cost=reject_cost, classes=labels)
        assert named.tolist() == decide(p, costs, reject_cost=reject_cost, classes=labels).tolist()


# --- bad input -----------------------------------------------------------------------------


def test_arrays_of_two_libraries(library):
    name = library.__name__.partition(".")[0]
    y, p = RANDOM.integers(0, 2, 60), library.asarray(TWO)
    for metric in (log_loss, score_decomposition):
        with pytest.raises(ValueError, match=f"two libraries in one call: p is of {name} and y of numpy"):
            metric(y, p)
        with pytest.raises(ValueError, match=f"two libraries in one call: y is of {name} and p of numpy"):
            metric(library.asarray(y), TWO)
        with pytest.raises(ValueError, match=f"two libraries in one call: y is of {name} and sample_weight of numpy"):
            metric(library.asarray(y), p, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match=f"two libraries in one call: p is of {name} and reference of numpy"):
        skill_score(library.asarray(y), p, reference=TWO)
    with pytest.raises(ValueError, match=f"two libraries in one call: true_p is of {name} and p of numpy"):
        probability_rmse(p, TWO)
    with pytest.raises(ValueError, match=f"two libraries in one call: p is of {name} and costs of numpy"):
        decide(p, np.array([1.0, 2.0]))


def test_values_are_checked(library):
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got nan in row 1"):
        log_loss([0, 1], library.asarray([0.5, np.nan]))
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got 1.5 in row 0"):
        decide(library.asarray([1.5, 0.5]), (1, 2))
    with pytest.raises(ValueError, match=r"every row of p must add up to 1, but row 1 adds up to 1.1"):
        log_loss([0, 1], library.asarray([[0.5, 0.5], [0.6, 0.5]]))
    with pytest.raises(ValueError, match="p must be numbers, got booleans"):
        log_loss([0, 1], library.asarray([False, True]))
    with pytest.raises(ValueError, match=r"p must be real numbers, got an array of .*complex"):
        log_loss([0, 1], library.asarray([0.5j, 0.5]))


def test_arrays_without_values():
    ndonnx = pytest.importorskip("ndonnx")
    p = ndonnx.argument(shape=("n",), dtype=ndonnx.float64)
    for call in (lambda: log_loss([0, 1], p), lambda: decide(p, (1, 2)), lambda: score_decomposition([0, 1], p)):
        with pytest.raises(ValueError, match=r"array of ndonnx, here of shape \(None,\), has none before"):
            call()
