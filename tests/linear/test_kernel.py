"""The kernel machine against a general optimiser, the linear model, and scikit-learn; kernels that are none."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import euclidean_distances, laplacian_kernel, rbf_kernel

from properly.linear import ProperKernelClassifier, ProperLinearClassifier, kernel
from properly.links import GEV
from properly.losses import Composite, GEVLoss


def disc(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-2.0, 2.0, size=(n, 2))
    p = np.where(np.hypot(*X.T) < 1.0, 0.6, 0.05)
    return X, random.random(n) < p, p


@pytest.mark.parametrize("loss", ["log", "squared", GEVLoss(0.2), GEVLoss(-0.5)])
def test_it_is_the_minimum_over_all_functions_of_the_kernel(loss):
    X, y, _ = disc(50)
    composite, K, weight = Composite(loss), rbf_kernel(X, gamma=0.7), np.linspace(0.5, 2.0, 50)
    model = ProperKernelClassifier("rbf", loss, gamma=0.7, C=2.0).fit(X, y, weight)

    def objective(parameters):
        alpha, b = parameters[:-1], parameters[-1]
        v = K @ alpha + b
        slope = 2.0 * weight * composite.gradient(y, v)
        value = 2.0 * weight @ composite.value(y, v) + 0.5 * alpha @ K @ alpha
        return value, np.append(K @ (slope + alpha), slope.sum())

    found = minimize(objective, np.zeros(51), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    own = np.zeros(51)
    own[model.kept_], own[-1] = model.dual_coef_[0], model.intercept_[0]
    assert objective(own)[0] <= found.fun + 1e-9
    p = composite.link.inverse(K @ found.x[:-1] + found.x[-1])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, atol=1e-6)


def test_the_linear_kernel_is_the_linear_model():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = random.random(300) < GEV(0.2).inverse(X[:, 0] - 1.0)
    linear = ProperLinearClassifier(GEVLoss(0.2), C=0.3).fit(X, y)
    model = ProperKernelClassifier("linear", GEVLoss(0.2), C=0.3).fit(X, y)
    assert len(model.kept_) == 4  # the rank of the kernel matrix
    np.testing.assert_allclose(model.dual_coef_ @ model.X_fit_, linear.coef_, atol=1e-7)
    new = random.normal(size=(20, 4))
    np.testing.assert_allclose(model.predict_proba(new), linear.predict_proba(new), atol=1e-8)


def test_precomputed_callable_and_repeated_rows():
    X, y, _ = disc(120)
    X[60:] = X[:60]  # a kernel matrix of half the rank
    new = disc(20, seed=1)[0]
    named = ProperKernelClassifier("laplacian", gamma=0.5).fit(X, y)
    assert len(named.kept_) == 60
    given = ProperKernelClassifier("precomputed").fit(laplacian_kernel(X, gamma=0.5), y)
    own = ProperKernelClassifier(lambda a, b: np.exp(-0.5 * np.abs(a - b).sum())).fit(X, y)
    expected = named.predict_proba(new)
    np.testing.assert_allclose(given.predict_proba(laplacian_kernel(new, X, gamma=0.5)), expected, atol=1e-9)
    np.testing.assert_allclose(own.predict_proba(new), expected, atol=1e-9)


def test_a_sample_of_the_rows(monkeypatch):
    X, y, p = disc(1500)
    exact = ProperKernelClassifier(loss=GEVLoss(0.2)).fit(X, y)
    monkeypatch.setattr(kernel, "MOST_ROWS", 1000)
    sampled = ProperKernelClassifier(loss=GEVLoss(0.2), n_components=150, random_state=0).fit(X, y)
    assert len(sampled.kept_) <= 150
    assert np.abs(sampled.predict_proba(X) - exact.predict_proba(X)).max() < 0.01
    assert np.sqrt(np.mean((exact.predict_proba(X)[:, 1] - p) ** 2)) < 0.12


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("sigmoid", "kernel='sigmoid' is not positive semi-definite"),
        (lambda a, b: np.linalg.norm(a - b), r"not a positive semi-definite .*k\(x, x\) is 0 for every row, but"),
        (lambda a, b: -(a @ b), r"not positive semi-definite: k\(x, x\) is -"),
        (lambda a, b: a[0] - b[0] + 1.0, "is not symmetric"),
        (lambda a, b: 0.0, "it is 0 for all rows"),
        (lambda a, b: np.exp(1e3 * abs(a[0])), "not finite"),
        ("nonsense", r"kernel, if not a function or 'precomputed', must be one of .*'rbf'.*, got 'nonsense'"),
    ],
)
def test_functions_that_are_no_kernels(chosen, message):
    X, y, _ = disc(80)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        ProperKernelClassifier(chosen, gamma=1.0).fit(X, y)


def test_what_is_wrong_is_named_also_where_the_diagonal_is_small():
    """Differences between k(x, z) and k(z, x) are judged beside the largest entry, not beside the diagonal."""
    X, y, _ = disc(80)
    similar = rbf_kernel(X)
    similar[0, 1] *= 1.0 + 1e-15
    with pytest.raises(ValueError, match=r"k\(x, x\) is 0 for every row, but"):
        ProperKernelClassifier("precomputed").fit(1.0 - similar, y)
    growing = np.exp(euclidean_distances(X, squared=True))
    growing[0, 1] *= 1.0 + 1e-10
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ProperKernelClassifier("precomputed").fit(growing, y)


def test_bad_options():
    X, y, _ = disc(80)
    with pytest.raises(ValueError, match="square kernel matrix"):
        ProperKernelClassifier("precomputed").fit(X, y)
    with pytest.raises(ValueError, match="n_components must be"):
        ProperKernelClassifier(n_components=0).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        ProperKernelClassifier(C=-1.0).fit(X, y)
    for gamma in (-1.0, 0.0, np.inf, "scale"):
        with pytest.raises(ValueError, match="gamma must be above 0 and finite, got"):
            ProperKernelClassifier(gamma=gamma).fit(X, y)
    with pytest.raises(ValueError, match=r"degree must be above 0 and finite, got -2"):
        ProperKernelClassifier("polynomial", degree=-2).fit(X, y)
    with pytest.raises(ValueError, match="coef0 must be a number, got 'one'"):
        ProperKernelClassifier("polynomial", coef0="one").fit(X, y)
    model = ProperKernelClassifier().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict_proba(X[:, :1])


def test_several_classes():
    X, _, _ = disc(300)
    y = np.where(np.hypot(*X.T) < 1.0, "in", np.where(X[:, 0] > 0, "right", "left"))
    model = ProperKernelClassifier(C=10.0).fit(X, y)
    assert model.predict_proba(X).shape == (300, 3)
    assert model.score(X, y) > 0.95
