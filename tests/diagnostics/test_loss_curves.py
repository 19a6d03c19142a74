"""Curves of losses have the properties of proper losses."""

import numpy as np
import pytest

from properly.diagnostics import loss_curves
from properly.losses import LOSSES, BetaLoss, CostWeightedLoss, GEVLoss, LossFromWeight


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
