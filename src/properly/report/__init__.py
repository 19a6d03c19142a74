"""Reports: what an audit or a fit found, on one page."""

from properly.report.auditing import audit
from properly.report.pages import audit_page, fit_page
from properly.report.results import Audit, Score
from properly.report.words import answer, verdict

__all__ = ["Audit", "Score", "answer", "audit", "audit_page", "fit_page", "verdict"]
