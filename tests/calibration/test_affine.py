"""Vector, matrix, structured and Dirichlet scaling against direct minimisation of their objectives."""

import numpy as np
import pytest
from scipy import optimize
from scipy import special as sc
from sklearn.exceptions import ConvergenceWarning

from properly.calibration import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from properly.calibration.affine import _Objective


def data(n=400, seed=0):
    """Logits whose first class is too confident and whose second and third are confused."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    logits = 2.0 * np.eye(3)[y] + rng.normal(size=(n, 3)) * 1.3
    logits[:, 0] *= 3.0
    return logits + 0.7 * logits[:, [0, 2, 1]], y, rng.integers(1, 4, n).astype(float)


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


def objective(features, y, weight, diagonal, off_diagonal, intercept):
    eye = np.eye(3, dtype=bool)

    def value(parameters):
        w, b = parameters[:9].reshape(3, 3), parameters[9:]
        loss = -weight @ sc.log_softmax(features @ w.T + b, axis=1)[np.arange(len(y)), y]
        pull = diagonal * np.sum((w[eye] - 1.0) ** 2) + off_diagonal * np.sum(w[~eye] ** 2) + intercept * np.sum(b**2)
        return loss + 0.5 * pull

    return value


CASES = {
    "matrix": (MatrixScaling(), lambda w, slope: (1e-3, 1e-3, 1e-3)),
    "structured": (StructuredMatrixScaling(2.0), lambda w, slope: (6.0, 12.0, 6.0)),
    "dirichlet": (
        DirichletCalibration(0.02, 0.03),
        lambda w, slope: (1e-3, 1e-3 + 2 * w * 0.02 * slope**2 / 6, 1e-3 + 2 * w * 0.03 / 3),
    ),
    "vector": (VectorScaling(), lambda w, slope: (1e-3, 0.0, 1e-3)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_objective_is_minimal(case):
    model, strengths = CASES[case]
    logits, y, weight = data()
    model.fit(logits, y, weight)
    features = model.slope_ * (sc.log_softmax(logits, axis=1) if case == "dirichlet" else centred(logits))
    value = objective(features, y, weight, *strengths(weight.sum(), model.slope_))
    start = np.append(np.eye(3).ravel(), np.zeros(3))
    free = np.append(np.eye(3, dtype=bool).ravel() | (case != "vector"), np.ones(3, dtype=bool))

    def of_free(parameters):
        full = start.copy()
        full[free] = parameters
        return value(full)

    best = optimize.minimize(of_free, start[free], method="BFGS", options={"gtol": 1e-5})
    found = value(np.append(model.coef_.ravel(), model.intercept_))
    assert found <= best.fun + 1e-6
    probabilities = sc.softmax(features @ model.coef_.T + model.intercept_, axis=1)
    assert model.predict_proba(logits) == pytest.approx(probabilities, abs=1e-12)
    if case == "vector":
        assert np.count_nonzero(model.coef_) == 3


def test_structured_matrix_scaling_begins_at_temperature_scaling():
    logits, y, _ = data()
    temperature = TemperatureScaling().fit(logits, y)
    held = StructuredMatrixScaling(1e9).fit(logits, y)
    assert held.slope_ == temperature.slope_
    assert held.predict_proba(logits) == pytest.approx(temperature.predict_proba(logits), abs=1e-4)
    free = StructuredMatrixScaling(1e-6).fit(logits, y)
    assert free.predict_proba(logits) == pytest.approx(MatrixScaling().fit(logits, y).predict_proba(logits), abs=1e-2)


def test_twelve_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 3000)
    logits = 6.0 * np.eye(12)[y] + 3.0 * rng.normal(size=(3000, 12))

    def loss(p):
        return -np.mean(np.log(p[np.arange(3000), y]))

    raw = loss(sc.softmax(logits, axis=1))
    for model in (VectorScaling(), MatrixScaling(), StructuredMatrixScaling(), DirichletCalibration()):
        assert loss(model.fit(logits, y).predict_proba(logits)) < raw


def test_curvature_products_lead_to_the_same_coefficients(monkeypatch):
    logits, y, weight = data()
    whole = MatrixScaling().fit(logits, y, weight).coef_
    monkeypatch.setattr("properly.calibration.affine._WHOLE_MATRIX", 0)
    assert MatrixScaling().fit(logits, y, weight).coef_ == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("case", ["matrix", "vector", "dirichlet"])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_the_gradient_vanishes_for_logits_of_any_unit(case, unit):
    model, strengths = CASES[case]
    logits, y, weight = data()
    model.fit(unit * logits, y, weight)
    z = sc.log_softmax(unit * logits, axis=1) if case == "dirichlet" else centred(unit * logits)
    assert model.slope_ == pytest.approx(1.0 / np.sqrt(np.average(np.mean(centred(z) ** 2, axis=1), weights=weight)))
    z = model.slope_ * z
    diagonal, off_diagonal, intercept = strengths(weight.sum(), model.slope_)
    residual = weight[:, None] * (sc.softmax(z @ model.coef_.T + model.intercept_, axis=1) - np.eye(3)[y])
    eye = np.eye(3, dtype=bool)
    gradient = residual.T @ z + np.where(eye, diagonal, off_diagonal) * (model.coef_ - eye)
    assert np.abs(gradient[eye | (case != "vector")]).max() < 1e-6 * weight.sum()
    assert np.abs(residual.sum(axis=0) + intercept * model.intercept_).max() < 1e-6 * weight.sum()


@pytest.mark.parametrize("model", [VectorScaling(), MatrixScaling()], ids=str)
@pytest.mark.parametrize("unit", [1e-300, 1e-3, 3e3, 1e32, 1e300])
def test_the_unit_of_the_logits_does_not_matter(model, unit):
    logits, y, _ = data()
    p = model.fit(logits, y).predict_proba(logits)
    assert model.fit(unit * logits, y).predict_proba(unit * logits) == pytest.approx(p, abs=1e-6)
    scores, two = logits[:, 1] - logits[:, 0], (y > 0).astype(int)
    p = model.fit(scores, two).predict_proba(scores)
    assert model.fit(unit * scores, two).predict_proba(unit * scores) == pytest.approx(p, abs=1e-6)


def test_a_fit_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr("properly.calibration.affine._MAX_ITER", 1)
    logits, y, _ = data()
    with pytest.warns(ConvergenceWarning, match="StructuredMatrixScaling"):
        MatrixScaling().fit(logits, y)


@pytest.mark.parametrize("model", [MatrixScaling(), StructuredMatrixScaling(), DirichletCalibration()], ids=str)
def test_rounding_does_not_keep_a_fit_busy(model, monkeypatch):
    counts = []
    point = _Objective.point

    def counted(self, change):
        counts.append(1)
        return point(self, change)

    monkeypatch.setattr(_Objective, "point", counted)
    y = np.arange(200) % 5
    model.fit(np.eye(5)[y] * 3.0, y)
    assert len(counts) < 200
