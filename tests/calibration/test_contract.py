"""What holds for every calibrator, whatever its method."""

import numpy as np
import pytest
from scipy import sparse
from scipy import special as sc
from sklearn.base import clone

from properly import calibration
from properly.calibration import (
    AsymmetricGaussianCalibration,
    BetaCalibration,
    BinaryCalibrator,
    Calibrator,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    MulticlassCalibration,
    PlattScaling,
    SplineCalibration,
    StructuredMatrixScaling,
    TemperatureScaling,
    VennAbersCalibration,
)
from properly.calibration.methods import METHODS

CALIBRATORS = [
    *(method() for method in METHODS.values()),
    PlattScaling(noisy_labels=False),
    IsotonicCalibration("linear"),
    IsotonicCalibration(strict=True),
    HistogramBinning(5, "width"),
    AsymmetricGaussianCalibration(monotone=True),
    MulticlassCalibration("platt", "confidence"),
    MulticlassCalibration("platt", "classwise"),
    MulticlassCalibration("vector", "full"),
]
# Those whose answers do not depend on where the scores lie or how they are scaled.
INVARIANT = [
    each
    for each in CALIBRATORS
    if isinstance(each, BinaryCalibrator)
    and not isinstance(each, BetaCalibration)
    and each.get_params().get("strategy") != "width"
]
EXACT_ZEROS = (IsotonicCalibration, HistogramBinning)  # methods that may say 0 or 1


def every(estimators=CALIBRATORS):
    return pytest.mark.parametrize("calibrator", estimators, ids=str)


def two_classes(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return (rng.normal(size=n) * 1.3 + 1.5 * y - 0.7).round(1), y.astype(int)


def three_classes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return (2.0 * np.eye(3)[y] + rng.normal(size=(n, 3)) * 1.2).round(2), y


def test_the_table_is_complete():
    public = {each for each in map(vars(calibration).get, calibration.__all__) if issubclass(each, Calibrator)}
    assert public - {Calibrator, BinaryCalibrator, MulticlassCalibration} == set(METHODS.values())


@every()
def test_probabilities_of_two_classes(calibrator):
    scores, y = two_classes()
    labels = np.array(["no", "yes"])[y]
    model = clone(calibrator).fit(scores, labels)
    p = model.predict_proba(scores)
    assert p.shape == (200, 2)
    assert p.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert p.min() >= 0.0
    assert model.classes_.tolist() == ["no", "yes"]
    assert p[y == 1, 1].mean() > p[y == 0, 1].mean() + 0.1
    assert np.array_equal(model.predict(scores), np.where(p[:, 1] > 0.5, "yes", "no"))
    assert np.array_equal(clone(calibrator).fit(scores[:, None], labels).predict_proba(scores[:, None]), p)
    assert model.predict_proba([]).shape == (0, 2)


@every()
def test_probabilities_of_three_classes(calibrator):
    scores, y = three_classes()
    model = clone(calibrator).fit(scores, y)
    p = model.predict_proba(scores)
    assert p.shape == (300, 3)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.all(np.isfinite(p))
    assert p[np.arange(300), y].mean() > 0.5
    assert np.mean(model.predict(scores) == p.argmax(axis=1)) == 1.0
    # Only differences of logits within a row matter.
    shifted = scores + np.linspace(-50.0, 50.0, 300)[:, None]
    assert clone(calibrator).fit(shifted, y).predict_proba(shifted) == pytest.approx(p, abs=1e-6)


@every()
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_logarithms_of_probabilities(calibrator, data):
    scores, y = data()
    model = clone(calibrator).fit(scores, y)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(scores), np.log(model.predict_proba(scores)), atol=1e-9)


@every()
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_decisions_are_log_odds_or_log_probabilities(calibrator, data):
    scores, y = data()
    model = clone(calibrator).fit(scores, y)
    decision, log_p = model.decision_function(scores), model.predict_log_proba(scores)
    assert np.all(np.isfinite(decision))
    finite = np.isfinite(log_p).all(axis=1)
    expected = log_p[:, 1] - log_p[:, 0] if decision.ndim == 1 else log_p
    assert decision[finite] == pytest.approx(expected[finite], abs=1e-9)
    chosen = decision > 0.0 if decision.ndim == 1 else decision.argmax(axis=1)
    assert np.array_equal(model.predict(scores), chosen)


def test_logarithms_outlive_underflow():
    model = PlattScaling().fit(*two_classes())
    log_p = model.predict_log_proba([1e5])
    assert model.predict_proba([1e5])[0, 0] == 0.0
    assert -1e7 < log_p[0, 0] < -1e3


def test_many_classes_are_classes():
    y = np.repeat(np.arange(30), 4)
    p = TemperatureScaling().fit(2.0 * np.eye(30)[y], y).predict_proba(np.eye(30))
    assert p.shape == (30, 30)


@every()
def test_one_versus_rest(calibrator):
    if not isinstance(calibrator, BinaryCalibrator):
        pytest.skip("fits all classes together")
    scores, y = three_classes()
    p = clone(calibrator).fit(scores, y).predict_proba(scores)
    columns = []
    for k in range(3):
        own = scores[:, k] - sc.logsumexp(np.delete(scores, k, axis=1), axis=1)
        columns.append(clone(calibrator).fit(own, y == k).predict_proba(own)[:, 1])
    alone = np.column_stack(columns)
    total = alone.sum(axis=1, keepdims=True)
    expected = np.where(total > 0.0, alone / np.where(total > 0.0, total, 1.0), 1.0 / 3.0)
    assert p == pytest.approx(expected, abs=1e-9)


@every()
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_weights_are_repetitions(calibrator, data):
    scores, y = data(120)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    model = clone(calibrator).fit(scores, y, sample_weight=weight)
    again = clone(calibrator).fit(np.repeat(scores, weight, axis=0), np.repeat(y, weight))
    assert model.predict_proba(scores) == pytest.approx(again.predict_proba(scores), abs=1e-6)


@every()
def test_the_order_of_rows_does_not_matter(calibrator):
    scores, y = two_classes()
    order = np.random.default_rng(2).permutation(len(y))
    p = clone(calibrator).fit(scores, y).predict_proba(scores)
    assert clone(calibrator).fit(scores[order], y[order]).predict_proba(scores) == pytest.approx(p, abs=1e-8)


@every(INVARIANT)
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e-3), (7.3, 1.0), (-1e6, 10.0), (0.0, 1e200), (3e-200, 1e-200)])
def test_unit_and_origin_of_the_scores_do_not_matter(calibrator, shift, scale):
    scores, y = two_classes()
    p = clone(calibrator).fit(scores, y).predict_proba(scores)
    moved = shift + scale * scores
    assert clone(calibrator).fit(moved, y).predict_proba(moved) == pytest.approx(p, abs=1e-6)


# Bins and knots at quantiles take the lower one of two neighbouring scores.
MIRRORED = [each for each in INVARIANT if not isinstance(each, (HistogramBinning, SplineCalibration))]


@every([*MIRRORED, BetaCalibration()])
def test_the_two_classes_are_treated_alike(calibrator):
    scores, y = two_classes()
    p = clone(calibrator).fit(scores, y).predict_proba(scores)
    mirrored = clone(calibrator).fit(-scores, 1 - y).predict_proba(-scores)
    assert mirrored[:, ::-1] == pytest.approx(p, abs=1e-6)


@every()
def test_probabilities_as_input(calibrator):
    scores, y = two_classes()
    p = clone(calibrator).fit(scores, y).predict_proba(scores)
    model = clone(calibrator).set_params(input="probability").fit(sc.expit(scores), y)
    assert model.predict_proba(sc.expit(scores)) == pytest.approx(p, abs=1e-6)
    logits, y = three_classes()
    p = clone(calibrator).fit(logits, y).predict_proba(logits)
    model = clone(calibrator).set_params(input="probability").fit(sc.softmax(logits, axis=1), y)
    assert model.predict_proba(sc.softmax(logits, axis=1)) == pytest.approx(p, abs=1e-6)


@every()
def test_probabilities_of_exactly_zero_and_one(calibrator):
    p = np.repeat([0.0, 0.1, 0.5, 0.9, 1.0], 20)
    y = np.random.default_rng(0).random(100) < 0.2 + 0.6 * p
    model = clone(calibrator).set_params(input="probability").fit(p, y)
    answers = model.predict_proba([0.0, 1e-300, 0.1, 0.5, 0.9, 1.0 - 1e-16, 1.0])
    assert np.all(np.isfinite(answers))
    assert answers[0] == pytest.approx(answers[1])
    assert answers[-1] == pytest.approx(answers[-2])
    unseen = clone(calibrator).set_params(input="probability").fit(0.1 + 0.8 * p, y)
    assert np.all(np.isfinite(unseen.predict_proba([0.0, 1.0])))


DEGENERATE = {
    "all scores equal": (np.ones(10), np.arange(10) % 5 == 0),
    "separated": (np.arange(10.0), np.arange(10) > 6),
    "separated, falling": (-np.arange(10.0), np.arange(10) > 6),
    "touching": (np.array([0.0, 1.0, 2.0, 2.0, 3.0, 4.0]), np.array([0, 0, 0, 1, 1, 1])),
    "separated by an interval": (np.arange(10.0), np.abs(np.arange(10) - 5) < 2),
    "one positive": (np.arange(10.0), np.arange(10) == 4),
    "two rows": (np.array([0.0, 1.0]), np.array([0, 1])),
    "two equal rows": (np.array([1.0, 1.0]), np.array([0, 1])),
    "huge": (np.array([-1e300, -1.0, 0.0, 2.0, 1.0, 1e300, 1e308, -1e308]), np.array([0, 0, 1, 0, 1, 1, 1, 0])),
    "tiny": (np.array([-1e-300, -1e-301, 0.0, 2e-300, 1e-300, 1e-305]), np.array([0, 0, 1, 0, 1, 1])),
    "one far away": (np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1e12]), np.array([0, 1, 0, 1, 1, 0])),
}


@pytest.mark.filterwarnings("ignore:.*scores are larger than 1e100:UserWarning")
@every()
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_have_finite_answers(calibrator, case):
    scores, y = DEGENERATE[case]
    model = clone(calibrator).set_params(input="score").fit(scores, y)
    asked = np.concatenate([scores, [0.0, 1.0, -1e300, 1e300, 1.7e308, -1.7e308, 1e-300]])
    p = model.predict_proba(asked)
    assert np.all(np.isfinite(p))
    assert p.sum(axis=1) == pytest.approx(1.0)
    # A temperature alone cannot move the threshold away from 0.
    if case == "separated" and not isinstance(
        calibrator, (*EXACT_ZEROS, TemperatureScaling, EnsembleTemperatureScaling)
    ):
        assert np.all(p[:10][~y, 0] > 0.5)
        assert p[:10].min() > 0.0
    if case == "all scores equal" and not isinstance(
        calibrator, (TemperatureScaling, EnsembleTemperatureScaling, VennAbersCalibration, StructuredMatrixScaling)
    ):
        assert p[:10, 1] == pytest.approx(0.2, abs=0.06)


SCORES, Y = two_classes(50)
BAD = {
    "nan": ((np.where(np.arange(50) == 3, np.nan, SCORES), Y), "scores must be finite, got nan"),
    "infinite": ((np.where(np.arange(50) == 3, np.inf, SCORES), Y), "scores must be finite, got inf"),
    "one class": ((SCORES, np.ones(50)), "one class only, 1.0; at least 2 classes"),
    "empty": (([], []), "y is empty"),
    "two columns": ((np.column_stack([-SCORES, SCORES]), Y), "pass the column of the second class"),
    "three columns": ((np.column_stack([SCORES] * 3), Y), r"shape \(n,\) or \(n, 1\)"),
    "too few columns": ((np.column_stack([SCORES] * 2), np.arange(50) % 3), r"shape \(n, 3\)"),
    "lengths": ((SCORES[:-1], Y), "y has 50 rows, scores has 49"),
    "negative weight": ((SCORES, Y, -np.ones(50)), "sample_weight must not be negative, got -1.0"),
    "no weight": ((SCORES, Y, np.zeros(50)), "zero for every row"),
    "no weight in a class": ((SCORES, Y, Y), "every row of class 0 has weight 0"),
    "weights of another length": ((SCORES, Y, np.ones(3)), "sample_weight has 3 entries"),
    "words": ((["a"] * 50, Y), "scores must be numbers"),
    "no labels": ((SCORES,), "requires y to be passed"),
    "continuous labels": ((SCORES, SCORES), "Unknown label type"),
}


@pytest.mark.parametrize("case", BAD)
@every([PlattScaling(), IsotonicCalibration(), TemperatureScaling()])
def test_bad_input_is_refused(calibrator, case):
    arguments, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        clone(calibrator).fit(*arguments)


@every()
def test_what_the_scores_are_is_recognised(calibrator):
    scores, y = two_classes(200)
    p = sc.expit(scores)
    for given, kind in ((p, "probability"), (scores, "score"), (p[:, None], "probability")):
        model, expected = clone(calibrator).fit(given, y), clone(calibrator).set_params(input=kind).fit(given, y)
        assert model.input_ == expected.input_ == kind
        assert np.array_equal(model.predict_proba(given), expected.predict_proba(given))
    with pytest.raises(ValueError, match=r'must lie in \[0, 1\], got 1.5; use input="score" for other scores'):
        clone(calibrator).fit(p, y).predict_proba([0.5, 1.5])
    logits, y = three_classes(200)
    p = sc.softmax(logits, axis=1)
    assert clone(calibrator).fit(p.round(2), y).input_ == "probability"
    assert clone(calibrator).fit(logits, y).input_ == clone(calibrator).fit(np.log(p), y).input_ == "score"


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        (np.linspace(0.0, 1.0, 11), "probability"),  # one 0 and one 1
        (np.column_stack([np.linspace(0.1, 0.9, 11)] * 3), "score"),
    ],
)
def test_doubtful_scores_come_with_a_warning(scores, kind):
    y = np.arange(11) % (2 if scores.ndim == 1 else 3)
    with pytest.warns(UserWarning, match=f'unclear whether these are probabilities; they are read with input="{kind}"'):
        assert PlattScaling().fit(scores, y).input_ == kind
    for input in ("score", "probability"):
        assert PlattScaling(input=input).fit(scores, y).input_ == input  # without a warning


def test_zeros_and_ones_of_a_forest_are_no_reason_for_a_warning():
    assert PlattScaling().fit([0.0, 0.0, 0.3, 0.5, 0.9, 1.0, 1.0], [0, 0, 0, 1, 0, 1, 1]).input_ == "probability"


def test_probabilities_beyond_1_by_rounding_are_refused():
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 1.0000001"):
        PlattScaling().fit([0.2, 0.5, 1.0 + 1e-7], [0, 1, 1])


def test_bad_probabilities_and_options_are_refused():
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got -0.2"):
        PlattScaling(input="probability").fit([-0.2, 0.5], [0, 1])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got nan"):
        PlattScaling(input="probability").fit([np.nan, 0.5], [0, 1])
    with pytest.raises(ValueError, match="input must be one of 'auto', 'score', 'probability', got 'logit'"):
        PlattScaling(input="logit").fit(SCORES, Y)
    with pytest.raises(ValueError, match="interpolation must be one of 'step', 'linear', got 'cubic'"):
        IsotonicCalibration("cubic").fit(SCORES, Y)
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1, got 0"):
        HistogramBinning(0).fit(SCORES, Y)
    with pytest.raises(ValueError, match="strategy must be one of"):
        HistogramBinning(strategy="best").fit(SCORES, Y)
    with pytest.raises(ValueError, match="n_knots must be a whole number of at least 3, got 2"):
        SplineCalibration(2).fit(SCORES, Y)
    with pytest.raises(ValueError, match="strength must be above 0 and finite, got 0"):
        StructuredMatrixScaling(0).fit(SCORES, Y)
    model = PlattScaling().fit(SCORES, Y)
    with pytest.raises(ValueError, match="scores must be finite, got nan"):
        model.predict_proba([np.nan])
    with pytest.raises(ValueError, match="difference second - first"):
        model.predict_proba([[0.1, 0.2]])


def test_columns_of_scores():
    column, y = SCORES[:, None], Y
    model = PlattScaling().fit(column, y)
    assert model.n_features_in_ == 1
    np.testing.assert_array_equal(model.predict_proba(column), PlattScaling().fit(SCORES, y).predict_proba(SCORES))
    with pytest.raises(ValueError, match=r"scores must be dense.*not supported; use scores.toarray"):
        PlattScaling().fit(sparse.csr_array(column), y)
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(50, 0\)\) while a minimum of 1 is required"):
        PlattScaling().fit(column[:, :0], y)
    assert not hasattr(PlattScaling(), "n_features_in_")
    with pytest.raises(ValueError, match="scores is None; one number for each row is needed"):
        PlattScaling().fit(None, y)
    with pytest.raises(ValueError, match=r"adds up to 1e\+150, beside which .* make the weights less unequal"):
        VennAbersCalibration().fit(SCORES, y, np.logspace(-150, 150, len(y)))


@pytest.mark.parametrize("method", [IsotonicCalibration(), IsotonicCalibration(strict=True), VennAbersCalibration()])
def test_the_last_digits_of_a_score_do_not_cross_a_step(method):
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=200), rng.random(200) < 0.5
    model = clone(method).fit(scores, y)
    p = model.predict_proba(scores)
    for side in (-np.inf, np.inf):
        moved = np.nextafter(scores, side)
        assert np.array_equal(model.predict_proba(moved), p)
        assert np.array_equal(clone(method).fit(np.where(y, scores, moved), y).predict_proba(scores), p)


@pytest.mark.parametrize("method", METHODS.values())
def test_a_renamed_column_is_noticed(method):
    pandas = pytest.importorskip("pandas")
    scores = pandas.DataFrame({"margin": SCORES})
    model = method().fit(scores, Y)
    assert list(model.feature_names_in_) == ["margin"]
    assert np.array_equal(model.predict_proba(scores), method().fit(SCORES, Y).predict_proba(SCORES))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(scores.rename(columns={"margin": "other"}))
    assert not hasattr(model.fit(SCORES, Y), "feature_names_in_")
