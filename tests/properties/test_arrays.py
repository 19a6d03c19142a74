"""Links, losses, composites and kernels give on arrays of other libraries what they give on those of NumPy."""

from dataclasses import astuple

import numpy as np
import pytest

from properly import kernels
from properly.kernels import Block, LinearModel
from properly.links import GEV, LINKS, Cauchit, Logit, Probit
from properly.losses import (
    LOSSES,
    BetaLoss,
    CanonicalLoss,
    Composite,
    CostWeightedLoss,
    GEVLoss,
    LogLoss,
    LossFromWeight,
    SoftmaxComposite,
    SquaredLoss,
)
from properly.numeric.arrays import to_numpy
from properly.numeric.limits import EPS, SMALLEST_NORMAL
from properly.numeric.probabilities import Probabilities, as_probabilities

ALL_LINKS = [*(make() for make in LINKS.values()), *map(GEV, (-1.5, -0.3, 1e-9, np.float64(0.2), 1.0))]
ALL_LINKS += [loss.canonical_link for loss in (SquaredLoss(), LOSSES["boosting"](), BetaLoss(2, 5))]
WEIGHT = LossFromWeight(lambda p: (1.0 + 3.0 * p) / (p * (1.0 - p)))
ALL_LOSSES = [*(make() for make in LOSSES.values()), *map(GEVLoss, (-1.5, 0.3, 1.0)), WEIGHT]
ALL_LOSSES += [BetaLoss(np.float64(2), 5), BetaLoss(-0.2, 0.4), BetaLoss(0, 2), BetaLoss.tailored(0.05, 500)]
ALL_LOSSES += [CanonicalLoss(Probit()), CanonicalLoss(Cauchit())]
FAR = [-np.inf, -1e308, -1e100, -1e6, -800.0, -710.0, -40.0, -20.0]
V = np.concatenate([FAR, np.linspace(-8.0, 8.0, 65), -np.array(FAR)[::-1]])
SMALL = np.geomspace(5e-324, 0.5, 50)
P, Q = np.concatenate([[0.0], SMALL, 1.0 - SMALL, [1.0]]), np.concatenate([[1.0], 1.0 - SMALL, SMALL, [0.0]])
Y = np.array([[0.0], [1.0], [0.25]])

over_links = pytest.mark.parametrize("link", ALL_LINKS, ids=repr)
over_losses = pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda loss: repr(loss).split(" at 0x")[0])


def convert(x, library):
    return type(x)(*map(library.asarray, x)) if isinstance(x, Probabilities) else library.asarray(x)


def assert_same(function, library, *arrays, rtol=1e-12, atol=SMALLEST_NORMAL):
    """Below the smallest normal number digits are lost one by one, with NumPy as well."""
    with np.errstate(all="ignore"):
        expected, found = function(*arrays), function(*(convert(x, library) for x in arrays))
    pairs = [(expected, found)] if not isinstance(expected, tuple) else zip(expected, found, strict=True)
    for one, other in pairs:
        assert type(other) is type(library.asarray(V))
        np.testing.assert_allclose(to_numpy(other), one, rtol=rtol, atol=atol)


@over_links
def test_links(link, library):
    for name in ("inverse", "inverse_pair", "inverse_derivative", "_logs", "_hazards", "_antiderivatives"):
        assert_same(getattr(link, name), library, V)
    # These pass through 0, where the terms that make them do not.
    numerical = "CanonicalLink" in repr(link)
    for more in ((), (Q,)):
        assert_same(link.link, library, P, *more, atol=EPS if numerical else SMALLEST_NORMAL)
    assert_same(link._hazard_slopes, library, V, rtol=1e-9 if numerical else 1e-12, atol=EPS)
    for name in ("_weight_at", "_log_hazards_at"):
        assert_same(getattr(link, name), library, as_probabilities(P, Q), atol=4 * EPS)
    assert_same(link._log_hazards, library, V, atol=4 * EPS)


@over_losses
def test_losses(loss, library):
    for name in ("weight", "loss0", "loss1", "entropy"):
        assert_same(getattr(loss, name), library, P)
        assert_same(getattr(loss, name), library, P, Q)
    assert_same(loss.risk, library, np.linspace(0.0, 1.0, len(P)), P, Q)


def test_cost_weighted_loss(library):
    for name in ("weight", "loss0", "loss1", "entropy"):
        assert_same(getattr(CostWeightedLoss(np.float64(0.25)), name), library, np.append(P, 0.25))


@over_losses
@pytest.mark.parametrize("link", [None, Logit(), Probit(), GEV(0.2), Cauchit(), SquaredLoss().canonical_link], ids=repr)
def test_composites(loss, link, library):
    composite = Composite(loss, link)
    assert_same(composite.value, library, Y, V)
    # Where ω is a function of p, they show how each library rounds p near 1, differences of them most of all.
    for name in ("gradient", "curvature"):
        assert_same(getattr(composite, name), library, Y, V, rtol=1e-8 if loss is WEIGHT else 1e-12, atol=EPS)
    v, rtol = (V[np.abs(V) <= 40.0], 1e-6) if loss is WEIGHT else (V, 1e-12)
    assert_same(lambda y, v: composite.curvature(y, v, kind="observed"), library, Y, v, rtol=rtol, atol=EPS)
    assert_same(composite._other_probability, library, Y > 0.5, V)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=repr)
def test_softmax(loss, library):
    composite, v = SoftmaxComposite(loss), 5.0 * np.random.default_rng(0).normal(size=(40, 4))
    y = np.arange(40) % 4
    for name in ("value", "gradient", "curvature"):
        assert_same(getattr(composite, name), library, y, v, atol=EPS)
    assert_same(lambda y, v: composite.curvature(y, v, kind="observed"), library, y, v, atol=EPS)
    assert_same(composite._other_probability, library, y, v, atol=EPS)


@pytest.mark.parametrize("composite", [Composite("log"), Composite("squared", "probit"), SoftmaxComposite(LogLoss())])
@pytest.mark.parametrize("weights", [True, False])
def test_kernels(composite, weights, library):
    """The rows are arrays of the library, and so are their sums, until they are brought to the host."""
    random = np.random.default_rng(1)
    softmax = isinstance(composite, SoftmaxComposite)
    scores = 3 if softmax else 1
    X, y, weight = random.normal(size=(50, 4)), random.integers(0, 3 if softmax else 2, 50), random.integers(0, 3, 50)
    offset = random.normal(size=(50, 3) if softmax else 50)
    block = Block(X, y, weight.astype(float) if weights else None, offset)
    model = LinearModel(composite, center=random.normal(size=4))
    coef, direction = random.normal(size=(2, scores, 5))
    calls = [
        (kernels.classes, 3),
        (kernels.moments, model.center),
        (kernels.offset_range, 1),
        (kernels.gradient, model, coef, True),
        (kernels.hessian, model, coef, False, None),
        (kernels.hessian, model, coef, True, np.array([0, 2])),
        (kernels.hessian_product, model, coef, direction),
        (kernels.hessian_diagonal, model, coef),
        (kernels.misfits, model, coef),
        (kernels.along_line, model, coef, direction, np.array([0.0, 0.5, 1.0]), True),
    ]
    elsewhere = Block(*(None if each is None else library.asarray(each) for each in block))
    for kernel, *parameters in calls:
        expected, found = (astuple(kernel(each, *parameters).on_host()) for each in (block, elsewhere))
        for one, other in zip(expected, found, strict=True):
            assert isinstance(other, np.ndarray | float | int)
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12, err_msg=kernel.__name__)
