"""What a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from properly.audit.results import Audit
from properly.comparison import Comparison, Part
from properly.tables.importances import Importances
from properly.tables.summaries import TableSummary


@dataclass(frozen=True)
class Findings:
    """What was found, which the sections of a page show.

    Attributes
    ----------
    audit : Audit
        Of the probabilities that the page is about: those given, those of the chosen model, or the calibrated ones.
    recalibrated : Audit or None
        The audit whose probabilities are compared with recalibrated ones: `audit` itself on the page of an audit; that
        of the scores as they were on the page of a calibration, or None if they were no probabilities.
    comparison : Comparison or None
        Of models, on the page of a fit.
    parts : sequence of Part
        The models that are averaged, or the chosen one.
    importances : Importances or None
        What the chosen one makes of its features.
    data : TableSummary or None
        What the models learned from.
    facts : mapping from str to str
        What is needed to do this again.
    warnings : sequence of str
        What to look at before the results, such as columns that are suspicious.
    """

    audit: Audit
    recalibrated: Audit | None = None
    comparison: Comparison | None = None
    parts: Sequence[Part] = ()
    importances: Importances | None = None
    data: TableSummary | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
