"""The verdict: tests, sizes with intervals, what could have been missed, and what does not matter."""

import numpy as np
import pytest
from scipy import special as sc
from scipy import stats

from properly.audit import answer, audit, summary_of, verdict
from properly.audit.sizes import share_interval, sizes_of
from properly.cli import calibrate_table
from properly.inputs.forecast import Forecast


def test_a_shift_is_found_as_a_z_test_finds_it():
    """2,000 rows, 8 % positives, log-odds shifted by 0.3: what recalibration gains is hard to see, the shift is not."""
    found = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        truth = random.normal(-2.9, 1.0, 2_000)
        found.append(verdict(audit(random.random(2_000) < sc.expit(truth), sc.expit(truth + 0.3))))
    assert found.count("wrong") >= 4


def test_sizes_hold_the_truth(forecasts):
    inside = []
    for seed in range(25):
        y, p = forecasts(1_500, 0.7, -0.4, seed=seed)
        sizes = sizes_of(Forecast.of_positives(y == 1, p))
        truth = sc.expit(0.7 * sc.logit(p) - 0.4)
        low, high = sizes["observed/expected"][1:]
        inside += [low <= truth.mean() / p.mean() <= high, sizes["slope"].low <= 0.7 <= sizes["slope"].high]
        shifted = sc.expit(sc.logit(p) + sizes["intercept"].estimate)
        assert shifted.mean() == pytest.approx(y.mean())
        error = sizes["calibration error"]
        inside.append(
            error.low <= np.sqrt(np.mean((truth - p) ** 2)) * 1.1 and error.high >= 0.9 * abs(truth - p).mean()
        )
    assert np.mean(inside) > 0.85


def test_shares_of_few_and_of_no_rows():
    low, high = share_interval(np.array([0.0, 0.5, 1.0]), np.array([10.0, 10.0, 10.0]), np.array([0.1, 0.0, 0.1]))
    assert (low[0], high[2]) == (0.0, 1.0)
    assert (low[1], high[1]) == pytest.approx(stats.beta.interval(0.95, 5.5, 5.5))  # of 10 rows, without a deviation
    assert 0.0 < high[0] < 0.4


def test_intervals_are_never_empty():
    """Where no error was seen, or the variance exceeds what was seen, an interval says what could be."""
    y = np.arange(300) % 4 == 0
    for p, cluster in (
        (y.astype(float), None),
        (np.where(y, 0.9, 0.1), np.arange(300) % 2),
        (np.full(300, 0.25), None),
    ):
        for name, size in sizes_of(Forecast.of_positives(y, p), cluster).items():
            assert size is None or size.low < size.high, name
    perfect = sizes_of(Forecast.of_positives(y, y.astype(float)))
    none_of_300 = stats.beta.ppf(0.975, 0.5, 300.5)  # Jeffreys
    assert perfect["observed/expected"].high == pytest.approx(1.0 + none_of_300 / 0.25, abs=0.005)
    assert none_of_300 < perfect["calibration error"].high < 0.1
    few = sizes_of(Forecast.of_positives(y[:6], np.linspace(0.2, 0.7, 6)))
    assert few["calibration error"].high > 0.2


def test_a_single_interval_that_excludes_right_is_explained(forecasts):
    """The slope of these rows differs from 1 by its interval, but not beyond what several tests allow."""
    for seed in range(200):
        result = audit(*forecasts(400, 0.8, seed=seed))
        slope = result.sizes["slope"]
        if slope.high < 1.0 and result.p_value > 0.05:
            said = answer(result)[0]
            assert "Taken alone, the slope (95 % interval" in said
            assert said.endswith("all together they show none.")
            return
    raise AssertionError("no such audit was found")


def test_many_rows_make_small_faults_real_but_not_large():
    random = np.random.default_rng(0)
    truth = random.normal(0.0, 1.5, 150_000)
    y, p = random.random(150_000) < sc.expit(truth), sc.expit(truth + 0.02)
    result = audit(y, p, tolerance=0.02)
    assert verdict(result) == "nearly right"
    assert not result.beyond_tolerance
    assert "2.0" in answer(result)[0]
    strict = audit(y, p, tolerance=0.001)
    assert verdict(strict) == "wrong"
    assert strict.beyond_tolerance


def test_right_needs_power(forecasts):
    y, p = forecasts(300, seed=3)
    few = audit(y, p)
    assert verdict(few) == "unclear"
    rows = few.detectable.rows
    assert rows == pytest.approx(300 * (few.detectable.shift / 0.3) ** 2)
    assert verdict(audit(y, p, detect=1.01 * few.detectable.shift)) == "right"
    shift = few.detectable.shift
    assert few.detectable.share == pytest.approx(sc.expit(sc.logit(p) + shift).mean())


@pytest.mark.parametrize("classes", [2, 3])
def test_perfect_and_perfectly_wrong(classes):
    y = np.arange(120) % classes
    right, wrong = np.eye(classes)[y], np.eye(classes)[(y + 1) % classes]
    assert verdict(audit(y, right)) == "right"
    mistaken = audit(y, wrong)
    assert verdict(mistaken) == "wrong"
    assert ("--positive" in answer(mistaken)[0]) == (classes == 2)
    nearly = 0.999 * right + 0.001 / classes
    assert verdict(audit(y, nearly, group=np.arange(120) % 2)) in ("right", "unclear")


def test_clusters_widen_intervals(forecasts):
    y, p = forecasts(200)
    many = np.repeat(np.arange(200), 10)
    alone, together = audit(y[many], p[many]), audit(y[many], p[many], cluster=many)
    for name in ("observed/expected", "slope"):
        one, other = (each.sizes[name] for each in (alone, together))
        assert other.high - other.low > 2.0 * (one.high - one.low)
    assert together.detectable.shift > 2.0 * alone.detectable.shift
    gains = [each.scores["log loss"].gain for each in (alone, together)]
    assert gains[1].high - gains[1].low > 2.0 * (gains[0].high - gains[0].low)


def test_two_forecasts_of_the_same_rows(forecasts):
    y, p = forecasts(2_000)
    other = sc.expit(0.5 * sc.logit(p))
    result = audit(y, p, against=other)
    assert verdict(result) == "right"
    assert verdict(result.against.audit) == "wrong"
    direct = audit(y, other)
    for name, difference in result.against.differences.items():
        assert difference.difference == pytest.approx(result.scores[name].before - direct.scores[name].before)
        assert difference.high < 0.0
    assert len(result.against.murphy.names) == 2
    assert summary_of(result)["against"]["audit"] == summary_of(direct)
    with pytest.raises(ValueError, match="against must have the rows"):
        audit(y, p, against=other[:5])


def test_audit_and_calibrate_agree(forecasts, tmp_path):
    y, p = forecasts(700, 0.8)
    table = tmp_path / "p.csv"
    table.write_text("y,p\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
    summary = calibrate_table(table, target="y", score="p", output=tmp_path / "c.skops")
    score = audit(y, p).scores["log loss"]
    assert score.before == pytest.approx(summary["log_loss_before"])
    assert score.after == pytest.approx(summary["log_loss_after"], rel=1e-6)


def test_few_rows_say_nothing_about_a_gain():
    """An interval of twelve rows is no statement about what recalibration would gain."""
    y, p = np.array([0, 1] * 6), np.linspace(0.1, 0.9, 12)
    assert answer(audit(y, p))[2] == "What recalibration would gain cannot be said from 12 rows."


@pytest.mark.parametrize("mean", [1e-7, 1e-4, 3e-3])
def test_the_shift_that_few_expected_events_would_show(mean):
    random = np.random.default_rng(0)
    p = random.gamma(2.0, 0.5 * mean, 1000)
    found = audit(np.r_[1, np.zeros(999, dtype=int)], p).detectable
    assert found.shift < 25.0
    # So large a number of events under the shift is one that right probabilities nearly never have.
    events = random.poisson(1000 * found.share, 20_000)
    usual = np.quantile(random.poisson(p.sum(), 20_000), 0.975)
    assert 0.7 < np.mean(events > usual) <= 1.0


@pytest.mark.parametrize(("factor", "n", "beyond"), [(0.5, 20_000, True), (0.9, 200_000, True), (1.0, 20_000, False)])
def test_a_rare_class_that_is_off_is_named_and_held_against_the_tolerance(factor, n, beyond):
    """It is hardly ever the most probable one, and changes the log loss by less than the tolerance."""
    random = np.random.default_rng(3)
    common = sc.expit(1.2 * random.normal(size=n))
    truth = np.column_stack([0.98 * common, 0.98 * (1.0 - common), np.full(n, 0.02)])
    y = np.array(["a", "b", "c"])[(random.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)]
    p = truth * [1.0, 1.0, factor]
    result = audit(y, p / p.sum(axis=1, keepdims=True))
    assert verdict(result) == ("wrong" if beyond else "right")
    assert result.beyond_tolerance == beyond
    assert ("c: observed/expected" in answer(result)[0]) == beyond
    size = summary_of(result)["observed_expected_of_classes"]["c"]
    assert size["low"] < np.mean(y == "c") / np.mean(p[:, 2] / p.sum(axis=1)) < size["high"]
    assert size["low"] < (0.98 + 0.02 * factor) / factor < size["high"]
