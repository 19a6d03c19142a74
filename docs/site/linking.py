"""After the build: names of the library become links to the reference, numbers of formulas links to the mathematics,
and every link of the site is checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

_HEADING = re.compile(r'<h\d id="(properly\.[\w.]+)"')
_SKIPPED = re.compile(r"(<a\b.*?</a>|<pre\b.*?</pre>|<h\d\b.*?</h\d>|<nav\b.*?</nav>|<script\b.*?</script>)", re.DOTALL)
_CODE = re.compile(r"<code>((?:\w+\.)*(\w+))(\(\))?</code>")
_FORMULA = re.compile(r"[Ff]ormula \((\w+\.\d+)\)")
_ID = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r'<(\w+)\b[^>]*?\b(?:href|src)="([^"]+)"')


def link_names(site: Path) -> int:
    """Link names and formulas in all pages; the number of names that can be linked to."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    names, formulas = {}, {}
    for path, text in pages.items():
        for anchor in _HEADING.findall(text) if path.parent.name == "reference" else ():
            names[anchor] = path
        for anchor in re.findall(r'id="(formula-[\w.]+)"', text):
            formulas[anchor] = path
    places = _by_any_ending(names)
    for path, text in pages.items():
        parts = _SKIPPED.split(text)
        for k in range(0, len(parts), 2):
            parts[k] = _CODE.sub(lambda found, path=path: _linked(found, path, places), parts[k])
            parts[k] = _FORMULA.sub(lambda found, path=path: _formula(found, path, formulas), parts[k])
        path.write_text("".join(parts), encoding="utf-8")
    return len(names)


def _by_any_ending(names: dict[str, Path]) -> dict[str, tuple[Path, str]]:
    """Every name by its endings, as long as these mean one thing: Class, linear.Class, properly.linear.Class."""
    found: dict[str, tuple[Path, str] | None] = {}
    for name, path in names.items():
        words = name.split(".")
        for k in range(1 if words[-2][0].islower() else 2, len(words) + 1):
            ending = ".".join(words[-k:])
            found[ending] = None if ending in found else (path, name)
    return {ending: place for ending, place in found.items() if place is not None}


def _linked(found: re.Match[str], page: Path, places: dict[str, tuple[Path, str]]) -> str:
    place = places.get(found[1])
    if place is None or (found[1][0].islower() and "_" not in found[1] and not found[3] and "." not in found[1]):
        return found[0]  # a plain word, which may mean something else
    return f'<a href="{_relative(place[0], page)}#{place[1]}">{found[0]}</a>'


def _formula(found: re.Match[str], page: Path, formulas: dict[str, Path]) -> str:
    anchor = f"formula-{found[1]}"
    if anchor not in formulas:
        raise SystemExit(f"{page}: there is no formula ({found[1]}).")
    return f'<a href="{_relative(formulas[anchor], page)}#{anchor}">{found[0]}</a>'


def _relative(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()


def broken_links(site: Path) -> list[str]:
    """Links of the site that lead nowhere, and scripts, styles and pictures that come from elsewhere."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {path: set(_ID.findall(text)) for path, text in texts.items()}
    return [
        f"{path.relative_to(site.resolve())}: {link}"
        for path, text in texts.items()
        if path.name != "404.html"
        for kind, link in _links(text)
        if not ((link.startswith("http") and kind == "a") or _leads_somewhere(link, path, anchors))
    ]


def _links(text: str) -> Iterator[tuple[str, str]]:
    """The element and the target of every link."""
    for found in _REFERENCE.finditer(text):
        yield found[1], unescape(found[2])


def _leads_somewhere(link: str, page: Path, anchors: dict[Path, set[str]]) -> bool:
    if re.match(r"(mailto|data|javascript):", link):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path)).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return False
    return not anchor or target not in anchors or unquote(anchor) in anchors[target] or anchor.startswith("__")
