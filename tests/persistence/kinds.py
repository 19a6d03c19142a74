"""A fitted model of every kind that can be saved, for attacks on their files."""

from dataclasses import replace

import numpy as np


def _averaged(methods, X, y):
    """An average of models of every kind, with few trees; which would be left out for these rows does not matter."""
    from properly.comparison import BestProbabilities

    model, parts = None, []
    for method in methods.split():
        model = BestProbabilities(method, cv=2, single=True, calibration="platt", categorical_features=[2]).fit(X, y)
        (part,) = model.parts_
        if hasattr(part.model.classifier, "estimators_"):
            part.model.classifier.estimators_ = part.model.classifier.estimators_[:2]
        parts.append(replace(part, weight=0.2))
    model.parts_ = parts
    return model


def kinds():
    """Every kind of model: its name, the model, and what to give its methods."""
    import pyarrow as pa
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import (
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        RandomForestClassifier,
        StackingClassifier,
        VotingClassifier,
    )
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, StandardScaler

    from properly.boosting import DiscreteAdaBoost, ProperBoostingClassifier, RealAdaBoost
    from properly.calibration import CalibratedClassifier, GroupwiseCalibration, MulticlassCalibration
    from properly.calibration.methods import METHODS
    from properly.datasets import make_rare_events
    from properly.linear import (
        GEVCanonicalRegression,
        GEVCanonicalRegressionCV,
        GEVLogRegression,
        ProperKernelClassifier,
        ProperLinearClassifier,
        RareEventLogisticRegression,
        TailoredLinearClassifierCV,
    )
    from properly.links import LINKS
    from properly.losses import LOSSES, BetaLoss, LogLoss, SquaredLoss, canonical_loss
    from properly.maxent import ClassRobustLogisticRegression, EntropyWeightedMaxent, Maxent, MaxentFeatures
    from properly.prevalence import PriorCorrectedClassifier
    from properly.tables import TableClassifier, TableEncoder, TableMaxent
    from properly.tree import ProperTreeClassifier

    X, y, _ = make_rare_events(200, 3, rate=0.3, random_state=0)
    three = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
    codes = np.column_stack([X[:, :2], np.arange(200) % 4])
    scores, shares = X @ [1.5, -1.0, 0.5], np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    words = np.where(y, "spam and eggs", "ham and eggs")
    logistic, tree = LogisticRegression(), {"max_depth": 3, "random_state": 0}
    boosting = {"n_estimators": 8, "num_leaves": 5, "early_stopping": False, "random_state": 0, "n_jobs": 1}
    boosting |= {"extra_trees": False}  # with so few rows, random splits are never by category
    for name, model in {
        "linear": ProperLinearClassifier("log", "probit"),
        "linear, Beta loss": ProperLinearClassifier(BetaLoss.tailored(0.2, 5.0)),
        "linear, mixed loss": ProperLinearClassifier(0.5 * LogLoss() + 2.0 * SquaredLoss(), "logit"),
        "GEV": GEVCanonicalRegression(xi=0.2),
        "GEV, log loss": GEVLogRegression(xi=-0.2),
        "GEV, estimated shape": GEVLogRegression(xi="ml"),
        "GEV, folds": GEVCanonicalRegressionCV((-0.5, 0.5), 2, cv=2),
        "tailored, folds": TailoredLinearClassifierCV(0.2, (3.0, 10.0), cv=2),
        "kernel": ProperKernelClassifier("rbf", C=0.1),
        "rare events": RareEventLogisticRegression(),
        "AdaBoost": DiscreteAdaBoost(n_estimators=4, random_state=0),
        "Real AdaBoost": RealAdaBoost(n_estimators=4, random_state=0),
        "calibrated forest": CalibratedClassifier(RandomForestClassifier(3, **tree), "isotonic", cv=2),
        "calibrated, auto": CalibratedClassifier(logistic, cv=2),
        "corrected for the prior": PriorCorrectedClassifier(logistic, true_prior=[0.9, 0.1]),
        "bagging": BaggingClassifier(ProperLinearClassifier(), 3, random_state=0),
        "votes": VotingClassifier([("a", GaussianNB()), ("b", ExtraTreesClassifier(3, **tree))], voting="soft"),
        "stacking": StackingClassifier([("a", GaussianNB()), ("b", ProperTreeClassifier(max_depth=3))], cv=2),
        "gradient boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
        "perceptron": MLPClassifier((3,), max_iter=20, random_state=0),
        "polynomials": make_pipeline(PolynomialFeatures(2), StandardScaler(), logistic),
        "bins": make_pipeline(KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), logistic),
        "search": GridSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {"gaussiannb__var_smoothing": [1e-9]}),
    }.items():
        yield name, model.fit(X, y), (X,)
    for name, loss in LOSSES.items():
        yield f"loss {name}", ProperLinearClassifier(loss()).fit(X, y), (X,)
    for name, link in LINKS.items():
        yield f"link {name}", ProperLinearClassifier(canonical_loss(link()), link()).fit(X, y), (X,)
    columns = ColumnTransformer([("numbers", StandardScaler(), [0, 1]), ("codes", OneHotEncoder(), [2])])
    yield (
        "boosting",
        ProperBoostingClassifier(**boosting, categorical_features=[2]).fit(codes, y ^ (codes[:, 2] == 1)),
        (codes,),
    )
    yield "boosting, three classes", ProperBoostingClassifier(**boosting).fit(X, three), (X,)
    methods = "logistic additive products kernel tree extra_trees forest boosting random_boosting"
    yield "average", _averaged(methods, codes, y), (codes,)
    yield "average, three classes", _averaged("logistic tree extra_trees", codes, three), (codes,)
    yield "tree", ProperTreeClassifier(max_depth=3, categorical_features=[2]).fit(codes, three), (codes,)
    yield "one-hot", make_pipeline(columns, logistic).fit(codes, y), (codes,)
    yield "sparse coefficients", LogisticRegression(C=0.1).fit(X, three).sparsify(), (X,)
    yield "words", make_pipeline(TfidfVectorizer(), logistic).fit(words, y), (words,)
    yield "by groups", GroupwiseCalibration("platt").fit(scores, y, three), (scores, three)
    for target in ("classwise", "confidence"):
        yield f"{target} calibration", MulticlassCalibration("platt", target=target).fit(shares, three), (shares,)
    labels = np.where(np.arange(200) % 3 == 0, -1, y)
    yield "maxent", Maxent(features=MaxentFeatures("lqh")).fit(X, np.where(y, 1, -1)), (X,)
    yield "maxent, entropy-weighted", EntropyWeightedMaxent(features=MaxentFeatures("lq")).fit(X, labels), (X,)
    yield "class-robust", ClassRobustLogisticRegression(features=MaxentFeatures("lq")).fit(X, labels), (X,)
    table = {"a": X[:, 0].tolist(), "b": words.tolist()}
    encoder = TableEncoder().fit(pa.table(table))
    matrix = encoder.transform(pa.table(table))
    yield "table", TableClassifier(encoder, ProperBoostingClassifier(**boosting).fit(matrix, y), ["n", "y"]), (table,)
    presence = Maxent(features=MaxentFeatures("lq")).fit(matrix, np.where(y, 1, -1))
    yield "table, maxent", TableMaxent(encoder, presence, "cloglog"), (table,)
    for name, method in METHODS.items():
        yield f"calibrator {name}", method().fit(scores, y), (scores,)
    for name in ("auto", "matrix", "isotonic", "ensemble temperature", "dirichlet"):
        if name in METHODS:
            yield f"calibrator {name}, three classes", METHODS[name](input="probability").fit(shares, three), (shares,)
