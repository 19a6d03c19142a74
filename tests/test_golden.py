"""The numbers that the library returned before it was restructured, which it must still return."""

from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

# Outputs that changed knowingly: a pattern of "call: output", such as "linear/*: predict_log_proba", and the reason.
CHANGED: list[tuple[str, str]] = []


def _loaded():
    spec = spec_from_file_location("golden_calls", Path(__file__).with_name("golden") / "calls.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = _loaded()
STORED = golden.read()


def _has_changed(name, key):
    return any(fnmatch(f"{name}: {key}", pattern) for pattern, _ in CHANGED)


@pytest.mark.parametrize("name", golden.CALLS)
def test_outputs_are_those_stored(name):
    found = golden.run(name)
    for key, expected in STORED[name].items():
        if not _has_changed(name, key):
            assert key in found, f"{key} is missing"
            np.testing.assert_allclose(
                found[key], expected, rtol=golden.RELATIVE, atol=golden.ABSOLUTE, equal_nan=True, err_msg=key
            )


def test_every_stored_call_is_made():
    assert set(STORED) == set(golden.CALLS)


def test_every_change_names_an_output_and_a_reason():
    outputs = [f"{name}: {key}" for name, arrays in STORED.items() for key in arrays]
    for pattern, reason in CHANGED:
        assert any(fnmatch(output, pattern) for output in outputs), f"{pattern} names no output"
        assert reason
