"""Every result can be drawn: on axes of its own, on given ones, without a display, and without lasting effects."""

import functools
import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from properly import diagnostics

RANDOM = np.random.RandomState(0)
N = 3000
P = RANDOM.beta(0.5, 20.0, N)
Y = RANDOM.random_sample(N) < P
SCORE = np.log(P / (1 - P))
K_P = RANDOM.dirichlet([2.0, 1.0, 1.0, 0.5], N)
K_Y = (K_P.cumsum(axis=1) > RANDOM.random_sample((N, 1))).argmax(axis=1)
FORECASTS = {"plain": P, "halved": P / 2}

RESULTS = {
    "reliability": lambda: diagnostics.reliability(Y, P),
    "reliability of several": lambda: diagnostics.reliability(Y, FORECASTS, n_resamples=50),
    "murphy": lambda: diagnostics.murphy(Y, FORECASTS),
    "murphy_difference": lambda: diagnostics.murphy_difference(Y, P, P / 2),
    "decision_curve": lambda: diagnostics.decision_curve(Y, FORECASTS),
    "cost_curve": lambda: diagnostics.cost_curve(Y, FORECASTS, "1:20"),
    "by_group": lambda: diagnostics.by_group(Y, P, np.arange(N) % 5),
    "score_densities": lambda: diagnostics.score_densities(Y, SCORE),
    "log_odds_fit": lambda: diagnostics.log_odds_fit(Y, SCORE, ["platt", "isotonic"]),
    "loss_curves": lambda: diagnostics.loss_curves(eta=0.2),
    "composite_curves": lambda: diagnostics.composite_curves(eta=0.2),
    "multiclass_reliability": lambda: diagnostics.multiclass_reliability(K_Y, K_P, n_resamples=50),
}
ON_AXES = [
    name
    for name in RESULTS
    if name not in ("loss_curves", "composite_curves", "multiclass_reliability", "reliability of several")
]
WITH_SCALE = [
    name for name in RESULTS if name not in ("by_group", "score_densities", "log_odds_fit", "composite_curves")
]


@functools.cache
def result_of(name):
    return RESULTS[name]()


def settings():
    return {key: value for key, value in matplotlib.rcParams.items() if key != "backend"}  # chosen at the first drawing


def svg_of(drawn):
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg")
    return text.getvalue()


@pytest.mark.parametrize("name", RESULTS)
def test_drawn_small_and_without_lasting_effects(name):
    before = settings()
    svg = svg_of(result_of(name).plot())
    assert settings() == before
    assert "</svg>" in svg
    assert len(svg) < 150_000


@pytest.mark.parametrize("name", WITH_SCALE)
def test_drawn_on_log_odds(name):
    result = result_of(name)
    assert "0.1" in svg_of(result.plot(scale="log-odds"))
    with pytest.raises(ValueError, match="scale must be one of 'probability', 'log-odds', got 'log'"):
        result.plot(scale="log")


@pytest.mark.parametrize("name", ON_AXES)
def test_drawn_on_given_axes(name):
    axes = Figure().add_subplot()
    assert result_of(name).plot(axes) is axes
    assert axes.get_xlabel()
    assert axes.has_data()


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ON_AXES])
def test_panels_are_a_figure(name):
    figure = result_of(name).plot()
    assert isinstance(figure, Figure)
    assert all(isinstance(axes, Axes) for axes in figure.axes)


def test_neither_pyplot_nor_a_display_is_needed():
    code = (
        "import io, sys; from properly.diagnostics import reliability; "
        "reliability([0, 1, 1], [0.2, 0.5, 0.9]).plot().figure.savefig(io.BytesIO(), format='svg'); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_points_become_few():
    n = 100_000
    p = np.linspace(0.001, 0.999, n)
    result = diagnostics.reliability(RANDOM.random_sample(n) < p, p, n_resamples=5)
    axes = result.plot()
    assert len(result.forecast) == n
    assert max(len(line.get_xdata()) for line in axes.lines) < 2000
    assert max(len(patch.get_path().vertices) for patch in axes.patches) < 2000
    assert len(svg_of(axes)) < 100_000


def test_the_drawn_curve_is_the_curve():
    result = diagnostics.reliability(Y, P)
    axes = result.plot()
    line = next(line for line in axes.lines if line.get_label() == "observed")
    drawn = np.interp(result.forecast, *line.get_data())
    assert np.abs(drawn - result.recalibrated).max() < 0.02


def test_0_and_1_have_a_lane_of_their_own_on_log_odds():
    y, p = [0, 0, 1, 0, 1, 1], [0.0, 0.1, 0.3, 0.5, 0.7, 1.0]
    axes = diagnostics.reliability(y, p).plot(scale="log-odds")
    marks = dict(zip([text.get_text() for text in axes.get_xticklabels()], axes.get_xticks(), strict=True))
    line = next(line for line in axes.lines if line.get_label() == "observed")
    assert line.get_xdata()[[0, -1]].tolist() == [marks["0"], marks["1"]]
    triangles = {line.get_marker(): line.get_ydata() for line in axes.lines if line.get_marker() in "v^"}
    np.testing.assert_array_equal(triangles["v"], marks["0"])
    np.testing.assert_array_equal(triangles["^"], marks["1"])
    assert np.isfinite(line.get_data()).all()


@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.0]), ([0, 0], [0.0, 1.0]), ([0, 1], [0.5, 0.5]), ([0, 1, 1], [1e-300, 0.5, 1.0])]
)
def test_few_and_extreme_rows_can_be_drawn(y, p):
    svg_of(diagnostics.reliability(y, p).plot())
    svg_of(diagnostics.reliability(y, p).plot(scale="log-odds"))
    svg_of(diagnostics.murphy(y, p, thresholds=[0.0, 1.0]).plot(scale="log-odds"))
    svg_of(diagnostics.decision_curve(y, p).plot(scale="log-odds"))
    svg_of(diagnostics.cost_curve(y, p, (1, 3)).plot(scale="log-odds"))
    svg_of(diagnostics.by_group(y, p, y).plot())


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_extreme_weights_can_be_drawn(weight):
    weights = np.full(3, weight)
    svg_of(diagnostics.reliability([0, 1, 1], [0.2, 0.3, 1.0], sample_weight=weights).plot(scale="log-odds"))
    svg_of(diagnostics.murphy([0, 1, 1], [0.2, 0.3, 1.0], sample_weight=weights).plot(scale="log-odds"))


def test_names_from_data_stay_text():
    name = "$x_1$ <script>alert(1)</script>"
    svg = svg_of(diagnostics.by_group([0, 1], [0.2, 0.8], [name, name]).plot())
    assert "<script>" not in svg
    assert "$x_1$" in svg
    svg = svg_of(diagnostics.murphy([0, 1], {name: [0.2, 0.8], "_hidden": [0.3, 0.4]}).plot())
    assert "$x_1$" in svg
    assert "_hidden" in svg
    svg = svg_of(diagnostics.score_densities([name, "b", "b"], [0.1, 0.2, 0.5]).plot())
    assert "$x_1$" in svg


def test_more_groups_and_panels_than_fit():
    result = diagnostics.by_group(Y, P, np.arange(N) % 50)
    axes = result.plot(max_groups=10)
    assert len(axes.get_yticks()) == 10
    assert "40 smaller groups" in axes.get_xlabel()
    panels = diagnostics.multiclass_reliability(K_Y, K_P, n_resamples=2).plot(max_panels=3)
    labels = [axes.get_xlabel() for axes in panels.axes]
    assert labels == [f"forecast probability: {name}" for name in ("most probable class", "class 0", "class 1")]
    with pytest.raises(ValueError, match="max_panels must be a whole number of at least 1, got 0"):
        diagnostics.multiclass_reliability(K_Y, K_P, n_resamples=2).plot(max_panels=0)
    with pytest.raises(ValueError, match="max_groups must be a whole number of at least 1, got 0"):
        result.plot(max_groups=0)


@pytest.mark.parametrize("scale", ["probability", "log-odds"])
def test_a_constant_forecast_is_seen(scale):
    axes = diagnostics.reliability(Y, np.full(N, 0.1)).plot(scale=scale)
    assert any(line.get_marker() == "o" and len(line.get_xdata()) == 1 for line in axes.get_lines())
    (segment,) = [each for collection in axes.collections for each in collection.get_segments()]
    assert segment[0, 1] < segment[1, 1]
