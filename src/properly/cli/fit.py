"""Compare and average models, save the best with a report.

Compare models of many kinds by log loss in cross-validation, say which differences are significant,
average them (or, with --single, keep one), fit the result to all rows, save it as one file, and write
a report. Every column but the target is a feature, unless --features or --ignore is given. Methods:
{methods}

example: properly fit train.csv --target churned --population-rate 0.002 -o model.skops
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import isnan
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
    one_of,
    page_file,
    positive_number,
    read_key,
    seed,
    share,
    whole,
)
from properly.cli.fit_files import Asked, positive_note, written
from properly.cli.fitting import LargeTable, Roles, Rows, conclusion, read_rows
from properly.cli.main import show_warnings, table_of
from properly.cli.signals import rescued_by, undisturbed
from properly.comparison.candidates import CANDIDATES, checked_methods
from properly.files import FilePath
from properly.inputs.misuse import Misuse
from properly.progress import progress

_SAVING = "What was found is being saved; Ctrl-C again gives it up."


def add_arguments(add: Arguments) -> None:
    methods = "\n".join(f"  {each.usage(name):<16}{each.about}" for name, each in CANDIDATES.items() if each.saved)
    add.parser.description = str(add.parser.description).replace("{methods}", methods)
    add("table")
    add("--target COLUMN")
    add("--method NAMES")
    add("--single")
    add("--calibration NAME")
    add("--population-rate P")
    add("--positive CLASS")
    either = add.parser.add_mutually_exclusive_group()
    add("--features COLUMNS", names, group=either)
    add("--ignore COLUMNS", names, group=either)
    add("--categories COLUMNS", names)
    add("--weight COLUMN")
    folds = add.parser.add_mutually_exclusive_group()
    add("--group COLUMN", group=folds)
    add("--time COLUMN", group=folds)
    add("--folds N")
    add("--time-budget SECONDS")
    add("--keep-best")
    add("--seed N")
    add("-o --output FILE")
    add("--report FILE")
    add("--key-file FILE")
    add("--cache FOLDER")
    add("--dask SCHEDULER")
    add_notation(add)


@checked(
    method=checked_methods,
    calibration=one_of(lambda: dict.fromkeys(["auto", "none", *properly.calibration.methods.METHODS])),
    population_rate=share,
    folds=whole(2),
    time_budget=positive_number,
    seed=seed,
    output=model_file,
    report=page_file,
    **NOTATION,
)
def fit_table(
    table: FilePath,
    *,
    target: str,
    method: str | Sequence[str] = "auto",
    single: bool = False,
    calibration: str = "auto",
    population_rate: float | None = None,
    positive: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    folds: int = 5,
    time_budget: float | None = None,
    keep_best: bool = False,
    seed: int = 0,
    output: FilePath = "model.skops",
    report: FilePath = "fit.html",
    key_file: FilePath | None = None,
    cache: FilePath | None = None,
    dask: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Compare models on a table, fit the best, save it and write a report, as ``properly fit`` does.

    Parameters
    ----------
    table : path
        The table to learn from. A folder of files, or a file of two gigabytes or more, is never held in memory: linear
        models are compared on 50,000 rows drawn at random, and the best is fitted to all rows.
    target : str
        The column that holds the class.
    method : str or sequence of str, default "auto"
        One of the methods, or several separated by commas; auto compares those that suit the data. Several are
        averaged, by weights that suit held-out rows.
    single : bool, default False
        Keep one plain model instead of an average, for those who must explain it: of several that are equally good
        within the noise, the simplest.
    calibration : str, default "auto"
        auto compares every model with and without calibration, none only without; the name of a calibration method,
        such as platt or isotonic, only with that.
    population_rate : float, optional
        Share of the positive class where the model will be used, if it differs from that in the table.
    positive : str, optional
        The positive of two classes; not needed for 0/1, false/true, no/yes and -1/1.
    features : sequence of str, optional
        The columns to use, separated by commas; a name with a comma stands in quotation marks, as in a,"b, c".
    ignore : sequence of str, default ()
        Columns not to use.
    categories : sequence of str, default ()
        Columns of categories that look like numbers.
    weight : str, optional
        The column that says how many rows a row stands for.
    group : str, optional
        A column, such as customer, whose equal values must not be in two folds; it is no feature.
    time : str, optional
        A column of dates or numbers: models learn from the past and are judged by the future; it is no feature.
    folds : int, default 5
        Folds of the cross-validation; with fewer than 1,000 rows they are made twice.
    time_budget : float, optional
        Seconds after which no further model is tried; what is fitted to all rows in the end comes on top.
    keep_best : bool, default False
        Whether the first Ctrl-C saves the best model that is fitted to all rows by then, instead of nothing.
    seed : int, default 0
        Seed of all that is random.
    output : path, default "model.skops"
        The model file to write.
    report : path, default "fit.html"
        The report to write, an HTML file.
    key_file : path, optional
        A file with a secret of at least 16 characters, by which properly predict sees whether the model was altered.
    cache : path, optional
        For such tables, without dask: a folder on a local disk in which decoded rows are kept until the fit ends, 8
        bytes a number.
    dask : str, optional
        The address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers read the Parquet files, under the
        same path as here.
    separator : str, optional
        What separates the cells of a text file, such as ; or tab; recognised if it is not given.
    decimal : {".", ","}, optional
        The decimal sign of a text file; recognised if it is not given.

    Returns
    -------
    dict
        Among other things "chosen", the name of the model that was saved, "best", the one with the smallest log loss,
        "leaderboard", all models with their log loss, "parts", the models that are averaged with their weights and what
        leaving each out would cost, and "warnings" about columns.
    """
    methods, used = checked_methods(method), None if features is None else listed_names(features)
    for each in methods:
        if each in CANDIDATES and not CANDIDATES[each].saved:
            raise Misuse(
                f"a model of {each} cannot be saved, since its file could not be checked when it is loaded; use "
                f"Python: properly.comparison.BestProbabilities({each!r})."
            )
    roles = Roles(target, positive, used, listed_names(ignore), listed_names(categories), weight, group, time)
    roles.check()
    check_output(output, inputs=[table])
    key = read_key(key_file)
    check_output(report, inputs=[table], outputs=[output])
    with progress("Fitting", 1.0) as tell:
        tell(0.0, "reading")
        notation: dict[str, str | None] = {"separator": separator, "decimal": decimal}
        large, named = None, methods
        left_out: list[str] = []
        if dask is not None or properly.tables.folders.is_large(table):
            methods, single = LargeTable.methods(methods, calibration), True
            large, calibration = LargeTable(table, notation, dask, cache), "none"
        elif cache is not None:
            raise Misuse("cache is for folders, and for files of two gigabytes or more; this table is held in memory.")
        rows = large.drawn(roles, seed) if large else read_rows(properly.tables.TableFile(table, **notation), roles)
        if large:
            methods, left_out = large.possible(methods, named, rows)
        _check_positive(rows, properly.tables.base.Place(str(table), target), methods, population_rate)
        best = properly.comparison.BestProbabilities(
            methods,
            single=single,
            calibration=calibration,
            population_rate=population_rate,
            cv=folds,
            categorical_features=rows.encoder.categorical_ or None,
            time_budget=time_budget,
            keep_best=keep_best,
            random_state=seed,
            progress=lambda done, note: tell(0.05 + 0.9 * done, note),
        )

        asked = Asked(table, output, report, key, methods, calibration, population_rate, folds, seed, left_out)

        def finish() -> dict[str, Any]:
            tell(0.95, "report")
            return written(best, rows, roles, asked)

        def end_early() -> str:
            best.end_early()
            return conclusion(best.comparison_) + _files_of(finish()) if best.interrupted_ else ""

        with rescued_by(end_early) if keep_best else nullcontext():
            codes, names = rows.labels.codes, rows.labels.classes
            best.fit(rows.X, codes, rows.weight, group=rows.group, time=rows.time, class_names=names)
            if large and not best.interrupted_:
                tell(0.9, f"{best.comparison_.choice}, on all rows")
                large.fit_to_all(best, rows, roles)
        with undisturbed(_SAVING) if keep_best and not best.interrupted_ else nullcontext():
            return finish()


def _check_positive(rows: Rows, place: Any, methods: Sequence[str], population_rate: float | None) -> None:
    """Refuse options that are about the positive class if that is not known, or if there are more than two classes."""
    n_classes = len(rows.labels.classes)
    if population_rate is not None and n_classes > 2:
        raise Misuse(f"a population rate is for two classes, the target has {n_classes}.")
    options = [f"the threshold of {each}" for each in methods if ":" in each]
    for option in ["the population rate"] * (population_rate is not None) + options:
        rows.labels.require_told(place, option)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def show(summary: dict[str, Any], console: Any) -> None:
    """Warnings, the leaderboard, the conclusion, and what was written."""
    show_warnings(summary["warnings"], console)
    positive = positive_note(summary)
    console.print(
        f"{summary['rows']:,} rows, {_counted(len(summary['features']), 'feature')}, {len(summary['classes'])} classes"
        f"{f' (positive: {positive})' if positive else ''}; {summary['validation']}.\n"
        "Log loss of held-out rows, smaller is better:\n"
    )
    rows = []
    for place, each in enumerate(summary["leaderboard"]):
        mark = ("significant" if each["significant"] else "not significant") if place else "best"
        mark += "; chosen" if each["name"] == summary["chosen"] and place else ""
        p_value = f"{each['p_value']:.3f}" if each["p_value"] >= 0.001 else "< 0.001"
        behind = [f"{each['difference_to_best']:.5f}", p_value] if place else ["", ""]
        rows.append([each["name"], f"{each['log_loss']:.5f}", f"{each['standard_error']:.5f}", *behind, mark])
    console.print(table_of(["model", "log loss", "± standard error", "worse than the best by", "p-value", ""], rows))
    console.print(f"\n{summary['conclusion']}")
    if summary["chosen"] == properly.comparison.AVERAGE:
        console.print("\nThe average:\n")
        parts = [
            [each["name"], f"{each['weight']:.2f}", _cost(each["cost_of_leaving_out"])] for each in summary["parts"]
        ]
        console.print(table_of(["model", "weight", "rise without it"], parts))
    for note in summary["notes"]:
        console.print(f"Note: {note}.")
    console.print(_files_of(summary))


def _cost(cost: float) -> str:
    return "" if isnan(cost) else f"{cost:+.5f}"


def _files_of(summary: dict[str, Any]) -> str:
    return f"\nModel:  {summary['model']}\nReport: {summary['report']}"


run = fit_table
