"""Whole pages: of an audit, and of a fit."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from properly import __version__
from properly.audit.results import Audit
from properly.comparison import Comparison
from properly.report.html import Markup, element, page
from properly.report.leaderboard import leader, leaderboard_section
from properly.report.sections import (
    answer_section,
    facts_section,
    groups_section,
    recalibration_section,
    reliability_section,
    scores_section,
)
from properly.report.thresholds import threshold_section


def audit_page(audit: Audit, *, facts: Mapping[str, str] | None = None, title: str = "Audit of probabilities") -> str:
    """An audit as one HTML file that needs nothing else: no network, no other file.

    Parameters
    ----------
    audit : Audit
    facts : mapping from str to str, optional
        What a reader needs to do this again: file, columns, versions. Shown at the end.
    title : str

    Examples
    --------
    >>> from properly.audit import audit
    >>> result = audit([0, 1, 0, 1, 1, 0], [0.1, 0.7, 0.6, 0.8, 0.4, 0.2])
    >>> audit_page(result).startswith("<!DOCTYPE html>")
    True
    """
    if audit.is_binary:
        right = f"Where the probabilities of {audit.classes[1]} say 10 %, does it happen in one row of ten?"
    else:
        right = f"Where one of {len(audit.classes)} classes is given 10 %, is it the true one in one row of ten?"
    asked = f"Are the probabilities right? {right} And what is gained by mending them?"
    return page(title, *_head(title, asked), answer_section(audit), *_evidence(audit, facts))


def fit_page(comparison: Comparison, audit: Audit, facts: Mapping[str, str], title: str) -> str:
    """A comparison of models and the audit of the chosen one's probabilities, as one HTML file.

    Parameters
    ----------
    comparison : properly.comparison.Comparison
    audit : Audit
        Of the probabilities of the chosen model for rows it was not fitted to.
    facts : mapping from str to str
    title : str
    """
    asked = (
        f"Which of {len(comparison.names)} models gives the best probabilities for rows that it has not seen, and are "
        f"those of the best, {comparison.best}, right?"
    )
    answer = answer_section(audit, leader(comparison))
    return page(title, *_head(title, asked), answer, leaderboard_section(comparison), *_evidence(audit, facts))


def _head(title: str, asked: str) -> list[Markup]:
    return [element("header", element("h1", title), element("p", asked, class_="asked"))]


def _evidence(audit: Audit, facts: Mapping[str, str] | None) -> list[Markup]:
    parts = [
        reliability_section(audit),
        recalibration_section(audit),
        threshold_section(audit),
        groups_section(audit),
        scores_section(audit),
        facts_section(facts) if facts else None,
    ]
    return [part for part in parts if part is not None]


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
