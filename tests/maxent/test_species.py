"""Many species at once give what each gives alone."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from properly.maxent import ClassRobustLogisticRegression, EntropyWeightedMaxent, Maxent, MaxentFeatures, fit_species


def survey(seed=0):
    random = np.random.default_rng(seed)
    counts = {"ant": 2, "bee": 12, "cat": 30, "dog": 90}
    species = np.repeat(list(counts), list(counts.values()))
    records = random.normal(size=(len(species), 2)) + (species == "cat")[:, None]
    return records, species, random.normal(size=(400, 2))


@pytest.mark.parametrize("with_background", [True, False])
@pytest.mark.parametrize(
    "model", [Maxent(), EntropyWeightedMaxent(0.1, duplicates="once"), ClassRobustLogisticRegression(0.2)]
)
def test_every_species_as_if_alone(model, with_background):
    records, species, background = survey()
    records[1::10] = records[::10]  # some sites have two records
    model.set_params(features=MaxentFeatures(n_hinges=6))
    models = fit_species(model, records, species, background if with_background else None)
    assert list(models) == ["ant", "bee", "cat", "dog"]
    assert [fitted.features_.kinds_ for fitted in models.values()] == ["l", "lq", "lqh", "lqph"]
    for name, fitted in models.items():
        if with_background:
            X = np.vstack([background, records[species == name]])
            y = np.repeat([-1, 1], [len(background), np.sum(species == name)])
        else:
            X, y = records, np.where(species == name, 1, -1)
        alone = type(model)(**{**model.get_params(deep=False), "features": FrozenEstimator(fitted.features_)})
        alone.fit(X, y)
        np.testing.assert_allclose(fitted.predict_proba(records), alone.predict_proba(records), rtol=1e-8)
        assert fitted.get_params()["features__kinds"] in ("auto", fitted.features_.kinds_)


def test_features_as_given_and_any_names():
    records, species, background = survey()
    keep = species != "ant"
    numbers = np.searchsorted(["ant", "bee", "cat", "dog"], species)
    models = fit_species(Maxent(), records[keep], numbers[keep], background)
    assert list(models) == [1, 2, 3]
    X = np.vstack([background, records[species == "cat"]])
    alone = Maxent().fit(X, np.repeat([-1, 1], [400, 30]))
    np.testing.assert_array_equal(models[2].coef_, alone.coef_)


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames(library):
    records, species, background = survey()
    by_array = fit_species(Maxent(features=MaxentFeatures("lq")), records, species, background)
    frames = [
        library.DataFrame({"rain": table[:, 0], "sun": table[:, 1], **extra})
        for table, extra in ((records, {"name": species}), (background, {}))
    ]
    models = fit_species(Maxent(features=MaxentFeatures("lq")), frames[0], frames[0]["name"], frames[1])
    assert models["cat"].feature_names_in_.tolist() == ["rain", "sun"]
    np.testing.assert_allclose(models["cat"].coef_, by_array["cat"].coef_, atol=1e-12)
    with pytest.raises(ValueError, match="X has no column 'sun', which the background has"):
        fit_species(Maxent(), frames[0][["rain"]], species, frames[1])


def test_processes_give_the_same():
    records, species, background = survey()
    model = Maxent(features=MaxentFeatures(n_hinges=6))
    one, two = (fit_species(model, records, species, background, n_jobs=n) for n in (1, 2))
    for name in one:
        np.testing.assert_array_equal(one[name].coef_, two[name].coef_)


def test_progress_is_shown_on_demand(capsys):
    records, species, _ = survey()
    model = Maxent(features=MaxentFeatures("l"))
    fit_species(model, records, species)
    assert capsys.readouterr().err == ""
    fit_species(model, records, species, progress=True)
    assert "species" in capsys.readouterr().err


def test_errors_name_the_species():
    records, species, background = survey()
    records[species == "ant"] = 9.0
    with pytest.raises(ValueError, match="species 'ant': feature 'x0' is 9, an extreme of its range"):
        fit_species(Maxent(0.0), records, species, background)
    with pytest.raises(ValueError, match="species must be all text or all numbers"):
        fit_species(Maxent(), records, np.where(species == "ant", 7, species.astype(object)))
    with pytest.raises(ValueError, match=r"tables of the same kind, got .*polars.* and .*pandas"):
        fit_species(Maxent(), pd.DataFrame(records), species, pl.DataFrame(background))
    with pytest.raises(ValueError, match="background has no rows; add some, or leave it out"):
        fit_species(Maxent(), records, species, background[:0])
    with pytest.raises(
        ValueError, match=r"model must be Maxent, .* or ClassRobustLogisticRegression, got MaxentFeatures"
    ):
        fit_species(MaxentFeatures(), records, species)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit_species(Maxent(), records, species[:-1])
    with pytest.raises(ValueError, match="X has no records"):
        fit_species(Maxent(), records[:0], species[:0])
    with pytest.raises(ValueError, match="species is missing in row 3; name it"):
        fit_species(Maxent(), records, np.where(np.arange(len(species)) == 3, None, species))
    with pytest.raises(ValueError, match="background and X must be tables with the same columns"):
        fit_species(Maxent(), records, species, background[:, :1])


def test_warnings_name_the_species(monkeypatch):
    records, species, background = survey()
    with pytest.warns(UserWarning, match="species 'cat': every row has the label 1"):
        fit_species(Maxent(), records, np.repeat("cat", len(records)))
    monkeypatch.setattr("properly.maxent.solver._MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="species 'dog': the fit stopped after 1 iterations"):
        fit_species(Maxent(0.01), records[species == "dog"], species[species == "dog"], background)


def test_kinds_by_the_number_of_records_also_in_a_pipeline():
    records, species, background = survey()
    features = make_pipeline(StandardScaler(), MaxentFeatures(n_hinges=6))
    models = fit_species(Maxent(features=features), records, species, background)
    assert [fitted.features_[-1].kinds_ for fitted in models.values()] == ["l", "lq", "lqh", "lqph"]
    plain = fit_species(Maxent(features=MaxentFeatures(n_hinges=6)), records, species, background)
    for name, fitted in models.items():
        np.testing.assert_allclose(fitted.relative_gain_, plain[name].relative_gain_, atol=1e-8)
    assert features[-1].kinds == "auto"


def test_sparse_matrices_and_arrow_tables():
    records, species, background = survey()
    records, background = np.round(records), np.round(background)
    expected = fit_species(Maxent(), records, species, background)
    thin = fit_species(Maxent(), sparse.csr_array(records), species, sparse.coo_array(background))
    tables = [pa.table({"rain": table[:, 0], "sun": table[:, 1]}) for table in (records, background)]
    names = pa.chunked_array([species.tolist()])
    arrow = fit_species(Maxent(features=MaxentFeatures("l")), tables[0], names, tables[1])
    derived = fit_species(Maxent(features=MaxentFeatures("l")), records, species, background)
    target = fit_species(Maxent(), sparse.csr_array(records), species)
    group = fit_species(Maxent(), records, species)
    for name in expected:
        np.testing.assert_allclose(thin[name].coef_, expected[name].coef_, atol=1e-10)
        np.testing.assert_allclose(arrow[name].coef_, derived[name].coef_, atol=1e-10)
        np.testing.assert_allclose(target[name].coef_, group[name].coef_, atol=1e-10)


def test_categories_that_differ_between_tables_stay_categories():
    """pandas makes numbers of them when it puts the tables together."""
    background = pd.DataFrame({"soil": pd.Categorical([1, 2, 1, 2])})
    records = pd.DataFrame({"soil": pd.Categorical([1, 3])})
    model = fit_species(Maxent(features=MaxentFeatures("l")), records, ["a", "a"], background)["a"]
    assert model.features_.get_feature_names_out().tolist() == ["soil=1.0", "soil=2.0", "soil=3.0"]
