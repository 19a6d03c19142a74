"""No page contradicts itself: headline, tests, sizes, bands and groups of random audits."""

import html
import re

import numpy as np
import pytest
from scipy import special as sc

from properly.audit import answer, audit, summary_of, verdict
from properly.audit.answers import sizes_of, unknown
from properly.audit.formatting import number
from properly.report import audit_page

OPENINGS = {
    "right": "The probabilities look right",
    "nearly right": "The probabilities are nearly right",
    "wrong": "The probabilities are not right",
    "unclear": "There is too little data",
}


def random_audit(seed):
    """Of 30 to 3,000 rows, right or not, with ties, weights, groups, clusters or several classes."""
    random = np.random.default_rng(seed)
    n = int(np.exp(random.uniform(np.log(30), np.log(3_000))))
    group = random.integers(1 + seed % 5, size=n) if seed % 3 else None
    weight = random.integers(1, 4, n) if seed % 7 == 0 else None
    if seed % 10 == 9:
        truth = random.dirichlet(np.ones(3), n)
        y = np.append((random.random((n - 3, 1)) > truth[3:].cumsum(axis=1)).sum(axis=1), [0, 1, 2])
        p = truth if seed % 20 == 9 else sc.softmax(1.5 * np.log(truth), axis=1)
        return audit(y, p, group=group, sample_weight=weight)
    score = random.normal(random.uniform(-3.0, 0.0), random.uniform(0.3, 1.5), n)
    y = random.random(n) < sc.expit(score)
    y[:2] = False, True
    faults = [score, score, score + 0.3, 0.8 * score, score + 0.4 * np.sin(3.0 * score)]
    p = sc.expit(faults[seed % 5])
    if group is not None and seed % 4 == 0:
        p = np.where(group == 0, sc.expit(sc.logit(p) + 0.8), p)
    cluster = np.arange(n) // 3 if seed % 8 == 1 else None
    return audit(y, np.round(p, 2) if seed % 6 == 0 else p, group=group, sample_weight=weight, cluster=cluster)


def faults_drawn(result):
    """For every reliability diagram of a page, whether the tests find a fault of what it shows."""
    if result.multiclass_reliability is None:
        return [result.fault_found] * (2 if result.is_rare else 1)
    tests = {test.name: test.p_value <= 0.05 for test in result.test.tests}
    top = any(found for name, found in tests.items() if name.startswith("most probable class: "))
    return [result.fault_found and each for each in (top, *(tests[f"class {name}"] for name in result.classes))]


def check(result):
    found, text = verdict(result), html.unescape(re.sub(r"<[^>]*>", " ", audit_page(result)))
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    summary, flagged = summary_of(result), 0 if result.groups is None else int(result.groups.off.sum())
    assert [name for name, opening in OPENINGS.items() if opening in text] == [found]
    wrong = found in ("wrong", "nearly right")
    assert wrong == result.fault_found == (summary["p_value"] <= 0.05)
    assert wrong or not flagged
    assert ("flagged" not in text) == (result.groups is None)
    if result.groups is not None:
        groups = result.groups
        outside = (groups.base_rate < groups.low - 1e-12) | (groups.base_rate > groups.high + 1e-12)
        np.testing.assert_array_equal(groups.off, outside)
        assert f"groups: {flagged} of {len(groups.groups)} flagged" in text
        assert ("too high" in text.split("By group")[1]) or ("too low" in text.split("By group")[1]) or not flagged
    bands = re.findall(r"(The curve lies within|% of the rows lie outside) the band(.)", text)
    twice = np.repeat(faults_drawn(result), 2)  # below the picture, and for those who cannot see it
    for (place, next_sign), fault in zip(bands, twice, strict=True):
        assert (next_sign == ".") == (fault == place.endswith("outside"))  # or what makes band and tests agree
    assert ("These rows would have shown" in text) or result.detectable.shift in (0.0, np.inf)
    assert ("rows would do" in text) == (found == "unclear") or result.detectable.shift == np.inf
    assert found != "right" or result.detectable.shift <= result.detectable.wanted
    strays = [test.p_value <= 0.05 for test in result.test.tests]
    for name, size in sizes_of(result).items():
        assert name in text
        if size is None:
            assert f"not determined: {unknown(result, name)}" in text
        else:
            assert size.low <= size.estimate <= size.high, name
            assert size.low < size.high, name
            strays.append(not size.low <= {"observed/expected": 1.0, "slope": 1.0}.get(name, 0.0) <= size.high)
    assert ("Taken alone," in text) == (any(strays) and not wrong)
    assert set(re.findall(r"(\d+) % (?:interval|of all audits)", text)) == {"95"}
    scores = text.split("Scores and their parts")[1]
    for score in result.scores.values():  # one log loss and one Brier score for the page
        assert number(score.before, 4) in scores
        if score.parts is not None:
            assert score.parts.score == pytest.approx(score.before, rel=1e-9)
            assert score.before == pytest.approx(score.parts[1] - score.parts[2] + score.parts[3], abs=1e-12)
        assert score.gain is None or score.before - score.after == pytest.approx(score.gain.difference, abs=1e-12)
    assert not result.beyond_tolerance or found == "wrong"
    for sentence in answer(result):
        assert sentence.replace("\N{NO-BREAK SPACE}", " ") in text


def test_twenty_pages_do_not_contradict_themselves():
    for seed in range(20):
        check(random_audit(seed))


@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.parametrize("n", [2, 40, 2_000])
def test_pages_of_one_class_do_not_contradict_themselves(rate, n):
    p = sc.expit(np.random.default_rng(n).normal(-3.0, 1.0, n))
    check(audit(np.full(n, rate), p, classes=[0.0, 1.0], group=np.arange(n) % 2))


@pytest.mark.slow
def test_two_hundred_pages_do_not_contradict_themselves():
    for seed in range(20, 200):
        check(random_audit(seed))
