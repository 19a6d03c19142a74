"""``properly maxent``."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from properly import load
from properly.maxent import EntropyWeightedMaxent, MaxentFeatures
from properly.tables import read_table

SOILS = np.array(["clay", "rock", "sand"])


@pytest.fixture
def sites(write):
    """A species that likes warm places on clay."""
    random = np.random.default_rng(0)
    warmth, rain, soil = random.normal(size=500), random.normal(size=500), random.integers(0, 3, 500)
    there = random.random(500) < 0.5 / (1 + np.exp(1 - 2 * warmth - (soil == 0)))
    background = {"warmth": warmth, "rain": rain, "soil": SOILS[soil], "plot": np.arange(500)}
    presence = {"warmth": warmth[there], "rain": rain[there], "soil": SOILS[soil[there]]}
    return write("seen.csv", presence), write("region.parquet", background)


def test_the_model_is_that_of_the_library(properly, sites):
    presence, background = sites
    done = properly("maxent", "--presence", presence, "--background", background, "--kinds", "lq", "--json")
    assert done.code == 0, done.err
    assert done.summary["features"] == ["warmth", "rain", "soil"]
    assert done.summary["background_points"] == 500
    seen, region = read_table(presence), read_table(background)
    X = np.vstack([_matrix(region), _matrix(seen)])
    y = np.repeat([-1, 1], [len(region), len(seen)])
    direct = EntropyWeightedMaxent(0.5, features=MaxentFeatures("lq", categorical=[2])).fit(X, y)
    assert_allclose(done.summary["gain"], direct.relative_gain_[0], rtol=1e-9)
    found = load("maxent.skops").scored(region)["cloglog"]
    assert_allclose(found, direct.predict_output(_matrix(region), "cloglog"), rtol=1e-9)
    assert 0.6 < done.summary["training_auc"] < 1.0


def _matrix(table):
    soil = np.searchsorted(SOILS, table["soil"].to_numpy(zero_copy_only=False).astype(str))
    return np.column_stack([table["warmth"].to_numpy(), table["rain"].to_numpy(), soil])


@pytest.mark.parametrize("output", ["cloglog", "logistic", "raw", "probability"])
def test_sites_are_predicted(properly, sites, output):
    presence, background = sites
    words = ("maxent", "--presence", presence, "--background", background, "--scale", output)
    done = properly(*words, "--predict", background, "--scored", "scored.csv", "--default-prevalence", 0.3)
    assert done.code == 0, done.err
    assert "Sites: scored.csv (500 rows)" in done.out
    column = "probability_present" if output == "probability" else output
    first = read_table("scored.csv")[column].to_numpy()
    assert properly("predict", "maxent.skops", background, "-o", "again.csv").code == 0
    assert_allclose(read_table("again.csv")[column].to_numpy(), first)
    assert np.corrcoef(first, read_table(background)["warmth"].to_numpy())[0, 1] > 0.4


def test_columns_are_chosen(properly, sites):
    presence, background = sites
    words = ("maxent", "--presence", presence, "--background", background, "--json")
    assert properly(*words, "--features", "warmth").summary["features"] == ["warmth"]
    assert properly(*words, "--ignore", "rain,plot").summary["features"] == ["warmth", "soil"]


def test_bad_input(fails, sites, write):
    presence, background = sites
    words = ("maxent", "--background", background, "--presence")
    assert "has no column 'depth'" in fails(*words, presence, "--features", "depth", code=2)
    assert "have no column in common" in fails(*words, write("other.csv", {"depth": [1, 2]}))
    path = write("hole.csv", {"warmth": [1.0, None], "rain": [0.0, 1.0], "soil": ["clay", "rock"]})
    assert "hole.csv, column 'warmth', row 2: the value is missing" in fails(*words, path)
    path = write("text.csv", {"warmth": ["hot", "cold"], "rain": [0.0, 1.0], "soil": ["clay", "rock"]})
    assert "text.csv, column 'warmth' holds values of the kind category, but" in fails(*words, path)
    new = write("new.csv", {"warmth": [1.0], "rain": [1.0]})
    assert "new.csv has no column 'soil'" in fails(*words, presence, "--predict", new)
    assert "are the same file" in fails(*words, background, code=2)
    assert "has the column 'nope' to ignore" in fails(*words, presence, "--ignore", "nope", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "z!"], "argument --kinds: must be auto or letters out of lqpht, got 'z!'"),
        (["--regularization", -1], "argument --regularization: must be a number of at least 0, got '-1'"),
        (["--default-prevalence", 1], "argument --default-prevalence: must be a number strictly between 0 and 1"),
        (["-o", "m.csv"], "argument -o/--output: must end with .skops, got 'm.csv'"),
    ],
)
def test_wrong_options(properly, sites, words, message):
    presence, background = sites
    done = properly("maxent", "--presence", presence, "--background", background, *words)
    assert done.code == 2
    assert message in done.err
