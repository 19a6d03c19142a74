"""Audits: are probabilities right, and what is gained by recalibrating them?"""

from properly.audit.answers import answer, verdict
from properly.audit.auditing import audit
from properly.audit.results import Audit, Score
from properly.audit.summary import summary_of

__all__ = ["Audit", "Score", "answer", "audit", "summary_of", "verdict"]
