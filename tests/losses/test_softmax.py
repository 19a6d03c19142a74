"""Log loss and squared loss through the softmax: derivatives, properness, and the binary case."""

import numpy as np
import pytest
from scipy import special

from properly.links import Logit
from properly.losses import BetaLoss, Composite, GEVLoss, LogLoss, SoftmaxComposite, SquaredLoss

N, K = 6, 4
SCORES = 2.0 * np.random.RandomState(0).standard_normal((N, K))
LABELS = np.array([0, 1, 2, 3, 1, 0])

over_losses = pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=repr)


def differences(function, v, h=1e-5):
    """The derivatives of a function of the scores in each of them, on a new last axis."""
    columns = []
    for k in range(v.shape[1]):
        step = np.zeros(v.shape[1])
        step[k] = h
        columns.append((function(v + step) - function(v - step)) / (2 * h))
    return np.stack(columns, axis=-1)


@over_losses
def test_values_from_the_definition(loss):
    p = special.softmax(SCORES, axis=1)
    truth = np.eye(K)[LABELS]
    expected = -np.log(np.sum(p * truth, axis=1)) if loss == LogLoss() else 0.5 * np.sum((p - truth) ** 2, axis=1)
    np.testing.assert_allclose(SoftmaxComposite(loss).value(LABELS, SCORES), expected, rtol=1e-13)


@over_losses
def test_gradient_and_curvature_against_differences(loss):
    composite = SoftmaxComposite(loss)
    gradient = composite.gradient(LABELS, SCORES)
    observed = composite.curvature(LABELS, SCORES, kind="observed")
    assert (gradient.shape, observed.shape) == ((N, K), (N, K, K))
    np.testing.assert_allclose(gradient, differences(lambda v: composite.value(LABELS, v), SCORES), atol=1e-9)
    np.testing.assert_allclose(observed, differences(lambda v: composite.gradient(LABELS, v), SCORES), atol=1e-9)
    np.testing.assert_allclose(observed, observed.transpose(0, 2, 1), atol=1e-15)


@over_losses
def test_expected_curvature_is_the_average_over_labels(loss):
    composite, p = SoftmaxComposite(loss), special.softmax(SCORES, axis=1)
    expected = composite.curvature(LABELS, SCORES)
    average = sum(p[:, k, None, None] * composite.curvature(np.full(N, k), SCORES, kind="observed") for k in range(K))
    np.testing.assert_allclose(expected, average, atol=1e-14)
    assert np.all(np.linalg.eigvalsh(expected) >= -1e-15)
    direction = np.random.RandomState(1).standard_normal((N, K))
    product = composite._curvature_product(LABELS, SCORES, direction)
    np.testing.assert_allclose(product, np.einsum("nij,nj->ni", expected, direction), atol=1e-14)


@over_losses
def test_a_shift_of_all_scores_changes_nothing(loss):
    composite = SoftmaxComposite(loss)
    np.testing.assert_allclose(composite.value(LABELS, SCORES + 5.0), composite.value(LABELS, SCORES), rtol=1e-12)
    np.testing.assert_allclose(composite.gradient(LABELS, SCORES).sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(composite.curvature(LABELS, SCORES).sum(axis=1), 0.0, atol=1e-15)


@over_losses
def test_proper(loss):
    """The risk of softmax(v) is smallest where it is the truth: the gradient vanishes and no other point is better."""
    truth = np.array([0.1, 0.2, 0.65, 0.05])
    composite = SoftmaxComposite(loss)

    def average(method, v):
        return sum(share * method([k], v) for k, share in enumerate(truth))

    best = np.log(truth)[None]
    np.testing.assert_allclose(average(composite.gradient, best), 0.0, atol=1e-15)
    others = 3.0 * np.random.RandomState(2).standard_normal((200, 1, K))
    lowest = average(composite.value, best)[0]
    assert all(average(composite.value, other)[0] > lowest for other in others)
    assert all(average(composite.value, best + 1e-3 * other)[0] > lowest for other in others)


def test_two_classes_are_the_binary_composite():
    """With two scores only their difference matters, and log loss is that of the logit."""
    v = SCORES[:, :2]
    difference, y = v[:, 1] - v[:, 0], LABELS % 2
    many, binary = SoftmaxComposite(LogLoss()), Composite(LogLoss(), Logit())
    np.testing.assert_allclose(many.value(y, v), binary.value(y, difference), rtol=1e-13)
    np.testing.assert_allclose(many.gradient(y, v)[:, 1], binary.gradient(y, difference), rtol=1e-12)
    np.testing.assert_allclose(many.curvature(y, v)[:, 1, 1], binary.curvature(y, difference), rtol=1e-12)

    # the squared loss of two classes counts both of them: twice the binary one
    many, binary = SoftmaxComposite(SquaredLoss()), Composite(SquaredLoss(), Logit())
    np.testing.assert_allclose(many.value(y, v), 2.0 * binary.value(y, difference), rtol=1e-12)
    np.testing.assert_allclose(many.gradient(y, v)[:, 1], 2.0 * binary.gradient(y, difference), rtol=1e-12)


@over_losses
def test_extreme_scores(loss):
    v = np.array([[800.0, -800.0, 0.0], [-1e308, 0.0, 1e300]])
    composite = SoftmaxComposite(loss)
    for y in ([0, 2], [1, 0]):
        value, gradient = composite.value(y, v), composite.gradient(y, v)
        assert not np.isnan(value).any()
        assert np.all(np.isfinite(gradient))
        assert np.all(np.isfinite(composite.curvature(y, v, kind="observed")))
    assert composite.value([1], v[:1])[0] == (1600.0 if loss == LogLoss() else 1.0)


@over_losses
def test_kinds_of_input(loss):
    composite, v = SoftmaxComposite(loss), SCORES.astype(np.float32)
    np.testing.assert_array_equal(composite.value(LABELS, v), composite.value(LABELS, v.astype(np.float64)))
    np.testing.assert_array_equal(
        composite.value(LABELS.astype(float), v), composite.value(LABELS.tolist(), v.tolist())
    )
    assert composite.gradient(LABELS, v).dtype == np.float64


def test_canonical_only_for_log_loss():
    assert SoftmaxComposite(LogLoss()).canonical
    assert not SoftmaxComposite(SquaredLoss()).canonical


@pytest.mark.parametrize("loss", [BetaLoss(2, 5), GEVLoss(0.2), "log"])
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match=r"LogLoss and SquaredLoss only.*one versus rest"):
        SoftmaxComposite(loss)


@pytest.mark.parametrize(
    ("y", "v", "message"),
    [
        ([0], [0.0, 1.0], r"v must be \(n, K\) and y \(n,\), got shapes \(2,\) and \(1,\)"),
        ([0, 1], [[0.0, 1.0]], r"got shapes \(1, 2\) and \(2,\)"),
        ([2], [[0.0, 1.0]], "y must hold class indices 0 to 1"),
        ([-1], [[0.0, 1.0]], "y must hold class indices 0 to 1"),
        ([0.5], [[0.0, 1.0]], "y must hold class indices 0 to 1"),
        ([0], [[0.0, np.inf]], "v must be finite"),
        ([0], [[0.0, np.nan]], "v must not contain nan"),
    ],
)
def test_bad_input(y, v, message):
    composite = SoftmaxComposite(LogLoss())
    for method in (composite.value, composite.gradient, composite.curvature):
        with pytest.raises(ValueError, match=message):
            method(y, v)


def test_unknown_kind_lists_the_valid_ones():
    with pytest.raises(ValueError, match="kind must be one of 'expected', 'observed'"):
        SoftmaxComposite(LogLoss()).curvature([0], [[0.0, 1.0]], kind="fisher")
