"""Audits: are probabilities right, and what is gained by recalibrating them?"""

from properly.audit.answers import answer, summary_of, verdict
from properly.audit.auditing import audit
from properly.audit.results import Audit, Score

__all__ = ["Audit", "Score", "answer", "audit", "summary_of", "verdict"]
