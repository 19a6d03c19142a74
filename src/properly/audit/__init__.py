"""Audits: are probabilities right, and what is gained by recalibrating them?"""

from properly.audit.auditing import audit
from properly.audit.results import Audit, Score
from properly.audit.summary import summary_of
from properly.audit.words import answer, verdict

__all__ = ["Audit", "Score", "answer", "audit", "summary_of", "verdict"]
