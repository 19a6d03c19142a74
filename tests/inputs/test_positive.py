"""Which of two classes is positive, one rule for everything that depends on it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from properly.inputs.labels import positive_of, two_shares
from properly.linear import ProperLinearClassifier, RareEventLogisticRegression
from properly.prevalence import PriorCorrectedClassifier


@pytest.mark.parametrize(
    ("classes", "position"),
    [
        ([0, 1], 1), ([0.0, 1.0], 1), (["0", "1"], 1), (["1.0", "0.0"], 0), ([False, True], 1), (["TRUE", "False"], 0),
        (["no", "yes"], 1), (["Yes", "no"], 0), ([" NO ", "YES"], 1), ([-1, 1], 1), (["-1", "1"], 1), ([1, -1], 0),
        (["fraud", "ok"], None), ([1, 2], None), (["yes", "true"], None), ([0], None), ([0, 1, 2], None),
        ([-1, 0], None), (["no", "maybe"], None),
    ],
)  # fmt: skip
def test_labels_that_tell(classes, position):
    assert positive_of(classes) == position
    assert positive_of(np.array(classes)) == position


def test_shares():
    assert two_shares(0.25, np.array(["Yes", "no"]), "rate") == {"Yes": 0.25, "no": 0.75}
    assert two_shares({"ok": 0.25}, ["fraud", "ok"], "rate") == {"fraud": 0.75, "ok": 0.25}
    assert two_shares({"ok": 0.25, "fraud": 0.75}, ["fraud", "ok"], "rate") == {"fraud": 0.75, "ok": 0.25}
    with pytest.raises(ValueError, match=r"rate names 'x', which is not one of the classes \['fraud', 'ok'\]"):
        two_shares({"x": 0.25}, ["fraud", "ok"], "rate")
    with pytest.raises(ValueError, match=r"'fraud' and 'ok' do not tell which .* rate=\{'fraud': 0.25\}"):
        two_shares(0.25, ["fraud", "ok"], "rate")


MODELS = {
    "prior": lambda share: PriorCorrectedClassifier(ProperLinearClassifier(), "from y", share),
    "rare events": lambda share: RareEventLogisticRegression("king-zeng-bias", share),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_share_means_the_same_class_whatever_the_labels_are(model):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = (random.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    truth = model(0.01).fit(X, y).predict_proba(X)[:, 1]
    assert truth.mean() < 0.05
    yes = np.where(y == 1, "Yes", "no")  # sorted order would make "no" the second class
    assert_allclose(model(0.01).fit(X, yes).predict_proba(X)[:, 0], truth, rtol=1e-7)
    fraud = np.where(y == 1, "fraud", "ok")
    assert_allclose(model({"fraud": 0.01}).fit(X, fraud).predict_proba(X)[:, 0], truth, rtol=1e-7)
    assert_allclose(model({"ok": 0.99}).fit(X, fraud).predict_proba(X)[:, 0], truth, rtol=1e-7)
    with pytest.raises(ValueError, match="is the share of the positive class, but the labels 'fraud' and 'ok' do not"):
        model(0.01).fit(X, fraud)
