"""Fit a presence-only model: where a species may live.

Fit maxent to presence records and background points, save the model, and predict sites if wanted.
Features are the columns that both tables have, unless --features or --ignore is given.

example: properly maxent --presence seen.csv --background region.csv --predict sites.csv -o model.skops
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import properly
from properly.cli.arguments import (
    NOTATION,
    Arguments,
    add_notation,
    check_output,
    checked,
    listed_names,
    model_file,
    names,
    not_negative,
    one_of,
    read_key,
    share,
    table_file,
)
from properly.cli.predict import score_table, scored_path
from properly.files import FilePath, displayed, sha256_of
from properly.inputs.misuse import Misuse
from properly.progress import progress

_SCALES = ("cloglog", "logistic", "raw", "probability")


def add_arguments(add: Arguments) -> None:
    add("--presence FILE")
    add("--background FILE")
    add("--features COLUMNS", names)
    add("--ignore COLUMNS", names)
    add("--categories COLUMNS", names)
    add("--kinds LETTERS")
    add("--regularization B")
    add("--default-prevalence P")
    add("--scale", choices=_SCALES)
    add("--predict FILE")
    add("--scored FILE")
    add("-o --output FILE")
    add("--key-file FILE")
    add_notation(add)


def kinds_of_features(value: Any) -> str:
    """Letters of kinds, or auto."""
    if value != "auto" and not (isinstance(value, str) and value and set(value) <= set("lqpht")):
        raise ValueError(f"must be auto or letters out of lqpht, got {value!r}")
    return str(value)


@checked(
    kinds=kinds_of_features,
    regularization=not_negative,
    default_prevalence=share,
    scale=one_of(lambda: _SCALES),
    scored=table_file,
    output=model_file,
    **NOTATION,
)
def maxent_table(
    presence: FilePath,
    background: FilePath,
    *,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    kinds: str = "auto",
    regularization: float = 1.0,
    default_prevalence: float = 0.5,
    scale: str = "cloglog",
    predict: FilePath | None = None,
    scored: FilePath | None = None,
    output: FilePath = "maxent.skops",
    key_file: FilePath | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Fit a presence-only model to two tables, save it, and predict sites if wanted, as ``properly maxent`` does.

    Parameters
    ----------
    presence : path
        A table with a row for every record of presence.
    background : path
        A table with a row for every point of the region.
    features : sequence of str, optional
        The columns to use, separated by commas; all that both tables have if they are not given.
    ignore : sequence of str, default ()
        Columns not to use.
    categories : sequence of str, default ()
        Columns of categories that look like numbers.
    kinds : str, default "auto"
        Kinds of functions of the columns: l linear, q quadratic, p product, h hinge, t threshold; auto depends on the
        number of presences.
    regularization : float, default 1.0
        The larger, the smoother.
    default_prevalence : float, default 0.5
        Probability of presence at a typical site of the species, for the scale probability.
    scale : {"cloglog", "logistic", "raw", "probability"}, default "cloglog"
        The scale of predictions.
    predict : path, optional
        A table of sites to predict.
    scored : path, optional
        The table with predictions to write; if it is not given, NAME-scored.ENDING, after the name of the table of
        sites, in the working folder.
    output : path, default "maxent.skops"
        The model file to write.
    key_file : path, optional
        A file with a secret of at least 16 characters, by which properly predict sees whether the model was altered.
    separator : str, optional
        What separates the cells of text files, such as ; or tab; recognised if it is not given.
    decimal : {".", ","}, optional
        The decimal sign of text files; recognised if it is not given.

    Returns
    -------
    dict
        Among other things the "gain" in training, and the summary of the predictions, "scored".
    """
    import numpy as np
    from scipy.special import expit

    if scored and not predict:
        raise Misuse(f"scored, {str(scored)!r}, is the file for predictions, but predict names no table of sites.")
    if Path(presence).exists() and Path(background).exists() and Path(presence).samefile(background):
        raise Misuse(f"presence and background are the same file, {presence}; name a table of each.")
    ignore, categories = listed_names(ignore), listed_names(categories)
    inputs = [presence, background] + ([] if predict is None else [predict])
    check_output(output, inputs=inputs)
    key = read_key(key_file)
    notation = {"separator": separator, "decimal": decimal}
    seen_file, region_file = (properly.tables.TableFile(each, **notation) for each in (presence, background))
    used = _columns(seen_file, region_file, None if features is None else listed_names(features), ignore, categories)
    sites_file = None
    if predict is not None:
        sites_file, scored = properly.tables.TableFile(predict, **notation), str(scored or scored_path(predict))
        check_output(scored, inputs=inputs, outputs=[output])
        properly.tables.base.require_columns(used, sites_file.names, sites_file.path)
    seen, region = (file.read(used, texts=categories) for file in (seen_file, region_file))
    encoder = _fitted_encoder(categories, {region_file.path: region, seen_file.path: seen})
    region_matrix = encoder.transform(region, source=region_file.path)
    X = np.vstack([region_matrix, encoder.transform(seen, source=seen_file.path, unseen="refuse")])
    y = np.repeat([-1, 1], [region.num_rows, seen.num_rows])
    fitted = properly.maxent.EntropyWeightedMaxent(
        default_prevalence,
        regularization=regularization,
        features=properly.maxent.MaxentFeatures(kinds, categorical=encoder.categorical_),
    )
    with progress("Fitting", None) as tell:
        tell(0, f"{seen.num_rows:,} presences")
        fitted.fit(X, y)
        score = fitted.decision_function(X)
    fitted_features: Any = fitted.features_
    summary = {
        "model": str(output),
        "presence": displayed(presence),
        "background": displayed(background),
        "features": [column.name for column in encoder.columns_],
        "presences": seen.num_rows,
        "background_points": region.num_rows,
        "kinds": fitted_features.kinds_,
        "terms": int(fitted.coef_.shape[1]),
        "terms_in_use": int(np.count_nonzero(fitted.coef_)),
        "gain": float(fitted.relative_gain_[0]),
        "prevalence": float(fitted.prevalence_[1]),
        "training_auc": float(properly.metrics.auc(y == 1, expit(score)).area),
        "sha256": {displayed(table): sha256_of(table) for table in (presence, background)},
        "version": properly.__version__,
    }
    model = properly.tables.TableMaxent(encoder, fitted, scale)
    properly.save(model, output, metadata=summary, key=key)
    return {**summary, "scored": score_table(model, sites_file, scored) if sites_file else None}


def _columns(
    presence: properly.tables.TableFile,
    background: properly.tables.TableFile,
    columns: Sequence[str] | None,
    ignore: Sequence[str],
    categories: Sequence[str],
) -> list[str]:
    """Those named, or those that both tables have."""
    base = properly.tables.base
    for file in (presence, background):
        file.require([*(columns or []), *categories])
    for name in ignore:
        if name not in (*presence.names, *background.names):
            raise Misuse(f"neither {presence.path} nor {background.path} has the column {name!r} to ignore.")
    shared = [name for name in presence.names if name in background.names]
    used = [name for name in columns or shared if name not in ignore]
    if not used:
        raise base.TableError(f"{presence.path} and {background.path} have no column in common that could be used.")
    base.require_named(used, presence.path)
    return used


def _fitted_encoder(categories: Sequence[str], tables: dict[str, Any]) -> properly.tables.TableEncoder:
    """One encoder for both tables; errors name the table in which they are."""
    base, kind_of = properly.tables.base, properly.tables.columns.kind_of
    arrow, plain = base.arrow, base.plain
    for source, table in tables.items():
        properly.tables.TableEncoder(categories, missing="refuse").fit(table, source=source)
    (first, background), (second, seen) = tables.items()
    for name in background.column_names:
        kinds = [kind_of(table.column(name).type) for table in (background, seen)]
        if name not in categories and kinds[0] != kinds[1]:
            place = base.Place(second, name)
            raise base.TableError(f"{place} holds values of the kind {kinds[1]}, but {first} of the kind {kinds[0]}.")
    whole = [arrow.table({name: plain(table.column(name)) for name in table.column_names}) for table in tables.values()]
    joined = arrow.concat_tables(whole, promote_options="permissive")
    return properly.tables.TableEncoder(categories, missing="refuse").fit(joined, source=f"{first} and {second}")


def show(summary: dict[str, Any], console: Any) -> None:
    """How the model fits, and what was written."""
    console.print(
        f"{summary['presences']:,} presences, {summary['background_points']:,} background points, "
        f"{len(summary['features'])} features; kinds of terms: {summary['kinds']}, {summary['terms_in_use']} of "
        f"{summary['terms']} terms in use.\nRegularised training gain {summary['gain']:.4f}; in training, the AUC of "
        f"presences against the background is {summary['training_auc']:.3f}."
    )
    console.print(f"\nModel: {summary['model']}")
    if summary["scored"]:
        console.print(f"Sites: {summary['scored']['output']} ({summary['scored']['rows']:,} rows)")


run = maxent_table
