"""The voted perceptron of Freund & Schapire (1999), with the score that Bennett (2003) proposes for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

EPOCHS = 5
PSEUDO_VOTE = 1e-4  # of all weights, added to either side: no score is infinite, and none depends on the number of rows

Array = NDArray[np.float64]


def voted_perceptron(X: csr_matrix, y: NDArray[np.int64], other: csr_matrix) -> Array:
    """ln of the weight of the perceptrons voting + over that of those voting -, for the documents `other`.

    Rosenblatt's perceptron is corrected at every document that it gets wrong; each version has a vote, weighted by the
    number of documents it was right about before it was corrected. Documents come in a random order, the same in all
    epochs, with a constant 1 as a further word.
    """
    order = np.random.default_rng(0).permutation(X.shape[0])
    rows, signs = with_constant(X)[order], np.where(y[order] > 0, 1.0, -1.0)
    signed = rows * signs[:, None]
    now, votes, versions, weights = np.zeros(rows.shape[1]), 0, [], []
    for _ in range(EPOCHS):
        for row in signed:
            if row @ now > 0.0:
                votes += 1
            else:
                versions.append(now)
                weights.append(votes)
                now, votes = now + row, 1
    versions.append(now)
    weights.append(votes)
    share = (with_constant(other) @ np.array(versions).T > 0.0) @ np.array(weights, dtype=np.float64) / sum(weights)
    return np.log(share + PSEUDO_VOTE) - np.log(1.0 - share + PSEUDO_VOTE)


def with_constant(X: csr_matrix) -> Array:
    return np.column_stack([X.toarray(), np.ones(X.shape[0])])
