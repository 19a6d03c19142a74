"""Standard errors and intervals against statsmodels and by simulation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit

from properly.datasets import make_rare_events
from properly.engines import Stream
from properly.linear import GEVCanonicalRegression, ProperLinearClassifier, inference
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
    with pytest.raises(ValueError, match="level must lie"):
        inference(ProperLinearClassifier().fit(X, Y), X, Y).confidence_intervals(95)
