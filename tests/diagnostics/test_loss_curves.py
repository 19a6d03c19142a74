"""Curves of losses have the properties of proper losses."""

import numpy as np
import pytest

from properly.diagnostics import composite_curves, loss_curves
from properly.links import GEV
from properly.losses import LOSSES, BetaLoss, Composite, CostWeightedLoss, GEVLoss, LossFromWeight


@pytest.mark.parametrize("loss", [*LOSSES, BetaLoss.tailored(at=0.1, concentration=5.0), GEVLoss(0.3)], ids=str)
def test_the_entropy_mixes_the_losses_and_bends_by_the_weight(loss):
    result = loss_curves([loss])
    p = result.p
    np.testing.assert_allclose(result.entropy[0], (1 - p) * result.loss0[0] + p * result.loss1[0], rtol=1e-10)
    inside = (p > 0.05) & (p < 0.95)
    bend = np.gradient(np.gradient(result.entropy[0], p), p)
    np.testing.assert_allclose(-bend[inside], result.weight[0][inside], rtol=0.02)


def test_a_point_mass_is_not_drawn():
    result = loss_curves({"steps": CostWeightedLoss(0.3)})
    assert np.isnan(result.weight).all()
    assert result.entropy.max() == pytest.approx(0.3 * 0.7, rel=1e-2)


def test_names_and_frame():
    result = loss_curves(["log", GEVLoss(0.3)])
    assert result.names == ("log", "GEVLoss(xi=0.3)")
    frame = result.frame()
    assert len(frame) == 2 * len(result.p)
    assert frame["loss"].unique().tolist() == ["log", "GEVLoss(xi=0.3)"]
    assert loss_curves("squared").names == ("squared",)


def test_errors():
    with pytest.raises(ValueError, match="losses is empty"):
        loss_curves([])
    with pytest.raises(ValueError, match="loss must be one of 'log'"):
        loss_curves(["hinge"])


def test_equal_names_are_numbered():
    losses = [LossFromWeight(lambda p: p), LossFromWeight(lambda p: 1 - p)]
    result = loss_curves([*losses, "log", "log"])
    assert len(set(result.names)) == 4
    assert result.names[2:] == ("log", "log (2)")
    assert not np.allclose(result.weight[0], result.weight[1])


@pytest.mark.parametrize("at", [0.0005, 0.9995])
def test_a_loss_for_a_rare_class_is_within_the_picture(at):
    result = loss_curves({"tailored": BetaLoss.tailored(at, 4000), "log": "log"})
    weight, entropy, losses = result.plot(scale="log-odds").axes
    for axes in (weight, entropy, losses):
        left, right = axes.get_xlim()
        assert left < np.log(at / (1 - at)) < right
    tailored = weight.get_lines()[0].get_ydata()
    assert tailored.max() <= weight.get_ylim()[1]  # its peak is seen
    assert losses.get_ylim()[1] > 100  # a mistake at the rare class costs that much more


@pytest.mark.parametrize("eta", [0.002, 0.2, 0.7])
def test_the_risk_is_lowest_at_the_truth(eta):
    composites = [*LOSSES, GEVLoss(0.3), Composite("log", "probit"), Composite("log", GEV(-0.3))]
    curves = loss_curves(composites, eta=eta)
    expected = eta * curves.loss1 + (1.0 - eta) * curves.loss0
    np.testing.assert_allclose(curves.risk, expected, rtol=1e-10)
    np.testing.assert_array_equal(curves.p[curves.risk.argmin(axis=1)], eta)
    assert curves.frame()["risk"].tolist() == curves.risk.ravel().tolist()
    scores = composite_curves(composites, eta=eta)
    lowest = scores.risk.argmin(axis=1)
    inside = (lowest > 0) & (lowest < len(scores.score) - 1)
    assert inside.sum() >= 4
    near = np.take_along_axis(scores.p, lowest[:, None] + [-1, 1], axis=1)[inside]
    assert np.all((near[:, 0] < eta) & (eta < near[:, 1]))


def test_losses_of_scores():
    curves = composite_curves({"logistic": "log", "clipped": Composite(GEVLoss(0.5), GEV(0.5), extend=False)})
    v = curves.score
    np.testing.assert_allclose(curves.loss1[0], np.log1p(np.exp(-v)), rtol=1e-12)
    np.testing.assert_allclose(curves.loss0[0], np.log1p(np.exp(v)), rtol=1e-12)
    assert np.ptp(curves.loss1[1, v < -2.0]) == 0.0  # the support of GEV(0.5) begins at -2
    assert curves.risk is None
    assert list(curves.frame().columns) == ["loss", "score", "p", "loss0", "loss1"]
    np.testing.assert_array_equal(loss_curves(Composite("log", "probit")).loss1, loss_curves("log").loss1)


def test_errors_of_pictures_of_risk():
    with pytest.raises(ValueError, match=r"eta must be above 0 and below 1, got 1\.0"):
        loss_curves(eta=1.0)
    with pytest.raises(ValueError, match="eta must be above 0 and below 1"):
        composite_curves(eta=np.nan)
    for curves in (loss_curves, composite_curves):
        with pytest.raises(ValueError, match=r"losses must be losses, their keys or composites, .* got 3"):
            curves(3)
    with pytest.raises(ValueError, match="jumps, and has no canonical link; give Composite"):
        composite_curves(CostWeightedLoss(0.3))


def test_every_picture_of_the_risk_has_its_mark():
    for figure in (loss_curves(eta=0.3).plot(), composite_curves(["log", GEVLoss(1.5)], eta=0.3).plot()):
        assert len(figure.axes) == 4
        marks = [line for line in figure.axes[3].get_lines() if len(line.get_xdata()) == 1]
        low, high = figure.axes[3].get_ylim()
        assert marks
        assert all(low <= mark.get_ydata()[0] <= high for mark in marks)
