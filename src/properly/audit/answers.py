"""The answer of an audit in two sentences."""

from __future__ import annotations

from properly.audit.formatting import count, interval, number, percent
from properly.audit.results import Audit

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
            found.append("in the wrong order (the higher the probability, the rarer the event)")
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
