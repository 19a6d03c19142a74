"""Styles differ in more than colour; scales put probabilities where they belong."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy.special import expit, logit

from properly.plots.scales import LogOdds, Plain, threshold_scale
from properly.plots.style import STYLES, styles, visible


def test_curves_differ_in_colour_and_marker_and_neighbours_in_line():
    assert len({style.colour for style in STYLES}) == len({style.marker for style in STYLES}) == len(STYLES)
    assert all(a.line != b.line for a, b in pairwise(STYLES))
    assert all(0.0 < np.mean(to_rgb(style.colour)) < 0.8 for style in STYLES)


def test_styles_never_run_out():
    many = styles(range(20))
    assert many[:6] == STYLES
    assert len(set(many)) == len(many)


def test_log_odds_with_lanes():
    scale = LogOdds.of(0.001, 0.9, lanes=True)
    inside = np.array([0.001, 0.01, 0.5, 0.9])
    np.testing.assert_allclose(scale(inside), logit(inside))
    below, above = scale(np.array([0.0, 1.0]))
    assert scale.limits[0] < below < logit(0.001)
    assert logit(0.9) < above < scale.limits[1]
    np.testing.assert_array_equal(scale(np.array([1e-9, 1 - 1e-9])), [below, above])


def test_marks_are_where_they_say_and_do_not_collide():
    axes = Figure(figsize=(4, 4)).add_subplot()
    scale = LogOdds.of(1e-12, 0.999, lanes=True)
    scale.label(axes.xaxis)
    texts = [text.get_text() for text in axes.get_xticklabels()]
    places = dict(zip(texts, axes.get_xticks(), strict=True))
    assert {"0", "1", "0.5"} <= set(texts)
    assert 4 <= len(texts) <= 12
    assert np.diff(sorted(places.values())).min() > 0.05 * np.diff(scale.limits)[0]
    plain = [text for text in texts if text not in ("0", "1") and "⁻" not in text]
    np.testing.assert_allclose(expit([places[text] for text in plain]), [float(text) for text in plain])


def test_threshold_scales_leave_out_flat_ends():
    at = np.linspace(0.0, 1.0, 1001)
    curves = np.stack([np.exp(-np.square((at - 0.1) / 0.02)), np.zeros(1001)])
    scale = threshold_scale("log-odds", at, curves)
    assert expit(scale.limits[0]) == pytest.approx(0.05, abs=0.01)
    assert expit(scale.limits[1]) == pytest.approx(0.6)
    assert isinstance(threshold_scale("probability", at, curves), Plain)


def test_visible_points_of_steps_and_slopes():
    axes = Figure(figsize=(5, 5)).add_subplot()
    x = np.linspace(0.0, 1.0, 50_001)
    for y in (np.floor(10 * x) / 10, x, x**3, np.sqrt(x), np.zeros_like(x)):
        kept = visible(axes, x, y, (0.0, 1.0))
        assert len(kept) < 700
        assert {0, 50_000} <= set(kept)
        assert np.abs(np.interp(x, x[kept], y[kept]) - y)[np.abs(np.diff(y, prepend=y[0])) < 0.05].max() < 0.005
