"""The answer of an audit: in two sentences, and as a summary for programs."""

from __future__ import annotations

from math import isfinite
from typing import Any

from properly.audit.confusion import Confusion
from properly.audit.formatting import count, interval, number, percent
from properly.audit.results import Audit, Decision, Score
from properly.diagnostics import GroupCalibration
from properly.metrics import PairedDifference

_DEVIATIONS = 1.96  # half the width of a 95 % interval, in standard errors
_SLIGHT = 0.01  # a gain below this share of the score is called slight
_FEW = 10  # rows of the rarest class; with fewer, finding no miscalibration is no evidence of calibration
_TOO_FEW = 20  # rows in all; with fewer, no miscalibration that is found is called real


def verdict(audit: Audit) -> str:
    """ "right", "nearly right", "wrong" or "unclear", by what recalibration gains on held-out rows."""
    if audit.surprises:
        return "wrong"
    gain = audit.headline.gain
    if gain is None or audit.n_rows < _TOO_FEW:
        return "unclear"
    if gain.low > 0.0:
        return "wrong" if gain.difference > _SLIGHT * audit.headline.before else "nearly right"
    return "unclear" if min(audit.rates) * audit.total < _FEW else "right"


def answer(audit: Audit) -> tuple[str, str]:
    """Are the probabilities right, and what is gained by recalibrating them?"""
    return _are_they_right(audit), _what_is_gained(audit)


def _are_they_right(audit: Audit) -> str:
    found, rows = verdict(audit), f"{audit.n_rows:,} {'row' if audit.n_rows == 1 else 'rows'}"
    if audit.total != audit.n_rows:
        rows += f" with a total weight of {count(audit.total)}"
    if found == "unclear":
        return (
            f"There is too little data to tell whether the probabilities are right: {rows}, of which the rarest class "
            f"has {count(min(audit.rates) * audit.total)}."
        )
    if found == "right":
        return f"The probabilities look right: {rows} show no miscalibration beyond chance ({_means(audit)})."
    reasons = faults(audit)
    if found == "nearly right":
        return f"The probabilities are nearly right, only slightly {_joined(reasons or ['wrong at some levels'])}."
    return (
        f"The probabilities are not right: they are {_joined(reasons or ['right on average, but not at every level'])}."
    )


def faults(audit: Audit) -> list[str]:
    """What is wrong, in words; empty if it is neither the mean nor the spread."""
    found = []
    if audit.surprises:
        rows = "row" if audit.surprises == 1 else "rows"
        found.append(f"certain and wrong for {audit.surprises:,} {rows}, whose class was given a probability of 0")
    rate, mean = audit.hit_rate, audit.confidence
    error = (max(rate * (1.0 - rate), 1e-300) / audit.total) ** 0.5
    if abs(mean - rate) > _DEVIATIONS * error:
        found.append(f"{'too high' if mean > rate else 'too low'} on average ({_means(audit)})")
    line = audit.line
    if line is not None and abs(line.slope - 1.0) > _DEVIATIONS * line.standard_error:
        if line.slope <= 0.0:
            found.append(
                "in the wrong order (the higher the probability, the rarer the event; if they are for the other class, "
                "name that one: --positive, or classes= in Python)"
            )
        else:
            name, spread = ("over", "too extreme") if line.slope < 1.0 else ("under", "not extreme enough")
            found.append(f"{name}confident ({spread}: the log-odds should be multiplied by {number(line.slope, 2)})")
    return found


def _means(audit: Audit) -> str:
    mean, share = percent(audit.confidence), percent(audit.hit_rate)
    if audit.is_binary:
        return f"mean probability {mean}, observed share {share}"
    return f"mean probability of the most probable class {mean}, share of rows in which it is the true one {share}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _what_is_gained(audit: Audit) -> str:
    score = audit.headline
    if score.after is None:
        return "What recalibration would gain cannot be measured: a class has fewer than two rows."
    if score.gain is None:
        return f"Recalibration changes the {score.name} from {number(score.before)} to {number(score.after)}."
    if score.gain.low > 0.0:
        gained = (
            f"Recalibration lowers the {score.name} by {percent(score.relative_gain, 2)}, "
            f"to {number(score.after, 4)} (95 % interval of the gain: {interval(score.gain)})"
        )
    elif score.gain.high < 0.0:
        gained = (
            f"Recalibration gains nothing: it makes the {score.name} of held-out rows worse, "
            f"{number(score.after, 4)} instead of {number(score.before_same_rows, 4)}"
        )
    else:
        gained = (
            f"Recalibration gains nothing beyond chance: the {score.name} stays at "
            f"{number(score.before, 4)} (95 % interval of the gain: {interval(score.gain)})"
        )
    return f"{gained}{_money(audit)}."


def _money(audit: Audit) -> str:
    decision = audit.decision
    if decision is None or decision.saving is None:
        return ""
    saved, before, after = (1000.0 * x for x in (decision.saving.difference, decision.before, decision.after or 0.0))
    if decision.saving.low > 0.0:
        change = f"saves {number(saved)} per 1,000 rows, from {number(before)} to {number(after)}"
    elif decision.saving.high < 0.0:
        change = f"costs {number(-saved)} more per 1,000 rows, {number(after)} instead of {number(before)}"
    else:
        change = f"does not change the cost beyond chance, about {number(before)} per 1,000 rows"
    return (
        f"; with costs of {decision.false_positive:,g} for a false positive and {decision.false_negative:,g} for a "
        f"false negative it {change}"
    )


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
        "confusion": None if audit.confusion is None else _confusion(audit.confusion),
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


def _confusion(confusion: Confusion) -> dict[str, Any]:
    same = confusion.same_for_all
    return {
        "counts": confusion.counts.tolist(),
        "precision": [_finite(share) for share in confusion.precision],
        "recall": [_finite(share) for share in confusion.recall],
        "cost": confusion.cost,
        "cost_of_same_decision": None if same is None else same[1],
    }


def _with_interval(name: str, found: PairedDifference | None) -> dict[str, float | None]:
    ends = (None, None, None) if found is None else (found.difference, found.low, found.high)
    return {key: _finite(end) for key, end in zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)}


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)
