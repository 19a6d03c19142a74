"""Reuters-21578 as Bennett (2003) used it: the documents, his choice of words, and the scores of his classifiers.

The collection is read in place from the folder named by the environment variable PROPERLY_DATA and never copied: its
owner allows distribution for research only.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import xlogy
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from study import read_verified
from voted_perceptron import voted_perceptron

FILE = Path("reuters21578") / "reuters21578.jsonl.gz"
SHA256 = "a23b303c33a0044527518a2ddbfe03e2fc3bb2160924521f92cd76d174bb3e17"
ORIGIN = f"""\
Reuters-21578, distribution 1.0 (D. D. Lewis, 1997; free for research only) was published at
http://www.daviddlewis.com/resources/testcollections/reuters21578 as 22 SGML files; copies are on GitHub, for example
colibri17/TextCategorization. Here they are expected as one file of JSON lines, {FILE},
one document a line with newid, modapte (train, test or unused), topics, title and body; its sha256 is
{SHA256}."""

N_CLASSES, N_WORDS, N_FOLDS, LEAST_DOCUMENTS = 10, 300, 5, 3

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Document = dict[str, Any]


@dataclass(frozen=True)
class Preparation:
    """How text becomes numbers: what a word is, what its count in a document is turned into, and whether each document
    is then scaled to unit Euclidean length over the chosen words."""

    words: str
    counts: str
    unit_length: bool

    def __str__(self) -> str:
        return f"{self.counts}, {'unit length' if self.unit_length else 'length kept'}, words of {self.words}"


# A word is a run of these characters, in lower case.
WORDS = {"letters and digits": "[a-z0-9]+", "letters": "[a-z]+"}
COUNTS: dict[str, Callable[[Array], Array]] = {"count": np.positive, "log(1 + count)": np.log1p, "presence": np.sign}


@dataclass(frozen=True)
class Collection:
    """The ModApte split: prepared word counts, and the labels of the classes, a column each."""

    train: csr_matrix
    test: csr_matrix
    y_train: Labels
    y_test: Labels
    classes: list[str]
    preparation: Preparation


@dataclass(frozen=True)
class Scores:
    """Scores of one class: out of fold for the training documents; for the test documents, of the classifier fitted
    on all training documents."""

    name: str
    train: Array
    y_train: Labels
    test: Array
    y_test: Labels


def read_documents() -> list[Document]:
    """The documents of the ModApte split, training documents first, each part in the order of the collection."""
    content = read_verified(FILE, SHA256, ORIGIN)
    documents = [json.loads(line) for line in gzip.decompress(content).splitlines()]
    return [document for split in ("train", "test") for document in documents if document["modapte"] == split]


def labels_of(documents: list[Document], n_train: int, n_classes: int | None = N_CLASSES) -> tuple[Labels, list[str]]:
    """Labels of the classes with most training documents, a column each; None: all that test documents have, too."""
    topics = CountVectorizer(analyzer=set, dtype=np.int64)
    labels = topics.fit_transform(document["topics"] for document in documents)
    size, size_of_test = (np.asarray(part.sum(axis=0)).ravel() for part in (labels[:n_train], labels[n_train:]))
    largest = np.argsort(-size, kind="stable")
    largest = largest[(size * size_of_test)[largest] > 0] if n_classes is None else largest[:n_classes]
    return labels[:, largest].toarray(), topics.get_feature_names_out()[largest].tolist()


def prepare(documents: list[Document], preparation: Preparation, n_classes: int | None = N_CLASSES) -> Collection:
    """Count words and find the largest classes, both by the training documents alone."""
    n_train = sum(document["modapte"] == "train" for document in documents)
    texts = [f"{document['title'] or ''}\n{document['body'] or ''}" for document in documents]
    vectorizer = CountVectorizer(token_pattern=WORDS[preparation.words], min_df=LEAST_DOCUMENTS, dtype=np.float64)
    train, test = vectorizer.fit_transform(texts[:n_train]), vectorizer.transform(texts[n_train:])
    for counts in (train, test):
        counts.data = COUNTS[preparation.counts](counts.data)
    y, classes = labels_of(documents, n_train, n_classes)
    return Collection(train, test, y[:n_train], y[n_train:], classes, preparation)


def mutual_information(X: csr_matrix, y: Labels) -> Array:
    """Mutual information, in nats, between the class and the presence of each word in a document."""
    n, n_class = X.shape[0], float(y.sum())
    present = (X > 0).astype(np.float64)
    n_word = np.asarray(present.sum(axis=0)).ravel()
    both = present.T @ y.astype(np.float64)
    information = np.zeros(X.shape[1])
    for joint, words, documents in (
        (both, n_word, n_class),
        (n_word - both, n_word, n - n_class),
        (n_class - both, n - n_word, n_class),
        (n - n_word - n_class + both, n - n_word, n - n_class),
    ):
        independent = words * documents / n
        # An empty cell adds nothing: 0 · log 0 = 0.
        information += xlogy(joint, np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)) / n
    return information


def naive_bayes(X: csr_matrix, y: Labels, other: csr_matrix) -> Array:
    """Log-odds of multinomial naive Bayes for the documents `other`.

    The word probabilities of a class are (n_w + m f_w) / (n + m), with f_w the overall frequency of the word (the
    "word prior") and m the number of words; the class probability is (N₊ + 1) / (N + 2).
    """
    overall = np.asarray(X.sum(axis=0)).ravel()
    prior = len(overall) * overall / overall.sum()
    in_class = X.T @ y.astype(np.float64)
    positive, negative = in_class + prior, overall - in_class + prior
    slope = np.log(positive / positive.sum()) - np.log(negative / negative.sum())
    return other @ slope + np.log((y.sum() + 1) / (len(y) - y.sum() + 1))


def linear_svm(X: csr_matrix, y: Labels, other: csr_matrix) -> Array:
    """Raw score of a linear support vector machine with hinge loss, C = 1 over the mean squared length of a document.

    That C does not depend on the scale of the features; it is the default of Joachims' SVMlight. Without a document of
    the class all scores are -1, the margin of the others.
    """
    if not y.any():
        return np.full(other.shape[0], -1.0)
    C = X.shape[0] / X.power(2).sum()
    return LinearSVC(loss="hinge", C=C, max_iter=100_000, random_state=0).fit(X, y).decision_function(other)


CLASSIFIERS = {"naive Bayes": naive_bayes, "linear SVM": linear_svm, "voted perceptron": voted_perceptron}


def score_classes(collection: Collection, classifier: str) -> Iterator[Scores]:
    """Scores, class by class. Words are chosen within each fold: held-out labels play no part in held-out scores."""
    train, test = collection.train, collection.test
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(np.arange(train.shape[0])))

    def fit_and_score(X: csr_matrix, y: Labels, other: csr_matrix) -> Array:
        chosen = np.sort(np.argsort(-mutual_information(X, y), kind="stable")[:N_WORDS])
        X, other = X[:, chosen], other[:, chosen]
        if collection.preparation.unit_length:
            X, other = normalize(X), normalize(other)
        return CLASSIFIERS[classifier](X, y, other)

    for name, y, y_test in zip(collection.classes, collection.y_train.T, collection.y_test.T, strict=True):
        out_of_fold = np.empty(len(y))
        for rows, held_out in folds:
            out_of_fold[held_out] = fit_and_score(train[rows], y[rows], train[held_out])
        yield Scores(name, out_of_fold, y, fit_and_score(train, y, test), y_test)
