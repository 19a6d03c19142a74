"""Cross-fitting: folds with their share of every class, and predictions of rows that were held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from properly.calibration import PlattScaling
from properly.crossfit import (
    cross_calibrated,
    cross_fitted,
    divided_rows,
    grouped_folds,
    stratified_folds,
    time_folds,
)
from properly.inputs.misuse import Misuse
from properly.inputs.weights import unit_of


@pytest.mark.parametrize(("counts", "n_folds"), [([97, 50, 3], 3), ([1000, 13, 7], 5)])
def test_folds_have_their_share_of_every_class(counts, n_folds):
    codes = np.repeat([0, 1, 2], counts)
    folds = stratified_folds(codes, np.array(["a", "b", "c"]), 5, 0)
    assert folds.max() + 1 == n_folds  # no more than the rarest class has rows
    found = np.array([np.bincount(codes[folds == k], minlength=3) for k in range(n_folds)])
    assert found.sum(axis=0).tolist() == counts
    assert (np.ptp(found, axis=0) <= 1).all()


def test_folds_are_drawn_by_the_seed():
    codes = np.arange(100) % 2
    one, same, other = (stratified_folds(codes, np.arange(2), 5, seed) for seed in (3, 3, 4))
    assert (one == same).all()
    assert (one != other).any()


def test_every_row_is_predicted_by_the_other_folds():
    values, folds = np.arange(6.0), np.array([0, 1, 2, 0, 1, 2])
    found = cross_fitted(folds, lambda train, test: np.full(test.sum(), values[train].sum()))
    assert_allclose(found, [values[folds != fold].sum() for fold in folds])


def test_calibration_of_two_classes_is_a_loop_over_folds():
    random = np.random.default_rng(0)
    p, weight = random.random(300), random.integers(1, 4, 300).astype(float)
    codes = (random.random(300) < p**2).astype(int)
    folds = stratified_folds(codes, np.arange(2), 4, 0)
    found = cross_calibrated(np.column_stack([1.0 - p, p]), codes, folds, "platt", weight)
    for fold in range(4):
        test = folds == fold
        direct = PlattScaling(input="probability").fit(p[~test], codes[~test], weight[~test])
        assert_allclose(found[test], direct.predict_proba(p[test]))


def test_calibration_of_many_classes():
    random = np.random.default_rng(0)
    scores = random.normal(size=(300, 3))
    codes = np.array([random.choice(3, p=np.exp(row) / np.exp(row).sum()) for row in scores])
    folds = stratified_folds(codes, np.arange(3), 5, 0)
    p = cross_calibrated(5 * scores, codes, folds, "temperature", input="score")
    assert p.shape == (300, 3)
    overconfident = np.exp(5 * scores) / np.exp(5 * scores).sum(axis=1, keepdims=True)
    assert log_loss(codes, p) < log_loss(codes, overconfident) - 0.5


def test_columns_that_are_no_times_or_groups():
    codes, classes = np.array([0, 1] * 10), np.array(["no", "yes"])
    with pytest.raises(Misuse, match="all rows are in one group"):
        grouped_folds(codes, classes, np.zeros(20, dtype=int), 5, 0)
    with pytest.raises(Misuse, match="all rows have the same time"):
        time_folds(np.zeros(20), 5)


def test_few_groups_of_a_kind_do_not_take_folds_away():
    """Two of forty groups have no row of the rare class."""
    groups = np.repeat(np.arange(40), 6)
    codes = ((np.arange(240) % 6 == 0) & (groups > 1)).astype(int)
    folds = grouped_folds(codes, np.array(["no", "yes"]), groups, 5, 0)
    assert np.bincount(folds).tolist() == [48] * 5
    assert np.bincount(folds[codes == 1]).min() >= 6
    assert all(len(set(folds[groups == group])) == 1 for group in range(40))


def test_counted_rows_are_divided_as_their_effective_number():
    codes, weight, unit = np.array([0, 1, 1, 0]), np.array([20.0, 9.0, 8.0, 3.0]), np.array([0.5, 1.5, 7.8, 1.5])
    place, _, parts = divided_rows(codes, np.arange(2), 5, 0, weight, unit)
    np.testing.assert_allclose(np.bincount(place, parts), weight)
    assert np.bincount(place).tolist() == [5, 5, 1, 2]
    assert np.all(parts / unit[place] > 0.99)


def test_copies_of_a_row_are_divided_among_folds():
    codes, weight = np.array([0, 1, 1, 0]), np.array([40.0, 9.0, 1.0, 3.0])
    place, folds, parts = divided_rows(codes, np.arange(2), 5, 0, weight)
    np.testing.assert_array_equal(np.bincount(place, parts), weight)
    for code, total in ((0, 43), (1, 10)):
        assert np.ptp(np.bincount(folds[codes[place] == code], parts[codes[place] == code], 5)) <= (total % 5 > 0)
    for undivided in (None, np.ones(20), np.tile(1.5 * weight, 5)):
        whole = divided_rows(np.tile(codes, 5), np.arange(2), 5, 0, undivided, unit_of(undivided))
        assert whole.place == slice(None)
        np.testing.assert_array_equal(whole.folds, stratified_folds(np.tile(codes, 5), np.arange(2), 5, 0))
