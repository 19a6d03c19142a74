"""An audit as plain numbers, for machines."""

from __future__ import annotations

from math import isfinite
from typing import Any

from properly.audit.answers import answer, verdict
from properly.audit.results import Audit, Score
from properly.audit.thresholds import Decision
from properly.diagnostics import GroupCalibration
from properly.metrics import PairedDifference


def summary_of(audit: Audit) -> dict[str, Any]:
    """Everything that an audit says in numbers, ready for JSON: what is infinite or unknown is None."""
    return {
        "verdict": verdict(audit),
        "answer": list(answer(audit)),
        "rows": audit.n_rows,
        "total_weight": audit.total,
        "classes": [
            {"class": name, "share": float(rate), "mean_probability": float(mean)}
            for name, rate, mean in zip(audit.classes, audit.rates, audit.means, strict=True)
        ],
        "scores": {score.name: _score(score) for score in audit.scores.values()},
        "auc": None if audit.auc is None else _finite(audit.auc.area),
        "smooth_calibration_error": _finite(audit.smooth_error),
        "log_odds_slope": None if audit.line is None else _finite(audit.line.slope),
        "rows_given_probability_0": audit.surprises,
        "decision": None if audit.decision is None else _decision(audit.decision),
        "groups": None if audit.groups is None else _groups(audit.groups),
    }


def _score(score: Score) -> dict[str, float | None]:
    return {
        "as_given": _finite(score.before),
        "recalibrated": _finite(score.after),
        **_with_interval("gain", score.gain),
        "miscalibration": _finite(score.parts.miscalibration),
        "discrimination": _finite(score.parts.discrimination),
        "uncertainty": _finite(score.parts.uncertainty),
    }


def _decision(decision: Decision) -> dict[str, float | None]:
    return {
        "cost_of_false_positive": decision.false_positive,
        "cost_of_false_negative": decision.false_negative,
        "threshold": decision.choice.theoretical_threshold,
        "cost": decision.before,
        "cost_recalibrated": decision.after,
        **_with_interval("saving", decision.saving),
        "cheapest_threshold": decision.choice.threshold,
        "cost_at_cheapest_threshold": decision.choice.expected_cost,
    }


def _groups(groups: GroupCalibration) -> list[dict[str, Any]]:
    return [
        {
            "group": name,
            "rows": float(groups.weight[k]),
            "mean_probability": float(groups.mean_p[k]),
            "share": float(groups.base_rate[k]),
            "share_low": float(groups.low[k]),
            "share_high": float(groups.high[k]),
            "outside": bool(groups.off[k]),
            "miscalibration": _finite(groups.miscalibration[k]),
        }
        for k, name in enumerate(groups.groups)
    ]


def _with_interval(name: str, found: PairedDifference | None) -> dict[str, float | None]:
    ends = (None, None, None) if found is None else (found.difference, found.low, found.high)
    return {key: _finite(end) for key, end in zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)}


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)
