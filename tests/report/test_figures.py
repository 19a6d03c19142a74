import re
from xml.etree import ElementTree

import numpy as np
import pytest

from properly.diagnostics import murphy, reliability
from properly.report.html import inline_svg, picture


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


def test_captions_are_escaped(found):
    assert "<i>" not in picture(found.plot(), "one", "description", "<i>caption</i>")
