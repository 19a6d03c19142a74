"""Standard errors and intervals against statsmodels and by simulation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit

from properly.datasets import make_rare_events
from properly.engines import Stream
from properly.linear import (
    GEVCanonicalRegression,
    GEVCanonicalRegressionCV,
    ProperLinearClassifier,
    RareEventLogisticRegression,
    inference,
)
from properly.losses import GEVLoss

X, Y, _ = make_rare_events(1500, 3, rate=0.15, random_state=0)
WEIGHT = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
DESIGN = np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize(
    ("link", "theirs"),
    [
        ("logit", sm.families.links.Logit()),
        ("probit", sm.families.links.Probit()),
        ("cloglog", sm.families.links.CLogLog()),
    ],
)
def test_model_based_covariance_is_that_of_a_glm(link, theirs):
    reference = sm.GLM(Y, DESIGN, family=sm.families.Binomial(theirs), freq_weights=WEIGHT).fit(tol=1e-14)
    model = ProperLinearClassifier(link=link, C=np.inf).fit(X, Y, WEIGHT)
    result = inference(model, X, Y, WEIGHT)
    np.testing.assert_allclose(result.covariance, reference.cov_params(), rtol=1e-6)
    np.testing.assert_allclose(result.confidence_intervals(), reference.conf_int(), atol=1e-6)
    summary = result.summary()
    np.testing.assert_allclose(summary["p_value"], reference.pvalues, rtol=1e-5)


def test_sandwich_covariance():
    reference = sm.GLM(Y, DESIGN, family=sm.families.Binomial()).fit(tol=1e-14, cov_type="HC0")
    model = ProperLinearClassifier(C=np.inf).fit(X, Y)
    np.testing.assert_allclose(inference(model, X, Y, kind="sandwich").covariance, reference.cov_params(), rtol=1e-6)


def test_streams_weights_and_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ProperLinearClassifier(C=2.0).fit(frame, Y, WEIGHT)
    result = inference(model, frame, Y, WEIGHT)
    assert result.names == ["a", "b", "c", "intercept"]
    assert list(result.summary().index) == result.names
    streamed = inference(model, Stream([(frame[:700], Y[:700], WEIGHT[:700]), (frame[700:], Y[700:], WEIGHT[700:])]))
    np.testing.assert_allclose(streamed.covariance, result.covariance, rtol=1e-10)
    copies = WEIGHT.astype(int)
    repeated = inference(model, frame.loc[frame.index.repeat(copies)], np.repeat(Y, copies))
    np.testing.assert_allclose(repeated.covariance, result.covariance, rtol=1e-10)


def test_probability_intervals_are_those_of_the_score():
    model = ProperLinearClassifier(C=np.inf).fit(X, Y)
    result = inference(model, X, Y)
    low, high = result.probability_intervals(X[:5], level=0.9).T
    score = DESIGN[:5] @ result.coef
    half = 1.6448536 * np.sqrt(np.einsum("ij,jk,ik->i", DESIGN[:5], result.covariance, DESIGN[:5]))
    np.testing.assert_allclose(low, expit(score - half), rtol=1e-6)
    np.testing.assert_allclose(high, expit(score + half), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("kind", ["model", "sandwich"])
def test_coverage(loss, kind):
    estimator = ProperLinearClassifier(loss, "logit", C=1e6)
    truth, hits = np.array([1.0, -0.5, -1.0]), []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(800, 2))
        y = rng.random(800) < expit(x @ truth[:2] + truth[2])
        low, high = inference(estimator.fit(x, y), x, y, kind=kind).confidence_intervals().T
        hits.append((low <= truth) & (truth <= high))
    share = np.mean(hits, axis=0)
    assert np.all(np.abs(share - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 300))


def test_gev_has_standard_errors():
    result = inference(GEVCanonicalRegression(0.1).fit(X, Y), X, Y)
    plain = inference(ProperLinearClassifier(GEVLoss(0.1)).fit(X, Y), X, Y)
    np.testing.assert_allclose(result.standard_errors, plain.standard_errors)
    assert np.all(result.standard_errors > 0)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (ProperLinearClassifier(l1_ratio=0.5).fit(X, Y), {}, "l1_ratio=0"),
        (ProperLinearClassifier().fit(X, np.arange(len(X)) % 3), {}, "two classes"),
        (ProperLinearClassifier().fit(X, Y), {"kind": "robust"}, "kind must be one of 'model', 'sandwich'"),
        (ProperLinearClassifier().fit(X, Y + 1), {}, r"the model was fitted to \[1, 2\]"),
    ],
)
def test_errors(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        inference(model, X, Y, **arguments)
    with pytest.raises(ValueError, match="level must be above 0 and below 1"):
        inference(ProperLinearClassifier().fit(X, Y), X, Y).confidence_intervals(95)


@pytest.mark.parametrize("kind", ["model", "sandwich"])
def test_scale_and_origin_of_the_features_do_not_matter(kind):
    plain = inference(ProperLinearClassifier(C=np.inf).fit(X, Y), X, Y, kind=kind)
    scale, shift = 10.0 ** np.linspace(-8, 8, X.shape[1]), np.zeros(X.shape[1])
    shift[0], scale[0] = 1e6, 1.0
    moved = X * scale + shift
    result = inference(ProperLinearClassifier(C=np.inf).fit(moved, Y), moved, Y, kind=kind)
    np.testing.assert_allclose(result.standard_errors[:-1] * scale, plain.standard_errors[:-1], rtol=1e-5)
    np.testing.assert_allclose(
        result.probability_intervals(moved[:50]), plain.probability_intervals(X[:50]), rtol=1e-4, atol=1e-9
    )
    # The intercept is the score at x = 0, a million standard deviations away.
    assert result.standard_errors[-1] == pytest.approx(1e6 * plain.standard_errors[0], rel=1e-3)


def test_other_data_are_refused():
    model = ProperLinearClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=f"X has {X.shape[1] - 1} features, the model was fitted to {X.shape[1]}"):
        inference(model, X[:, 1:], Y)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = ProperLinearClassifier().fit(frame, Y)
    with pytest.raises(ValueError, match="in this order"):
        inference(model, frame[frame.columns[::-1]], Y)


def test_rare_event_models():
    plain = inference(ProperLinearClassifier(C=np.inf).fit(X, Y), X, Y)
    firth = RareEventLogisticRegression("firth").fit(X, Y)
    result = inference(firth, X, Y)
    np.testing.assert_allclose(result.coef, np.append(firth.coef_[0], firth.intercept_))
    np.testing.assert_allclose(result.standard_errors, plain.standard_errors, rtol=0.1)
    shifted = RareEventLogisticRegression("firth", population_rate=0.001).fit(X, Y)
    np.testing.assert_allclose(inference(shifted, X, Y).standard_errors, result.standard_errors, rtol=1e-9)
    with pytest.raises(ValueError, match="RareEventLogisticRegression with 'weighting'"):
        inference(RareEventLogisticRegression("weighting").fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="does not support GEVCanonicalRegressionCV"):
        inference(GEVCanonicalRegressionCV(xis=[0.0], Cs=1).fit(X, Y), X, Y)
