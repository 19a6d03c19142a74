"""The reference pages: one for every public module, with every name of its ``__all__``; no list is kept by hand."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import griffe

SOURCE = Path(__file__).parents[2] / "src"
_NAME = re.compile(r"`(?:properly\.)?(?:\w+\.)*(\w+)(?:\(\))?`")

Names = dict[str, griffe.Object | griffe.Alias]


def public_modules() -> dict[str, griffe.Module]:
    """Every module right below ``properly`` that says what is public in it, as read, not imported: some need Spark."""
    package = griffe.load("properly", search_paths=[SOURCE], resolve_aliases=True)
    return {module.path: module for name, module in sorted(package.modules.items()) if module.exports}


def public_names(modules: dict[str, griffe.Module]) -> Names:
    """Every public class, function and table by its full name."""
    return {f"{path}.{name}": module[str(name)] for path, module in modules.items() for name in module.exports}


def docstring(thing: griffe.Object | griffe.Alias) -> str:
    return thing.docstring.value if thing.docstring else ""


def write_pages(folder: Path) -> None:
    folder.mkdir(parents=True)
    modules = public_modules()
    names = public_names(modules)
    undocumented = [name for name, thing in names.items() if not thing.is_attribute and not docstring(thing)]
    if undocumented:
        raise SystemExit(f"Public names without a docstring: {', '.join(undocumented)}")
    related = see_also(names)
    rows = []
    for path, module in modules.items():
        title = path.removeprefix("properly.")
        summary = docstring(module)
        if not summary:
            raise SystemExit(f"{path} has no docstring.")
        rows.append(f"| [`{path}`]({title}.md) | {summary.splitlines()[0]} |")
        entries = [_entry(f"{path}.{name}", names[f"{path}.{name}"], related) for name in module.exports]
        text = "\n\n".join([f"# {title}", summary, *entries])
        (folder / f"{title}.md").write_text(f"{text}\n", encoding="utf-8")
    intro = "Written from the docstrings. `import properly` loads a module when it is first used."
    table = "\n".join(["| module | |", "|---|---|", *rows])
    (folder / "index.md").write_text(f"# Reference\n\n{intro}\n\n{table}\n", encoding="utf-8")


def _entry(name: str, thing: griffe.Object | griffe.Alias, related: dict[str, set[str]]) -> str:
    if not thing.is_attribute:
        others = sorted(related[name], key=lambda other: other.rpartition(".")[2].lower())
        links = ", ".join(f"[`{other.rpartition('.')[2]}`][{other}]" for other in others)
        return f"::: {name}" + (f"\n\n**See also** {links}" if others else "")
    path, _, short = name.rpartition(".")
    value = getattr(importlib.import_module(path), short)
    heading = f"## `{short}` {{ #{name} }}"
    if isinstance(value, dict):
        keys = ", ".join(f"`{key if isinstance(key, str) else getattr(key, '__name__', key)}`" for key in value)
        return f"{heading}\n\nA table with the keys {keys}."
    shown = f"`{short} = {value!r}`" if isinstance(value, str) else f"A {type(value).__name__}."
    return f"{heading}\n\n{shown}"


def see_also(names: Names) -> dict[str, set[str]]:
    """For every public name those that its docstring names, and those whose docstrings name it."""
    short: dict[str, str] = {}
    for name in names:
        short.setdefault(name.rpartition(".")[2], name)
    related: dict[str, set[str]] = {name: set() for name in names}
    for name, thing in names.items():
        for word in _NAME.findall("" if thing.is_attribute else docstring(thing)):
            other = short.get(word)
            if other is not None and other != name:
                related[name].add(other)
                related[other].add(name)
    return related
