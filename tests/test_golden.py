"""The numbers that the library returned before it was restructured, which it must still return."""

from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

# Calls that reach the same optimum by other steps, within `tol`.
OTHER_WAYS = ("several blocks", "rows/lasso", "rows/elastic net", "rows/lasso, duplicated", "rows/three classes, lasso")

# Outputs that changed knowingly: a pattern of "call: output", such as "linear/*: predict_log_proba", and the reason.
CHANGED: list[tuple[str, str]] = [
    ("files/command fit: *", "other candidates, settings chosen on folds, averages"),
    ("audit/three classes*: scores/*/parts/*", "the parts of the score itself, no longer of classes against the rest"),
    ("linear/tailored/*: *", "the concentration is chosen by a held-out tailored loss"),
    *((f"linear/{call}: n_iter_", "another way to the same optimum") for call in OTHER_WAYS),
    ("linear/stream*: n_iter_", "streams start from a sample and take a fresh curvature at every step"),
    ("linear/*: predict_log_proba", "from log-probabilities, so that it is finite where a probability underflows"),
    (
        "calibration/*ensemble temperature*: *weights_",
        "not unique where T = 1 or the classes separate",
    ),
    ("maxent/three classes/*: decision_function", "log-probabilities, as of every classifier of more than two classes"),
    ("losses/*/from weight: *", "the last 1e-16 before p = 1 are integrated, too: by 1.4e-8 there"),
    ("boosting/adaboost*: train_losses_", "begins with the base rate, which learners must beat, and no longer with ½"),
    ("boosting/adaboost*: validation_losses_", "begins with the base rate, which learners must beat, no longer with ½"),
    ("calibration/*isotonic, ensemble: *", "one calibrator of all held-out scores, no longer one for each fold"),
    ("diagnostics/groups/*: */low", "the interval is that of right forecasts, around the mean forecast"),
    ("diagnostics/groups/*: */high", "the interval is that of right forecasts, around the mean forecast"),
    ("diagnostics/groups/*: */off", "the share is tested with the variance of the forecasts"),
    *(
        (f"audit/*: groups/{part}", "the interval is that of right forecasts; half of the level is for groups")
        for part in ("low", "high", "confidence")
    ),
    ("audit/*: line/*", "by maximum likelihood, and among the sizes"),
    ("audit/*: verdict", "from tests, sizes and power"),
    *(
        (f"audit/*: {part}", "held-out numbers come from the folds of calibrate and fit")
        for part in (
            "scores/*/after",
            "scores/*/gain/*",
            "scores/*/parts_after/*",
            "decision/after",
            "decision/saving/*",
            "reliability_after/*",
            "murphy/errors",
        )
    ),
    *(
        (f"files/command audit: {part}", "as in the audit itself")
        for part in (
            "log_odds_slope*",
            "scores/*/gain*",
            "scores/*/recalibrated",
            "decision/cost_recalibrated",
            "decision/saving*",
            "groups/*/outside",
            "groups/*/share_*",
        )
    ),
    ("prevalence/corrected/zeros and ones: decision_function", "±1e100 where it was infinite"),
    *(
        (f"audit/*: {curve}*/{part}", "bands of 95 %, as all intervals")
        for curve in ("reliability", "panels")
        for part in ("low", "high", "confidence")
    ),
    ("diagnostics/*reliability*: *low", "the band holds the whole curve"),
    ("diagnostics/*reliability*: *high", "the band holds the whole curve"),
    ("audit/*: cuts/*", "the share of positives is among the thresholds"),
    ("comparison/*: difference_intervals", "intervals that hold together, and are those of the p-values"),
    ("comparison/*: p_values", "adjusted for the number of candidates"),
    ("files/command fit: fit/leaderboard/*/p_value", "adjusted for the number of candidates"),
    ("boosting/proper/*: *", "folds, other ways to grow trees, a softmax, and a fit to all rows"),
    ("files/save and load/boosting: *", "folds, other ways to grow trees, a softmax, and a fit to all rows"),
    ("files/command maxent: maxent/features*", "called terms, because features are the columns"),
]

# Outputs that depend on how a processor rounds the sums of linear algebra, or on the way to an optimum: a pattern, by
# how much, and why.
SENSITIVE: list[tuple[str, float, str]] = [
    ("linear/*/firth*: n_iter_", 0.5, "where BFGS ends is a matter of rounding"),
    ("linear/*/firth*: *", 1e-6, "where BFGS ends is a matter of rounding"),
    *((f"linear/{call}: *", 1e-6, "other steps to the same optimum, within its tolerance") for call in OTHER_WAYS),
    ("linear/stream*: *", 1e-6, "other steps to the same optimum, within its tolerance"),
    ("calibration/matrix/*: *", 1e-6, "probabilities of 0 and 1 leave coefficients almost free"),
    ("calibration/extreme scores/matrix: constant/*", 1e-6, "equal scores leave coefficients almost free"),
    ("calibration/multiclass/c*: *", 1e-5, "ranks are those of scores without their last digits"),
]


def _loaded():
    spec = spec_from_file_location("golden_calls", Path(__file__).with_name("golden") / "calls.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = _loaded()
STORED = golden.read()


def _has_changed(output):
    return any(fnmatch(output, pattern) for pattern, _ in CHANGED)


def _tolerance(output):
    return next((rtol for pattern, rtol, _ in SENSITIVE if fnmatch(output, pattern)), golden.RELATIVE)


@pytest.mark.parametrize("name", golden.CALLS)
def test_outputs_are_those_stored(name):
    found = golden.run(name)
    for key, expected in STORED[name].items():
        output = f"{name}: {key}"
        if not _has_changed(output):
            assert key in found, f"{output} is missing"
            assert found[key].shape == expected.shape, output
            rtol = _tolerance(output)
            np.testing.assert_allclose(found[key], expected, rtol=rtol, atol=golden.ABSOLUTE, err_msg=output)


def test_every_stored_call_is_made():
    assert set(STORED) == set(golden.CALLS)


def test_every_exception_names_an_output_and_a_reason():
    outputs = [f"{name}: {key}" for name, arrays in STORED.items() for key in arrays]
    for pattern, *_, reason in [*CHANGED, *SENSITIVE]:
        assert any(fnmatch(output, pattern) for output in outputs), f"{pattern} names no output"
        assert reason
