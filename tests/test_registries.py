"""A loss, link, calibrator, engine, metric, command or report section is one class or function and one line in a table.

Each test adds a toy with that one line and finds it wherever users would look for it.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import properly
from properly.audit import audit
from properly.calibration import BinaryCalibrator, CalibratedClassifier
from properly.calibration.methods import METHODS
from properly.cli.main import COMMANDS, main
from properly.comparison import compare
from properly.engines import ENGINES, Engine, MemoryEngine
from properly.linear import ProperLinearClassifier
from properly.links import LINKS, Link, Logit
from properly.losses import LOSSES, BetaLoss, Composite, get_loss
from properly.losses.base import Loss
from properly.metrics import METRICS
from properly.metrics.scorers import Metric
from properly.report.html import section
from properly.report.pages import SECTIONS, audit_page

random = np.random.default_rng(0)
X = random.normal(size=(300, 2))
Y = (random.random(300) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Peaked(Loss):
    """ω(p) = p (1-p), the Beta loss with α = β = 2, in a few lines: L₀ = p³/3 - p⁴/4."""

    def _weight(self, at):
        return at.p * at.q

    def _losses(self, at):
        return at.p**3 / 3.0 - at.p**4 / 4.0, at.q**3 / 3.0 - at.q**4 / 4.0


def test_a_loss(monkeypatch):
    monkeypatch.setitem(LOSSES, "peaked", Peaked)
    assert get_loss("peaked") == Peaked()
    y, v = np.array([0, 1, 1]), np.array([-1.0, 0.3, 2.0])
    ours, known = Composite("peaked", "logit"), Composite(BetaLoss(2.0, 2.0), "logit")
    np.testing.assert_allclose(ours.value(y, v), known.value(y, v), rtol=1e-12)
    np.testing.assert_allclose(ours.gradient(y, v), known.gradient(y, v), rtol=1e-9)
    np.testing.assert_allclose(ours.curvature(y, v), known.curvature(y, v), rtol=1e-9)
    model = ProperLinearClassifier("peaked", "logit").fit(X, Y)
    np.testing.assert_allclose(
        model.coef_, ProperLinearClassifier(BetaLoss(2.0, 2.0), "logit").fit(X, Y).coef_, rtol=1e-6
    )
    assert properly.metrics.proper_score(Y, model.predict_proba(X)[:, 1], "peaked") > 0.0
    assert properly.tree.ProperTreeClassifier("peaked", max_depth=2).fit(X, Y).get_depth() > 0
    with pytest.raises(ValueError, match="one of 'log', 'squared', 'boosting', 'gev', 'peaked'"):
        get_loss("nonsense")


@dataclass(frozen=True)
class Halved(Link):
    """p = 1/(1 + exp(-v/2)): the logit of another unit."""

    def _link(self, at):
        return 2.0 * Logit()._link(at)

    def _pair(self, v):
        return Logit()._pair(0.5 * v)

    def _logs(self, v):
        return Logit()._logs(0.5 * v)

    def _derivative(self, v):
        return 0.5 * Logit()._derivative(0.5 * v)

    def _hazards(self, v):
        return tuple(0.5 * each for each in Logit()._hazards(0.5 * v))

    def _hazard_slopes(self, v):
        return tuple(0.25 * each for each in Logit()._hazard_slopes(0.5 * v))

    def _antiderivatives(self, v):
        return tuple(2.0 * each for each in Logit()._antiderivatives(0.5 * v))


def test_a_link(monkeypatch):
    monkeypatch.setitem(LINKS, "halved", Halved)
    model = ProperLinearClassifier("log", "halved", C=1e6).fit(X, Y)
    plain = ProperLinearClassifier("log", "logit", C=1e6).fit(X, Y)
    np.testing.assert_allclose(model.coef_, 2.0 * plain.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-4)
    with pytest.raises(ValueError, match="'cauchit', 'gev', 'halved'"):
        ProperLinearClassifier("log", "nonsense").fit(X, Y)


@dataclass(frozen=True)
class HalfMap:
    def log_odds(self, score):
        return 0.5 * score


class HalfCalibration(BinaryCalibrator):
    """Every score is taken for twice the log-odds."""

    def _fit_map(self, sample):
        return HalfMap()


def test_a_calibrator(monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "half", HalfCalibration)
    np.testing.assert_allclose(
        METHODS["half"]().fit(X[:, 0], Y).decision_function(X[:, 0]), 0.5 * X[:, 0], rtol=1e-12, atol=1e-15
    )
    assert isinstance(CalibratedClassifier(LogisticRegression(), "half").fit(X, Y).calibrator_, HalfCalibration)
    compared = compare({"logistic": LogisticRegression()}, X, Y, calibration="half")
    assert len(compared.names) == 2
    with pytest.raises(ValueError, match="'dirichlet', 'half'"):
        CalibratedClassifier(LogisticRegression(), "nonsense").fit(X, Y)
    assert main(["calibrate", "scores.csv", "--target", "y", "--score", "s", "--method", "nonsense"]) == 2
    assert "half" in capsys.readouterr().err


class Doubled:
    """A table that counts every row twice."""

    def __init__(self, X):
        self.X = X


class DoubledEngine(MemoryEngine):
    @classmethod
    def of_training_data(cls, estimator, X, y, sample_weight, offset):
        return super().of_training_data(estimator, np.tile(X.X, (2, 1)), np.tile(y, 2), sample_weight, offset)

    @classmethod
    def of_new_data(cls, estimator, X, offset):
        return super().of_new_data(estimator, X.X, offset)


def test_an_engine(monkeypatch):
    monkeypatch.setitem(ENGINES, Doubled, DoubledEngine)
    assert issubclass(ENGINES[Doubled], Engine)
    model = ProperLinearClassifier(C=0.1).fit(Doubled(X), Y)
    twice = ProperLinearClassifier(C=0.1).fit(X, Y, sample_weight=np.full(300, 2.0))
    np.testing.assert_allclose(model.coef_, twice.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(Doubled(X)), twice.predict_proba(X), rtol=1e-9)


def largest_error(y, p, *, sample_weight=None, classes=None):
    return float(np.max(np.abs(np.asarray(y) - p)))


def test_a_metric(monkeypatch):
    monkeypatch.setitem(METRICS, "largest_error", Metric(largest_error, multiclass=False))
    scorer = METRICS["largest_error"].scorer()
    fitted = LogisticRegression().fit(X, Y)
    assert scorer(fitted, X, Y) == -largest_error(Y, fitted.predict_proba(X)[:, 1])


def greet(name):
    """Greet somebody.

    Parameters
    ----------
    name : str
        Whom to greet.
    """
    return {"greeting": f"Hello, {name}."}


def test_a_command(monkeypatch, capsys):
    command = ModuleType("properly.cli.greet")
    command.__doc__ = "Greet somebody.\n\nexample: properly greet Ada"
    command.add_arguments = lambda add: add("name")
    command.run = greet
    command.show = lambda summary, console: console.print(summary["greeting"])
    monkeypatch.setitem(sys.modules, "properly.cli.greet", command)
    monkeypatch.setitem(COMMANDS, "greet", "greet somebody")
    assert main(["greet", "Ada"]) == 0
    assert capsys.readouterr().out == "Hello, Ada.\n"
    assert main(["--help"]) == 0
    assert "greet somebody" in capsys.readouterr().out


def test_a_report_section(monkeypatch):
    def rows_section(findings):
        return section("How many rows", f"{findings.audit.n_rows} rows.", id="rows")

    monkeypatch.setitem(SECTIONS, "rows", rows_section)
    page = audit_page(audit(Y, 1.0 / (1.0 + np.exp(-X[:, 0]))))
    assert "300 rows." in page
    assert page.index("Scores and their parts") < page.index("How many rows")


def listed_in(page, start, end):
    """The names that a page of the documentation shows as code between two texts; of tables, in the first column."""
    part = (DOCS / page).read_text(encoding="utf-8").partition(start)[2].partition(end)[0]
    lines = [line.split(" | ")[0] if line.startswith("|") else line for line in part.splitlines()]
    return re.findall(r'`"?(\w+)"?`', "\n".join(lines))


LISTS = {
    "calibrators": (METHODS, "guides/calibration.md", "| key | map of the log-odds", "\n\n"),
    "commands": (COMMANDS, "guides/command-line.md", "| command | what it does", "\n\n"),
    "engines": ([getattr(kind, "__name__", kind) for kind in ENGINES], "how-it-works.md", "| X | engine", "\n\n"),
    "links": (LINKS, "how-it-works.md", "links by name:", ". "),
    "losses": (LOSSES, "how-it-works.md", "Losses by name:", ";"),
    "metrics": (METRICS, "guides/metrics.md", "`metrics.METRICS` lists", ". "),
    "report sections": (SECTIONS, "guides/audit.md", "`audit.html#groups`:", "\n\n"),
}


@pytest.mark.parametrize(("table", "page", "start", "end"), LISTS.values(), ids=LISTS)
def test_the_documentation_lists_the_table(table, page, start, end):
    assert sorted(listed_in(page, start, end)) == sorted(table)
