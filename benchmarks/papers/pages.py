"""Copy tables of results into the pages of the studies, so that no figure in them is typed by hand.

    python benchmarks/papers/pages.py

In docs/studies, a line ``<!-- gev_synthetic: Run times -->`` has below it the first table under that heading of
benchmarks/results/gev_synthetic/tables.md; ``<!-- gev_real: Brier score, 2 -->`` the second. `study.main` calls
`refresh` when stored results were written, and a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "studies").glob("*.md"))
_MARK = re.compile(r"(<!-- (\w+): (.+?)(?:, (\d))? -->\n\n)((?:\|[^\n]*\n)*)")
_TABLE = re.compile(r"(?:^\|[^\n]*\n)+", re.MULTILINE)


def refreshed(page: str) -> str:
    """The text of a page with the tables of the results."""
    return _MARK.sub(lambda found: found[1] + table(found[2], found[3], int(found[4] or 1)), page)


def table(study: str, heading: str, number: int) -> str:
    """The table of this number under the heading of a study's tables.md."""
    text = (ROOT / "benchmarks" / "results" / study / "tables.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = _TABLE.findall(f"{section}\n")
    if len(found) < number:
        raise SystemExit(f"{study}: there is no table {number} under the heading {heading!r}.")
    return found[number - 1]


def refresh() -> None:
    for path in PAGES:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    refresh()
