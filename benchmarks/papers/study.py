"""How every study is started: one set of options, one place for results, one answer when data are missing.

    python benchmarks/papers/gev_real.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite] [--jobs N]

A study is a function of `Options`; `main(name, doc, study)` reads the options and runs it. Stored results are replaced
only with --overwrite. With --quick a study takes minutes at most and writes to build/studies/; without a data folder it
then runs on tiny made-up data (`made_up.py`), which shows that it works, and nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pages import refresh

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
VARIABLE = "PROPERLY_DATA"
MADE_UP = "MADE_UP"  # a file of this name says that the data of the folder are made up, and have no known checksums


class DataMissing(Exception):
    """The data are not there; the message says where to get them."""


@dataclass(frozen=True)
class Options:
    """What a study is asked for."""

    quick: bool  # a part of the work, minutes at most
    output: Path  # an existing folder
    jobs: int  # processes
    made_up: bool  # tiny data without meaning


def main(name: str, doc: str, study: Callable[[Options], None], arguments: list[str] | None = None) -> int:
    """Run a study whose results belong into benchmarks/results/NAME; the exit status is 0 if it came to its end."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a part of the study, in minutes")
    parser.add_argument("--data", type=Path, default=os.environ.get(VARIABLE), help=f"folder of the data (${VARIABLE})")
    parser.add_argument("--output", type=Path, help=f"folder to write to (benchmarks/results/{name})")
    parser.add_argument("--overwrite", action="store_true", help="replace the results that are in that folder")
    parser.add_argument("--jobs", type=int, default=-1, help="processes, all cores by default")
    given = parser.parse_args(arguments)
    folder = ROOT / "build" / "studies" if given.quick else RESULTS
    output = given.output or folder / name
    scratch = given.quick and given.output is None
    if output.is_dir() and any(output.iterdir()) and not (given.overwrite or scratch):
        print(f"{output} has results: --overwrite replaces them, --output writes elsewhere.", file=sys.stderr)
        return 2
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        made_up = given.quick and given.data is None
        if made_up:
            from made_up import make_up

            print(f"{name}: no --data and no {VARIABLE}; on made-up data, whose results mean nothing.", file=sys.stderr)
            make_up(Path(temporary))
            given.data = temporary
        if given.data is not None:
            os.environ[VARIABLE] = str(given.data)
        try:
            study(Options(given.quick, output, 1 if made_up else given.jobs, made_up))
        except (DataMissing, FileNotFoundError) as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            return 1
        finally:
            if made_up:
                del os.environ[VARIABLE]
    if output == RESULTS / name:
        refresh()  # the pages of the studies show the tables
    print(f"Written to {output}: {', '.join(sorted(path.name for path in output.iterdir()))}", file=sys.stderr)
    return 0


def data_folder(origin: str) -> Path:
    """The folder of the data; `origin` says where they are published."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise DataMissing(
            f"name the folder of the data with --data or in the environment variable {VARIABLE}.\n{origin}"
        )
    return Path(folder)


def read_verified(file: str | Path, sha256: str, origin: str) -> bytes:
    """The content of a file of the data folder, if it is the expected version."""
    folder = data_folder(origin)
    path = folder / file
    if not path.exists():
        raise DataMissing(f"there is no file {path}.\n{origin}")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256 and not (folder / MADE_UP).exists():
        raise DataMissing(f"{path} is another version: its sha256 is {found}, expected {sha256}.\n{origin}")
    return content


def progress(items: Iterable[Any], total: int, what: str = "runs") -> Iterator[Any]:
    """Pass on what comes, and say how far it is and how long it will still take: on one line of a terminal, elsewhere
    ten times in all."""
    start, terminal = time.perf_counter(), sys.stderr.isatty()
    for count, item in enumerate(items, start=1):
        yield item  # the time of what is done with it counts
        elapsed = time.perf_counter() - start
        left = elapsed / count * max(total - count, 0)
        if terminal or count * 10 // total > (count - 1) * 10 // total:
            line = f"{count} of {total} {what}, {elapsed:.0f} s, about {left:.0f} s left"
            print(f"\r{line}   " if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)
    if terminal:
        print(file=sys.stderr)


def machine(seconds: float, packages: Iterable[str] = ("numpy", "scipy", "scikit-learn")) -> str:
    """How long it took, and on what."""
    versions = [f"{package} {version(package)}" for package in packages]
    kind = [f"{os.cpu_count()} cores", platform.machine(), f"Python {platform.python_version()}"]
    return f"{seconds:.0f} s on {', '.join(kind + versions)}."


def write_tables(lines: Iterable[str], output: Path) -> None:
    """Write tables.md, and show it."""
    text = "\n".join(lines).rstrip("\n") + "\n"
    (output / "tables.md").write_text(text, encoding="utf-8")
    print(text)
