"""Refresh what the commands print in ``docs/guides/command-line.md``.

    python docs/command_line_outputs.py

runs ``properly demo`` in a temporary folder, then every example of the guide that shows its output, and writes what was
printed into the guide.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

GUIDE = Path(__file__).parent / "guides" / "command-line.md"
_BLOCK = re.compile(r"(?<=^```console\n)\$ properly ([^\n]+)\n(?!```).+?(?=^```$)", re.DOTALL | re.MULTILINE)


def refreshed(text: str) -> str:
    """The guide with what its examples print now."""
    with tempfile.TemporaryDirectory() as folder:
        _printed("demo --output demo", folder)
        return _BLOCK.sub(lambda found: f"$ properly {found[1]}\n{_printed(found[1], folder)}", text)


def _printed(arguments: str, folder: str) -> str:
    words = [sys.executable, "-m", "properly", *arguments.split()]
    done = subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    GUIDE.write_text(refreshed(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
