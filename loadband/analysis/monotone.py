"""Least-squares monotone and unimodal sequences, many at a time.

Model. A measured sequence is a monotone (or unimodal) one plus noise of known relative weights. The best monotone fit
at place i is max over a <= i of min over b >= i of the weighted mean from a to b; written so, it needs no loop over the
sequences, and 200 replicates of a curve are fitted as fast as one. The best unimodal fit rises up to some place and
falls after it: every place is tried, the smallest weighted sum of squares wins, of equals the first.

Assumptions and failure modes. Memory grows with sequences x length^2: meant for levels (tens), not for samples.
References: R. E. Barlow et al., Statistical Inference under Order Restrictions (1972), eq. 1.10 (max-min formula);
Q. F. Stout, "Unimodal regression via prefix isotonic regression", CSDA 53 (2008) 289.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rising(values: Floats, weights: Floats) -> Floats:
    """Isotonic fit of each row of `values` (..., K); `weights` (K)."""
    return _rising(_means(values, weights))


def falling(values: Floats, weights: Floats) -> Floats:
    """Antitonic fit of each row."""
    return -rising(-values, weights)


def unimodal(values: Floats, weights: Floats) -> Floats:
    """Fit of each row that rises up to some place and falls after it."""
    rows = np.atleast_2d(values)
    up, down = _means(rows, weights), -_means(rows, weights)
    best = np.full(rows.shape[0], np.inf)
    fitted = rows.copy()
    for split in range(1, rows.shape[1] + 1):
        candidate = np.concatenate(
            [_rising(up[:, :split, :split]), -_rising(down[:, split:, split:])], axis=1
        )  # fmt: skip
        squares = ((rows - candidate) ** 2) @ weights
        better = squares < best - 1e-12
        fitted[better], best[better] = candidate[better], squares[better]
    shaped: Floats = fitted.reshape(values.shape)
    return shaped


def _means(values: Floats, weights: Floats) -> Floats:
    """Weighted means from place a to place b, as (..., a, b); only a <= b means anything."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    shifted = values - values[..., :1]  # large common values would cost digits
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(shifted * weights, axis=-1)], axis=-1)
    spans = total[None, 1:] - total[:-1, None]
    means: Floats = (sums[..., None, 1:] - sums[..., :-1, None]) / np.where(spans > 0, spans, 1.0)
    return means + values[..., :1, None]


def _rising(means: Floats) -> Floats:
    size = means.shape[-1]
    upper = np.triu(np.ones((size, size), dtype=bool))
    least = np.minimum.accumulate(np.where(upper, means, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    most = np.maximum.accumulate(np.where(upper, least, -np.inf), axis=-2)
    fitted: Floats = np.diagonal(most, axis1=-2, axis2=-1).copy()
    return fitted
