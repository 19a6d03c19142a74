"""A small language for ONNX graphs: values that can be added, compared and looked up, as arrays can.

All numbers are float64. What ONNX has no operator for is made of those it has, such that it keeps its digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.optional import require

OPSET, IR_VERSION, ML_OPSET = 18, 8, 3  # of ONNX 1.13; later runtimes read them, too


@dataclass
class Graph:
    """The nodes and constants so far, how their names begin, and how exact values are, relative to their size."""

    prefix: str = ""
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    rounding: float = 1e-12

    def apply(self, operator: str, *inputs: Value | ArrayLike, **attributes: Any) -> Value:
        """The output of one operator; inputs that are not values become constants."""
        names = [self.value(each).name for each in inputs]
        output = f"{self.prefix}{operator}_{len(self.nodes)}"
        self.nodes.append(require("onnx", "onnx").helper.make_node(operator, names, [output], **attributes))
        return Value(self, output)

    def value(self, x: Value | ArrayLike) -> Value:
        """A value as it is, an array as a constant of its type, and a number as one in float64."""
        if isinstance(x, Value):
            return x
        return self.constant(x if isinstance(x, np.ndarray) else np.asarray(x, dtype=np.float64))

    def constant(self, array: NDArray[Any]) -> Value:
        onnx = require("onnx", "onnx")
        name = f"{self.prefix}constant_{len(self.constants)}"
        if array.dtype.kind in "OU":
            strings = [str(each).encode() for each in array.ravel()]
            tensor = onnx.helper.make_tensor(name, onnx.TensorProto.STRING, array.shape, strings)
        else:
            tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.constants.append(tensor)
        return Value(self, name)

    def merge(self, model: Any, inputs: dict[str, str]) -> dict[str, Value]:
        """The outputs of another model whose inputs are read from values of this graph."""
        onnx = require("onnx", "onnx")
        prefix = f"part_{len(self.nodes)}_"
        other = onnx.compose.add_prefix(model, prefix).graph
        names = {prefix + inner: outer for inner, outer in inputs.items()}
        for node in other.node:
            node.input[:] = [names.get(name, name) for name in node.input]
        self.nodes.extend(other.node)
        self.constants.extend(other.initializer)
        return {output.name.removeprefix(prefix): Value(self, output.name) for output in other.output}


@dataclass(frozen=True, eq=False)
class Value:
    """The name of an array in a graph, most often of shape (rows, columns)."""

    graph: Graph
    name: str

    __array_ufunc__ = None  # an array on the left leaves the operator to this class

    def __add__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Add", self, other)

    def __radd__(self, other: ArrayLike) -> Value:
        return self.graph.apply("Add", other, self)

    def __sub__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Sub", self, other)

    def __rsub__(self, other: ArrayLike) -> Value:
        return self.graph.apply("Sub", other, self)

    def __mul__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Mul", self, other)

    def __rmul__(self, other: ArrayLike) -> Value:
        return self.graph.apply("Mul", other, self)

    def __truediv__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Div", self, other)

    def __rtruediv__(self, other: ArrayLike) -> Value:
        return self.graph.apply("Div", other, self)

    def __matmul__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph.apply("Neg", self)

    def __abs__(self) -> Value:
        return self.graph.apply("Abs", self)

    def __lt__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Less", self, other)

    def __le__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("LessOrEqual", self, other)

    def __gt__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Greater", self, other)

    def __ge__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("GreaterOrEqual", self, other)

    def exp(self) -> Value:
        return self.graph.apply("Exp", self)

    def log(self) -> Value:
        return self.graph.apply("Log", self)

    def sqrt(self) -> Value:
        return self.graph.apply("Sqrt", self)

    def maximum(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Max", self, other)

    def minimum(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Min", self, other)

    def clip(self, low: float, high: float) -> Value:
        result = self if low == -np.inf else self.maximum(low)
        return result if high == np.inf else result.minimum(high)

    def where(self, yes: Value | ArrayLike, no: Value | ArrayLike) -> Value:
        """`yes` where this is true, `no` elsewhere."""
        return self.graph.apply("Where", self, yes, no)

    def sum(self) -> Value:
        """Over the columns, which leaves one."""
        return self.graph.apply("ReduceSum", self, np.array([1]), keepdims=1)

    def max(self) -> Value:
        """Over the columns, which leaves one."""
        return self.graph.apply("ReduceMax", self, np.array([1]), keepdims=1)

    def column(self, index: int) -> Value:
        return self.columns([index])

    def columns(self, indices: Sequence[int]) -> Value:
        return self.graph.apply("Gather", self, np.array(indices, dtype=np.int64), axis=1)

    def beside(self, *others: Value) -> Value:
        """This and the others as columns of one array."""
        return self.graph.apply("Concat", self, *others, axis=1) if others else self

    def entries(self, table: Value | NDArray[Any]) -> Value:
        """The entries of a one-dimensional table at these places."""
        return self.graph.apply("Gather", table, self, axis=0)

    def argmax(self) -> Value:
        """The column of the largest value of each row, the first of equals, of shape (rows,)."""
        return self.graph.apply("ArgMax", self, axis=1, keepdims=0)

    def cast(self, dtype: str) -> Value:
        return self.graph.apply("Cast", self, to=getattr(require("onnx", "onnx").TensorProto, dtype))

    def reshape(self, *shape: int) -> Value:
        return self.graph.apply("Reshape", self, np.array(shape, dtype=np.int64))


def log1p(x: Value) -> Value:
    """ln(1 + x), to the last digits also for small x: the error of 1 + x cancels in the ratio (Kahan)."""
    u = 1.0 + x
    return equal(u, 1.0).where(x, equal(u, np.inf).where(np.inf, u.log() * x / (u - 1.0)))


def expm1(x: Value) -> Value:
    """e^x - 1, to the last digits also for small x (Kahan)."""
    u = x.exp()
    return equal(u, 1.0).where(x, (u < 1e-17).where(-1.0, equal(u, np.inf).where(np.inf, (u - 1.0) * x / u.log())))


def equal(x: Value, y: Value | ArrayLike) -> Value:
    return x.graph.apply("Equal", x, y)


def log_expit(x: Value) -> Value:
    """ln 1/(1 + e^-x)."""
    return x.minimum(0.0) - log1p((-abs(x)).exp())


def logsumexp(x: Value) -> Value:
    """ln Σ exp over the columns, which leaves one; -∞ if all are."""
    largest = x.max().maximum(-np.finfo(np.float64).max)
    return largest + (x - largest).exp().sum().log()


def log_softmax(x: Value) -> Value:
    largest = x.max()
    shifted = x - largest
    return shifted - shifted.exp().sum().log()


def softmax(x: Value) -> Value:
    p = (x - x.max()).exp()
    return p / p.sum()


def places(x: Value, sorted_table: NDArray[np.float64], side: str) -> Value:
    """np.searchsorted(sorted_table, x, side): by bisection, so that neither time nor memory grow with the table.

    The steps are unrolled: a table of a million entries takes twenty.
    """
    size = len(sorted_table)
    depth = max(size, 1).bit_length()
    table = x.graph.value(np.append(sorted_table, np.full(2**depth - size, np.inf)))
    position = (x < x).cast("INT64")  # zeros, whatever x is
    for power in reversed(range(depth)):
        further = position.graph.apply("Add", position, np.array([2**power]))
        entry = position.graph.apply("Add", position, np.array([2**power - 1])).entries(table)
        beyond = entry <= x if side == "right" else entry < x
        position = beyond.where(further, position)
    return position.graph.apply("Min", position, np.array([size]))


def interpolated(x: Value, knots: NDArray[np.float64], values: NDArray[np.float64]) -> Value:
    """np.interp: straight lines between the knots, constant beyond them."""
    gaps = np.diff(knots)
    slopes = np.divide(np.diff(values), gaps, out=np.zeros(len(gaps)), where=gaps > 0.0)
    inside = x.clip(float(knots[0]), float(knots[-1]))
    right = places(inside, knots, "right")
    left = right.graph.apply("Sub", right, np.array([1]))
    return left.entries(np.append(slopes, 0.0)) * (inside - left.entries(knots)) + left.entries(values)
