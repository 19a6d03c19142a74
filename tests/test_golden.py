"""The numbers that the library returned when they were stored, which it must still return."""

from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

# Calls that reach the same optimum by other steps, within `tol`.
OTHER_WAYS = ("several blocks", "rows/lasso", "rows/elastic net", "rows/lasso, duplicated", "rows/three classes, lasso")

# Outputs that changed knowingly since: a pattern of "call: output", such as "linear/*: n_iter_", and the reason.
CHANGED: list[tuple[str, str]] = []

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
