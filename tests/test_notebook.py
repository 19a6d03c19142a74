"""What notebooks show of estimators, audits, curves and comparisons, and of work in progress."""

import io
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from properly import notebook, progress
from properly.audit import audit
from properly.calibration import CalibratedClassifier
from properly.comparison import BestProbabilities, compare
from properly.diagnostics import by_group, decision_curve, murphy, reliability
from properly.linear import ProperLinearClassifier

random = np.random.RandomState(0)
P = random.uniform(size=300)
Y = (random.uniform(size=300) < P).astype(int)
X = np.log(P / (1 - P))[:, None]


@pytest.mark.parametrize("model", [ProperLinearClassifier(), CalibratedClassifier(GaussianNB()), BestProbabilities()])
def test_an_estimator_has_the_diagram_of_scikit_learn(model):
    assert "sk-container" in model._repr_html_()


@pytest.mark.parametrize("result", [reliability(Y, P), murphy(Y, P), decision_curve(Y, P), by_group(Y, P, Y)])
def test_a_curve_is_a_picture_on_a_light_background(result):
    html = result._repr_html_()
    assert re.match(r"<img alt='\w+' style='[^']*background:white' src='data:image/png;base64,iVBOR", html)


def test_an_audit_is_its_answer_and_one_picture():
    html = audit(np.where(Y == 1, "<b>yes", "<b>no"), P, classes=["<b>no", "<b>yes"])._repr_html_()
    assert "Audit of 300 rows" in html
    assert html.count("<img") == 1
    assert "<b>" not in html
    assert html.count("<p>") == 3


def test_a_comparison_is_its_leaderboard():
    html = compare({"a<b": LogisticRegression(), "bayes": GaussianNB()}, X, Y, cv=2)._repr_html_()
    assert "a&lt;b" in html
    assert html.count("<tr>") == 3
    assert "Chosen: a&lt;b" in html


def test_plain_text_is_escaped():
    assert notebook.section("<i>", "<script>") == "<div><strong>&lt;i&gt;</strong><p>&lt;script&gt;</p></div>"


class Line:
    """What IPython.display.display returns."""

    def __init__(self):
        self.shown = []

    def update(self, text):
        self.shown.append(text)


@pytest.fixture
def line(monkeypatch):
    """A kernel of Jupyter, as far as progress bars look at it."""
    line = Line()
    display = SimpleNamespace(Pretty=str, display=lambda *args, **options: line)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return line


def test_a_bar_in_a_notebook(line):
    compare({"logistic": LogisticRegression()}, X, Y, cv=2)
    assert line.shown[-1].startswith("Comparing ████████████████████ 100%")


def test_a_bar_is_turned_off(line, monkeypatch):
    compare({"logistic": LogisticRegression()}, X, Y, cv=2, progress=False)
    monkeypatch.setenv("PROPERLY_PROGRESS", "0")
    compare({"logistic": LogisticRegression()}, X, Y, cv=2)
    assert line.shown == []


def test_a_function_of_the_user_is_called():
    told = []
    compare({"logistic": LogisticRegression()}, X, Y, cv=2, progress=lambda done, note: told.append((done, note)))
    assert told == [(0.0, "logistic"), (0.5, "logistic")]


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress("Work", 1.0) as tell:
        tell(1.0, "done")
    assert sys.stderr.getvalue() == ""


def test_a_process_without_a_terminal_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert "model" in compare({"model": LogisticRegression()}, X, Y, cv=2)._repr_html_()
