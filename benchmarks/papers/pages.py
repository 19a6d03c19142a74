"""Copy tables of results into the pages of the studies, so that no figure in them is typed by hand.

    python benchmarks/papers/pages.py

In docs/studies, a line ``<!-- gev_synthetic: Run times -->`` has below it the first table under that heading of
benchmarks/results/gev_synthetic/tables.md; ``<!-- gev_real: Brier score, 2 -->`` the second, and
``<!-- bennett: naive Bayes; columns 1 3-8 -->`` some of the columns. The heading may be the title, and a study without
a folder is the file benchmarks/results/NAME.md. `study.main` calls `refresh` when stored results were written, and a
test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = sorted((ROOT / "docs" / "studies").glob("*.md"))
_MARK = re.compile(r"(<!-- (\w+): (.+?)(?:, (\d))?(?:; columns ([\d -]+))? -->\n\n)((?:\|[^\n]*\n)*)")
_TABLE = re.compile(r"(?:^\|[^\n]*\n)+", re.MULTILINE)


def refreshed(page: str) -> str:
    """The text of a page with the tables of the results."""
    return _MARK.sub(lambda found: found[1] + table(found[2], found[3], int(found[4] or 1), found[5]), page)


def table(study: str, heading: str, number: int, columns: str | None) -> str:
    """The table of this number under the heading of a study's tables, or some of its columns."""
    folder = RESULTS / study
    text = (folder / "tables.md" if folder.is_dir() else RESULTS / f"{study}.md").read_text(encoding="utf-8")
    section = f"\n{text}".partition(f"# {heading}\n")[2].partition("\n## ")[0]
    found = _TABLE.findall(f"{section}\n")
    if len(found) < number:
        raise SystemExit(f"{study}: there is no table {number} under the heading {heading!r}.")
    return found[number - 1] if columns is None else _some(found[number - 1], columns)


def _some(table: str, columns: str) -> str:
    """The columns of these numbers, the first of which is 1: ``1 3-8``."""
    ranges = [each.partition("-") for each in columns.split()]
    chosen = [k for first, _, last in ranges for k in range(int(first), int(last or first) + 1)]
    rows = [line.strip("|\n").split("|") for line in table.splitlines()]
    return "".join("|" + "|".join(row[k - 1] for k in chosen) + "|\n" for row in rows)


def refresh() -> None:
    for path in PAGES:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    refresh()
