"""Run the ``python`` blocks of a page and show what they print, return and draw, as a notebook does."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)  # ```py is shown, not run


def with_outputs(text: str, name: str, images: Path) -> str:
    """The page with the output of every block below it; pictures go to the folder `images`."""
    names: dict[str, Any] = {"__name__": name}
    with _in_a_temporary_folder():
        done, written = 0, ""
        for number, found in enumerate(BLOCK.finditer(text)):
            written += text[done : found.end()] + _shown(found, text, name, names, images, number)
            done = found.end()
    return written + text[done:]


def run_blocks(text: str, name: str) -> int:
    """Run the blocks of a page, one after the other, and say how many there are."""
    names: dict[str, Any] = {"__name__": name}
    blocks = list(BLOCK.finditer(text))
    for found in blocks:
        _run(found, text, name, names)
    return len(blocks)


def _run(found: re.Match[str], text: str, name: str, names: dict[str, Any]) -> Any:
    """Run a block; its value is that of the expression it ends with, or None."""
    tree = ast.parse("\n" * text[: found.start(1)].count("\n") + found[1], name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)


def _shown(found: re.Match[str], text: str, name: str, names: dict[str, Any], images: Path, number: int) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = _run(found, text, name, names)
    lines = [textwrap.fill(line, 84) if len(line) > 110 else line for line in printed.getvalue().rstrip().splitlines()]
    parts = ["```text\n" + "\n".join(lines) + "\n```"] if any(lines) else []
    figure = getattr(value, "figure", value)
    if hasattr(figure, "savefig"):
        images.mkdir(parents=True, exist_ok=True)
        figure.savefig(images / f"{number}.png", dpi=110, bbox_inches="tight")
        parts.append(f"![What the code above draws]({images.name}/{number}.png)")
    elif hasattr(value, "_repr_html_"):
        html = value._repr_html_().replace("\n\n", "\n")
        parts.append(f'<div class="result">{html}</div>')
    elif value is not None:
        parts.append(f"```text\n{value!r}\n```")
    return "".join(f"\n\n{part}" for part in parts) + ("\n" if parts else "")


@contextlib.contextmanager
def _in_a_temporary_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
