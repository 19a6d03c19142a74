import json
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from properly.audit import audit
from properly.audit.formatting import decimals, number, percent
from properly.comparison import compare
from properly.linear import ProperLinearClassifier
from properly.report import audit_page, calibrate_page, fit_page, pages
from properly.report.html import section
from properly.tables import LinearFeatures, TableEncoder, WithFeatures
from properly.tables.importances import importances_of
from properly.tables.summaries import table_summary
from properly.tables.targets import Labels
from properly.tree import ProperTreeClassifier

NASTY = "<script>alert(1)</script>"
VOID = {"meta", "input", "br", "col"}


class Outline(HTMLParser):
    """The elements of a page: balanced, with their ids and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.headings, self.scripts = [], [], [], 0
        self.text = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.scripts += tag == "script" and "type" not in attributes
        for key in ("src", "href", "srcset", "action"):
            assert not attributes.get(key, "#").strip("#").startswith(("http", "//", "data"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def rare():
    random = np.random.default_rng(0)
    score = random.normal(size=4_000) * 1.5 - 5.0
    p = 1.0 / (1.0 + np.exp(-score))
    y = random.random(4_000) < 1.0 / (1.0 + np.exp(-0.6 * score))
    group = np.array(["a", NASTY, "c & d"])[random.integers(3, size=4_000)]
    return audit(y, p, group=group, costs=(1, 20), class_names=["no", NASTY])


def test_an_audit_has_everything(rare):
    built = audit_page(rare, facts={NASTY: NASTY, "file": "predictions.parquet"}, title=f"Audit of {NASTY}")
    outline = Outline(built)
    assert outline.headings == [
        "The answer",
        "Reliability",
        "What recalibration changes",
        "Thresholds and costs",
        "By group",
        "Scores and their parts",
        "For reproduction",
    ]
    assert len(set(outline.ids)) == len(outline.ids)
    assert {"reliability-probability", "reliability-log-odds", "reliability-after", "murphy"} <= set(outline.ids)
    assert outline.scripts == 1
    assert NASTY in outline.text
    assert "predictions.parquet" in outline.text
    assert len(built) < 600_000


def test_nothing_from_the_data_is_markup(rare):
    built = audit_page(rare, facts={NASTY: NASTY}, title=NASTY)
    assert NASTY not in built
    assert built.count("</script>") == 2


def test_the_slider_has_the_table_of_thresholds(rare):
    built = audit_page(rare)
    table = json.loads(re.search(r'<script type="application/json" id="threshold-table">(.*?)</script>', built)[1])
    assert table == rare.thresholds.as_json()
    assert rare.decision.choice.theoretical_threshold in table["thresholds"]
    assert 'id="cost-false-negative" value="20"' in built


def test_a_section_is_a_function_and_a_line_in_the_table(rare, monkeypatch):
    monkeypatch.setitem(pages.SECTIONS, "extra", lambda findings: section("Extra", str(findings.audit.n_rows), id="x"))
    monkeypatch.setitem(pages.SECTIONS, "absent", lambda findings: None)
    outline = Outline(audit_page(rare))
    assert outline.headings[-1] == "Extra"
    assert [name for name in pages.SECTIONS if name in outline.ids] == [
        "answer", "reliability", "recalibration", "thresholds", "groups", "scores"
    ]  # fmt: skip


def test_several_classes_have_a_picture_each():
    random = np.random.default_rng(0)
    p = random.dirichlet([1.0, 1.0, 1.0], 1_000)
    codes = (random.random((1_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    outline = Outline(audit_page(audit(codes, p, group=codes % 2, class_names=["a", NASTY, "c"])))
    assert {"reliability-top", "reliability-class-0", "reliability-class-1", "reliability-class-2"} <= set(outline.ids)
    assert "threshold" not in outline.ids
    assert f"Class {NASTY}." in outline.text


def test_many_classes_and_groups_are_cut_short():
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(15), 1_500)
    codes = (random.random((1_500, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    text = Outline(audit_page(audit(codes, p, group=np.arange(1_500) % 60))).text
    assert "The 12 most frequent of 15 classes are shown." in text
    assert "50 groups are shown: all that lie outside, and the largest of the others." in text


def test_a_class_of_one_row_still_gives_a_page():
    y = np.zeros(30, dtype=int)
    y[4] = 1
    assert "fewer than two rows" in Outline(audit_page(audit(y, np.linspace(0.01, 0.2, 30)))).text


def test_an_infinite_score_is_shown():
    p, y = np.tile([0.0, 0.3, 0.7, 1.0], 50), np.tile([0, 0, 1, 1], 50)
    y[0] = 1
    assert "infinite" in Outline(audit_page(audit(y, p))).text


def test_a_fit_has_its_leaderboard():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4)) @ (np.eye(4) + 0.6)
    y = random.random(600) < 1.0 / (1.0 + np.exp(-X[:, 0]))
    models = {"logistic": LogisticRegression(), NASTY: GaussianNB(), "little data": LogisticRegression(C=1e-4)}
    comparison = compare(models, X, y)
    judged = audit(y, comparison.probabilities[comparison.best])
    built = fit_page(comparison, judged, {"rows": "600"}, "Models for y")
    outline = Outline(built)
    assert outline.headings[:2] == ["The answer", "The models"]
    assert "Which of 3 models" in outline.text
    for name in comparison.names:
        assert name in outline.text
    assert NASTY not in built
    assert built.count('class="flag">significant') == comparison.significant.sum()


@pytest.fixture(scope="module")
def fitted():
    """A comparison, the audit of the chosen model, what it uses, and its data."""
    random = np.random.default_rng(0)
    table = pa.table({"age": random.normal(size=400), NASTY: random.choice(["a", NASTY], 400)})
    y = (random.random(400) < 1.0 / (1.0 + np.exp(-2.0 * table.column("age").to_numpy()))).astype(int)
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    models = {
        "logistic": WithFeatures(LinearFeatures(encoder.categorical_), ProperLinearClassifier()),
        "tree": ProperTreeClassifier(min_samples_leaf=100),
    }
    comparison = compare(models, X, y, calibration="platt")
    chosen = models[comparison.choice.removesuffix(" + calibration")].fit(X, y)
    judged = audit(y, comparison.probabilities[comparison.choice])
    parts = {
        "importances": importances_of(chosen, encoder.columns_),
        "data": table_summary(encoder, X, Labels(["no", "yes"], y)),
    }
    return comparison, judged, parts


def test_a_fit_shows_what_the_model_uses_and_the_data(fitted):
    comparison, judged, parts = fitted
    built = fit_page(comparison, judged, {}, "Models for y", **parts)
    outline = Outline(built)
    assert NASTY not in built
    assert {"importances", "data"} <= set(outline.ids)
    effect = parts["importances"].values[parts["importances"].features.index("age"), 0]
    assert decimals(effect, 3) in outline.text
    assert f"× {number(np.exp(effect))}" in outline.text
    assert f"{NASTY} = a" in outline.text
    assert "2 categories: " in outline.text
    assert "400 rows, 2 columns to learn from, 2 classes." in outline.text
    marked = re.search(r'<tr class="marked"><th scope="row">(.*?)</th>.*?; chosen', built)
    assert marked[1] == comparison.choice
    calibrated = comparison.choice.endswith(" + calibration")
    assert ("before its calibration" in outline.text) == calibrated


def test_a_fit_has_one_log_loss(fitted):
    """That of held-out rows; what calibrating once more would change is not on its page."""
    comparison, judged, parts = fitted
    outline = Outline(fit_page(comparison, judged, {}, "Models for y", **parts))
    score = comparison.scores[comparison.names.index(comparison.choice)]
    assert judged.headline.before == pytest.approx(score)
    assert outline.text.count(number(score, 4)) == 2  # in the list of models, and with its parts
    assert "recalibrat" not in outline.text.replace("perfect recalibration", "")
    assert "recalibration" not in outline.ids


def test_all_levels_are_95_per_cent(rare, fitted):
    comparison, judged, parts = fitted
    for built in (audit_page(rare), fit_page(comparison, judged, {}, "Models for y", **parts)):
        text = Outline(built).text
        assert set(re.findall(r"([\d.]+)\s% (?:interval|of all audits)", text)) == {"95"}
        assert set(re.findall(r"right forecasts, ([\d.]+)\s%", text)) == {"95"}


def test_decisions_among_several_classes():
    random = np.random.default_rng(0)
    p = random.dirichlet([1.0, 1.0, 1.0], 1_000)
    codes = (random.random((1_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    costs = [[0, 1, 4], [1, 0, 1], [7, 1, 0]]
    found = audit(codes, p, costs=costs, class_names=["a", NASTY, "c"])
    outline = Outline(audit_page(found))
    assert "confusion" in outline.ids
    assert f"which costs {number(1000.0 * found.confusion.cost)} per 1,000 rows" in outline.text
    assert percent(found.confusion.recall[0]) in outline.text
    without = Outline(audit_page(audit(codes, p)))
    assert f"which is right for {percent(found.hit_rate)} of them" in without.text
    assert "The cost of calling" in outline.text
    assert "The cost of calling" not in without.text


def test_without_costs_the_slider_starts_at_the_base_rate(rare):
    random = np.random.default_rng(0)
    p = random.random(1_000) * 0.2
    found = audit(random.random(1_000) < p, p)
    built = audit_page(found)
    assert f'data-start="{float(found.rates[1])!r}"' in built
    assert 'id="cost-false-positive" value="1"' in built
    assert f'data-start="{1 / 21!r}"' in audit_page(rare)


def test_groups_that_are_off_come_first():
    random = np.random.default_rng(0)
    group = np.minimum(random.geometric(0.05, 5_000), 70)
    p = np.full(5_000, 0.3)
    smallest = np.argmin(np.bincount(group)[1:]) + 1
    y = np.where(group == smallest, 1, random.random(5_000) < 0.3).astype(int)
    found = audit(y, p, group=group)
    assert found.groups.off[list(found.groups.groups).index(str(smallest))]
    text = Outline(audit_page(found)).text.partition("Calibration by group")[2]
    first = text.partition("miscalibration")[2]
    assert first.startswith(str(smallest))


def test_a_single_model_is_a_leaderboard_too():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 2)), random.random(200) < 0.5
    comparison = compare({"logistic": LogisticRegression()}, X, y)
    Outline(fit_page(comparison, audit(y, comparison.probabilities["logistic"]), {}, "One model"))


@pytest.fixture(scope="module")
def calibration():
    """Labels, overconfident probabilities, and better ones."""
    random = np.random.default_rng(0)
    score = random.normal(size=3_000) * 2.0
    after = 1.0 / (1.0 + np.exp(-0.5 * score))
    return random.random(3_000) < after, 1.0 / (1.0 + np.exp(-score)), after


def test_a_calibration_shows_before_and_after(calibration):
    y, p, calibrated = calibration
    before, after = audit(y, p, calibrated=calibrated), audit(y, calibrated)
    outline = Outline(calibrate_page(before, after, {"file": "scores.csv"}, "Calibration of p"))
    assert "The probabilities look right" in outline.text
    assert f"lowers the log loss by {percent(before.headline.relative_gain, 2)}" in outline.text
    assert {"reliability-probability", "reliability-before", "murphy"} <= set(outline.ids)
    assert "reliability-after" not in outline.ids
    assert number(before.headline.before, 4) in outline.text


def test_scores_that_are_no_probabilities_have_no_before(calibration):
    y, _, calibrated = calibration
    outline = Outline(calibrate_page(None, audit(y, calibrated), {}, "Calibration of a score"))
    assert "recalibration" not in outline.ids
    assert {"answer", "reliability", "thresholds", "scores"} <= set(outline.ids)
