"""An audit as plain numbers, for machines."""

from __future__ import annotations

from math import isfinite
from typing import Any

from properly.audit.results import Audit, Score
from properly.audit.words import answer, verdict


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
        "decision": _decision(audit),
        "groups": _groups(audit),
    }


def _score(score: Score) -> dict[str, float | None]:
    gain = score.gain
    return {
        "as_given": _finite(score.before),
        "recalibrated": _finite(score.after),
        "gain": None if gain is None else _finite(gain.difference),
        "gain_low": None if gain is None else _finite(gain.low),
        "gain_high": None if gain is None else _finite(gain.high),
        "miscalibration": _finite(score.parts.miscalibration),
        "discrimination": _finite(score.parts.discrimination),
        "uncertainty": _finite(score.parts.uncertainty),
    }


def _decision(audit: Audit) -> dict[str, float | None] | None:
    decision = audit.decision
    if decision is None:
        return None
    saving = decision.saving
    return {
        "cost_of_false_positive": decision.false_positive,
        "cost_of_false_negative": decision.false_negative,
        "threshold": decision.choice.theoretical_threshold,
        "cost": decision.before,
        "cost_recalibrated": decision.after,
        "saving": None if saving is None else saving.difference,
        "saving_low": None if saving is None else saving.low,
        "saving_high": None if saving is None else saving.high,
        "cheapest_threshold": decision.choice.threshold,
        "cost_at_cheapest_threshold": decision.choice.expected_cost,
    }


def _groups(audit: Audit) -> list[dict[str, Any]] | None:
    groups = audit.groups
    if groups is None:
        return None
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


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)
