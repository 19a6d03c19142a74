"""What is said about a tree, and its drawing."""

import numpy as np
import pytest

from properly.tree import ProperTreeClassifier


def small_tree(**options):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [np.nan, 2.0]] * 10)
    y = np.array(["no", "no", "yes", "yes"] * 10)
    return ProperTreeClassifier(min_samples_leaf=1, ccp_alpha=0.0, shrinkage=0.0, **options).fit(X, y)


def test_the_text_of_a_small_tree():
    expected = """P(yes) = 0.500, weight 40
├─ age ≤ 1.5: P(yes) = 0.000, weight 20
└─ age > 1.5 or missing: P(yes) = 1.000, weight 20"""
    assert small_tree().export_text(["age", "size"]) == expected


def test_the_text_of_categories_and_classes():
    x = np.repeat(np.arange(12), 10)
    y = np.repeat(np.array(["a", "b", "c"])[np.arange(12) % 3], 10)
    model = ProperTreeClassifier(max_depth=2, min_samples_leaf=1, ccp_alpha=0.0, categorical_features=[0]).fit(
        x[:, None], y
    )
    text = model.export_text()
    assert text.splitlines()[0] == "P(a, b, c) = (0.333, 0.333, 0.333), weight 120"
    assert "├─ x0 not in {" in text  # the shorter way to say it
    assert "└─ x0 in {" in text
    assert len(text.splitlines()) == 5
    two = ProperTreeClassifier(max_depth=1, min_samples_leaf=1, ccp_alpha=0.0, categorical_features=[0]).fit(
        np.arange(20)[:, None], np.arange(20) % 2
    )
    assert "x0 in {0, 2, 4, 6, 8, 10 and 4 more}" in two.export_text()


def test_the_drawing_has_every_node():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    model = ProperTreeClassifier(max_depth=3).fit(X, X[:, 0] + X[:, 1] > rng.normal(size=500))
    ax = model.plot(feature_names=["a", "b", "c"])
    assert len(ax.texts) == len(model.tree_.left) + 2  # yes and no
    assert model.export_text(["a", "b", "c"]).splitlines()[1].partition(":")[0].split("─ ")[1] in ax.texts[0].get_text()
    assert len(model.plot(max_depth=1).texts) == 3 + 2
    _, given = pyplot.subplots()
    assert model.plot(given) is given
    pyplot.close("all")


def test_only_what_can_come_to_a_node_is_said():
    x = np.repeat(np.arange(4.0), 100)
    y = np.concatenate([np.arange(100) < n for n in (10, 40, 60, 90)]).astype(int)
    expected = """P(1) = 0.500, weight 400
├─ x0 in {0.0, 1.0}: P(1) = 0.250, weight 200
│  ├─ x0 in {0.0}: P(1) = 0.100, weight 100
│  └─ x0 in {1.0}: P(1) = 0.400, weight 100
└─ x0 in {2.0, 3.0}: P(1) = 0.750, weight 200
   ├─ x0 in {2.0}: P(1) = 0.600, weight 100
   └─ x0 in {3.0}: P(1) = 0.900, weight 100"""
    options = {"min_samples_leaf": 1, "ccp_alpha": 0.0, "shrinkage": 0.0, "max_depth": 2}
    model = ProperTreeClassifier(categorical_features=[0], **options).fit(x[:, None], y)
    assert model.export_text() == expected
    # what is missing goes right at once, and never comes to the left
    x = np.r_[x, np.full(200, np.nan)]
    y = np.r_[y, np.ones(200)].astype(int)
    for categorical in ([0], None):
        text = ProperTreeClassifier(categorical_features=categorical, **options).fit(x[:, None], y).export_text()
        lines = text.splitlines()
        right = next(i for i, line in enumerate(lines) if line.startswith("└─"))
        assert "missing" not in "".join(lines[:right])
        assert "or missing" in lines[right]
