"""What a reader needs to get the same numbers again: which file, which versions."""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from properly import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow", "lightgbm")


def file_facts(path: str | os.PathLike[str]) -> dict[str, str]:
    """Name, size and SHA-256 of a file, which together tell whether another is the same."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": str(path), "size": f"{Path(path).stat().st_size:,} bytes", "SHA-256": digest}


def version_facts() -> dict[str, str]:
    """The time, and the versions of everything that computed."""
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "properly": __version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(found),
    }
