"""Arrays of any library: formulas take their namespace from their input.

A formula begins with ``xp = namespace(v)`` and then uses the functions of the array API standard (2024.12): NumPy
itself for NumPy arrays, what array-api-compat gives for PyTorch, CuPy, JAX and other libraries. Constants are Python
floats, since a NumPy scalar would turn the arrays of some libraries into NumPy arrays. Functions that the standard does
not have are in `properly.numeric.functions`.

Arrays of ndonnx have no values: they record the operations for an ONNX graph. Their values cannot be checked, and a
formula must not branch on them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_NUMPY = (np.ndarray, np.generic, float, int)
_PLAIN = (*_NUMPY, list, tuple, type(None))


def namespace(*arrays: Any) -> Any:
    """The array namespace of checked arrays of one library; Python numbers belong to any.

    >>> namespace(np.zeros(3)) is np
    True
    """
    for array in arrays:
        if not isinstance(array, _NUMPY):
            from array_api_compat import array_namespace

            return array_namespace(array)
    return np


def is_traced(x: Any) -> bool:
    """Whether `x` is an array without values, which records operations for an ONNX graph."""
    return type(x).__module__.partition(".")[0] == "ndonnx"


def anywhere(condition: Any) -> bool:
    """Whether a condition holds for any element; False for arrays without values, which cannot be looked at."""
    if isinstance(condition, _NUMPY):
        return bool(condition.any())  # type: ignore[union-attr]
    return not is_traced(condition) and bool(namespace(condition).any(condition))


def is_boolean(x: Any) -> bool:
    """Whether the elements of an array are booleans."""
    dtype = x.dtype
    return dtype == np.bool_ if isinstance(dtype, np.dtype) else bool(namespace(x).isdtype(dtype, "bool"))


def floats(**inputs: ArrayLike | None) -> list[Any]:
    """The inputs, by name, as float64 arrays of one library: that of the arrays among them, or else NumPy.

    Lists, numbers and data frames become NumPy arrays if they come alone, and arrays of the library of the others if
    not. None stays None. Booleans are labels: only `y` may hold them.
    """
    for name, x in inputs.items():
        if name != "y":
            refuse_booleans(x, name)
    leader = require_one_library(**inputs)
    if leader is None:
        return [None if x is None else as_float(x, name) for name, x in inputs.items()]
    return [None if x is None else _float_like(x, leader, name) for name, x in inputs.items()]


def require_one_library(**inputs: Any) -> Any:
    """Refuse arrays of two libraries, on two devices or not dense; the first array that is not NumPy's, or None."""
    leader = first = None
    for name, x in inputs.items():
        require_values(x, name)
        if leader is None and is_foreign(x):
            first, leader = name, x
    if leader is not None:
        for name, x in inputs.items():
            if (isinstance(x, np.ndarray) or is_foreign(x)) and _library(x) != _library(leader):
                raise ValueError(
                    f"arrays of two libraries in one call: {first} is of {_library(leader)} and {name} of "
                    f"{_library(x)}; convert one of them first."
                )
            if is_foreign(x):
                _require_dense_on_one_device(x, name, leader, first)
    return leader


def _require_dense_on_one_device(x: Any, name: str, leader: Any, first: str | None) -> None:
    from array_api_compat import device

    if not is_traced(x) and device(x) != device(leader):
        raise ValueError(
            f"arrays on two devices in one call: {first} is on {device(leader)} and {name} on {device(x)}; move one of "
            "them first."
        )
    if str(getattr(x, "layout", "torch.strided")) != "torch.strided":
        raise ValueError(f"{name} must be dense, got a tensor of layout {x.layout}; pass {name}.to_dense().")
    if getattr(x, "is_meta", False):
        raise ValueError(f"{name} must have values, and tensors on the device 'meta' have none.")
    if getattr(x, "requires_grad", False):
        raise ValueError(f"{name} requires gradients, which are not computed here; pass {name}.detach().")


def as_float(x: ArrayLike, name: str) -> Array:
    """`x` as a NumPy array of float64, whatever it was."""
    if type(x) is np.ndarray and x.dtype == np.float64:
        return x
    require_values(x, name)
    if is_foreign(x):
        x = to_numpy(x)
    if getattr(getattr(x, "dtype", None), "kind", "") in ("c", "m", "M"):
        raise ValueError(f"{name} must be real numbers, got an array of {x.dtype}.")  # type: ignore[union-attr]
    try:
        if hasattr(x, "iloc"):  # of pandas, whose NA is no number to NumPy
            return np.asarray(x.to_numpy(dtype=np.float64, na_value=np.nan))  # type: ignore[union-attr]
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got a {type(x).__name__} that is not numeric.") from error


_ELSEWHERE = {"dask": "Dask", "pyspark": "Spark", "properly": "properly"}  # by package, whose types of rows they are


def require_values(x: Any, name: str) -> None:
    """Refuse what NumPy would make arrays of without a word: what lies behind a mask, and rows that are not in memory.

    Whatever takes data of Dask or Spark looks for them before it comes here.
    """
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            row = int(np.argwhere(np.ma.getmaskarray(x))[0][0])
            raise ValueError(
                f"{name} has masked entries, first in row {row}; drop such rows, or fill them with filled()."
            )
        return
    for kind in type(x).__mro__:
        library = _ELSEWHERE.get(kind.__module__.partition(".")[0])
        if library is not None:
            raise ValueError(
                f"{name} is of {library} ({type(x).__name__}), but rows must be in memory here; bring them there "
                "yourself (Dask: compute(), Spark: toPandas()) if there is room. Linear models, calibrators, most "
                "metrics and diagnostics, and audits take such data, if all that they are given is of that kind."
            )


def refuse_booleans(x: Any, name: str) -> None:
    """Booleans are labels or decisions: as scores or probabilities they are most likely a mistake."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return
    if dtype == np.bool_ if isinstance(dtype, np.dtype) else is_foreign(x) and is_boolean(x):
        raise ValueError(f"{name} must be numbers, got booleans; convert them to 0.0 and 1.0 if that is meant.")


def _float_like(x: Any, leader: Any, name: str) -> Any:
    require_values(x, name)
    xp = namespace(leader)
    if not is_foreign(x):
        return constant(as_float(x, name), leader)
    require_real(x, name)
    result = xp.astype(x, xp.float64, copy=False)
    if result.dtype != xp.float64:
        raise ValueError(f"{name} must be converted to float64, but {_library(x)} gave {result.dtype}; enable float64.")
    return result


def require_real(x: Any, name: str) -> None:
    """Refuse arrays of complex numbers; those of half precision are converted like others."""
    if not namespace(x).isdtype(x.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"{name} must be real numbers, got an array of {x.dtype}.")


def float_like(x: Any, leader: Any, name: str) -> Any:
    """`x` as an array of float64: of the library and on the device of `leader`, if that is not NumPy's."""
    return _float_like(x, leader, name) if is_foreign(leader) else as_float(x, name)


def is_foreign(x: Any) -> bool:
    """Whether `x` is an array of a library other than NumPy."""
    if isinstance(x, _PLAIN):
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(x))


def _library(x: Any) -> str:
    """The name of the library that an array belongs to."""
    return str(namespace(x).__name__).removeprefix("array_api_compat.").partition(".")[0]


def constant(values: ArrayLike, like: Any) -> Any:
    """Numbers, such as coefficients or knots, as an array of the library and on the device of another array."""
    if not is_foreign(like):
        return np.asarray(values)
    from array_api_compat import device

    return namespace(like).asarray(np.array(values), device=device(like))


def constant_like(values: Any, like: Any) -> Any:
    """The same, unless they are there already, or `like` is not of another library."""
    return constant(values, like) if is_foreign(like) and not is_foreign(values) else values


_WIDEST, _WIDEST_UNALIGNED = 256, 128  # columns that a fused kernel holds at once; where rows begin at any place
_MOST_ROWS = 2**31 - 2**23  # the kernels number rows in 32 bits, and their last step goes beyond the last row


def fused_for(X: Any) -> Any:
    """`properly.numeric.cuda.fused`, if it takes this array: of PyTorch, on a CUDA card, of rows in one piece."""
    if not getattr(X, "is_cuda", False) or X.ndim != 2 or X.stride(1) != 1 or not X.dtype.is_floating_point:
        return None
    widest = _WIDEST_UNALIGNED if X.stride(0) % 4 else _WIDEST
    return _fused(X.device) if 0 < X.shape[1] <= widest and X.shape[0] <= _MOST_ROWS else None


@cache
def _fused(device: Any) -> Any:
    """The kernels, if Triton is there and compiles for this card: it needs a C compiler, and not too old a card."""
    try:
        from properly.numeric.cuda import fused
    except ImportError:  # PyTorch without Triton
        return None
    try:
        fused.try_out(device)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(
            f"Triton cannot compile for {device} ({type(error).__name__}: {reason}), so that X is converted block by "
            "block, which takes several times as long; install a C compiler, or another version of PyTorch.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return fused


def columns_of(x: Any) -> list[Any]:
    """The columns of an array of shape (n, K)."""
    if is_traced(x):  # with fewer operators than a slice has
        xp = namespace(x)
        return [xp.squeeze(xp.take(x, constant([k], x), axis=1), axis=1) for k in range(x.shape[1])]
    return [x[:, k] for k in range(x.shape[1])]


def contiguous(x: Any) -> Any:
    """The same in one piece of memory, if it is of NumPy or PyTorch."""
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x)
    return x.contiguous() if hasattr(x, "contiguous") else x


def columns_at(x: Any, places: NDArray[np.intp]) -> Any:
    """Some of the columns of an array of shape (n, K)."""
    xp = namespace(x)
    return x[:, places] if xp is np else xp.take(x, constant(places, x), axis=1)


def beside(*parts: Any) -> Any:
    """Arrays of shape (n, K₁), (n, K₂), ... as one."""
    xp = namespace(*parts)
    return np.concatenate(parts, axis=1) if xp is np else xp.concat(parts, axis=1)


def as_integers(x: Any) -> Any:
    """Conditions, or whole numbers, as integers."""
    xp = namespace(x)
    return x.astype(np.intp) if xp is np else xp.astype(x, xp.int64)


def to_numpy(x: Any) -> NDArray[Any]:
    """The values of an array of any library, on the host."""
    if isinstance(x, _NUMPY):
        return np.asarray(x)
    require_values(x, "an array")
    if is_traced(x):
        raise ValueError(
            f"this needs numbers, and an array of {_library(x)}, here of shape {x.shape}, has none before its graph "
            "is run; call it with the results of the graph."
        )
    from array_api_compat import to_device

    if str(x.dtype).endswith("bfloat16"):  # NumPy has no such type; its values are exact in float32
        x = namespace(x).astype(x, namespace(x).float32)
    # The first two have no device of this name, and convert themselves.
    return np.asarray(x if _library(x) in ("array_api_strict", "jax") else to_device(x, "cpu"))


def all_to_numpy(values: Iterable[Any]) -> list[Any]:
    """Numbers and NumPy arrays as they are, arrays of another library as NumPy's of float64, copied all at once."""
    values = list(values)
    there = [x for x in values if is_foreign(x)]
    if not there:
        return values
    xp = namespace(there[0])
    joined = to_numpy(xp.concat([xp.reshape(xp.astype(x, xp.float64), (-1,)) for x in there]))
    parts = iter(np.split(joined, np.cumsum([math.prod(x.shape) for x in there])))
    return [_shaped(next(parts), x.shape) if is_foreign(x) else x for x in values]


def _shaped(numbers: Array, shape: tuple[int, ...]) -> Array | float:
    return numbers.reshape(shape) if shape else float(numbers[0])


def on_host(function: Callable[..., Any], *arrays: Any, what: str) -> Any:
    """function(*arrays), where the function, `what` in words, is written for NumPy only.

    Arrays of other libraries are copied to NumPy, and the result (or results) back to where they were. That is no way
    for arrays without values: those are refused.
    """
    leader = next((array for array in arrays if not isinstance(array, _NUMPY)), None)
    if leader is None:
        return function(*arrays)
    if is_traced(leader):
        raise NotImplementedError(
            f"{what} has no formula in ONNX operators, so it cannot be computed from {_library(leader)} arrays; use a "
            "loss and a link in closed form, such as LogLoss() and Logit()."
        )
    with np.errstate(all="ignore"):
        result = function(*(to_numpy(array) for array in arrays))
    if isinstance(result, tuple):
        return tuple(constant(part, leader) for part in result)
    return constant(result, leader)


def piecewise(condition: Any, function: Callable[[Any], Any], otherwise: Callable[[Any], Any], x: Any) -> Any:
    """function(x) where the condition holds and otherwise(x) elsewhere; with NumPy each only where it is needed."""
    xp = namespace(x)
    if xp is not np:
        return xp.where(condition, function(x), otherwise(x))
    x = np.asarray(x)
    result = np.empty_like(x)
    result[condition] = function(x[condition])
    result[~condition] = otherwise(x[~condition])
    return result
