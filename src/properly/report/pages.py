"""Whole pages: of an audit, of a fit, and of a calibration."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from properly import __version__
from properly.audit.results import Audit
from properly.comparison import Comparison, Part
from properly.files import displayed, files_in
from properly.report.findings import Findings
from properly.report.html import element, page
from properly.report.sections import SECTIONS
from properly.tables.importances import Importances
from properly.tables.summaries import TableSummary


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
    rows = f"rows with a probability of 10 % for {audit.classes[1] if audit.is_binary else 'a class'}"
    asked = (
        f"Are the probabilities right: of the {rows}, does one in ten belong to it? And what is gained by "
        "recalibrating them?"
    )
    return _page(title, asked, Findings(audit, recalibrated=audit, facts=facts or {}))


def fit_page(
    comparison: Comparison,
    audit: Audit,
    facts: Mapping[str, str],
    title: str,
    *,
    warnings: Sequence[str] = (),
    parts: Sequence[Part] = (),
    importances: Importances | None = None,
    data: TableSummary | None = None,
) -> str:
    """A comparison of models and the audit of the chosen one's probabilities, as one HTML file.

    Parameters
    ----------
    comparison : properly.comparison.Comparison
    audit : Audit
        Of the probabilities of the chosen model for held-out rows.
    facts : mapping from str to str
    title : str
    warnings : sequence of str
        About columns, for the top of the page.
    parts : sequence of properly.comparison.Part
        The models that are averaged, or the chosen one.
    importances : properly.tables.importances.Importances, optional
        Of the chosen model, fitted to all rows.
    data : properly.tables.summaries.TableSummary, optional
        What the models learned from.
    """
    of = f" of {audit.classes[1]}" if audit.is_binary else ""
    asked = (
        f"Which of {len(comparison.names)} models gives the best probabilities{of} on held-out rows, and are those of "
        f"the chosen one, {comparison.choice}, right?"
    )
    findings = Findings(
        audit, comparison=comparison, parts=parts, importances=importances, data=data, facts=facts, warnings=warnings
    )
    return _page(title, asked, findings)


def calibrate_page(
    before: Audit | None, after: Audit, facts: Mapping[str, str], title: str, warnings: Sequence[str] = ()
) -> str:
    """Probabilities from a calibrator that was fitted to other rows, compared with those before, as one HTML file.

    Parameters
    ----------
    before : Audit or None
        Of the probabilities as they were, with those after calibration as `calibrated`; None if the scores were no
        probabilities.
    after : Audit
        Of the calibrated probabilities of held-out rows.
    facts : mapping from str to str
    title : str
    warnings : sequence of str
        About the scores, for the top of the page.

    Examples
    --------
    >>> from properly.audit import audit
    >>> y, p, calibrated = [0, 1, 0, 1, 1, 0], [0.1, 0.7, 0.6, 0.8, 0.4, 0.2], [0.2, 0.6, 0.5, 0.7, 0.4, 0.3]
    >>> before, after = audit(y, p, calibrated=calibrated), audit(y, calibrated)
    >>> page = calibrate_page(before, after, {"rows": "6"}, "Calibration of p")
    >>> "What recalibration changes" in page
    True
    """
    of = f" of {after.classes[1]}" if after.is_binary else ""
    asked = f"Are the calibrated probabilities{of} right, on held-out rows"
    asked += "?" if before is None else ", and what was gained by calibration?"
    return _page(title, asked, Findings(after, recalibrated=before, facts=facts, warnings=warnings))


def _page(title: str, asked: str, findings: Findings) -> str:
    header = element("header", element("h1", title), element("p", asked, class_="asked"))
    sections = (draw(findings) for draw in SECTIONS.values())
    return page(title, header, *(each for each in sections if each is not None))


_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow", "lightgbm")


def file_facts(path: str | os.PathLike[str]) -> dict[str, str]:
    """Name, size and SHA-256 of a file, to identify it; of a folder the number of files."""
    if Path(path).is_dir():
        sizes = [each.stat().st_size for each in files_in(path)]
        return {"folder": displayed(path), "files": f"{len(sizes):,}", "size": f"{sum(sizes):,} bytes"}
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": displayed(path), "size": f"{Path(path).stat().st_size:,} bytes", "SHA-256": digest}


def version_facts() -> dict[str, str]:
    """The time, and the versions of the software."""
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
