import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from properly import metrics
from properly.losses import LOSSES, CostWeightedLoss
from properly.metrics import METRICS, SCORERS, proper_score, proper_scorer


@pytest.fixture
def data():
    X, y = make_classification(400, 6, weights=[0.7], random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_scorer_is_its_metric(data, name):
    X, y = data
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    weight = np.random.default_rng(0).random(len(y))
    metric = name.removeprefix("neg_")
    sign = 1.0 if METRICS[metric].larger_is_better else -1.0
    for options in ({}, {"sample_weight": weight}):
        if metric in ("miscalibration", "discrimination"):
            expected = getattr(metrics.score_decomposition(y, p, **options), metric)
        elif metric == "auc":
            expected = metrics.auc(y, p, **options).area
        elif metric == "kernel_calibration_error":
            expected = metrics.kernel_calibration_error(y, p, **options).error
        else:
            expected = getattr(metrics, metric)(y, p, **options)
        assert SCORERS[name](model, X, y, **options) == pytest.approx(sign * expected, rel=1e-12, abs=1e-15)
    assert np.isfinite(cross_val_score(LogisticRegression(), X, y, scoring=SCORERS[name])).all()


def test_a_better_model_scores_higher(data):
    X, y = data
    better, worse = LogisticRegression().fit(X, y), LogisticRegression(C=1e-4).fit(X, y)
    for name in ("neg_log_loss", "neg_brier_score", "skill_score", "discrimination", "auc"):
        assert SCORERS[name](better, X, y) >= SCORERS[name](worse, X, y)


@pytest.mark.parametrize("loss", [*LOSSES, CostWeightedLoss(0.2)])
def test_proper_scorer_in_a_search(data, loss):
    X, y = data
    scorer = proper_scorer(loss)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=scorer, cv=3).fit(X, y)
    p = search.predict_proba(X)[:, 1]
    assert search.score(X, y) == pytest.approx(-proper_score(y, p, loss), rel=1e-12)


def test_many_classes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000)
    scores = cross_validate(model, X, y, scoring={"log": proper_scorer(), "squared": proper_scorer("squared")})
    theirs = cross_val_score(model, X, y, scoring="neg_log_loss")
    np.testing.assert_allclose(scores["test_log"], theirs, rtol=1e-9)
    assert (scores["test_squared"] < 0.0).all()


def test_a_fold_without_a_class(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    rows = y == "no"
    with pytest.raises(ValueError, match="pass classes="):
        proper_scorer()(model, X[rows], y[rows])
    score = proper_scorer(classes=["no", "yes"])(model, X[rows], y[rows])
    assert score == pytest.approx(np.mean(np.log(model.predict_proba(X[rows])[:, 0])))


def test_weights_are_routed(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = proper_scorer("squared").set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        routed = cross_val_score(model, X, y, scoring=scorer, cv=2, params={"sample_weight": weight})
        plain = cross_val_score(model, X, y, scoring=proper_scorer("squared"), cv=2)
    assert not np.allclose(routed, plain)


def test_the_guide_says_of_every_metric_which_direction_is_better():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "metrics.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in guide.splitlines() if line.startswith("| ")]
    better = {word: row[-1] for row in rows for word in re.findall(r"`(\w+)", row[1])}
    of_parts = re.search(r"miscalibration (\w+), discrimination (\w+)", guide)
    better |= {"miscalibration": of_parts[1], "discrimination": of_parts[2]}
    assert {name: "large" if metric.larger_is_better else "small" for name, metric in METRICS.items()}.items() <= (
        better.items()
    )
