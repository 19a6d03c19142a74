"""The work of ``properly maxent``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from properly import __version__, save
from properly.cli.columns import require_named
from properly.cli.console import progress
from properly.cli.files import checked_output, scored_path
from properly.cli.scoring import score_table
from properly.maxent import EntropyWeightedMaxent, MaxentFeatures
from properly.metrics import auc
from properly.report.pages import file_facts
from properly.tables import TableEncoder, TableError, TableFile, TableMaxent
from properly.tables.arrow import arrow
from properly.tables.errors import require_columns
from properly.tables.values import kind_of, plain


def fit_presence(arguments: Any) -> dict[str, Any]:
    """Fit, save, predict; returns the summary."""
    inputs = [arguments.presence, arguments.background] + ([arguments.predict] if arguments.predict else [])
    checked_output(arguments.model, inputs)
    presence, background = TableFile(arguments.presence), TableFile(arguments.background)
    columns = _columns(arguments, presence, background)
    if arguments.predict:
        checked_output(arguments.scored or scored_path(arguments.predict), inputs, [arguments.model], table=True)
        require_columns(columns, TableFile(arguments.predict).names, arguments.predict)
    seen = presence.read(columns, texts=arguments.categories)
    region = background.read(columns, texts=arguments.categories)
    encoder = _fitted_encoder(arguments.categories, {background.path: region, presence.path: seen})
    X = np.vstack([encoder.transform(region, source=background.path), encoder.transform(seen, source=presence.path)])
    y = np.repeat([-1, 1], [region.num_rows, seen.num_rows])
    features = MaxentFeatures(arguments.features, categorical=encoder.categorical_)
    model = EntropyWeightedMaxent(
        arguments.default_prevalence, regularization=arguments.regularization, features=features
    )
    with progress("Fitting", None) as tell:
        tell(0, f"{seen.num_rows:,} presences")
        model.fit(X, y)
        score = model.decision_function(X)
    fitted_features: Any = model.features_
    table_model = TableMaxent(encoder, model, arguments.output)
    summary = {
        "model": arguments.model,
        "presence": arguments.presence,
        "background": arguments.background,
        "columns": [column.name for column in encoder.columns_],
        "presences": seen.num_rows,
        "background_points": region.num_rows,
        "kinds": fitted_features.kinds_,
        "features": int(model.coef_.shape[1]),
        "features_in_use": int(np.count_nonzero(model.coef_)),
        "gain": float(model.relative_gain_[0]),
        "prevalence": float(model.prevalence_[1]),
        "training_auc": float(auc(y == 1, expit(score)).area),
        "sha256": {path: file_facts(path)["SHA-256"] for path in (arguments.presence, arguments.background)},
        "version": __version__,
    }
    save(table_model, arguments.model, metadata=summary)
    scored = score_table(table_model, arguments.predict, arguments.scored) if arguments.predict else None
    return {**summary, "scored": scored}


def _columns(arguments: Any, presence: TableFile, background: TableFile) -> list[str]:
    """Those named, or those that both tables have."""
    for file in (presence, background):
        require_columns([*(arguments.columns or []), *arguments.categories], file.names, file.path)
    for name in arguments.ignore:
        if name not in (*presence.names, *background.names):
            raise TableError(f"neither {presence.path} nor {background.path} has the column {name!r} to ignore.")
    shared = [name for name in presence.names if name in background.names]
    columns = [name for name in arguments.columns or shared if name not in arguments.ignore]
    if not columns:
        raise TableError(f"{presence.path} and {background.path} have no column in common that could be used.")
    require_named(columns, presence.path)
    return columns


def _fitted_encoder(categories: list[str], tables: dict[str, Any]) -> TableEncoder:
    """One encoder for all tables; what is wrong is told of the table in which it is wrong."""
    for source, table in tables.items():
        TableEncoder(categories, missing="refuse").fit(table, source=source)
    (first, background), (second, seen) = tables.items()
    for name in background.column_names:
        kinds = [kind_of(table.column(name).type) for table in (background, seen)]
        if name not in categories and kinds[0] != kinds[1]:
            raise TableError(
                f"{second}, column {name!r} holds values of the kind {kinds[1]}, but {first} of the kind {kinds[0]}."
            )
    whole = [arrow.table({name: plain(table.column(name)) for name in table.column_names}) for table in tables.values()]
    joined = arrow.concat_tables(whole, promote_options="permissive")
    return TableEncoder(categories, missing="refuse").fit(joined, source=f"{first} and {second}")
