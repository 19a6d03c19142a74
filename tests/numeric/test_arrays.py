"""What functions of scores and probabilities refuse: complex numbers, booleans, arrays of two libraries."""

import os
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest

from properly.links import Logit
from properly.losses import Composite, LogLoss, SoftmaxComposite, SquaredLoss
from properly.numeric.arrays import to_numpy
from properly.numeric.functions import erfcx

HALF = np.array([0.5, 0.25])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (Logit().inverse, "v"),
        (Logit().link, "p"),
        (lambda x: Logit().link(1.0 - HALF, x), "q"),
        (LogLoss().loss0, "p"),
        (LogLoss().entropy, "eta"),
        (lambda x: LogLoss().risk(x, 0.5), "eta"),
        (lambda x: Composite("log").value(0, x), "v"),
        (lambda x: SoftmaxComposite(SquaredLoss()).value([0], x[None, :]), "v"),
    ],
)
def test_complex_numbers_and_booleans(call, name, library):
    for convert in (np.asarray, library.asarray):
        if name != "q" or convert is np.asarray:
            with pytest.raises(ValueError, match=rf"{name} must be real numbers, got an array of .*complex128"):
                call(convert(HALF.astype(complex)))
            with pytest.raises(ValueError, match=f"{name} must be numbers, got booleans; convert them to 0.0 and 1.0"):
                call(convert(HALF > 0.3))


def test_labels_may_be_booleans(library):
    for convert in (np.asarray, library.asarray):
        assert float(Composite("log").value(convert(np.array([True])), convert(np.array([0.0])))[0]) == np.log(2.0)


def test_arrays_of_two_libraries(library):
    name, there = library.__name__.partition(".")[0], library.asarray(HALF)
    for call, names in [
        (lambda x, y: Logit().link(x, y), ("p", "q")),
        (lambda x, y: LogLoss().risk(x, y), ("eta", "p")),
        (lambda x, y: Composite("log").value(x, y), ("y", "v")),
    ]:
        with pytest.raises(ValueError, match=f"{names[0]} is of {name} and {names[1]} of numpy; convert one of them"):
            call(there, HALF)
        with pytest.raises(ValueError, match=f"{names[1]} is of {name} and {names[0]} of numpy; convert one of them"):
            call(HALF, there)


def test_numbers_and_lists_go_with_any_library(library):
    there = library.asarray(HALF)
    for other in (0.25, [0.25, 0.5]):
        expected = LogLoss().risk(other, HALF)
        np.testing.assert_allclose(to_numpy(LogLoss().risk(other, there)), expected, rtol=1e-12)


def test_bad_values_are_named(library):
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got 1.5"):
        Logit().link(library.asarray([0.5, 1.5]))
    with pytest.raises(ValueError, match=r"q must be 1 - p, but p \+ q is 1.1"):
        Logit().link(library.asarray([0.5]), library.asarray([0.6]))
    with pytest.raises(ValueError, match="v must not contain nan"):
        Logit().inverse(library.asarray([np.nan]))
    with pytest.raises(ValueError, match=r"y must lie in \[0, 1\], got 2.0"):
        Composite("log").value(library.asarray([2]), library.asarray([0.0]))
    with pytest.raises(ValueError, match="y must hold class indices 0 to 1"):
        SoftmaxComposite(LogLoss()).value(library.asarray([2]), library.asarray([[0.0, 0.0]]))


def test_erfcx_to_the_last_digits(library):
    x = np.concatenate([np.linspace(0.0, 14.0, 113), np.geomspace(14.0, 1e6, 20), -np.linspace(0.1, 20.0, 30)])
    with mp.workdps(40):
        truth = np.array([float(mp.exp(mp.mpf(each) ** 2) * mp.erfc(each)) for each in x])
    with np.errstate(over="ignore"):
        found = to_numpy(erfcx(library.asarray(x)))
    np.testing.assert_allclose(found, truth, rtol=1e-12)
    np.testing.assert_allclose(found[x >= 0.0], truth[x >= 0.0], rtol=2e-15)


@pytest.mark.parametrize("switch", ["0", "1"])
def test_scipys_switch_makes_no_difference(switch):
    code = (
        "import numpy as np, array_api_strict as xp\n"
        "from properly.links import Probit\nfrom properly.losses import Composite\n"
        "v = np.linspace(-3.0, 3.0, 7)\n"
        "found = Composite('log', Probit()).gradient(1, xp.asarray(v))\n"
        "np.testing.assert_allclose(np.asarray(found), Composite('log', Probit()).gradient(1, v), rtol=1e-12)\n"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"SCIPY_ARRAY_API": switch}, check=True)
