import numpy as np
import pytest

from properly.metrics import best_threshold, cost_matrix, cost_threshold, decide, parse_costs


def test_two_classes_have_a_threshold():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    for costs in ((1, 20), (3, 2), (0, 1), (1, 0), "1:4", [[0, 1], [7, 0]], [[-2, 1], [5, -1]]):
        assert decide(p, costs).tolist() == (p >= cost_threshold(costs)).astype(int).tolist()
    assert decide(p, (0, 1)).all()
    assert not decide(p, (1, 0)).any()


@pytest.mark.parametrize("odds", [1, 2, 3, 9, 19, 20, 49, 99, 999])
def test_at_the_threshold_the_positive_class_is_chosen(odds):
    threshold = cost_threshold((1, odds))
    assert decide([threshold, threshold * (1 - 1e-9)], (1, odds)).tolist() == [1, 0]


def test_many_classes_by_brute_force():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 1.0, 1.0, 1.0], 70_000)
    costs = rng.normal(size=(4, 4))
    expected = np.array([[sum(row[i] * costs[i, k] for i in range(4)) for k in range(4)] for row in p[:500]])
    assert decide(p, costs)[:500].tolist() == expected.argmin(axis=1).tolist()
    per_row = rng.normal(size=(70_000, 4, 4))
    expected = (p[:, :, None] * per_row).sum(axis=1)
    assert decide(p, per_row).tolist() == expected.argmin(axis=1).tolist()
    rejected = decide(p, per_row, reject_cost=-0.5)
    assert rejected.tolist() == np.where(expected.min(axis=1) > -0.5, -1, expected.argmin(axis=1)).tolist()
    limits = rng.normal(size=70_000)
    rejected = decide(p, costs, reject_cost=limits)
    assert ((rejected == -1) == ((p @ costs).min(axis=1) > limits)).all()


def test_costs_of_each_row():
    costs = np.zeros((3, 2, 2))
    costs[:, 0, 1], costs[:, 1, 0] = [1, 1, 10], [1, 9, 1]
    assert decide([0.3, 0.3, 0.3], costs).tolist() == [0, 1, 0]


def test_chow_rejects_in_the_middle():
    p = np.array([0.05, 0.2, 0.5, 0.8, 0.95])
    assert decide(p, (1, 1), reject_cost=0.2).tolist() == [0, 0, -1, 1, 1]  # ties are decided
    assert decide(p, (1, 1), reject_cost=0.5).tolist() == [0, 0, 1, 1, 1]
    assert decide(p, (1, 1), reject_cost=[0.0, 1.0, 1.0, 0.0, 0.1]).tolist() == [-1, 0, 1, -1, 1]


def test_labels():
    p = [0.1, 0.5, 0.9]
    assert decide(p, (1, 1), classes=["no", "yes"]).tolist() == ["no", "yes", "yes"]
    labels = decide(p, (1, 1), classes=["no", "yes"], reject_cost=0.2)
    assert labels.tolist() == ["no", None, "yes"]
    assert labels.dtype == object
    assert decide(p, (1, 1), classes=[-1, 1], reject_cost=0.2).tolist() == [-1, None, 1]
    assert decide(p, (1, 1), classes=[-1, 1]).dtype == np.array([-1, 1]).dtype


def test_ties_go_to_the_last():
    assert decide([[0.25, 0.25, 0.5]], np.zeros((3, 3))).tolist() == [2]
    assert decide([[0.5, 0.5, 0.0]], 1 - np.eye(3)).tolist() == [1]


def test_small_probabilities_count_at_large_costs():
    both = [[1.0, 1e-18], [1.0, 1e-20]]
    assert decide(both, (1, 1e19)).tolist() == [1, 0]
    both = [[1e-18, 1.0], [1e-20, 1.0]]  # as do those next to 1, if both columns are given
    assert decide(both, (1e19, 1)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("p", "costs", "options", "message"),
    [
        ([0.5], (1, -1), {}, "must not be negative, nor both 0"),
        ([0.5], (0, 0), {}, "must not be negative, nor both 0"),
        ([0.5], (1, np.nan), {}, "costs must be finite, got nan"),
        ([0.5], (1, 2, 3), {}, "costs must be a pair .* got shape"),
        ([0.5], [[0, 1, 2], [1, 0, 2]], {}, "costs must be a pair"),
        ([0.5], 1 - np.eye(3), {}, r"costs are for 3 classes, but p has 2"),
        ([[0.2, 0.3, 0.5]], (1, 2), {}, r"costs are for 2 classes, but p has 3; costs must have shape \(3, 3\)"),
        ([0.5], np.zeros((2, 2, 2)), {}, "costs has 2 matrices, p has 1 rows"),
        ([0.5], (1, 1), {"reject_cost": np.nan}, "reject_cost must be finite"),
        ([0.5], (1, 1), {"reject_cost": [1, 2]}, "reject_cost must be a number or one for each of 1 rows"),
        ([0.5], (1, 1), {"classes": ["a"]}, "classes must be 2 labels"),
        ([1.5], (1, 1), {}, r"p must lie in \[0, 1\]"),
        ([], (1, 1), {}, "at least one row"),
        ([0.5], "1-20", {}, "written like 1:20, got '1-20'"),
        ([0.5], "1:2:3", {}, "written like 1:20"),
        ([0.5], "1:-2", {}, "must not be negative"),
    ],
)
def test_bad_decisions(p, costs, options, message):
    with pytest.raises(ValueError, match=message):
        decide(p, costs, **options)


def test_costs_in_words_and_matrices():
    assert parse_costs(" 0.5 : 20 ") == (0.5, 20.0)
    assert cost_matrix("1:20").tolist() == [[0, 1], [20, 0]]
    assert cost_threshold((1, 3)) == 0.25
    assert cost_threshold([[1, 2], [5, 2]]) == 0.25
    assert cost_threshold((1e308, 1e308)) == cost_threshold((1e-310, 1e-310)) == 0.5
    assert best_threshold([0, 0, 1], [0.3, 0.9, 0.8], (1e308, 1e308)).expected_cost == pytest.approx(1e308 / 3)
    with pytest.raises(ValueError, match="written like 1:20, got 20"):
        parse_costs(20)
    for costs in ([[2, 1], [5, 0]], [[0, 1], [0, 3]], [[1, 1], [1, 1]]):
        with pytest.raises(ValueError, match="costs contradict themselves"):
            cost_threshold(costs)
    with pytest.raises(ValueError, match="two classes"):
        cost_threshold(1 - np.eye(3))


def total_cost(y, p, threshold, matrix, weight):
    decision = (p >= threshold).astype(int)
    return np.average(np.asarray(matrix)[y, decision], weights=weight)


@pytest.mark.parametrize("matrix", [[[0, 1], [4, 0]], [[0, 1], [1, 0]], [[-1, 3], [5, -2]], [[0, 0], [1, 0]]])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_threshold_is_cheaper(matrix, weighted):
    rng = np.random.default_rng(2)
    p = np.round(rng.beta(1, 2, 200), 2)
    y = (rng.random(200) < p**1.5).astype(int)
    weight = rng.random(200) if weighted else None
    choice = best_threshold(y, p, matrix, sample_weight=weight)
    costs = [total_cost(y, p, c, matrix, weight) for c in np.concatenate([np.unique(p), [0.0, 1.1]])]
    assert choice.expected_cost == pytest.approx(min(costs), abs=1e-12)
    assert choice.expected_cost == pytest.approx(total_cost(y, p, choice.threshold, matrix, weight), abs=1e-12)
    theory = cost_threshold(matrix)
    assert choice.theoretical_threshold == theory
    assert choice.expected_cost_there == pytest.approx(total_cost(y, p, theory, matrix, weight), abs=1e-12)
    mass = np.ones(200) if weight is None else weight
    positive = p >= choice.threshold
    assert choice.true_positives == pytest.approx(mass[positive & (y == 1)].sum())
    assert choice.false_positives == pytest.approx(mass[positive & (y == 0)].sum())
    assert choice.false_negatives == pytest.approx(mass[~positive & (y == 1)].sum())
    assert choice.true_negatives == pytest.approx(mass[~positive & (y == 0)].sum())


def test_which_threshold_of_many():
    # theory's, where it is as cheap as any
    assert best_threshold([0, 1], [0.1, 0.9], (1, 3)).threshold == 0.25
    # the middle of the interval otherwise
    assert best_threshold([0, 1], [0.5, 0.9], (1, 3)).threshold == pytest.approx(0.7)
    # the nearest to theory's of equally cheap ones: below 0.1 and above 0.8
    assert best_threshold([1, 0], [0.2, 0.8], (1, 1)).threshold in (0.1, 0.9)
    assert best_threshold([1, 0], [0.2, 0.9], (1, 1)).threshold == pytest.approx(0.1)
    # none positive, although the largest forecast is 1
    choice = best_threshold([0, 0], [0.5, 1.0], (1, 1))
    assert choice.threshold == np.nextafter(1.0, 2.0)
    assert choice.expected_cost == choice.false_positives == 0.0
    # all positive, although the smallest is 0
    choice = best_threshold([1, 1], [0.0, 0.5], (1, 1))
    assert choice.threshold == 0.0
    assert choice.true_positives == 2.0
    # neighbours in float64
    low = 0.3
    high = np.nextafter(low, 1.0)
    choice = best_threshold([0, 1], [low, high], (1, 1))
    assert choice.threshold == high
    assert choice.expected_cost == 0.0


def test_right_probabilities_need_no_search():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 5, 200_000)
    y = rng.random(200_000) < p
    choice = best_threshold(y, p, (1, 20))
    assert choice.threshold == pytest.approx(1 / 21, abs=0.02)
    assert choice.expected_cost <= choice.expected_cost_there < choice.expected_cost * 1.01
    wrong = best_threshold(y, p**2, (1, 20))
    assert wrong.threshold == pytest.approx(1 / 21**2, abs=0.004)
    assert wrong.expected_cost_there > 1.2 * wrong.expected_cost


def test_decisions_are_those_of_the_threshold_to_the_last_digit():
    for false_positive in range(1, 60):
        for false_negative in range(1, 60):
            costs = (false_positive, false_negative)
            threshold = cost_threshold(costs)
            assert threshold == false_positive / (false_positive + false_negative)
            assert decide([np.nextafter(threshold, 0.0), threshold], costs).tolist() == [0, 1]
    assert decide([0.6], (3, 2)).tolist() == [1]
    assert best_threshold([0, 1], [0.6, 0.6], (3, 2)).expected_cost_there == 1.5


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e308])
def test_thresholds_of_costs_of_any_size(size):
    assert cost_threshold((0.75 * size, 0.25 * size)) == 0.75
    assert cost_threshold([[-size, size], [size, -size]]) == 0.5


def test_costs_of_benefits_tie_but_for_rounding():
    rng = np.random.default_rng(0)
    for _ in range(100):
        base, false_positive, false_negative = 100 * rng.normal(size=2), *rng.integers(1, 50, 2)
        matrix = np.array([[base[0], base[0] + false_positive], [base[1] + false_negative, base[1]]])
        threshold = cost_threshold(matrix)
        assert decide([threshold - 1e-9, threshold], matrix).tolist() == [0, 1]
        assert decide([threshold], np.stack([matrix])).tolist() == [1]
    matrix = [[-55.43755948658644, -42.13755948658644], [352.0050060152141, 267.6050060152141]]
    assert decide([cost_threshold(matrix)], matrix).tolist() == [1]
    # Both columns add up to 0, where benefits cancel costs, but for rounding.
    three = np.array([[0.2, 0.1, 9.0], [0.0, 0.2, 9.0], [-0.2, -0.3, 9.0]])
    p = np.full((1, 3), 1 / 3)
    assert decide(p, three).tolist() == [1]
    assert decide(p, np.stack([three])).tolist() == [1]


@pytest.mark.parametrize("n_values", [3, 6, 13, 29])
def test_the_cheapest_threshold_where_benefits_cancel_costs(n_values):
    y, p = np.tile([1, 0], n_values), np.repeat(np.linspace(0.1, 0.9, n_values), 2)
    for gain in (0.1, 0.3, 0.7):  # a right decision brings what a wrong one costs: all thresholds cost 0
        choice = best_threshold(y, p, [[-gain, gain], [gain, -gain]])
        assert choice.threshold == choice.theoretical_threshold == 0.5


def test_costs_that_contradict_themselves_are_followed():
    p = np.array([0.1, 0.5, 0.9])
    for matrix in ([[1, 0], [0, 1]], [[0, -1], [1, 0]], [[0, 1], [-1, 0]], [[5, 5], [2, 2]], [[0, 1], [0, 1]]):
        expected = np.column_stack([1 - p, p]) @ np.array(matrix, dtype=float)
        assert decide(p, matrix).tolist() == (expected[:, 1] <= expected[:, 0]).astype(int).tolist()
