"""The tables of the study: areas and losses beside the paper's, how broad the optima are, what caps class-robust."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
from gev_common import markdown, measured
from nceas_measures import (
    BINS,
    CONSTANT,
    DEFAULT,
    DEFAULTS,
    ENTROPY,
    MOVED,
    ORACLE,
    ROBUST,
    TREES_DEFAULT,
    TREES_ENTROPY,
    Array,
    Result,
    best,
    curve,
    of_bin,
    range_below,
)
from scipy.special import logit
from study import write_tables

CURVES = (ENTROPY, DEFAULT, ROBUST, TREES_ENTROPY, TREES_DEFAULT)
LEVELS = (CONSTANT, ORACLE)
PAPER = {"maxent": "0.7583", "class-robust": "0.7451 – 0.7568", "trees": "0.7545"}
TOLERANCES = (0.005, 0.01, 0.02)  # above the smallest loss


def write_all(results: list[Result], variants: dict[str, list[Result]], environment: str, folder: Path) -> None:
    write_species(results, folder / "species.csv")
    write_curves(results, folder / "curves.csv")
    sections = {
        "Area under the ROC curve": areas(results),
        "Log loss, one default for all species": losses(results),
        "Entropy weighting minus default weighting": difference(results),
        "How broad is the optimum?": breadth(results),
        "What class-robust logistic regression can reach": caps(results),
        "Losses at the end of class-robust's reach": capped(results),
        "Other choices": other_choices(variants),
    }
    lines = ["# Unknown labelling bias on the NCEAS data", "", environment]
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section]
    write_tables(lines, folder)


def areas(results: list[Result]) -> list[str]:
    """Means over species; for class-robust at the worst and the best default."""

    def mean(learner: str, chosen: list[Result]) -> str:
        values = np.mean([result.area[learner] for result in chosen], axis=0)
        return f"{values:.4f}" if values.ndim == 0 else f"{values.min():.4f} – {values.max():.4f}"

    regions = sorted({result.region for result in results})
    rows = []
    for learner, published in PAPER.items():
        by_region = [mean(learner, [result for result in results if result.region == region]) for region in regions]
        rows.append([learner, published, mean(learner, results), *by_region])
    return markdown(["mean area", "paper", "here", *regions], rows)


def losses(results: list[Result]) -> list[str]:
    """The smallest mean loss of every method in every bin, and the default where it is."""
    header = ["mean log loss (at default)"]
    for name in BINS:
        header.append(f"{name} ({len(of_bin(results, name))})")
    rows = []
    for method in CURVES:
        found = [best(curve(of_bin(results, name), method)) for name in BINS]
        rows.append([method, *(f"{loss:.4f} ({default:g})" for default, loss in found)])
    for method in LEVELS:
        rows.append([method, *(f"{curve(of_bin(results, name), method)[0]:.4f}" for name in BINS)])
    return markdown(header, rows)


def difference(results: list[Result]) -> list[str]:
    """Paired over species, each method at its best default for all of them."""
    rows = []
    for one, other in ((ENTROPY, DEFAULT), (TREES_ENTROPY, TREES_DEFAULT), (ENTROPY, ROBUST), (ENTROPY, TREES_ENTROPY)):
        at = [curve(results, method).argmin() for method in (one, other)]
        gap = np.array([result.loss[one][at[0]] - result.loss[other][at[1]] for result in results])
        mean = measured(float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))).replace("-", "−")
        rows.append([f"{one} − {other}", mean, f"{(gap < 0).sum()} of {len(gap)}"])
    return markdown(["difference of log losses", "mean ± standard error over species", "species with less loss"], rows)


def breadth(results: list[Result]) -> list[str]:
    """The range of defaults whose loss is at most so much above the smallest, as a difference of ν and of logit ν."""
    header = ["", "above its own minimum", *(f"{name}: ν, logit" for name in BINS)]
    rows = []
    for method in (ENTROPY, DEFAULT, ROBUST):
        for tolerance in TOLERANCES:
            cells = []
            for name in BINS:
                losses = curve(of_bin(results, name), method)
                cells.append(_widths(losses, losses.min() + tolerance))
            rows.append([method, f"{tolerance:g}", *cells])
    return markdown(header, rows)


def _widths(losses: Array, level: float) -> str:
    low, high = range_below(losses, level)
    open_ended = "≥ " if low <= DEFAULTS[0] or high >= DEFAULTS[-1] else ""
    return f"{open_ended}{high - low:.3f}, {open_ended}{logit(high) - logit(low):.2f}"


def caps(results: list[Result]) -> list[str]:
    header = ["prevalence", "species", "its mean", "mean cap, from", "to", "species with cap < prevalence"]
    rows = []
    for name in BINS:
        chosen = of_bin(results, name)
        low, high = np.array([result.cap for result in chosen]).T
        prevalence = np.array([result.prevalence for result in chosen])
        means = (f"{values.mean():.3f}" for values in (prevalence, low, high))
        rows.append([name, f"{len(chosen)}", *means, f"{(high < prevalence).sum()}"])
    return markdown(header, rows)


def capped(results: list[Result]) -> list[str]:
    """Class-robust by how much of its reach the true prevalence needs, and the species that are out of reach.

    Entropy weighting and class-robust have the defaults that suit all species best.
    """
    at = {method: int(curve(results, method).argmin()) for method in (ENTROPY, ROBUST)}
    need = np.array([result.prevalence / np.mean(result.cap) for result in results])
    excess = np.array([result.loss[ROBUST][at[ROBUST]] - result.loss[ENTROPY][at[ENTROPY]] for result in results])
    edges = (0.0, 0.25, 0.5, 0.75, 1.0, np.inf)
    rows = []
    for low, high in itertools.pairwise(edges):
        chosen = (low <= need) & (need < high)
        name = f"{low:g} – {high:g}" if high < np.inf else f"over {low:g}"
        share = excess[chosen].sum() / excess.sum()
        rows.append([name, f"{chosen.sum()}", f"{excess[chosen].mean():+.4f}".replace("-", "−"), f"{share:.0%}"])
    header = ["prevalence / cap", "species", f"{ROBUST} − {ENTROPY}, mean", "share of the sum over all species"]
    lines = [
        *markdown(header, rows),
        "",
        *out_of_reach([result for result in results if result.prevalence > result.cap[1]]),
    ]
    return [line.replace("-0%", "0%") for line in lines]


def out_of_reach(results: list[Result]) -> list[str]:
    if not results:
        return ["No species has a prevalence above the cap."]
    rows = []
    columns = [[result.reached for result in results], [result.certain for result in results]]
    columns += [[result.loss[method] for result in results] for method in (ROBUST, MOVED, ENTROPY)]
    for default in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
        k = int(np.flatnonzero(default == DEFAULTS)[0])
        rows.append([f"{default:g}", *(f"{np.mean([values[k] for values in column]):.3f}" for column in columns)])
    header = ["default", "P(y = 1) reached", "sites with p < 1 % or > 99 %", ROBUST, MOVED, ENTROPY]
    oracle, constant = (f"{curve(results, method)[0]:.3f}" for method in LEVELS[::-1])
    prevalence = np.mean([result.prevalence for result in results])
    title = (
        f"The {len(results)} species with a prevalence above the cap, {prevalence:.2f} on average; {ORACLE} {oracle}, "
        f"{CONSTANT} {constant}:"
    )
    return [title, "", *markdown(header, rows)]


def other_choices(variants: dict[str, list[Result]]) -> list[str]:
    """Maxent otherwise; none of these was chosen, and all are judged on the surveys."""
    rows = []
    for name, results in variants.items():
        losses = [best(curve(results, method)) for method in (ENTROPY, DEFAULT)]
        rows.append(
            [name, f"{np.mean([result.area['maxent'] for result in results]):.4f}"]
            + [f"{loss:.4f} ({default:g})" for default, loss in losses]
        )
    return markdown(["", "mean area", f"log loss, {ENTROPY}", f"log loss, {DEFAULT}"], rows)


def write_species(results: list[Result], path: Path) -> None:
    """One row for each species; losses at the default that is best for all species."""
    at = {method: int(curve(results, method).argmin()) for method in CURVES}
    columns = ["region", "group", "species", "presences", "places", "sites", "prevalence", "gain"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            [*columns, "cap low", "cap high", "area maxent", "area trees", "area class-robust"]
            + [f"loss {method} ({DEFAULTS[k]:g})" for method, k in at.items()]
            + [f"loss {method}" for method in LEVELS]
        )
        for result in results:
            numbers = [*result.cap, result.area["maxent"], result.area["trees"]]
            numbers += [result.area["class-robust"][at[ROBUST]], *(result.loss[method][k] for method, k in at.items())]
            numbers += [result.loss[method] for method in LEVELS]
            row = [getattr(result, column) for column in columns]
            row[6:8] = [f"{value:.6f}" for value in row[6:8]]
            writer.writerow(row + [f"{float(value):.5f}" for value in numbers])


def write_curves(results: list[Result], path: Path) -> None:
    """Mean losses over species at every default, and the mean of P(y = 1) that class-robust reaches."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["prevalence", "default", *CURVES, MOVED, *LEVELS, "class-robust reaches"])
        for name in BINS:
            chosen = of_bin(results, name)
            columns = [curve(chosen, method) for method in (*CURVES, MOVED, *LEVELS)]
            columns.append(np.mean([result.reached for result in chosen], axis=0))
            for default, *values in zip(DEFAULTS, *columns, strict=True):
                writer.writerow([name, f"{default:g}", *(f"{value:.5f}" for value in values)])
