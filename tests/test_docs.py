"""Every Python block of the README and the guides runs; the blocks of a file share their names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


def test_there_are_guides():
    assert len(GUIDES) > 1


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_blocks_run(guide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = guide.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert blocks
    names = {"__name__": guide.stem}
    for block in blocks:
        first_line = text[: block.start(1)].count("\n")
        exec(compile("\n" * first_line + block.group(1), str(guide), "exec"), names)
