"""Audits: are probabilities right, and what is gained by recalibrating them?"""

from properly.audit.answers import answer, summary_of, verdict
from properly.audit.auditing import audit
from properly.audit.results import Against, Audit, Score
from properly.audit.sizes import Detectable, Size

__all__ = ["Against", "Audit", "Detectable", "Score", "Size", "answer", "audit", "summary_of", "verdict"]
