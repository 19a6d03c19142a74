"""Products, moments and gradients on a CUDA card from one reading of X, by Triton, which comes with PyTorch.

The plain path converts X to float64 block by block, and so moves several times the bytes of float32 data. Here rows are
converted in the registers of the card. It is the only compiled code of the project (decision 14): everything that it
computes is computed by the plain path as well, to which it is tested equal. `properly.numeric.arrays.fused_for` says
where it is used.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

FORMULAS = {"logit": 0, "gev": 1, "loglog": 2, "cloglog": 3, "probit": 4}  # of `_probability`

_ROWS = 64  # of a tile: fewer take two to three times as long
_WAVES = 8  # programs per multiprocessor


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
        p = tl.where(inside, tl.exp(-tl.exp(-log_u / c)), tl.where(c > 0.0, 0.0, 1.0))
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
    K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, FORMULA: tl.constexpr, T: tl.constexpr,
    POSITIVE: tl.constexpr, WEIGHTED: tl.constexpr, SHIFTED: tl.constexpr, CENTRED: tl.constexpr,
):  # fmt: skip
    """Σ weight (p - y) (x, 1) over the tiles of every program; parameters: coefficients, intercept, c, centre."""
    program = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    used = column < K
    w = tl.load(parameters + column, mask=used, other=0.0).to(T)
    b = tl.load(parameters + K).to(T)
    c = tl.load(parameters + K + 1).to(T)
    total = tl.zeros((WIDTH,), tl.float64)
    total_b = tl.zeros((ROWS,), tl.float64)
    for start in range(program * ROWS, n, tl.num_programs(0) * ROWS):
        row = start + tl.arange(0, ROWS)
        inside = row < n
        place = row[:, None].to(tl.int64) * stride + column[None, :]
        x = tl.load(X + place, mask=inside[:, None] & used[None, :], other=0.0).to(T)
        if CENTRED:
            x -= tl.load(parameters + K + 2 + column, mask=used, other=0.0).to(T)[None, :]
        v = tl.sum(x * w[None, :], 1) + b
        if SHIFTED:
            v += tl.load(offset + row, mask=inside, other=0.0).to(T)
        own = tl.load(y + row, mask=inside, other=0) == POSITIVE
        slope = _probability(v, c, FORMULA) - own.to(T)
        if WEIGHTED:
            slope *= tl.load(weight + row, mask=inside, other=0.0).to(T)
        slope = tl.where(inside, slope, 0.0)
        total += tl.sum(x * slope[:, None], 0).to(tl.float64)
        total_b += slope.to(tl.float64)
    tl.store(out + program * (K + 1) + column, total, mask=used)
    tl.store(out + program * (K + 1) + K, tl.sum(total_b, 0))


@triton.jit
def _moments(
    X, stride, weight, out, n, K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr
):  # fmt: skip
    """Σ weight x and Σ weight x² over the tiles of every program."""
    program = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    used = column < K
    total = tl.zeros((WIDTH,), tl.float64)
    squares = tl.zeros((WIDTH,), tl.float64)
    for start in range(program * ROWS, n, tl.num_programs(0) * ROWS):
        row = start + tl.arange(0, ROWS)
        inside = row < n
        place = row[:, None].to(tl.int64) * stride + column[None, :]
        x = tl.load(X + place, mask=inside[:, None] & used[None, :], other=0.0).to(tl.float64)
        weighted = x
        if WEIGHTED:
            weighted = x * tl.load(weight + row, mask=inside, other=0.0)[:, None]
        total += tl.sum(weighted, 0)
        squares += tl.sum(weighted * x, 0)
    tl.store(out + program * 2 * K + column, total, mask=used)
    tl.store(out + program * 2 * K + K + column, squares, mask=used)


@triton.jit
def _product(
    X, stride, matrix, out, n, K: tl.constexpr, M: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """X @ matrix in float64, for a matrix (K, M) of few columns."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside, used = row < n, column < K
    place = row[:, None] * stride + column[None, :]
    x = tl.load(X + place, mask=inside[:, None] & used[None, :], other=0.0).to(tl.float64)
    for m in tl.static_range(M):
        w = tl.load(matrix + column * M + m, mask=used, other=0.0)
        tl.store(out + row * M + m, tl.sum(x * w[None, :], 1), mask=inside)


def gradient(
    X: Any, y: Any, weight: Any, offset: Any, center: Any, coef: Any, formula: tuple[str, float], positive: int,
    *, rough: bool = False,
) -> Any:  # fmt: skip
    """Σ weight (p - y) (x - center, 1), in float64; `rough` computes every row in float32.

    `coef` has an intercept at its end if it is longer than a row; `formula` is a key of `FORMULAS`, and its number c.
    """
    n, k = X.shape
    parameters = np.zeros(2 * k + 2)
    parameters[: len(coef)], parameters[k + 1] = coef, formula[1]
    if center is not None:
        parameters[k + 2 :] = center
    programs, tile = _launch(X)
    out = torch.empty((programs, k + 1), dtype=torch.float64, device=X.device)
    _gradient[(programs,)](
        X, X.stride(0), y, y if weight is None else weight, y if offset is None else offset,
        torch.asarray(parameters, device=X.device), out, n,
        **tile, FORMULA=FORMULAS[formula[0]], T=tl.float32 if rough else tl.float64, POSITIVE=positive,
        WEIGHTED=weight is not None, SHIFTED=offset is not None, CENTRED=center is not None,
    )  # fmt: skip
    return torch.sum(out, dim=0)[: len(coef)]


def moments(X: Any, weight: Any) -> Any:
    """Σ weight x and Σ weight x², in float64, as the rows of a tensor."""
    programs, tile = _launch(X)
    out = torch.empty((programs, 2, X.shape[1]), dtype=torch.float64, device=X.device)
    ones = X if weight is None else weight
    _moments[(programs,)](X, X.stride(0), ones, out, X.shape[0], **tile, WEIGHTED=weight is not None)
    return torch.sum(out, dim=0)


def product(X: Any, matrix: Any) -> Any:
    """X @ matrix, of NumPy, in float64."""
    out = torch.empty((X.shape[0], matrix.shape[1]), dtype=torch.float64, device=X.device)
    if X.shape[0]:
        columns = torch.asarray(np.ascontiguousarray(matrix), device=X.device)
        grid = (math.ceil(X.shape[0] / _ROWS),)
        _product[grid](X, X.stride(0), columns, out, X.shape[0], **_launch(X)[1], M=matrix.shape[1])
    return out


def _launch(X: Any) -> tuple[int, dict[str, int]]:
    """The number of programs that share the rows, and the size of their tiles."""
    tile = {"K": X.shape[1], "WIDTH": triton.next_power_of_2(X.shape[1]), "ROWS": _ROWS, "num_warps": 4}
    return min(_programs(X.device), math.ceil(X.shape[0] / _ROWS)), tile


@cache
def _programs(device: Any) -> int:
    if device.type != "cuda":  # Triton's interpreter, in tests
        return 4
    return _WAVES * int(torch.cuda.get_device_properties(device).multi_processor_count)
