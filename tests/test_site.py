"""What builds the documentation site: blocks and their output, links, formulas; and how far it is to ten tasks."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "site"))

import blocks  # noqa: E402
import linking  # noqa: E402

TASKS = [
    "Calibrate LightGBM", "Undo under-sampling", "Choose a threshold with costs", "Compare two models",
    "Group calibration",
    "Three classes", "Presence-only data", "Save and serve with ONNX", "Audit a file", "Data larger than memory",
]  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_ten_tasks_are_two_clicks_from_the_landing_page(task):
    assert "](which-tool.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    page = (DOCS / "which-tool.md").read_text(encoding="utf-8")
    anchor = task.lower().replace(" ", "-")
    assert f"[{task}](#{anchor})" in page  # the second click
    recipe = page.partition(f"\n## {task}\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^```(?:python|console)\n", recipe, re.MULTILINE)) == 1  # to copy


SECTIONS = [
    section.partition("\n") for section in (DOCS / "which-tool.md").read_text(encoding="utf-8").split("\n## ")[1:]
]
RECIPES = {title: recipe for title, _, recipe in SECTIONS if "```python\n" in recipe}


def test_every_recipe_of_the_decision_page_is_read():
    assert set(TASKS) - {"Audit a file"} < set(RECIPES)


@pytest.mark.parametrize("task", RECIPES)
def test_a_recipe_runs_by_itself(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks.run_blocks(RECIPES[task], task) == 1


@pytest.mark.slow
def test_the_commands_of_the_decision_page_run(tmp_path, monkeypatch):
    from properly.cli import main

    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^properly (.*)$", (DOCS / "which-tool.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [main(shlex.split(line, comments=True)) for line in lines] == [0, 0]
    assert (tmp_path / "audit.html").exists()


@pytest.mark.slow
def test_a_reader_finds_and_copies_every_task(tmp_path, monkeypatch):
    """From the landing page of the built site: two clicks, and the button that copies the block."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    landing, browser = ROOT / "build" / "site" / "index.html", shutil.which("chromium")
    if browser is None or not landing.exists():
        pytest.skip("chromium is not installed, or the site is not built (make docs)")
    monkeypatch.chdir(tmp_path)
    with playwright.sync_playwright() as running:
        context = running.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_context()
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        for task in TASKS:
            page, anchor = context.new_page(), task.lower().replace(" ", "-")
            page.goto(landing.as_uri())
            page.click(".md-content a:has-text('Which tool do I need?')")
            page.click(f".md-content table a:text-is('{task}')")
            block = page.locator(f"xpath=//h2[@id='{anchor}']/following-sibling::div[contains(@class,'highlight')][1]")
            block.hover()
            block.locator("button").first.click()
            page.wait_for_timeout(200)
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied.strip() in blocks_of(task)
            page.close()


@pytest.mark.slow
def test_the_search_of_pages_from_disk_follows_every_letter():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    landing, browser = ROOT / "build" / "site" / "index.html", shutil.which("chromium")
    if browser is None or not landing.exists():
        pytest.skip("chromium is not installed, or the site is not built (make docs)")
    with playwright.sync_playwright() as running:
        page = running.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        page.goto(landing.as_uri())
        page.wait_for_timeout(1000)
        page.keyboard.press("Control+k")
        field = page.get_by_placeholder("Search")
        field.wait_for()
        page.wait_for_timeout(1000)  # until the index is read
        field.press_sequentially("best_threshold", delay=50)
        page.locator("a:has-text('best_threshold')").first.wait_for()
        assert field.input_value() == "best_threshold"


def blocks_of(task):
    page = (DOCS / "which-tool.md").read_text(encoding="utf-8").partition(f"\n## {task}\n")[2].partition("\n## ")[0]
    return page.replace("\r", "")


PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks" / "results").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_of_the_project_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text) if not re.match(r"[a-z]+:", link)]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_output_of_a_block_is_shown_below_it(tmp_path):
    page = "# A\n\n```python\nx = 2\nprint('a' * x)\nx + 1\n```\n\nText.\n\n```py\nraise ValueError\n```\n"
    shown = blocks.with_outputs(page, "page.md", tmp_path / "page")
    assert "```\n\n```text\naa\n```\n\n```text\n3\n```\n\n\nText." in shown
    assert shown.endswith("```py\nraise ValueError\n```\n")  # not run


def test_a_figure_becomes_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    page = "```python\nfrom matplotlib.figure import Figure\nFigure()\n```\n"
    shown = blocks.with_outputs(page, "page.md", tmp_path / "page")
    assert "(page/0.png)" in shown
    assert (tmp_path / "page" / "0.png").stat().st_size > 0


def test_an_error_of_a_block_names_the_line_of_the_page(tmp_path):
    with pytest.raises(ZeroDivisionError) as raised:
        blocks.with_outputs("# A\n\n```python\na = 1\n1 / 0\n```\n", "page.md", tmp_path)
    assert raised.traceback[-1].lineno + 1 == 5


@pytest.fixture
def site(tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "linear.html").write_text('<h2 id="properly.linear.Model">Model</h2>')
    (tmp_path / "maths.html").write_text('<div id="formula-2.3"></div>')
    (tmp_path / "index.html").write_text(
        "<code>Model</code> <code>fit</code> <pre><code>Model</code></pre> Formula (2.3)"
    )
    return tmp_path


def test_names_and_formulas_become_links(site):
    assert linking.link_names(site) == 1
    text = (site / "index.html").read_text()
    assert '<a href="reference/linear.html#properly.linear.Model"><code>Model</code></a> <code>fit</code>' in text
    assert "<pre><code>Model</code></pre>" in text
    assert '<a href="maths.html#formula-2.3">Formula (2.3)</a>' in text
    assert linking.broken_links(site) == []


@pytest.mark.parametrize(
    "link",
    [
        '<a href="nothing.html">',
        '<a href="maths.html#formula-9.9">',
        '<script src="https://example.org/a.js">',
        '<img src="no.png">',
    ],
)
def test_links_that_lead_nowhere_and_foreign_scripts_are_found(site, link):
    (site / "index.html").write_text(link)
    assert len(linking.broken_links(site)) == 1


def test_a_formula_that_is_not_there_stops_the_build(site):
    (site / "index.html").write_text("formula (7.7)")
    with pytest.raises(SystemExit, match=r"no formula \(7.7\)"):
        linking.link_names(site)


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml")
    from formulas import with_formulas

    text = with_formulas("Let $p^2$ be, and `$a$` code.\n\n$$x = 1$$ (2.3)\n")
    assert text.startswith("Let <span><math")
    assert "`$a$` code" in text
    assert '<div class="formula" id="formula-2.3">' in text


def test_the_reference_has_every_public_module():
    pytest.importorskip("griffe")
    from reference import public_modules, public_names, see_also

    modules = public_modules()
    assert {"properly.linear", "properly.spark", "properly.kernels"} <= set(modules)
    names = public_names(modules)
    related = see_also(names)
    assert all(name in related[other] for name, others in related.items() for other in others)  # both ways
