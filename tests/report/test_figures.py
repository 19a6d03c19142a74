import re
from xml.etree import ElementTree

import numpy as np
import pytest

from properly.diagnostics import by_group, cost_curve, decision_curve, murphy, murphy_difference, reliability
from properly.plots import STYLES
from properly.report.html import asset, inline_svg, picture


@pytest.fixture(scope="module")
def found():
    random = np.random.default_rng(0)
    p = random.random(5_000) ** 4
    return reliability(random.random(5_000) < p, p)


def ids(svg):
    return re.findall(r'\bid="([^"]+)"', svg)


def test_several_figures_share_no_id(found):
    one, other = inline_svg(found.plot(), "one", "first"), inline_svg(found.plot(), "other", "second")
    assert ids(one)
    assert not set(ids(one)) & set(ids(other))
    assert len(set(ids(one))) == len(ids(one))


def test_every_reference_has_its_target(found):
    svg = inline_svg(found.plot(scale="log-odds"), "one", "first")
    wanted = re.findall(r'href="#([^"]+)"', svg) + re.findall(r"url\(#([^)]+)\)", svg)
    assert wanted
    assert set(wanted) <= set(ids(svg))


def test_it_is_small_and_complete(found):
    svg = inline_svg(found.plot(), "one", "A <b> description")
    assert len(svg) < 150_000
    assert "&lt;b&gt;" in svg
    tree = ElementTree.fromstring(svg.replace("xlink:href", "href"))
    assert tree.get("role") == "img"
    assert tree[0].text == "A <b> description"
    assert "metadata" not in svg
    assert "<!DOCTYPE" not in svg


def test_labels_keep_their_digits(found):
    svg = inline_svg(found.plot(scale="log-odds"), "one", "first")
    assert "0.001" in re.findall(r">([\d.]+)</text>", svg)


def test_the_same_data_give_the_same_picture(found):
    assert inline_svg(found.plot(), "one", "first") == inline_svg(found.plot(), "one", "first")


def test_a_million_rows_are_drawn_in_few_points():
    random = np.random.default_rng(0)
    p = random.random(300_000)
    y = random.random(300_000) < p
    assert len(inline_svg(murphy(y, {"one": p, "two": p**2}).plot(), "murphy", "curves")) < 150_000
    assert len(inline_svg(reliability(y, p, n_resamples=10).plot(), "reliability", "curve")) < 150_000


def test_every_colour_has_one_for_the_dark():
    """Charts have the colours of `properly.plots`; the style of the page names another for each, in dark mode."""
    random = np.random.default_rng(0)
    p, y = random.random(300), random.random(300) < 0.5
    many = {f"forecaster {k}": p ** (k + 1) for k in range(len(STYLES))}
    drawn = [
        reliability(y, p).plot(scale="log-odds"),
        murphy(y, many).plot(),
        murphy_difference(y, p, p**2).plot(),
        decision_curve(y, p).plot(),
        cost_curve(y, p, (1, 2)).plot(),
        by_group(y, p, y).plot(),
    ]
    svgs = [inline_svg(each, "one", "first") for each in drawn]
    used = set(re.findall(r"var\(--([0-9a-f]{6}), #\1\)", "".join(svgs)))
    assert used
    dark = asset("page.css").partition("prefers-color-scheme: dark")[2].partition("* {")[0]
    assert used <= set(re.findall(r"--([0-9a-f]{6}): #", dark))
    for svg in svgs:
        assert not re.search(r"(fill|stroke): #", svg)
        assert "font-family" not in svg


def test_captions_are_escaped(found):
    assert "<i>" not in picture(found.plot(), "one", "description", "<i>caption</i>")
