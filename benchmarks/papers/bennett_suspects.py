"""Why are the totals of calibrated naive Bayes above those that Bennett (2003) printed? Each suspect by itself.

The study's naive Bayes (`reuters.py`) with one thing changed at a time: what a word is and how it is counted,
smoothing, the prior of the class, which words are chosen and how many, and the folds. For each the totals of A.Laplace,
LogReg and the raw score over the ten largest classes, beside the published ones.

    python benchmarks/papers/bennett_suspects.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes benchmarks/results/bennett_suspects, in four minutes on a core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bennett_comparison import Decisions
from bennett_reuters import VARIANT_METHODS, calibrated_log_odds
from bennett_tables import BASELINE, PUBLISHED, RAW, RIVAL, markdown
from reuters import LEAST_DOCUMENTS, N_FOLDS, Document, Scores, labels_of, mutual_information, read_documents
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import KFold
from study import Options, main, progress, write_tables

SHUFFLED = KFold(N_FOLDS, shuffle=True, random_state=0)
Words = Callable[[Document], list[str]]
Array = Any


def text(document: Document) -> str:
    return f"{document['title'] or ''}\n{document['body'] or ''}".lower()


def runs_of(characters: str, of: Callable[[Document], str] = text) -> Words:
    return lambda document: re.findall(characters, of(document))


usual = runs_of("[a-z0-9]+")


def singular(word: str) -> str:
    """Harman's rules for the plural."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("us", "ss", "eies", "aies", "aes", "ees", "oes")):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]


def occurrences_information(X: csr_matrix, y: Array) -> Array:
    """Mutual information of the class and the word at a random place of the text, in nats times the places."""
    overall, inside = np.asarray(X.sum(axis=0)).ravel(), X.T @ y.astype(np.float64)
    information, places, in_class = np.zeros(X.shape[1]), overall.sum(), inside.sum()
    for joint, share in ((inside, in_class / places), (overall - inside, 1.0 - in_class / places)):
        expected = overall * share
        information += joint * np.log(np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0))
    return information


@dataclass(frozen=True)
class Scheme:
    """Naive Bayes as in the study; each field is a suspect."""

    words: Words = usual
    counts: Callable[[Array], Array] = np.positive
    strength: float | None = None  # of the prior of the words, in words; None: as many as words are chosen
    uniform: bool = False  # whether that prior is the same for all words, not their overall frequencies
    of_all_words: bool = False  # whether the probabilities of all words add up to 1, not those of the chosen ones
    even_classes: bool = False
    information: Callable[[csr_matrix, Array], Array] = mutual_information
    n_words: int = 300
    chosen_once: bool = False  # by all training documents, not within each fold
    common: bool = False  # the same words for all classes
    folds: KFold = SHUFFLED

    def scores(self, X: csr_matrix, y: Array, other: csr_matrix, chosen: Array) -> Array:
        """Log-odds of the documents `other`; a word that no document has says nothing."""
        overall, inside = np.asarray(X.sum(axis=0)).ravel(), X.T @ y.astype(np.float64)
        kept = np.arange(len(overall)) if self.of_all_words else chosen
        m = float(len(kept) if self.strength is None else self.strength)
        prior = np.full(len(kept), m / len(kept)) if self.uniform else m * overall[kept] / overall[kept].sum()
        positive, negative = inside[kept] + prior, overall[kept] - inside[kept] + prior
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.nan_to_num(np.log(positive / positive.sum()) - np.log(negative / negative.sum()))
        slope = slope[chosen] if self.of_all_words else slope
        intercept = 0.0 if self.even_classes else np.log((y.sum() + 1) / (len(y) - y.sum() + 1))
        return other[:, chosen] @ slope + intercept

    def choose(self, X: csr_matrix, y: Array) -> Array:
        return np.sort(np.argsort(-self.information(X, y), kind="stable")[: self.n_words])

    def classes(self, documents: Sequence[Document], labels: Array, n_train: int) -> Iterator[Scores]:
        vectorizer = CountVectorizer(analyzer=self.words, min_df=LEAST_DOCUMENTS, dtype=np.float64)
        train, test = vectorizer.fit_transform(documents[:n_train]), vectorizer.transform(documents[n_train:])
        for matrix in (train, test):
            matrix.data = self.counts(matrix.data)
        shared = None
        if self.common:
            summed = sum(self.information(train, y) for y in labels[:n_train].T)
            shared = np.sort(np.argsort(-summed, kind="stable")[: self.n_words])
        for column in labels.T:
            y, y_test = column[:n_train], column[n_train:]
            chosen, out_of_fold = self.choose(train, y) if shared is None else shared, np.empty(n_train)
            for rows, held_out in self.folds.split(out_of_fold):
                fixed = self.chosen_once or self.common
                own = chosen if fixed else self.choose(train[rows], y[rows])
                out_of_fold[held_out] = self.scores(train[rows], y[rows], train[held_out], own)
            yield Scores("", out_of_fold, y, self.scores(train, y, test, chosen), y_test)


LETTERS = runs_of("[a-z]+")
SUSPECTS = {
    "as in the study": Scheme(),
    "**words**: letters only": Scheme(LETTERS),
    "without a stop list's words": Scheme(lambda document: [w for w in usual(document) if w not in ENGLISH_STOP_WORDS]),
    "plurals as singulars": Scheme(lambda document: [singular(w) for w in usual(document)]),
    "all numbers as one word": Scheme(lambda document: ["#" if w[0].isdigit() else w for w in usual(document)]),
    "words with - . , inside": Scheme(runs_of("[a-z0-9]+(?:[-.,'][a-z0-9]+)*")),
    "title counted twice": Scheme(runs_of("[a-z0-9]+", lambda d: f"{(d['title'] or '').lower()}\n{text(d)}")),
    "without the title": Scheme(runs_of("[a-z0-9]+", lambda d: (d["body"] or "").lower())),
    "the first 100 words of a document": Scheme(lambda document: usual(document)[:100]),
    "**weighting**: at most 3 of a word": Scheme(counts=lambda n: np.minimum(n, 3.0)),
    "log(1 + count)": Scheme(counts=np.log1p),
    "presence": Scheme(counts=np.sign),
    "**smoothing**: prior worth one word": Scheme(strength=1.0),
    "the same for all words (Laplace)": Scheme(uniform=True),
    "probabilities of all words add up to 1": Scheme(of_all_words=True),
    "**prior**: both classes alike": Scheme(even_classes=True),
    "**vocabulary**: 100 words": Scheme(n_words=100),
    "1,000 words": Scheme(n_words=1000),
    "the same 300 words for all classes": Scheme(common=True),
    "information of places, not of documents": Scheme(information=occurrences_information),
    "**folds**: words chosen before them": Scheme(chosen_once=True),
    "in the order of time": Scheme(folds=KFold(N_FOLDS)),
    "twenty": Scheme(folds=KFold(20, shuffle=True, random_state=0)),
    "**together**: letters, stop list, title twice": Scheme(
        lambda d: [
            w for w in LETTERS(d) + re.findall("[a-z]+", (d["title"] or "").lower()) if w not in ENGLISH_STOP_WORDS
        ]
    ),
}
SUSPECTS["the same, at most 3 of a word"] = replace(
    SUSPECTS["**together**: letters, stop list, title twice"], counts=lambda n: np.minimum(n, 3.0)
)


def cells_of(totals: dict[str, tuple[float, float, float]]) -> list[str]:
    return [
        f"{value:.0f}" + (f" ({value / PUBLISHED['naive Bayes', method][i] - 1.0:+.0%})" if i != 1 else "")
        for method in (BASELINE, RIVAL, RAW)
        for i, value in enumerate(totals[method])
    ]


def study(options: Options) -> None:
    documents = read_documents()
    n_train = sum(document["modapte"] == "train" for document in documents)
    labels, rows = labels_of(documents, n_train)[0], []
    chosen = dict(list(SUSPECTS.items())[: 2 if options.quick else None])
    for name, scheme in progress(chosen.items(), len(chosen), "suspects"):
        log_odds: dict[str, list[Array]] = {BASELINE: [], RIVAL: [], RAW: []}
        for scores in scheme.classes(documents, labels, n_train):
            log_odds[RAW].append(scores.test)
            for method, calibrator in VARIANT_METHODS.items():
                log_odds[method].append(calibrated_log_odds(calibrator, scores))
        decided = {name: Decisions(np.column_stack(columns), labels[n_train:]) for name, columns in log_odds.items()}
        totals = {name: (d.bits.sum(), d.squared_error.sum(), d.errors.sum()) for name, d in decided.items()}
        rows.append([name, *cells_of(totals)])
    published = "; ".join(f"{m}: {PUBLISHED['naive Bayes', m][0]:.0f} bits" for m in (BASELINE, RIVAL, RAW))
    measures = ("bits", "squared error", "errors")
    lines = [
        "# Suspects for the totals of calibrated naive Bayes",
        "",
        "One change at a time; totals over the ten largest classes of Reuters-21578, in brackets against what Bennett "
        f"(2003) printed ({published}).",
        "",
        *markdown(["", *(f"{method}: {m}" for method in (BASELINE, RIVAL, RAW) for m in measures)], rows),
    ]
    write_tables(lines, options.output)


if __name__ == "__main__":
    raise SystemExit(main("bennett_suspects", __doc__, study))
