"""Every method of bench_fit.py as one function: (training rows, their classes, new rows) -> probabilities.

The rows are data frames, the classes codes from 0. A peer whose package is not installed is left out. AutoGluon runs
in an environment of its own, whose interpreter the environment variable PROPERLY_AUTOGLUON names.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Method = Callable[[pd.DataFrame, NDArray[np.int64], pd.DataFrame], NDArray[np.float64]]

OURS, AUTOGLUON = "properly fit", "AutoGluon"
INTERPRETER_VARIABLE = "PROPERLY_AUTOGLUON"
TARGET = "target"


def ours(train: pd.DataFrame, y: NDArray[np.int64], test: pd.DataFrame) -> NDArray[np.float64]:
    """The commands ``properly fit`` and ``properly predict`` at their defaults, from file to file."""
    from properly.cli import fit_table, predict_table

    with TemporaryDirectory() as folder:
        table, model, new, scored = (f"{folder}/{name}" for name in ("train.csv", "m.skops", "new.csv", "out.parquet"))
        train.assign(**{TARGET: _names(y)}).to_csv(table, index=False)
        test.to_csv(new, index=False)
        codes = list(train.select_dtypes("category"))  # numbers that are categories
        fit_table(table, target=TARGET, categories=codes, output=model, report=f"{folder}/fit.html")
        predict_table(model, new, output=scored)
        columns = [f"probability_{name}" for name in np.unique(_names(y))]
        return pd.read_parquet(scored)[columns].to_numpy()


def autogluon(train: pd.DataFrame, y: NDArray[np.int64], test: pd.DataFrame) -> NDArray[np.float64]:
    with TemporaryDirectory() as folder:
        train.assign(**{TARGET: _names(y)}).to_parquet(f"{folder}/train.parquet")
        test.to_parquet(f"{folder}/test.parquet")
        script = Path(__file__).with_name("fit_autogluon.py")
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        command = [os.environ[INTERPRETER_VARIABLE], str(script), folder, TARGET]
        subprocess.run(command, env=environment, check=True)
        return pd.read_parquet(f"{folder}/probabilities.parquet")[np.unique(_names(y))].to_numpy(dtype=np.float64)


def _names(y: NDArray[np.int64]) -> NDArray[Any]:
    """Classes as texts that sort as their codes do."""
    return np.array([f"class {code:02}" for code in range(100)])[y]


def _fitted(model: Any) -> Method:
    """A classifier that takes data frames; a category that is new in the test rows is missing."""

    def run(train: pd.DataFrame, y: NDArray[np.int64], test: pd.DataFrame) -> NDArray[np.float64]:
        texts = train.select_dtypes(exclude="number")
        kinds = {name: pd.CategoricalDtype(sorted(column.dropna().unique())) for name, column in texts.items()}
        return np.asarray(model.fit(train.astype(kinds), y).predict_proba(test.astype(kinds)))

    return run


def _catboost(train: pd.DataFrame, y: NDArray[np.int64], test: pd.DataFrame) -> NDArray[np.float64]:
    from catboost import CatBoostClassifier

    names = list(train.select_dtypes(exclude="number"))
    train, test = (rows.assign(**rows[names].astype(object).fillna("missing").astype(str)) for rows in (train, test))
    model = CatBoostClassifier(cat_features=names, thread_count=2, verbose=False, allow_writing_files=False)
    return np.asarray(model.fit(train, y).predict_proba(test))


def _lightgbm() -> Method:
    from lightgbm import LGBMClassifier

    return _fitted(LGBMClassifier(n_jobs=1, verbose=-1))


def _encoded(model: Any) -> Any:
    """A classifier behind standardised numbers and one column for each category."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore")
    encode = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(encode, model)


def _forest(calibration: str) -> Method:
    forest = RandomForestClassifier(n_jobs=2, random_state=0)
    return _fitted(CalibratedClassifierCV(_encoded(forest), method=calibration))


# The cheapest first: an interrupted run has the most to show.
_METHODS: dict[str, tuple[str | None, Callable[[], Method]]] = {
    "LightGBM": ("lightgbm", _lightgbm),
    "HistGB": (None, lambda: _fitted(HistGradientBoostingClassifier(random_state=0))),
    "forest + isotonic": (None, lambda: _forest("isotonic")),
    "forest + sigmoid": (None, lambda: _forest("sigmoid")),
    "logistic CV": (None, lambda: _fitted(_encoded(LogisticRegressionCV(scoring="neg_log_loss", max_iter=2000)))),
    "CatBoost": ("catboost", lambda: _catboost),
    OURS: (None, lambda: ours),
    AUTOGLUON: (None, lambda: autogluon),
}
METHODS = list(_METHODS)


def available() -> dict[str, Method]:
    """The methods whose packages are installed."""
    found = {}
    for name, (package, make) in _METHODS.items():
        if package and importlib.util.find_spec(package) is None:
            print(f"left out: {name} (no package {package})")
        elif name == AUTOGLUON and INTERPRETER_VARIABLE not in os.environ:
            print(f"left out: {name} ({INTERPRETER_VARIABLE} is not set)")
        else:
            found[name] = make()
    return found
