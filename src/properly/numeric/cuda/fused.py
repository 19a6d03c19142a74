"""Products, moments and gradients on a CUDA card from one reading of X, by Triton, which comes with PyTorch.

The plain path converts X to float64 block by block, and so moves several times the bytes of float32 data. Here rows are
converted in the registers of the card. It is the only compiled code of the project (decision 14): everything that it
computes is computed by the plain path as well, to which it is tested equal. `properly.numeric.arrays.fused_for` says
where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

FORMULAS = {"logit": 0, "gev": 1, "loglog": 2, "cloglog": 3, "probit": 4}  # of `_probability`

# The shape of a tile, the fastest of those tried on an H200. The columns of a row are shared by few threads, each with
# some blocks of them: they all compute its probability. Sums over rows stay in the threads until the last tile.
_LANES, _TILE, _UNROLLED = 64, 1024, 2  # columns side by side; rows of a tile times those
_WARPS, _WAVES = 8, 8  # of a program; programs per multiprocessor


@triton.jit
def _columns(BLOCKS: tl.constexpr, LANES: tl.constexpr):
    """The numbers of the columns, of shape (BLOCKS, LANES)."""
    return tl.arange(0, BLOCKS)[:, None] * LANES + tl.arange(0, LANES)[None, :]


@triton.jit
def _tile(X, stride, ALIGNED: tl.constexpr, row, inside, column, used):
    """The values of some rows, of shape (BLOCKS, ROWS, LANES); `stride` counts ALIGNED values."""
    place = row[None, :, None].to(tl.int64) * (stride * ALIGNED) + column[:, None, :]
    return tl.load(X + place, mask=inside[None, :, None] & used[:, None, :], other=0.0)


@triton.jit
def _scores(x, w):
    """x·w of every row."""
    return tl.sum(tl.sum(x * w[:, None, :], 0), 1)


@triton.jit
def _probability(v, c, FORMULA: tl.constexpr):
    """The probability of a score; c is ξ, or what else a formula needs."""
    if FORMULA == 0:
        small = tl.exp(-tl.abs(v))
        p = tl.where(v >= 0.0, 1.0, small) / (1.0 + small)
    elif FORMULA == 1:
        inside = c * v > -1.0
        z = tl.where(inside, c * v, 0.0)
        gap = (1.0 + z) - 1.0
        # ln(1 + z), with the digits that 1 + z has lost
        log_u = tl.where(gap == 0.0, z, tl.log(1.0 + z) * (z / tl.where(gap == 0.0, 1.0, gap)))
        p = tl.where(inside, tl.exp(-tl.exp(-log_u * (1.0 / c))), tl.where(c > 0.0, 0.0, 1.0))
    elif FORMULA == 2:
        p = tl.exp(-tl.exp(-v))
    elif FORMULA == 3:
        p = 1.0 - tl.exp(-tl.exp(v))
    else:
        p = 0.5 + 0.5 * tl.erf(v * c)  # c is √½
    return p


@triton.jit
def _gradient(
    X, stride, y, weight, offset, parameters, out, n,
    K: tl.constexpr, BLOCKS: tl.constexpr, LANES: tl.constexpr, ROWS: tl.constexpr, UNROLLED: tl.constexpr,
    ALIGNED: tl.constexpr, FORMULA: tl.constexpr, T: tl.constexpr, POSITIVE: tl.constexpr,
    WEIGHTED: tl.constexpr, SHIFTED: tl.constexpr, CENTRED: tl.constexpr,
):  # fmt: skip
    """Σ weight (p - y) (x, 1) over the tiles of every program; parameters: coefficients, intercept, c, centre."""
    program = tl.program_id(0)
    column = _columns(BLOCKS, LANES)
    used = column < K
    w = tl.load(parameters + column, mask=used, other=0.0).to(T)
    b = tl.load(parameters + K).to(T)
    c = tl.load(parameters + K + 1).to(T)
    total = tl.zeros((BLOCKS, ROWS, LANES), tl.float64)
    total_b = tl.zeros((ROWS,), tl.float64)
    for first in range(program * ROWS * UNROLLED, n, tl.num_programs(0) * ROWS * UNROLLED):
        for tile in tl.static_range(UNROLLED):
            row = first + tile * ROWS + tl.arange(0, ROWS)
            inside = row < n
            x = _tile(X, stride, ALIGNED, row, inside, column, used).to(T)
            if CENTRED:
                x -= tl.load(parameters + K + 2 + column, mask=used, other=0.0).to(T)[:, None, :]
            v = _scores(x, w) + b
            if SHIFTED:
                v += tl.load(offset + row, mask=inside, other=0.0).to(T)
            own = tl.load(y + row, mask=inside, other=0) == POSITIVE
            slope = _probability(v, c, FORMULA) - own.to(T)
            if WEIGHTED:
                slope *= tl.load(weight + row, mask=inside, other=0.0).to(T)
            slope = tl.where(inside, slope, 0.0)
            total += (x * slope[None, :, None]).to(tl.float64)
            total_b += slope.to(tl.float64)
    tl.store(out + program * (K + 1) + column, tl.sum(total, 1), mask=used)
    tl.store(out + program * (K + 1) + K, tl.sum(total_b, 0))


@triton.jit
def _moments(
    X, stride, weight, out, n, K: tl.constexpr, BLOCKS: tl.constexpr, LANES: tl.constexpr, ROWS: tl.constexpr,
    UNROLLED: tl.constexpr, ALIGNED: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Σ weight x and Σ weight x² over the tiles of every program."""
    program = tl.program_id(0)
    column = _columns(BLOCKS, LANES)
    used = column < K
    total = tl.zeros((BLOCKS, ROWS, LANES), tl.float64)
    squares = tl.zeros((BLOCKS, ROWS, LANES), tl.float64)
    for first in range(program * ROWS * UNROLLED, n, tl.num_programs(0) * ROWS * UNROLLED):
        for tile in tl.static_range(UNROLLED):
            row = first + tile * ROWS + tl.arange(0, ROWS)
            inside = row < n
            x = _tile(X, stride, ALIGNED, row, inside, column, used).to(tl.float64)
            weighted = x
            if WEIGHTED:
                weighted = x * tl.load(weight + row, mask=inside, other=0.0)[None, :, None]
            total += weighted
            squares += weighted * x
    tl.store(out + program * 2 * K + column, tl.sum(total, 1), mask=used)
    tl.store(out + program * 2 * K + K + column, tl.sum(squares, 1), mask=used)


@triton.jit
def _product(
    X, stride, matrix, out, n, K: tl.constexpr, M: tl.constexpr, BLOCKS: tl.constexpr, LANES: tl.constexpr,
    ROWS: tl.constexpr, UNROLLED: tl.constexpr, ALIGNED: tl.constexpr,
):  # fmt: skip
    """X @ matrix in float64, for a matrix (K, M) of few columns."""
    column = _columns(BLOCKS, LANES)
    used = column < K
    for tile in tl.static_range(UNROLLED):
        row = (tl.program_id(0) * UNROLLED + tile) * ROWS + tl.arange(0, ROWS)
        inside = row < n
        x = _tile(X, stride, ALIGNED, row, inside, column, used).to(tl.float64)
        for m in tl.static_range(M):
            w = tl.load(matrix + column * M + m, mask=used, other=0.0)
            tl.store(out + row.to(tl.int64) * M + m, _scores(x, w), mask=inside)


def _on_its_card(launch: Callable[..., Any]) -> Callable[..., Any]:
    """Triton launches on the current card, which X, the first argument, need not be on."""

    @wraps(launch)
    def launched(X: Any, *more: Any, **named: Any) -> Any:
        with torch.cuda.device_of(X):
            return launch(X, *more, **named)

    return launched


@_on_its_card
def gradient(
    X: Any, y: Any, weight: Any, offset: Any, center: Any, coef: Any, formula: tuple[str, float], positive: int,
    *, rough: bool = False,
) -> Any:  # fmt: skip
    """Σ weight (p - y) (x - center, 1), in float64; `rough` computes every row in float32.

    `coef` has an intercept at its end if it is longer than a row; `formula` is a key of `FORMULAS`, and its number c.
    """
    n, k = X.shape
    y, weight, offset = (None if x is None else x.contiguous() for x in (y, weight, offset))
    parameters = np.zeros(2 * k + 2)
    parameters[: len(coef)], parameters[k + 1] = coef, formula[1]
    if center is not None:
        parameters[k + 2 :] = center
    tiles, stride, shape = _cut(X)
    programs = min(tiles, _programs(X.device))
    out = torch.empty((programs, k + 1), dtype=torch.float64, device=X.device)
    _gradient[(programs,)](
        X, stride, y, y if weight is None else weight, y if offset is None else offset,
        torch.asarray(parameters, device=X.device), out, n,
        **shape, FORMULA=FORMULAS[formula[0]], T=tl.float32 if rough else tl.float64, POSITIVE=positive,
        WEIGHTED=weight is not None, SHIFTED=offset is not None, CENTRED=center is not None,
    )  # fmt: skip
    return torch.sum(out, dim=0)[: len(coef)]


@_on_its_card
def moments(X: Any, weight: Any) -> Any:
    """Σ weight x and Σ weight x², in float64, as the rows of a tensor."""
    tiles, stride, shape = _cut(X)
    programs = min(tiles, _programs(X.device))
    out = torch.empty((programs, 2, X.shape[1]), dtype=torch.float64, device=X.device)
    ones = X if weight is None else weight.contiguous()
    _moments[(programs,)](X, stride, ones, out, X.shape[0], **shape, WEIGHTED=weight is not None)
    return torch.sum(out, dim=0)


@_on_its_card
def product(X: Any, matrix: Any) -> Any:
    """X @ matrix, of NumPy, in float64."""
    out = torch.empty((X.shape[0], matrix.shape[1]), dtype=torch.float64, device=X.device)
    if X.shape[0]:
        columns = torch.asarray(np.ascontiguousarray(matrix), device=X.device)
        tiles, stride, shape = _cut(X)
        _product[(tiles,)](X, stride, columns, out, X.shape[0], M=matrix.shape[1], **shape)
    return out


def try_out(device: Any) -> None:
    """Compile and run the smallest kernel; any error is that of Triton."""
    moments(torch.ones((1, 1), dtype=torch.float64, device=device), None)


def _cut(X: Any) -> tuple[int, int, dict[str, int]]:
    """The number of tiles, the distance between rows in the unit of ALIGNED values, and the shape of the tiles."""
    n, k = X.shape
    lanes = min(_LANES, triton.next_power_of_2(k))
    aligned = math.gcd(X.stride(0), 16)  # so that loads of several values are known to be possible
    shape = {"K": k, "BLOCKS": triton.next_power_of_2(math.ceil(k / lanes)), "LANES": lanes}
    shape |= {"ROWS": _TILE // lanes, "UNROLLED": _UNROLLED, "ALIGNED": aligned, "num_warps": _WARPS}
    return math.ceil(n / (_TILE // lanes * _UNROLLED)), X.stride(0) // aligned, shape


@cache
def _programs(device: Any) -> int:
    if device.type != "cuda":  # Triton's interpreter, in tests
        return 4
    return _WAVES * int(torch.cuda.get_device_properties(device).multi_processor_count)
