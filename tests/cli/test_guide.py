"""The guide to the command line is right about commands, options, methods and exit codes."""

import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from properly.cli import COMMANDS
from properly.cli.main import CHECK_FAILED, FAILED, INTERRUPTED, MISUSED, OK, TERMINATED, make_parser
from properly.comparison.candidates import CANDIDATES
from properly.files import FORMATS

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\$ properly (.*)$", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in LINES if line != "--help"])
def test_the_examples_are_commands(line):
    arguments = make_parser().parse_args(shlex.split(line))
    assert arguments.command in COMMANDS


def test_every_command_has_an_example():
    assert {line.split()[0] for line in LINES} >= set(COMMANDS)


def test_every_option_exists():
    known = {
        option
        for command in COMMANDS
        for option in make_parser()._subparsers._group_actions[0].choices[command]._option_string_actions
    }
    assert set(re.findall(r"`(--[a-z-]+)", GUIDE)) <= known


def test_methods_formats_and_exit_codes_are_listed():
    for name, candidate in ((name, each) for name, each in CANDIDATES.items() if each.saved):
        assert f"| `{candidate.usage(name)}` | {candidate.about}" in GUIDE
    assert all(f"`{ending}`" in GUIDE for ending in FORMATS)
    assert all(f"| {code} |" in GUIDE for code in (OK, FAILED, MISUSED, CHECK_FAILED, INTERRUPTED, TERMINATED))


@pytest.mark.slow
def test_the_examples_print_what_the_guide_says():
    """Up to the last digits, which depend on the machine."""
    folder = Path(__file__).parents[2] / "docs"
    refreshed = runpy.run_path(str(folder / "command_line_outputs.py"))["refreshed"]
    now, number = refreshed(GUIDE), r"\d[\d,]*(?:\.\d+)?"
    assert re.sub(number, "0", now) == re.sub(number, "0", GUIDE), "run docs/command_line_outputs.py"
    found, shown = (
        np.array([float(each.replace(",", "")) for each in re.findall(number, text)]) for text in (now, GUIDE)
    )
    assert_allclose(found, shown, rtol=0.05, atol=0.02)
