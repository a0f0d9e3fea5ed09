"""Calls of each primitive on data that has its corners, and programs of many of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npuc.compiler.layers.base import Array

_DTYPES = {"f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64}
SPECIAL = np.array([[np.nan, -np.inf, np.inf, -0.0], [0.0, 1.5, -2.5, 3.0]], np.float32)


@dataclass(frozen=True)
class Case:
    """An operation as text, with `%0`, `%1`, … for its operands; `given` are values of some of them, else random."""

    text: str
    given: Mapping[int, Array] = field(default_factory=dict[int, Array])
    exact: bool = False
    """Whether its results are equal to the bit."""
    within: float = 1e-5
    """The relative difference of results that are not."""

    @property
    def name(self) -> str:
        """The operation."""
        return self.text.split()[0]

    def types(self) -> tuple[list[str], list[str]]:
        """The types of operands and results."""
        before, _, after = self.text.rpartition("->")
        return re.findall(r"tensor<[^>]*>", before.rpartition(" : ")[2]), re.findall(r"tensor<[^>]*>", after)


def shape_and_dtype(type: str) -> tuple[tuple[int, ...], Any]:
    """What numpy calls a tensor type."""
    *sizes, element = type.removeprefix("tensor<").removesuffix(">").split("x")
    return tuple(map(int, sizes)), _DTYPES[element]


def random_value(type: str, random: np.random.Generator) -> Array:
    """Normal floats, small integers of both signs, booleans."""
    shape, dtype = shape_and_dtype(type)
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if np.issubdtype(dtype, np.integer):
        return random.integers(-5, 6, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def program(cases: Sequence[Case]) -> tuple[str, list[Array]]:
    """One function that makes all calls, and values of its arguments."""
    random = np.random.default_rng(0)
    arguments: list[str] = []
    values: list[Array] = []
    lines: list[str] = []
    results: list[tuple[str, str]] = []
    for number, case in enumerate(cases):
        operands, outs = case.types()
        text = case.text
        for place, type in enumerate(operands):
            text = re.sub(rf"%{place}\b", f"%a{number}_{place}", text)
            arguments.append(f'%a{number}_{place}: {type} {{npuc.name = "a{number}.{place}"}}')
            given = case.given.get(place)
            values.append(random_value(type, random) if given is None else given.astype(shape_and_dtype(type)[1]))
        names = [f"%r{number}_{place}" for place in range(len(outs))]
        lines.append(f"  {', '.join(names)} = {text}")
        results += zip(names, outs, strict=True)
    types = ", ".join(f'{type} {{npuc.name = "{name[1:]}"}}' for name, type in results)
    ending = f"  func.return {', '.join(name for name, _ in results)} : {', '.join(type for _, type in results)}"
    return f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n" + "\n".join([*lines, ending]) + "\n}\n", values


def _unary() -> Iterator[Case]:
    f = "(tensor<2x4xf32>) -> tensor<2x4xf32>"
    wide = np.array([[-3.0, -0.5, 0.0, 0.25], [1.0, 2.0, 0.7, -1.0]])
    positive = np.array([[1e-3, 0.5, 1.0, 0.25], [1.1, 2.0, 30.0, 7.0]])
    inside = np.array([[-0.9, -0.5, 0.0, 0.25], [0.1, 0.99, 0.7, -1e-3]])
    for name in ("abs", "ceil", "floor", "round"):
        yield Case(f"train.{name} %0 : {f}", {0: SPECIAL}, exact=True)
    for name in ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "erf"):
        yield Case(f"train.{name} %0 : {f}", {0: wide})
    for name in ("log", "log2", "log10", "log1p", "sqrt"):
        yield Case(f"train.{name} %0 : {f}", {0: positive})
    for name in ("asin", "acos", "atanh"):
        yield Case(f"train.{name} %0 : {f}", {0: inside})
    yield Case(f"train.acosh %0 : {f}", {0: positive + 1})
    far = np.array([[-1e30, -7.0, -5.9, -2.0, -0.3, -1e-9, 0.0], [1e-12, 0.5, 1.5, 4.0, 6.1, 1e30, np.nan]])
    for name in ("tanh", "erf"):
        yield Case(f"train.{name} %0 : (tensor<2x7xf64>) -> tensor<2x7xf64>", {0: far}, within=1e-14)
    logs = np.abs(far[:1]) + 1e-300
    yield Case("train.log2 %0 : (tensor<1x7xf64>) -> tensor<1x7xf64>", {0: logs}, within=1e-14)
    yield Case("train.abs %0 : (tensor<5xi32>) -> tensor<5xi32>", exact=True)
    yield Case("train.bitwise_not %0 : (tensor<5xi32>) -> tensor<5xi32>", exact=True)
    yield Case("train.logical_not %0 : (tensor<5xi1>) -> tensor<5xi1>", exact=True)
    yield Case("train.exp %0 : (tensor<f32>) -> tensor<f32>")
    for before, after in (
        *(("f32", "i32"), ("f32", "i1"), ("i32", "f32"), ("i1", "f32"), ("i1", "i32"), ("i32", "i1"), ("i32", "i64")),
        *(("i64", "i32"), ("i8", "f32"), ("f64", "f32"), ("f32", "f64")),
    ):
        yield Case(f"train.cast %0 : (tensor<2x3x{before}>) -> tensor<2x3x{after}>", exact=True)


def _binary() -> Iterator[Case]:
    for name in ("add", "sub", "mul", "div", "max", "min", "fmod", "atan2"):
        yield Case(f"train.{name} %0, %1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>")
    for name in ("add", "sub", "mul", "max", "min"):
        yield Case(f"train.{name} %0, %1 : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>", exact=True)
    for name in ("div", "fmod"):
        by = np.array([2, -3, 4])
        yield Case(f"train.{name} %0, %1 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>", {1: by}, exact=True)
    base = np.array([[0.5, 2.0, 3.0], [1.0, 0.1, 7.0]])
    yield Case("train.pow %0, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", {0: base})
    yield Case(
        "train.pow %0, %1 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>", {1: np.array([0, 2, 3])}, exact=True
    )
    other = SPECIAL[:, ::-1]
    for name in ("max", "min"):
        both = "(tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>"
        yield Case(f"train.{name} %0, %1 : {both}", {0: SPECIAL, 1: other}, exact=True)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        both = "(tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>"
        yield Case(f"train.{name} %0, %1 : {both}", {0: SPECIAL, 1: other}, exact=True)
        yield Case(f"train.{name} %0, %1 : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi1>", exact=True)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield Case(f"train.{name} %0, %1 : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>", exact=True)
    for name in ("shift_left", "shift_right"):
        by = np.array([0, 3, 31, 40])
        yield Case(f"train.{name} %0, %1 : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>", {1: by}, exact=True)
    for name in ("logical_and", "logical_or"):
        yield Case(f"train.{name} %0, %1 : (tensor<2x4xi1>, tensor<4xi1>) -> tensor<2x4xi1>", exact=True)
    three = "(tensor<2x1xi1>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"
    yield Case(f"train.where %0, %1, %2 : {three}", exact=True)


def _shape() -> Iterator[Case]:
    for before, after in (
        *(("2x3x4", "6x4"), ("2x3x4", "24"), ("6x4", "2x3x2x2"), ("4x6", "8x3"), ("1x1", ""), ("", "1x1x1")),
        *(("2x1x3", "6x1"), ("6", "1x6x1"), ("1x6", "3x2")),
    ):
        types = (f"tensor<{'x'.join(filter(None, (shape, 'f32')))}>" for shape in (before, after))
        yield Case("train.reshape %0 : ({}) -> {}".format(*types), exact=True)
    yield Case("train.transpose %0 axes [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>", exact=True)
    yield Case("train.expand %0 : (tensor<3x1xf32>) -> tensor<2x3x4xf32>", exact=True)
    yield Case("train.expand %0 : (tensor<f32>) -> tensor<2xf32>", exact=True)
    yield Case("train.slice %0 starts [1, 2] : (tensor<4x6xf32>) -> tensor<3x2xf32>", exact=True)
    yield Case("train.slice %0 starts [1, 0] steps [2, 3] : (tensor<5x6xf32>) -> tensor<2x2xf32>", exact=True)
    yield Case("train.pad %0 starts [0, 1] : (tensor<2x3xf32>) -> tensor<4x5xf32>", exact=True)
    yield Case("train.pad %0 starts [1, 0] value -2.0 : (tensor<2x3xi32>) -> tensor<4x3xi32>", exact=True)
    padded = "steps [2, 3] value 1.5 : (tensor<2x3xf32>) -> tensor<5x9xf32>"
    yield Case(f"train.pad %0 starts [1, 0] {padded}", exact=True)
    both = "(tensor<4x6xf32>, tensor<2x3xf32>) -> tensor<4x6xf32>"
    yield Case(f"train.slice_put %0, %1 starts [1, 3] : {both}", exact=True)
    yield Case(f"train.slice_put %0, %1 starts [1, 0] steps [2, 2] : {both}", exact=True)
    parts = "(tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>"
    yield Case(f"train.concat %0, %1, %2 axis -1 : {parts}", exact=True)
    yield Case("train.flip %0 axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>", exact=True)


def _reductions() -> Iterator[Case]:
    for after in ("3", "1x3", "2x1", ""):
        out = "x".join(filter(None, (after, "f32")))
        yield Case(f"train.reduce %0 : (tensor<2x3xf32>) -> tensor<{out}>")
    yield Case("train.reduce %0 : (tensor<2x3xi32>) -> tensor<3xi32>", exact=True)
    for name in ("amax", "amin", "prod"):
        yield Case(f"train.{name} %0 axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>")
        yield Case(f"train.{name} %0 axes [1] : (tensor<2x3xi32>) -> tensor<2x1xi32>", exact=True)
    for name in ("amax", "amin"):
        yield Case(f"train.{name} %0 axes [1] : (tensor<2x4xf32>) -> tensor<2x1xf32>", {0: SPECIAL}, exact=True)
    equal = np.array([[1, 3, 3, 0], [np.nan, 9, np.nan, 2], [-np.inf, -np.inf, -np.inf, -np.inf]])
    for name in ("argmax", "argmin"):
        yield Case(f"train.{name} %0 axis 1 : (tensor<3x4xf32>) -> tensor<3x1xi32>", {0: equal}, exact=True)
        yield Case(f"train.{name} %0 axis 0 : (tensor<3x4x2xi32>) -> tensor<1x4x2xi32>", exact=True)


def _constants() -> Iterator[Case]:
    yield Case("train.constant value -1.5 : () -> tensor<2x3xf32>", exact=True)
    yield Case("train.constant value 3.0 : () -> tensor<i32>", exact=True)
    yield Case("train.arange start 2.0 step -3.0 : () -> tensor<5xf32>", exact=True)
    yield Case("train.arange start 0.1 step 0.3 : () -> tensor<5xf32>", exact=True)
    yield Case("train.arange : () -> tensor<4xi64>", exact=True)
    yield Case("train.integers values [0, -2, 1] : () -> tensor<3xi32>", exact=True)
    yield Case("train.integers values [0, 1, 1, 0] : () -> tensor<2x2xi1>", exact=True)
    yield Case("train.numbers values [0.5, -2.0, 1.0, 0.1] : () -> tensor<2x2xf32>", exact=True)


def _indexing() -> Iterator[Case]:
    p, q = np.array([[[1], [0], [3]], [[1], [1], [2]]]), np.array([[[4], [0], [-1]]])
    types = "(tensor<4x6x5xf32>, tensor<2x3x1xi32>, tensor<1x3x1xi64>) -> tensor<2x3x6xf32>"
    yield Case(f"train.index %0, %1, %2 axes [-1, 2, -1] negative : {types}", {1: p, 2: q}, exact=True)
    rows = np.array([[3], [0], [3], [1]])
    yield Case(
        "train.index %0, %1 axes [-1, 1] : (tensor<4x5xf32>, tensor<4x1xi32>) -> tensor<4x5xf32>", {1: rows}, exact=True
    )
    types = "(tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x1xi32>) -> tensor<4x5xf32>"
    for way in ("add", "mul", "max", "min"):
        yield Case(f'train.index_reduce %0, %1, %2 axes [-1, 1] reduce "{way}" : {types}', {2: rows})
    each = np.array([[0, 1, -1], [0, 0, 3]])
    types = "(tensor<4x6xf32>, tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<4x6xf32>"
    yield Case(f'train.index_reduce %0, %1, %2 axes [-1, 1] reduce "add" negative : {types}', {2: each})
    yield Case(f"train.index_put %0, %1, %2 axes [-1, 1] negative : {types}", {2: each}, exact=True)
    types = "(tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x1xi32>) -> tensor<4x5xf32>"
    yield Case(f"train.index_put %0, %1, %2 axes [-1, 1] : {types}", {2: rows}, exact=True)
    swapped = "(tensor<3x4x2xf32>, tensor<2x3x3xf32>, tensor<1x3x1xi64>) -> tensor<3x4x2xf32>"
    yield Case(f"train.index_put %0, %1, %2 axes [2, -1, 0] : {swapped}", {2: np.array([[[3], [0], [3]]])}, exact=True)
    two = "(tensor<3x4xf32>, tensor<5xf32>, tensor<5xi32>, tensor<5xi32>) -> tensor<3x4xf32>"
    at = {2: np.array([0, 2, 0, 1, 2]), 3: np.array([3, 1, 3, 0, 1])}
    yield Case(f'train.index_reduce %0, %1, %2, %3 axes [-1, -1] reduce "add" : {two}', at)
    yield Case(f"train.index_put %0, %1, %2, %3 axes [-1, -1] : {two}", at, exact=True)


def _sorting() -> Iterator[Case]:
    equal = np.array([[1, 3, 3, 0, -np.inf], [np.nan, 9, np.nan, 2, np.inf]])
    for way in ("", " descending"):
        yield Case(
            f"train.sort %0 axis 1{way} : (tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)",
            {0: equal},
            exact=True,
        )
        yield Case(f"train.sort %0 axis 0{way} : (tensor<5x2xi32>) -> (tensor<5x2xi32>, tensor<5x2xi32>)", exact=True)
        yield Case(f"train.argsort %0 axis -1{way} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi32>", exact=True)


def _contractions() -> Iterator[Case]:
    yield Case(
        "npu.contract (m = 2, n = 3, k = 4) ins(X = %0[m, k], W = %1[k, n]) outs(Y[m, n]) do(Y += X * W)"
        " : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>"
    )
    yield Case(
        "npu.contract (h = 2, m = 2, n = 3, k = 4) ins(X = %0[k, h, m], W = %1[h, n, k]) outs(Y[n, h, m])"
        " do(Y += X * W) : (tensor<4x2x2xf32>, tensor<2x3x4xf32>) -> tensor<3x2x2xf32>"
    )
    yield Case(
        "npu.contract (b = 2, o = 3, i = 2, y = 3, x = 2, r = 3, s = 2)"
        " ins(X = %0[b, i, y * 2 + r, x + s * 3], W = %1[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W)"
        " : (tensor<2x2x8x6xf32>, tensor<3x2x3x2xf32>) -> tensor<2x3x3x2xf32>"
    )
    # depthwise, and the gradient of a kernel: the window walks over the other operand
    yield Case(
        "npu.contract (b = 2, c = 3, y = 3, r = 2) ins(X = %0[b, c, y + r], W = %1[c, r]) outs(Y[b, c, y])"
        " do(Y += X * W) : (tensor<2x3x4xf32>, tensor<3x2xf32>) -> tensor<2x3x3xf32>"
    )
    yield Case(
        "npu.contract (b = 2, o = 3, i = 2, y = 3, r = 2)"
        " ins(X = %0[b, i, y * 2 + r], D = %1[b, o, y]) outs(V[o, i, r]) do(V += D * X)"
        " : (tensor<2x2x6xf32>, tensor<2x3x3xf32>) -> tensor<3x2x2xf32>"
    )
    yield Case(
        "npu.contract (m = 2, n = 3) ins(X = %0[m, 0], W = %1[0, n]) outs(Y[m, n]) do(Y += X * W)"
        " : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>"
    )
    yield Case(
        "npu.contract (m = 2, k = 4) ins(X = %0[m, k], W = %1[k]) outs(Y[m]) do(Y += X * W)"
        " : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2xf32>"
    )
    yield Case(
        "npu.contract (m = 2, n = 3, k = 4) ins(X = %0[m, k], W = %1[k, n]) outs(Y[m, n]) do(Y += X * W)"
        " : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>",
        exact=True,
    )


def _draws() -> Iterator[Case]:
    """Twice one shape, and others, under keys of all 64 bits; 2^63 - 1 would be another number as a float."""
    words = np.array(-(2**63)), np.array(2**63 - 1), np.array(0), np.array(-7)
    for shape, first, second in (("2x3", 0, 1), ("2x3", 2, 3), ("5x1x7", 1, 0), ("", 3, 2), ("1", 1, 1)):
        result = "x".join(filter(None, (shape, "i64")))
        yield Case(
            f"train.random_bits %0, %1 : (tensor<i64>, tensor<i64>) -> tensor<{result}>",
            {0: words[first], 1: words[second]},
            exact=True,
        )


CASES = tuple(
    case
    for family in (_unary, _binary, _shape, _reductions, _constants, _indexing, _sorting, _contractions, _draws)
    for case in family()
)
