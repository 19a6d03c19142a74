"""The report in a browser, as a reader sees it; skipped where there is no browser."""

import re
import shutil
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from properly.audit import audit
from properly.cli import main
from properly.comparison import compare
from properly.report import fit_page
from properly.tables import write_batches
from properly.tables.predictions import read_predictions

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

NASTY = "<script>alert(1)</script>"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
COUNTS = ("true-positives", "false-positives", "false-negatives", "true-negatives")


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(BROWSERS)})")
    with playwright.sync_playwright() as running:
        try:
            opened = running.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        except playwright.Error as error:
            pytest.skip(f"{path} does not start: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    """A file whose columns and values try to be markup."""
    random = np.random.default_rng(0)
    score = random.normal(size=3_000) * 1.5 - 5.0
    columns = {
        NASTY: 1.0 / (1.0 + np.exp(-score)),
        "y": np.where(random.random(3_000) < 1.0 / (1.0 + np.exp(-0.6 * score)), NASTY, "<b>no</b>"),
        "group": np.array([NASTY, "</script><img src=x onerror=alert(2)>", "c"])[random.integers(3, size=3_000)],
    }
    path = tmp_path_factory.mktemp("audit") / "predictions.parquet"
    table = pa.table(columns)
    write_batches(path, table.schema, table.to_batches())
    return path


@pytest.fixture(scope="module")
def report(predictions):
    path = predictions.with_name("audit.html")
    words = ["--target", "y", "--probability", NASTY, "--positive", NASTY, "--group", "group", "--costs", "1:20"]
    assert main(["audit", str(predictions), *words, "--report", str(path), "--json"]) == 0
    return path


@contextmanager
def opened(browser, path, width, height):
    """A page of these measures; whatever went wrong in it fails the test at the end."""
    context = browser.new_context(viewport={"width": width, "height": height}, locale="en-GB")
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: asked.url.startswith("file://") or wrong.append(asked.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert wrong == []


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def page(browser, report, request):
    with opened(browser, report, *request.param) as open_page:
        yield open_page


def count(page, name):
    return float(page.locator(f"#{name}").get_attribute("data-count"))


def share(page, name):
    return float(page.locator(f"#{name}").get_attribute("data-share"))


def move(page, position):
    page.locator("#threshold").evaluate(
        "(slider, position) => { slider.value = position; slider.dispatchEvent(new Event('input')); }", str(position)
    )


def test_pictures_are_there(page):
    figures = page.locator("figure svg[role=img]")
    assert figures.count() >= 4
    for k in range(figures.count()):
        box = figures.nth(k).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 150
        assert figures.nth(k).locator("path").count() > 5
        assert figures.nth(k).locator("title").first.text_content()


def test_nothing_sticks_out(page):
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")


def test_names_that_look_like_markup_stay_text(page):
    assert NASTY in page.locator("h1").inner_text()
    assert page.locator("#groups th", has_text=NASTY).count() == 1
    assert page.locator("#groups th", has_text="onerror").count() == 1
    assert page.locator("main img, main b").count() == 0


def test_the_slider_counts_as_python_does(page, predictions):
    data, *_ = read_predictions(predictions, "y", [NASTY], positive=NASTY)
    positive = data.codes == 1
    last = int(page.locator("#threshold").get_attribute("max"))
    seen = set()
    for position in (0, last // 3, last // 2, (4 * last) // 5, last - 1, last):
        move(page, position)
        threshold = page.locator("#threshold-value").get_attribute("data-threshold")
        called = data.p >= (float(threshold) if threshold else np.inf)
        expected = [called & positive, called & ~positive, ~called & positive, ~called & ~positive]
        found = [count(page, name) for name in COUNTS]
        assert found == [np.sum(each) for each in expected]
        cost = float(page.locator("#expected-cost").get_attribute("data-cost"))
        assert cost == pytest.approx((found[1] + 20.0 * found[2]) / len(positive))
        alerts = float(page.locator("#alerts").get_attribute("data-share"))
        assert alerts == pytest.approx(np.mean(called))
        assert share(page, "recall") == pytest.approx(np.sum(called & positive) / np.sum(positive))
        if called.any():
            assert share(page, "precision") == pytest.approx(np.mean(positive[called]))
        else:
            assert page.locator("#precision").inner_text() == "–"
        assert page.locator("#false-positives").inner_text() == f"{int(found[1]):,}"
        seen.add(tuple(found))
    assert len(seen) >= 4


def test_keys_move_the_slider(page):
    before = count(page, "true-positives") + count(page, "false-positives")
    page.locator("#threshold").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert count(page, "true-positives") + count(page, "false-positives") > before


def test_it_begins_at_the_threshold_for_the_costs(page):
    assert float(page.locator("#threshold-value").get_attribute("data-threshold")) == pytest.approx(1.0 / 21.0)
    assert page.locator("#theory-mark").get_attribute("x1") == page.locator("#now-mark").get_attribute("x1")


def test_the_cost_curve_has_axes(page):
    """The cost axis ends at a round number above the largest cost; a mark of the threshold axis stands at its place."""
    ends = [float(text.replace(",", "")) for text in page.locator("#cost-axis span").all_inner_texts()]
    assert ends[0] == 0.0
    move(page, page.locator("#threshold").get_attribute("max"))
    assert ends[-1] >= 1000.0 * float(page.locator("#expected-cost").get_attribute("data-cost")) > 0.0
    marks = page.locator("#threshold-axis span")
    assert marks.count() >= 3
    boxes = [marks.nth(k).bounding_box() for k in range(marks.count())]
    boxes.sort(key=lambda box: box["x"])
    for one, other in pairwise(boxes):
        assert one["x"] + one["width"] <= other["x"]
    page.locator("#go-theory").click()
    first = page.locator("#threshold-axis span", has_text="0.01").first
    curve = page.locator("#cost-curve").bounding_box()
    table = page.evaluate("JSON.parse(document.getElementById('threshold-table').textContent).thresholds")
    middle = first.bounding_box()["x"] + first.bounding_box()["width"] / 2
    place = (middle - curve["x"]) / curve["width"] * (len(table) - 1)
    assert table[round(place)] == pytest.approx(float(first.inner_text()), rel=0.1)


def test_groups_fit_the_width(page):
    """On a phone a group is a block, so that nothing need be scrolled sideways; in print nothing is cut off."""
    fits = "element => element.scrollWidth <= element.clientWidth"
    shown = page.locator("#groups .scroll")
    assert shown.evaluate(fits)
    assert shown.locator("tbody tr").count() == 3
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    for k in range(page.locator(".scroll").count()):
        assert page.locator(".scroll").nth(k).evaluate(fits)


def test_charts_follow_dark_mode(browser, report):
    """Text, curves and ground change; what is printed stays light."""

    def colours(page):
        text = "getComputedStyle(document.querySelector('figure svg text')).fill"
        curve = "getComputedStyle(document.querySelector('figure svg [style*=\"stroke: var(--0072b2\"]')).stroke"
        ground = "getComputedStyle(document.querySelector('section')).backgroundColor"
        return [sum(map(int, re.findall(r"\d+", page.evaluate(each))[:3])) for each in (text, curve, ground)]

    seen = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(report.as_uri())
        seen[scheme] = colours(page)
        page.emulate_media(media="print", color_scheme=scheme)
        seen[f"{scheme}, printed"] = colours(page)
        context.close()
    (text, curve, ground), (dark_text, dark_curve, dark_ground) = seen["light"], seen["dark"]
    assert text < ground
    assert dark_text > dark_ground
    assert dark_curve > curve
    assert seen["dark, printed"] == seen["light, printed"] == seen["light"]


def test_other_costs_move_the_mark(page):
    mark = page.locator("#theory-mark")
    before = float(mark.get_attribute("x1"))
    page.locator("#cost-false-negative").fill("2")
    assert float(mark.get_attribute("x1")) > before
    page.locator("#go-theory").click()
    assert float(page.locator("#threshold-value").get_attribute("data-threshold")) == pytest.approx(1.0 / 3.0, abs=0.02)
    page.locator("#cost-false-positive").fill("0")
    page.locator("#go-cheapest").click()
    assert float(page.locator("#expected-cost").get_attribute("data-cost")) == 0.0
    page.locator("#cost-false-negative").fill("")
    page.locator("#go-theory").click()
    assert page.locator("#theory-threshold").inner_text() == "any"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_of_a_fit(browser, tmp_path, width):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3)) @ (np.eye(3) + 0.6)
    y = random.random(500) < 1.0 / (1.0 + np.exp(-X[:, 0]))
    comparison = compare({"logistic": LogisticRegression(), f"{NASTY} with a long name": GaussianNB()}, X, y)
    judged = audit(y, comparison.probabilities[comparison.best])
    path = tmp_path / "fit.html"
    path.write_text(fit_page(comparison, judged, {"rows": "500"}, "Models for y"), encoding="utf-8")
    with opened(browser, path, width, 844) as page:
        assert page.locator("#leaderboard tbody tr").count() == 2
        assert page.locator("#leaderboard th", has_text=NASTY).count() == 1
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        before = count(page, "true-positives")
        move(page, page.locator("#threshold").get_attribute("max"))
        assert count(page, "true-positives") == 0.0 != before


@pytest.mark.slow
def test_the_reports_of_the_demo(browser, tmp_path):
    assert main(["demo", "--output", str(tmp_path), "--json"]) == 0
    for name in ("audit.html", "fit.html"):
        with opened(browser, tmp_path / name, 390, 844) as page:
            assert page.locator("figure svg[role=img]").count() >= 2
            assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")


def test_without_scripts_the_rest_is_there(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#answer p").count() == 3
    assert page.locator("#threshold-helper").is_hidden()
    assert page.get_by_text("The slider needs JavaScript.").is_visible()
    context.close()
