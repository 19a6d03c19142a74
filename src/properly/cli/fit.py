"""Compare models, fit the best, save it with a report.

Compare models by log loss in cross-validation, say which differences are significant, fit the best one
to all rows, save it as one file, and write a report. Every column but the target is a feature, unless
--features or --ignore is given. Methods:
{methods}

example: properly fit train.csv --target churned --population-rate 0.002 -o model.skops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import properly
from properly.cli.arguments import Arguments, listed_names, names, one_of, path, require_distinct, seed, share, whole
from properly.cli.candidates import CANDIDATES, Setting, build_candidates, checked_methods
from properly.cli.main import table_of
from properly.files import FilePath, atomic_path, check_output, sha256_of
from properly.progress import progress

if TYPE_CHECKING:
    from properly.comparison import Comparison
    from properly.numeric.probabilities import Array


def add_arguments(add: Arguments) -> None:
    methods = "\n".join(f"  {each.usage(name):<12}{each.about}" for name, each in CANDIDATES.items())
    add.parser.description = str(add.parser.description).replace("{methods}", methods)
    add("table")
    add("--target COLUMN")
    add("--method NAMES", checked_methods)
    add("--calibration NAME", one_of(lambda: dict.fromkeys(["auto", "none", *properly.calibration.methods.METHODS])))
    add("--population-rate P", share)
    add("--positive CLASS")
    either = add.parser.add_mutually_exclusive_group()
    add("--features COLUMNS", names, group=either)
    add("--ignore COLUMNS", names, group=either)
    add("--categories COLUMNS", names)
    add("--weight COLUMN")
    add("--folds N", whole(2))
    add("--seed N", seed)
    add("-o --output FILE", path)
    add("--report FILE", path)


def fit_table(
    table: FilePath,
    *,
    target: str,
    method: str | Sequence[str] = "auto",
    calibration: str = "auto",
    population_rate: float | None = None,
    positive: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    weight: str | None = None,
    folds: int = 5,
    seed: int = 0,
    output: FilePath = "model.skops",
    report: FilePath = "fit.html",
) -> dict[str, Any]:
    """Compare models on a table, fit the best, save it and write a report, as ``properly fit`` does.

    Parameters
    ----------
    table : path
        The table to learn from.
    target : str
        The column that holds the class.
    method : str or sequence of str, default "auto"
        One of the methods, or several separated by commas; auto compares those that suit the data.
    calibration : str, default "auto"
        auto compares every model with and without calibration, none only without; the name of a calibration method,
        such as platt or isotonic, only with that.
    population_rate : float, optional
        Share of the positive class where the model will be used, if it differs from that in the table.
    positive : str, optional
        The positive of two classes; the second in sorted order if it is not given.
    features : sequence of str, optional
        The columns to use, separated by commas; a name with a comma stands in quotation marks, as in a,"b, c".
    ignore : sequence of str, default ()
        Columns not to use.
    categories : sequence of str, default ()
        Columns of categories that look like numbers.
    weight : str, optional
        The column that says how many rows a row stands for.
    folds : int, default 5
        Folds of the cross-validation.
    seed : int, default 0
        Seed of all that is random.
    output : path, default "model.skops"
        The model file to write.
    report : path, default "fit.html"
        The report to write, an HTML file.

    Returns
    -------
    dict
        Among other things "best", the name of the best model, and "leaderboard", all models with their log loss.
    """
    methods = checked_methods(method)
    if features is not None and ignore:
        raise ValueError("features and ignore exclude each other: name the columns to use, or those not to use.")
    check_output(output, inputs=[table])
    check_output(report, inputs=[table], outputs=[output])
    with progress("Fitting", 1.0) as tell:
        tell(0.0, "reading")
        used = None if features is None else listed_names(features)
        rows = _read_rows(table, target, positive, used, listed_names(ignore), listed_names(categories), weight)
        classes, codes = rows.labels
        if population_rate is not None and len(classes) > 2:
            raise ValueError(f"a population rate is for two classes, the target has {len(classes)}.")
        setting = rows.setting(seed)
        models, notes = build_candidates(methods, setting)
        notes += [f"column {name!r} was left out: {reason}" for name, reason in rows.encoder.left_out_.items()]
        comparison = properly.comparison.compare(
            models,
            rows.X,
            codes,
            cv=folds,
            sample_weight=rows.weight,
            calibration=None if calibration == "none" else calibration,
            uncalibrated=calibration in ("auto", "none"),
            skip_failing="auto" in methods,
            random_state=seed,
            progress=lambda done, note: tell(0.9 * done, note),
        )
        n_folds = int(comparison.folds.max()) + 1
        if n_folds < folds:
            rarest = classes[setting.class_rows.index(min(setting.class_rows))]
            notes.append(
                f"there are {n_folds} folds instead of {folds}, because the rarest class, {rarest}, has {n_folds} rows"
            )
        tell(0.9, f"{comparison.best}, on all rows")
        classifier = _refitted(models, comparison, calibration, population_rate, rows)
        tell(0.95, "report")
        summary = {
            "model": str(output),
            "report": str(report),
            "table": str(table),
            "sha256": sha256_of(table),
            "target": target,
            "classes": classes,
            "rows": len(codes),
            "features": [column.name for column in rows.encoder.columns_],
            "best": comparison.best,
            "population_rate": population_rate,
            "folds": n_folds,
            "seed": seed,
            "leaderboard": _leaderboard(comparison),
            "conclusion": conclusion(comparison),
            "notes": notes,
            "version": properly.__version__,
        }
        asked = {"methods": methods, "calibration": calibration, "categories": categories, "weight": weight}
        page = _page(comparison, rows, summary, asked)
        properly.save(properly.tables.TableClassifier(rows.encoder, classifier, classes), output, metadata=summary)
        with atomic_path(report) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return summary


class _Rows(NamedTuple):
    """What is read from the table."""

    encoder: properly.tables.TableEncoder
    X: Array
    labels: properly.tables.targets.Labels
    weight: Array | None

    def setting(self, seed: int) -> Setting:
        codes, weight = self.labels.codes, self.weight
        counted = codes if weight is None else codes[weight > 0.0]
        class_rows = [int((counted == code).sum()) for code in range(len(self.labels.classes))]
        return Setting(class_rows, self.encoder.categorical_, seed)


def _read_rows(
    table: FilePath,
    target: str,
    positive: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str],
    categories: Sequence[str],
    weight: str | None,
) -> _Rows:
    """The rows as numbers, with everything checked."""
    file, base = properly.tables.TableFile(table), properly.tables.base
    require_distinct(target=target, weight=weight, features=features)
    special = [target] + ([weight] if weight else [])
    file.require([*special, *ignore, *(features or [])])
    columns = list(features or [name for name in file.names if name not in (*special, *ignore)])
    base.require_named(columns, file.path)
    base.require_columns(categories, columns, f"the list of features of {file.path}")
    if not columns:
        raise base.TableError(f"{file.path} has no column left to learn from.")
    data = file.read([*columns, *special], texts=categories)
    labels, row_weights = properly.tables.targets.read_target(data, file.path, target, positive=positive, weight=weight)
    encoder = properly.tables.TableEncoder(categories).fit(data.select(columns), source=file.path)
    return _Rows(encoder, encoder.transform(data, source=file.path), labels, row_weights)


def _refitted(models: dict[str, Any], comparison: Comparison, calibration: str, rate: float | None, rows: _Rows) -> Any:
    """The best model, fitted to all rows, with its calibration and the correction for the population rate."""
    name = comparison.best.removesuffix(properly.comparison.CALIBRATED)
    model = models[name]
    if name != comparison.best:
        folds = comparison.folds
        splits = [((folds != k).nonzero()[0], (folds == k).nonzero()[0]) for k in range(int(folds.max()) + 1)]
        model = properly.calibration.CalibratedClassifier(model, calibration, cv=splits)
    if rate is not None:
        model = properly.prevalence.PriorCorrectedClassifier(model, "from y", rate)
    return model.fit(rows.X, rows.labels.codes, sample_weight=rows.weight)


def _leaderboard(comparison: Comparison) -> list[dict[str, Any]]:
    columns = {
        "name": comparison.names,
        "log_loss": comparison.scores.tolist(),
        "standard_error": comparison.errors.tolist(),
        "difference_to_best": comparison.difference_to_best.tolist(),
        "p_value": comparison.p_values.tolist(),
        "significant": comparison.significant.tolist(),
        "seconds": comparison.seconds.round(3).tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def conclusion(comparison: Comparison) -> str:
    """Which model is the best, and than which others it is significantly better."""
    worse = [name for name, clear in zip(comparison.names, comparison.significant, strict=True) if clear]
    alike = [name for name in comparison.names[1:] if name not in worse]
    text = f"{comparison.best} is the best"
    if worse:
        text += f", and significantly better than {_listed(worse)}"
    if alike:
        text += f"; it is not significantly better than {_listed(alike)}"
    return f"{text}." if worse or alike else f"{comparison.best} is the only candidate."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _page(comparison: Comparison, rows: _Rows, summary: dict[str, Any], asked: dict[str, Any]) -> str:
    """The report: the comparison, and an audit of the best model's probabilities for held-out rows."""
    classes, rate = [str(label) for label in summary["classes"]], summary["population_rate"]
    judged = properly.audit.audit(
        rows.labels.codes,
        comparison.probabilities[comparison.best],
        sample_weight=rows.weight,
        class_names=classes,
        random_state=summary["seed"],
    )
    facts = {
        **properly.report.pages.file_facts(summary["table"]),
        "rows": f"{summary['rows']:,}",
        "target": summary["target"],
        "features": ", ".join(summary["features"]),
        "methods": ", ".join(asked["methods"]),
        "calibration": asked["calibration"],
        "model": f"{summary['model']}: {comparison.best}, fitted to all rows",
        "folds": f"{summary['folds']}, with seed {summary['seed']}",
        "positive class": classes[1] if len(classes) == 2 else "",
        "categories": ", ".join(asked["categories"]),
        "weight": asked["weight"],
        "population rate": rate
        and f"the saved model is for a share of {rate:g} of {classes[1]}; this page judges the probabilities before "
        "that correction, in the proportions of the table",
        "notes": "; ".join(summary["notes"]),
    }
    facts = {name: text for name, text in facts.items() if text} | properly.report.pages.version_facts()
    return properly.report.fit_page(comparison, judged, facts, f"Models for {summary['target']}")


def show(summary: dict[str, Any], console: Any) -> None:
    """The leaderboard, the conclusion, and what was written."""
    console.print(
        f"{summary['rows']:,} rows, {len(summary['features'])} features, "
        f"{len(summary['classes'])} classes; log loss of held-out rows, smaller is better:\n"
    )
    rows = []
    for place, each in enumerate(summary["leaderboard"]):
        significant = "significant" if each["significant"] else "not significant"
        behind = [f"{each['difference_to_best']:.5f}", f"{each['p_value']:.3f}", significant]
        score = [each["name"], f"{each['log_loss']:.5f}", f"{each['standard_error']:.5f}"]
        rows.append([*score, *(behind if place else ["", "", "best"])])
    console.print(table_of(["model", "log loss", "± standard error", "worse than the best by", "p-value", ""], rows))
    console.print(f"\n{summary['conclusion']}")
    for note in summary["notes"]:
        console.print(f"Note: {note}.")
    console.print(f"\nModel:  {summary['model']}\nReport: {summary['report']}")


run = fit_table
