"""Build the documentation site: ``python docs/site/build.py``, or ``make docs``; it is then in build/site/index.html.

1. The pages are copied to build/pages. Their ``python`` blocks are run, and what they print or draw is shown below them
   (blocks marked ``py`` are only shown); formulas become MathML; a reference page is written for every public module.
2. Zensical turns the pages into HTML, with search, and stops at whatever is wrong with a page.
3. Names of the library in the pages become links to the reference. Every link, within the site only, is then checked.

Nothing is read from the network, and the pages need nothing from it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import linking
import reference
from blocks import with_outputs
from formulas import with_formulas

ROOT = Path(__file__).parents[2]
DOCS, PAGES, SITE = ROOT / "docs", ROOT / "build" / "pages", ROOT / "build" / "site"
SECTIONS = {  # the navigation: a page, or all pages of a folder
    "properly": "index.md",
    "Which tool?": "which-tool.md",
    "Tutorials": "tutorials",
    "Gallery": "gallery",
    "Guides": "guides",
    "Coming from…": "coming-from",
    "Mathematics": "mathematics",
    "How it works": "how-it-works.md",
    "How to add": "how-to-add",
    "Reference": "reference",
    "Studies": "studies",
    "Project": "project",
    "Decisions": "decisions",
}
RUN = ("index.md", "which-tool.md", "tutorials", "gallery", "coming-from", "how-to-add")  # the rest is run by the tests
PROJECT = {  # what is outside docs/ and has a page of its own
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
MOVED = ("benchmarks.md", "speed.md", "differences-from-scikit-learn.md")  # pages of docs/ that belong to the project's
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")


def main() -> None:
    start = time.perf_counter()
    for folder in (PAGES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    sources = {path: path.relative_to(DOCS) for path in sorted(DOCS.rglob("*")) if _is_page(path)}
    sources |= {ROOT / name: Path(page) for name, page in PROJECT.items()}
    sources |= {DOCS / name: Path("project") / name for name in MOVED}
    with ProcessPoolExecutor() as pool:
        list(pool.map(prepare, sources, sources.values(), [sources] * len(sources)))
    reference.write_pages(PAGES / "reference")
    (PAGES / "assets").mkdir(exist_ok=True)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(Path(__file__).with_name(name), PAGES / "assets" / name)
    configuration = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
    configuration |= {"nav": navigation(), "docs_dir": PAGES.name, "site_dir": SITE.name}
    (ROOT / "build" / "mkdocs.yml").write_text(json.dumps(configuration, indent=2), encoding="utf-8")  # JSON is YAML
    command = ["-m", "zensical", "build", "--strict", "--clean", "-f", str(ROOT / "build" / "mkdocs.yml")]
    subprocess.run([sys.executable, *command], check=True)
    names = linking.link_names(SITE)
    broken = linking.broken_links(SITE)
    if broken:
        raise SystemExit("Broken links:\n" + "\n".join(broken))
    print(f"{SITE / 'index.html'}: {names} names linked, {time.perf_counter() - start:.0f} s.")


def _is_page(path: Path) -> bool:
    inside = path.relative_to(DOCS).parts
    return path.suffix in (".md", ".png", ".svg") and inside[0] != "site" and inside[-1] not in MOVED


def prepare(source: Path, page: Path, sources: dict[Path, Path]) -> None:
    """Write one page: blocks run, formulas set, links to files outside docs/ led to copies."""
    target = PAGES / page
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copy(source, target)
        return
    text = source.read_text(encoding="utf-8")
    text = _LINK.sub(lambda found: _moved(found, source, page, sources), text)
    if page.parts[0] in RUN:
        text = with_outputs(text, str(page), target.with_suffix(""))
    target.write_text(with_formulas(text), encoding="utf-8")


def _moved(found: re.Match[str], source: Path, page: Path, sources: dict[Path, Path]) -> str:
    """The target of a link as seen from the page; files that are not pages, and results of benchmarks, are copied."""
    path, anchor = found[1], found[2] or ""
    if re.match(r"[a-z]+:", path):
        return path + anchor
    wanted = (source.parent / path).resolve()
    if wanted == DOCS / "index.md" or (wanted not in sources and not wanted.is_file()):
        place = Path("decisions") if wanted == DOCS / "decisions" else None
        if place is None and wanted != DOCS / "index.md":
            return path + anchor  # broken: the check of all links will say so
        place = Path("index.md") if place is None else place / "0001-record-decisions.md"
    elif wanted in sources:
        place = sources[wanted]
    else:
        place = Path("project") / "files" / wanted.relative_to(ROOT)
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        if place.suffix == ".md":
            content = wanted.read_text(encoding="utf-8")
            content = _LINK.sub(lambda inner: _moved(inner, wanted, place, sources), content)
            (PAGES / place).write_text(content, encoding="utf-8")
        else:
            shutil.copy(wanted, PAGES / place)
    return _relative(place, page) + anchor


def _relative(place: Path, page: Path) -> str:
    return "/".join([".."] * (len(page.parts) - 1) + list(place.parts))


def navigation() -> list[object]:
    """The sections with the pages that are there."""
    found: list[object] = []
    for title, place in SECTIONS.items():
        if place.endswith(".md"):
            found.append({title: place})
        elif (PAGES / place).is_dir():
            pages = sorted((PAGES / place).glob("*.md"), key=lambda path: (path.stem != "index", path.stem))
            found.append({title: [f"{place}/{path.name}" for path in pages]})
    return found


if __name__ == "__main__":
    main()
