"""Changing the prior of probabilities: Bayes' rule, and nothing lost in the tails."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properly.prevalence import adjust_prior, prior_after_sampling, prior_after_weighting

shares = st.floats(1e-6, 1.0 - 1e-6)


def exact(p, train, true):
    """p π/τ, divided by its sum, in rational numbers, from floats taken at their word."""
    p, train, true = ([Fraction(float(x)) for x in each] for each in (p, train, true))
    weight = [a * c / b for a, b, c in zip(p, train, true, strict=True)]
    return [float(x / sum(weight)) for x in weight]


@pytest.mark.parametrize("p", [1e-300, 5e-324, 1e-17, 0.3, 1.0 - 1e-16])
@pytest.mark.parametrize(("train", "true"), [(0.5, 0.001), (0.01, 0.7), (1e-12, 0.999999)])
def test_two_classes_to_the_last_digits(p, train, true):
    q = float(1 - Fraction(p))
    expected = exact([1 - Fraction(p), p], [1 - Fraction(train), train], [1 - Fraction(true), true])
    # A subnormal number has few digits to begin with.
    assert adjust_prior(p, train, true) == pytest.approx(expected[1], rel=1e-13, abs=5e-324)
    assert adjust_prior([p], train, true) == pytest.approx(expected[1], rel=1e-13, abs=5e-324)
    both = adjust_prior([[q, p], [p, q]], train, true)
    assert both[0] == pytest.approx(exact([q, p], [1 - train, train], [1 - true, true]), rel=1e-13, abs=5e-324)
    assert both[1] == pytest.approx(exact([p, q], [1 - train, train], [1 - true, true]), rel=1e-13, abs=5e-324)


def test_both_columns_keep_their_tails():
    p = adjust_prior([[1e-200, 1.0], [1.0, 1e-200]], 0.5, 0.1)
    assert p[0] == pytest.approx([9e-200, 1.0], rel=1e-14)
    assert p[1] == pytest.approx([1.0, 1e-200 / 9.0], rel=1e-14)


def test_certainty_stays_and_equal_priors_change_nothing():
    p = np.array([0.0, 1e-310, 0.25, 0.5, 1.0])
    assert adjust_prior(p, 0.3, 0.01)[[0, -1]].tolist() == [0.0, 1.0]
    assert adjust_prior(p, 0.3, 0.3).tolist() == p.tolist()
    rows = np.eye(3)
    assert adjust_prior(rows, [0.5, 0.3, 0.2], [0.01, 0.01, 0.98]).tolist() == rows.tolist()


def test_priors_at_the_ends_of_float64():
    p = adjust_prior([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], 1e-308, 1.0 - 1e-16)
    assert p.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert adjust_prior(0.5, 5e-324, 0.5) == 1.0
    assert adjust_prior(0.0, 5e-324, 0.5) == 0.0


def test_classes_that_do_not_occur():
    """As `estimate_prior` may find; what is certain stays, whatever the prior."""
    assert adjust_prior([0.0, 0.4, 1.0], 0.3, 0.0).tolist() == [0.0, 0.0, 1.0]
    assert adjust_prior([0.0, 0.4, 1.0], 0.3, 1.0).tolist() == [0.0, 1.0, 1.0]
    p = adjust_prior([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4], [0.0, 1.0, 0.0]], np.full(3, 1 / 3), [0.0, 1.0, 0.0])
    assert p.tolist() == [[0.0, 1.0, 0.0], [0.6, 0.0, 0.4], [0.0, 1.0, 0.0]]
    p = adjust_prior([[0.2, 0.3, 0.5]], np.full(3, 1 / 3), [0.0, 0.5, 0.5])
    assert p[0] == pytest.approx([0.0, 0.375, 0.625], rel=1e-14)


@given(p=st.lists(st.floats(1e-9, 1.0), min_size=3, max_size=5), data=st.data())
def test_many_classes_by_exact_arithmetic_and_back(p, data):
    draw = st.lists(st.floats(1e-3, 1.0), min_size=len(p), max_size=len(p))
    p, train, true = (np.array(each) / np.sum(each) for each in (p, data.draw(draw), data.draw(draw)))
    there = adjust_prior(p[None], train, true)
    assert there[0] == pytest.approx(exact(p, train, true), rel=1e-12)
    assert adjust_prior(there, true, train)[0] == pytest.approx(p, rel=1e-12)


@given(p=st.floats(0.0, 1.0), train=shares, true=shares)
def test_a_number_and_an_array_say_the_same(p, train, true):
    one = adjust_prior(p, train, true)
    assert 0.0 <= one <= 1.0
    assert one == adjust_prior([p], [1.0 - train, train], [1.0 - true, true])[0]


def test_shapes_and_types():
    assert adjust_prior(0.5, 0.5, 0.2).shape == ()
    assert adjust_prior([], 0.5, 0.2).shape == (0,)
    assert adjust_prior([[0.5], [0.1]], 0.5, 0.2) == pytest.approx(adjust_prior([0.5, 0.1], 0.5, 0.2)[:, None])
    assert adjust_prior(np.empty((0, 3)), np.full(3, 1 / 3), [0.2, 0.3, 0.5]).shape == (0, 3)
    single = np.array([[0.9, 0.1]], dtype=np.float32)
    assert adjust_prior(single, 0.5, 0.2).dtype == np.float64
    # Rows in single precision add up to 1 only nearly; the answer does so.
    assert adjust_prior(single, 0.5, 0.2).sum() == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize(
    ("p", "train", "true", "message"),
    [
        (0.5, 0.0, 0.2, r"train_prior must lie strictly between 0 and 1, got 0\.0; leave out a class"),
        (0.5, 0.5, 1.5, r"true_prior must lie in \[0, 1\], got 1\.5; give shares, not percentages"),
        (0.5, 0.5, [1.2, -0.2], r"true_prior must lie in \[0, 1\], got 1\.2"),
        (0.5, 0.5, np.nan, r"true_prior must lie in \[0, 1\], got nan"),
        (0.5, np.nan, 0.2, "train_prior must lie strictly between 0 and 1, got nan"),
        (0.5, [70, 30], 0.2, r"train_prior must lie .* got 70\.0; give shares, not percentages or counts"),
        (0.5, [0.5, 0.4], 0.2, r"train_prior must add up to 1 within 1e-06, but its sum is 0\.9; divide it"),
        (0.5, [0.5, 0.3, 0.2], 0.2, "train_prior has 3 entries, but there are 2 classes"),
        ([[0.2, 0.3, 0.5]], 0.5, 0.2, r"train_prior must have an entry for each of 3 classes, got the number 0\.5"),
        (0.5, [[0.5, 0.5]], 0.2, r"train_prior must be a number, or an array of shape \(K,\)"),
        (1.5, 0.5, 0.2, r"p must lie in \[0, 1\], got 1\.5 in row 0; .* calibration"),
        ([np.nan], 0.5, 0.2, r"p must lie in \[0, 1\], got nan"),
        (np.full((2, 2, 2), 0.5), 0.5, 0.2, r"p must have shape \(n,\) or \(n, K\) .* got shape \(2, 2, 2\)"),
        ([[0.5, 0.5], [0.5, 0.4]], 0.5, 0.2, r"every row of p must add up to 1, but row 1 adds up to 0.9"),
        ("a", 0.5, 0.2, "p must be numbers"),
    ],
)
def test_errors(p, train, true, message):
    with pytest.raises(ValueError, match=message):
        adjust_prior(p, train, true)


# ---------------------------------------------------------------- where a training prior comes from


def test_sampling_gives_the_prior_of_the_sample():
    count = np.array([9800, 200])
    assert prior_after_sampling(0.02, [0.1, 1.0]) == pytest.approx(200 / (980 + 200))
    assert prior_after_sampling(count / 10000, [0.1, 1.0]) == pytest.approx(np.array([980, 200]) / 1180)
    assert prior_after_sampling([0.5, 0.3, 0.2], [1.0, 1.0, 3.0]) == pytest.approx(np.array([5, 3, 6]) / 14)
    assert isinstance(prior_after_sampling(0.02, [0.1, 1.0]), float)


def test_the_prior_after_sampling_is_taken_back():
    """The usual formula for p from a model trained on every w-th negative: p / (p + (1 - p)/w)."""
    p, w = np.array([0.01, 0.3, 0.9]), 0.05
    found = adjust_prior(p, prior_after_sampling(0.004, [w, 1.0]), 0.004)
    assert found == pytest.approx(p / (p + (1.0 - p) / w), rel=1e-13)


def test_weighting():
    assert prior_after_weighting([0.7, 0.2, 0.1], "balanced") == pytest.approx(np.full(3, 1 / 3))
    assert prior_after_weighting(0.02, [1.0, 49.0]) == pytest.approx(0.5)
    assert prior_after_weighting(0.2, {0: 3.0}) == pytest.approx(0.2 / (0.2 + 2.4))
    labels = np.array(["a", "b", "c"])
    assert prior_after_weighting([0.7, 0.2, 0.1], {"c": 2.0, "a": 0.5}, labels) == pytest.approx(
        np.array([0.35, 0.2, 0.2]) / 0.75
    )


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("equal", "class_weight must be one of 'balanced', got 'equal'"),
        ({2: 1.0}, r"class_weight names 2, which is not one of the classes \[0, 1\]"),
        ([1.0, 0.0], "class_weight must be positive and finite"),
        ([1.0, np.inf], "class_weight must be positive and finite"),
        ([1.0, 2.0, 3.0], r"class_weight must have an entry for each of 2 classes, got shape \(3,\)"),
        (2.0, r"class_weight must have an entry for each of 2 classes, got shape \(\)"),
    ],
)
def test_weighting_errors(weight, message):
    with pytest.raises(ValueError, match=message):
        prior_after_weighting(0.02, weight)
    if not isinstance(weight, str | dict):
        with pytest.raises(ValueError, match=message.replace("class_weight", "keep")):
            prior_after_sampling(0.02, weight)


def test_classes_are_as_many_as_shares():
    with pytest.raises(ValueError, match="classes has 2 entries, but prior is for 3; name every class"):
        prior_after_weighting([0.2, 0.3, 0.5], {"a": 2.0}, classes=["a", "b"])
