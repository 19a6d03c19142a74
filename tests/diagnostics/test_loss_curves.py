"""Curves of losses have the properties of proper losses."""

import numpy as np
import pytest

from properly.diagnostics import loss_curves
from properly.losses import LOSSES, BetaLoss, CostWeightedLoss, GEVLoss


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
