import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from properly.audit import audit, summary_of
from properly.metrics import decide

COSTS = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, -1.0]])


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    p = random.dirichlet([2.0, 1.0, 0.5], 800)
    return (random.random((800, 1)) > np.cumsum(p, axis=1)).sum(axis=1), p


def test_without_costs_the_most_probable_class_is_decided_on(rows):
    y, p = rows
    found, called = audit(y, p).confusion, p.argmax(axis=1)
    assert np.array_equal(found.counts, confusion_matrix(y, called))
    assert found.precision == pytest.approx(precision_score(y, called, average=None))
    assert found.recall == pytest.approx(recall_score(y, called, average=None))
    assert found.cost is None


def test_costs_decide(rows):
    y, p = rows
    found, called = audit(y, p, costs=COSTS).confusion, decide(p, COSTS)
    assert np.array_equal(found.counts, confusion_matrix(y, called))
    assert found.cost == pytest.approx(COSTS[y, called].mean())
    always = [COSTS[y, k].mean() for k in range(3)]
    assert found.same_for_all == (int(np.argmin(always)), pytest.approx(min(always)))
    assert found.cost < min(always)


def test_weights_count_rows(rows):
    y, p = rows
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    one, other = audit(y, p, sample_weight=weight), audit(np.repeat(y, weight), np.repeat(p, weight, axis=0))
    assert one.confusion.counts == pytest.approx(other.confusion.counts)


def test_a_class_that_is_never_called_has_no_precision():
    p = np.tile([0.5, 0.3, 0.2], (30, 1))
    found = summary_of(audit(np.arange(30) % 3, p))["confusion"]
    assert found["precision"] == [pytest.approx(1 / 3), None, None]
    assert found["recall"] == [1.0, 0.0, 0.0]


def test_the_share_that_is_right_is_that_of_the_answer(rows):
    y, p = rows
    tied = np.round(p, 1)
    found = audit(y, tied / tied.sum(axis=1, keepdims=True))
    assert np.trace(found.confusion.counts) / len(y) == pytest.approx(found.hit_rate)


def test_two_classes_have_thresholds_instead(rows):
    y, p = rows
    assert audit(y == 0, p[:, 0]).confusion is None
