"""Every Python block of the guides runs; the blocks of a file share their names, as they do for a reader."""

import re
from pathlib import Path

import pytest

GUIDES = sorted((Path(__file__).parents[1] / "docs" / "guides").glob("*.md"))


def test_there_are_guides():
    assert GUIDES


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_blocks_run(guide):
    text = guide.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert blocks
    names = {"__name__": guide.stem}
    for block in blocks:
        first_line = text[: block.start(1)].count("\n")
        exec(compile("\n" * first_line + block.group(1), str(guide), "exec"), names)
