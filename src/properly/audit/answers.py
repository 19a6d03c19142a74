"""The answer of an audit: in two sentences, and as a summary for programs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isclose, isfinite
from typing import Any

from properly.audit.confusion import Confusion
from properly.audit.formatting import aligned, count, interval, number, percent
from properly.audit.results import LEVEL, Against, Audit, Decision, Score
from properly.audit.sizes import SIZES, Size
from properly.diagnostics import GroupCalibration
from properly.metrics import PairedDifference
from properly.metrics.calibration_tests import Test

_MOST_ROWS = 1e15  # more cannot be asked for
_MOST_NAMED = 4  # sizes and tests in a sentence
KERNEL_ERROR = "squared kernel calibration error"
RIGHT = SIZES | {KERNEL_ERROR: 0.0}  # the sizes of right probabilities
_OTHER_CLASS = "if they are for the other class, name that one: --positive, or classes= in Python"

_FEWEST = 30  # rows from which a gain can be told from chance, as when models are compared


def verdict(audit: Audit) -> str:
    """One of four words, from the tests, the intervals of the sizes, and what could have been found.

    - "wrong": the tests, or a group, find a fault at the 5 % level;
    - "nearly right": they do, but the intervals of its sizes lie within the tolerance;
    - "right": they do not, and would have found a shift of the size that was asked for in 80 of 100 cases;
    - "unclear": they do not, and there is too little data for that.

    Parameters
    ----------
    audit : Audit
        What `properly.audit.audit` returned.
    """
    if audit.fault_found:
        return "nearly right" if audit.within_tolerance else "wrong"
    return "right" if audit.detectable.enough else "unclear"


def answer(audit: Audit) -> tuple[str, ...]:
    """Are the probabilities right, what could have been missed, and what is gained by recalibrating them?

    Parameters
    ----------
    audit : Audit
        What `properly.audit.audit` returned.
    """
    return _are_they_right(audit), _what_was_missed(audit), _what_is_gained(audit)


def _are_they_right(audit: Audit) -> str:
    found = verdict(audit)
    shows = "shows" if audit.n_rows == 1 else "show"
    shown = f"{_rows(audit)} {shows} no fault beyond chance ({_means(audit)}; {_p_value(audit.p_value)})"
    if found == "unclear":
        opening = "There is too little data to tell whether the probabilities are right"
        return f"{opening}: {shown}, but could have missed one.{_by_chance(audit)}"
    if found == "right":
        return f"The probabilities look right: {shown}.{_by_chance(audit)}"
    reasons = faults(audit) or [_elsewhere(audit)]
    if found == "nearly right":
        size = f"by no more than {percent(audit.tolerance, 2)} of the mean and of the {audit.headline.name}"
        return f"The probabilities are nearly right, off {size}: they are {_joined(reasons)}."
    return f"The probabilities are not right: they are {_joined(reasons)}."


def _rows(audit: Audit) -> str:
    rows = f"{audit.n_rows:,} {'row' if audit.n_rows == 1 else 'rows'}"
    return rows if isclose(audit.total, audit.n_rows) else f"{rows}, weighted to count as {count(audit.total)},"


def _p_value(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {number(p, 2)}"


def alone(audit: Audit) -> list[str]:
    """The sizes and tests that would each count as a fault if nothing else had been looked at."""
    sizes = ((name, size) for name, size in sizes_of(audit).items() if size is not None and size.excludes(RIGHT[name]))
    tests = (test for test in audit.test.tests if test.p_value <= LEVEL)
    found = [f"the {name} (95 % interval {interval(size)})" for name, size in sizes]
    return found + [f'the test "{test.name}" ({_p_value(test.p_value)})' for test in tests]


def _by_chance(audit: Audit) -> str:
    """What must be said beside "no fault" if an interval or a test does not agree with it."""
    found = alone(audit)
    if not found:
        return ""
    if len(found) > _MOST_NAMED:
        found = [*found[: _MOST_NAMED - 1], f"{len(found) - _MOST_NAMED + 1} others"]
    return (
        f" Taken alone, {_joined(found)} would count as a fault, but of twenty such measures one strays as far by "
        "chance; all together they show none."
    )


def sizes_of(audit: Audit) -> dict[str, Size | None]:
    """The sizes of the fault; for several classes with the kernel calibration error."""
    error = audit.test.kernel_error
    return audit.sizes if error is None else audit.sizes | {KERNEL_ERROR: Size(*error[:3])}


def unknown(audit: Audit, name: str) -> str:
    """Why a size of the fault is not determined."""
    if name == "observed/expected":
        return "every probability is 0"
    if audit.detectable.shift == 0.0:
        return "every probability is 0 or 1"
    if audit.hit_rate in (0.0, 1.0):
        return "every row is of one class" if audit.is_binary else "the most probable class is always or never true"
    return "the probabilities do not differ, or separate the classes"


def faults(audit: Audit) -> list[str]:
    """What is wrong, in words; empty if it is neither the mean, nor the spread, nor a class, nor a group."""
    found = []
    if audit.surprises:
        rows = "row" if audit.surprises == 1 else "rows"
        mostly = f"; {_OTHER_CLASS}" if audit.is_binary and 2 * audit.surprises > audit.n_rows else ""
        found.append(
            f"certain and wrong for {audit.surprises:,} {rows}, whose class was given a probability of 0{mostly}"
        )
    ratio, slope = audit.sizes["observed/expected"], audit.sizes["slope"]
    if ratio is not None and ratio.excludes(1.0):
        found.append(f"{'too high' if ratio.estimate < 1.0 else 'too low'} on average ({_means(audit)})")
    if slope is not None and slope.excludes(1.0):
        if slope.estimate <= 0.0:
            found.append(f"in the wrong order (the higher the probability, the rarer the event; {_OTHER_CLASS})")
        else:
            name, spread = ("over", "too extreme") if slope.estimate < 1.0 else ("under", "not extreme enough")
            times = number(slope.estimate, 2)
            found.append(f"{name}confident ({spread}: the log-odds should be multiplied by {times})")
    if audit.classes_off:
        found.append(_classes_off(audit))
    flagged = 0 if audit.groups is None else int(audit.groups.off.sum())
    if audit.groups is not None and flagged:
        found.append(f"off in {flagged:,} of {len(audit.groups.groups):,} groups")
    return found


def _classes_off(audit: Audit) -> str:
    """The classes whose own tests find a fault, the clearest with observed/expected."""
    off, named = audit.classes_off, []
    for k in off if len(off) <= _MOST_NAMED else off[: _MOST_NAMED - 1]:
        size = audit.class_ratios[k]
        known = "" if size is None else f": observed/expected {aligned(size.estimate, size)} ({interval(size)})"
        named.append(f"{audit.classes[k]}{known}")
    if len(off) > len(named):
        named.append(f"{len(off) - len(named)} others")
    return f"off for {len(off):,} of {len(audit.classes):,} classes ({'; '.join(named)})"


def _elsewhere(audit: Audit) -> str:
    if audit.is_binary:
        return "right on average, but not at every level"
    return "right on average for the most probable class, but not at every level or for every class"


def _what_was_missed(audit: Audit) -> str:
    """The smallest shift that would have been found, and its meaning; for "unclear", how many rows would do."""
    found = audit.detectable
    if found.shift == 0.0:
        return "Every probability is 0 or 1: each row tells by itself whether it is right."
    if not isfinite(found.shift):
        return "No shift of the log-odds could have been found on these rows."
    what = "" if audit.is_binary else " of the most probable class"
    said = (
        f"These rows would have shown a shift of {number(found.shift, 2)} in the log-odds{what} (a mean of "
        f"{percent(found.mean)} where {percent(found.share)} is true) in 80 of 100 cases"
    )
    if found.enough or audit.fault_found:
        return f"{said}."
    if found.rows > _MOST_ROWS:
        return f"{said}; no number of such rows would show one of {number(found.wanted, 2)}."
    return f"{said}; for one of {number(found.wanted, 2)}, about {_rounded_up(found.rows)} rows would do."


def _rounded_up(rows: float) -> str:
    """To two digits."""
    unit = 10 ** max(len(str(int(rows))) - 2, 0)
    return count(unit * ceil(rows / unit))


def band_note(audit: Audit, outside: float, tests: Sequence[Test] | None = None) -> str:
    """Whether the curve of a reliability diagram leaves the band, in words that the verdict bears out.

    If there is a fault, the `tests` of what is drawn say whether it is there: those of one of several classes, or of
    the most probable one.
    """
    found = audit.fault_found and (tests is None or any(test.p_value <= LEVEL for test in tests))
    if outside == 0.0:
        return f"The curve lies within the band{'; the tests see what it does not' if found else ''}."
    share = f"{percent(outside)} of the rows lie outside the band"
    if found:
        return f"{share}."
    whose = "its own" if audit.fault_found else "the"
    return f"{share}, as happens in 5 of 100 audits of right probabilities; {whose} tests find no fault."


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
    if audit.total < _FEWEST:
        return f"What recalibration would gain cannot be said from {_rows(audit)}."
    if score.gain.low > 0.0:
        gained = (
            f"Recalibration lowers the {score.name} by {percent(score.relative_gain, 2)}, "
            f"to {number(score.after, 4)} (95 % interval of the gain: {interval(score.gain)})"
        )
    elif score.gain.high < 0.0:
        gained = (
            f"Recalibration gains nothing: it makes the {score.name} of held-out rows worse by "
            f"{aligned(-score.gain.difference, score.gain)}, at {number(score.after, 4)}"
        )
    else:
        before, after = number(score.before, 4), number(score.after, 4)
        change = f"stays at {before}" if before == after else f"is {before} before and {after} after it"
        gained = (
            f"Recalibration gains nothing beyond chance: the {score.name} {change} "
            f"(95 % interval of the gain: {interval(score.gain)})"
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
    """Everything that an audit says in numbers, ready for JSON: what is infinite or unknown is None.

    Parameters
    ----------
    audit : Audit
        What `properly.audit.audit` returned.
    """
    return {
        "verdict": verdict(audit),
        "answer": list(answer(audit)),
        "p_value": _finite(audit.p_value),
        "tests": [
            {"test": test.name, "statistic": _finite(test.statistic), "p_value": _finite(test.p_value)}
            for test in audit.test.tests
        ],
        "sizes": {name: _size(size) for name, size in audit.sizes.items()},
        "not_determined": {name: unknown(audit, name) for name, size in audit.sizes.items() if size is None},
        "kernel_calibration_error": None
        if audit.test.kernel_error is None
        else _size(Size(*audit.test.kernel_error[:3])),
        "detectable": {name: _finite(value) for name, value in audit.detectable._asdict().items()},
        "tolerance": audit.tolerance,
        "beyond_tolerance": audit.beyond_tolerance,
        "rows": audit.n_rows,
        "total_weight": audit.total,
        "cell_width": audit.cell_width,
        "classes": [
            {"class": name, "share": float(rate), "mean_probability": float(mean)}
            for name, rate, mean in zip(audit.classes, audit.rates, audit.means, strict=True)
        ],
        "observed_expected_of_classes": None
        if audit.is_binary
        else {name: _size(size) for name, size in zip(audit.classes, audit.class_ratios, strict=True)},
        "scores": {score.name: _score(score) for score in audit.scores.values()},
        "auc": None if audit.auc is None else _finite(audit.auc.area),
        "smooth_calibration_error": _finite(audit.smooth_error),
        "rows_given_probability_0": audit.surprises,
        "decision": None if audit.decision is None else _decision(audit.decision),
        "groups": None if audit.groups is None else _groups(audit.groups),
        "confusion": None if audit.confusion is None else _confusion(audit.confusion),
        "against": None if audit.against is None else _against(audit.against),
    }


def _size(size: Size | None) -> dict[str, float | None] | None:
    return None if size is None else {name: _finite(end) for name, end in size._asdict().items()}


def _against(against: Against) -> dict[str, Any]:
    """The other probabilities: their verdict, and the scores of the audited ones less theirs."""
    return {
        "probability": against.name,
        "differences": {name: _with_interval("difference", each) for name, each in against.differences.items()},
        "audit": summary_of(against.audit),
    }


def _score(score: Score) -> dict[str, float | None]:
    return {
        "as_given": _finite(score.before),
        "recalibrated": _finite(score.after),
        **_with_interval("gain", score.gain),
        **{
            part: None if score.parts is None else _finite(getattr(score.parts, part))
            for part in ("miscalibration", "discrimination", "uncertainty")
        },
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
            "share_low_if_right": float(groups.low[k]),
            "share_high_if_right": float(groups.high[k]),
            "p_value": float(groups.p_value[k]),
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
