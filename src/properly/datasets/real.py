"""Real data sets with a binary label, read from a folder of the user; none of them is part of the package."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from properly.files import sha256_of
from properly.inputs.optional import require
from properly.inputs.options import choose

if TYPE_CHECKING:
    import pandas

FOLDER_VARIABLE = "PROPERLY_DATA"


@dataclass(frozen=True)
class BenchmarkSet:
    """Where a data set is found, how it is recognised, and which rows of it are positive.

    Attributes
    ----------
    file : str
        The path within the folder of the data.
    sha256 : str
        The checksum of that file.
    origin : str
        Where the data are published.
    positive : str
        The rule for the positive class, as pandas evaluates it.
    dropped : tuple of str
        Columns that are no features.
    categories : tuple of str
        Columns whose numbers are codes.
    """

    file: str  # within the folder; a CSV file has a header and the label last
    sha256: str  # of that file
    origin: str  # where the data are published
    positive: str  # the rule, as pandas evaluates it; the column it names first is the label
    dropped: tuple[str, ...] = ()  # columns that are no features
    categories: tuple[str, ...] = ()  # columns whose numbers are codes

    @property
    def label(self) -> str:
        return self.positive.partition(" ")[0]


def _read_sets() -> dict[str, BenchmarkSet]:
    """The table of data sets. Several have no clear licence for redistribution, so it holds checksums, not data."""
    entries = json.loads(files("properly.datasets").joinpath("benchmark_sets.json").read_text(encoding="utf-8"))
    for entry in entries.values():
        entry.update({key: tuple(value) for key, value in entry.items() if isinstance(value, list)})
    return {name: BenchmarkSet(**entry) for name, entry in entries.items()}


BENCHMARK_SETS = _read_sets()


def load_benchmark(name: str) -> tuple[pandas.DataFrame, NDArray[np.int64]]:
    """Load a real data set with a binary label: the features as a data frame, and the label as 0 and 1.

    The files are not part of the package. They are looked for in the folder that the environment variable
    ``PROPERLY_DATA`` names, and recognised by their SHA-256, so that results can be compared between machines; a
    missing file is reported with the public origin of the data. Needs pandas, and pyarrow for Parquet.

    Parameters
    ----------
    name : str
        A key of `BENCHMARK_SETS`, whose entries give file, checksum, origin and the rule for the positive class.

    Returns
    -------
    X : pandas.DataFrame
        Features as the file has them: numbers, texts, NaN for empty cells. Numbers that are codes of categories
        have pandas' ``category`` type.
    y : ndarray of 0 and 1
        1 where the rule holds, e.g. ``"target == 19"`` for abalone (19 rings), 0.8 % of the rows.

    Examples
    --------
    >>> from properly.datasets import BENCHMARK_SETS, load_benchmark
    >>> BENCHMARK_SETS["mammography"].positive
    'target == 1'
    >>> X, y = load_benchmark("mammography")  # doctest: +SKIP
    """
    entry = choose(name, BENCHMARK_SETS, "name")
    pandas = require("pandas", "frames")
    path = _verified(name, entry)
    frame = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    y = frame.eval(entry.positive, engine="python").to_numpy().astype(np.int64)
    X = frame.drop(columns=[entry.label, *entry.dropped])
    return X.astype(dict.fromkeys(entry.categories, "category")), y


def _verified(name: str, entry: BenchmarkSet) -> Path:
    """The path of the file, once it is known to exist and to have the right checksum."""
    folder = os.environ.get(FOLDER_VARIABLE)
    remedy = (
        f"get the data from {entry.origin}, store them as {entry.file} (sha256 {entry.sha256}) in a folder of your "
        f"choice, and name this folder in the environment variable {FOLDER_VARIABLE}."
    )
    if not folder:
        raise FileNotFoundError(
            f"the data set {name!r} is not part of properly, and {FOLDER_VARIABLE} is not set; {remedy}"
        )
    path = Path(folder) / entry.file
    if not path.is_file():
        raise FileNotFoundError(f"the data set {name!r} must be at {path}, but there is no such file; {remedy}")
    found = sha256_of(path)
    if found != entry.sha256:
        raise ValueError(
            f"the file {path} has sha256 {found}, but the data set {name!r} must have {entry.sha256}: the file is "
            f"another version or damaged; {remedy}"
        )
    return path
