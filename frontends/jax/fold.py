"""What is computed of numbers that the program holds: counters of loops, places, masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.frontends.jax.program import HloOp, HloType
from npuc.frontends.jax.values import MAX_FOLDED, Element, Known

KINDS: Mapping[str, str] = {
    **{"f32": "float32", "f64": "float64", "f16": "float32", "bf16": "float32", "bool": "bool"},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
ROUNDED = ("f16", "bf16")
"""Elements whose arithmetic numpy does not do: it is done in f32, and rounded."""
UNARY: Mapping[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "negate": np.negative,
    "not": np.logical_not,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "is_finite": np.isfinite,
}
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "or": np.bitwise_or,
    "remainder": np.fmod,
    "subtract": np.subtract,
    "xor": np.bitwise_xor,
    "power": np.power,
}
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
"""Computed of signed integers here, of unsigned ones in `random.py`."""


def _quotient(a: Array, b: Array) -> Array | None:
    """The quotient of integers as StableHLO has it, rounded towards zero; None for a division by zero."""
    if not b.all() or (a.dtype.kind == "i" and bool(((b == -1) & (a == np.iinfo(a.dtype).min)).any())):
        return None
    whole = np.floor_divide(a, b)
    return (whole + ((whole < 0) & (whole * b != a)).astype(a.dtype)).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array | None:
    """The remainder of that quotient, with the sign of the dividend."""
    return np.fmod(a, b) if b.all() else None


def _power(a: Array, b: Array) -> Array | None:
    """A power of integers with exponents of at least 0; None for others."""
    return np.power(a, b) if (b >= 0).all() else None


def shifted(kind: str, a: Array, b: Array) -> Array:
    """Integers shifted: by their width or more, they are 0, or all of their bits are the sign."""
    width = 8 * a.dtype.itemsize
    beyond = (b < 0) | (b >= width)
    count = np.where(beyond, 0, b).astype(a.dtype)
    if kind == "shift_left":
        return np.where(beyond, 0, np.left_shift(a, count)).astype(a.dtype)
    if kind == "shift_right_arithmetic":
        return np.where(beyond, np.where(a < 0, -1, 0), np.right_shift(a, count)).astype(a.dtype)
    whole = a.view(a.dtype.str.replace("i", "u"))
    return np.where(beyond, 0, np.right_shift(whole, count.astype(whole.dtype))).astype(whole.dtype).view(a.dtype)


INTEGERS: Mapping[str, Callable[[Array, Array], Array | None]] = {
    "divide": _quotient,
    "remainder": _remainder,
    "power": _power,
}
"""Functions of integers that have no value for some of them."""
COMPARED: Mapping[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def folded(op: HloOp, operands: Sequence[Element], types: Sequence[HloType]) -> list[Element] | None:
    """The results of an operation on constants; None where it is computed by the network."""
    if len(types) != 1 or types[0].element not in KINDS:
        return None
    (type,) = types
    if op.kind == "iota" and type.element.startswith("ui"):
        return None  # places that a generator of random numbers counts
    if op.kind == "constant":
        return [Known(op.dense["value"].array(), type.element)]
    known = [one for one in operands if isinstance(one, Known)]
    if len(known) != len(operands):
        return None
    with np.errstate(all="ignore"):
        found = _computed(op, known, type)
    if found is None:
        return None
    if found.shape != type.shape:
        raise ValueError("found another shape")
    found = found if found.dtype == KINDS[type.element] else found.astype(KINDS[type.element])
    return [Known(_rounded(found, type.element), type.element)]


def _rounded(a: Array, element: str) -> Array:
    """
    Numbers as a float of 16 bits has them: the nearest, ties to even.

    A sum, product, quotient or root of two of them that is rounded to f32 first is the same (Figueroa, "When is double
    rounding innocuous?", SIGNUM 1995).
    """
    if element not in ROUNDED or not a.size:
        return a
    spread = all(step == 0 or size == 1 for step, size in zip(a.strides, a.shape, strict=True))
    given = a.reshape(-1)[:1].reshape(()) if spread else a
    if element == "f16":
        with np.errstate(over="ignore"):
            return np.broadcast_to(given.astype("float16").astype("float32"), a.shape)
    bits = np.ascontiguousarray(given, "float32").view("uint32")
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("uint32").view("float32")
    return np.broadcast_to(np.where(np.isfinite(given), rounded, given).reshape(given.shape), a.shape)


def _computed(op: HloOp, known: Sequence[Known], type: HloType) -> Array | None:
    moved = _moved(op, known, type)
    if moved is not None:
        return moved
    scalars = [one.scalar for one in known]
    if known and all(one is not None for one in scalars) and all(one.array.shape == type.shape for one in known):
        arrays = [one.array.reshape(-1)[:1].reshape(()) if one.array.size else one.array for one in known]
        found = _elementwise(op, arrays)
        return None if found is None else np.broadcast_to(found, type.shape)
    if prod(type.shape) > MAX_FOLDED or not known:
        return None
    return _elementwise(op, [one.array for one in known])


def _elementwise(op: HloOp, arrays: Sequence[Array]) -> Array | None:
    kind = op.kind
    if kind in UNARY and len(arrays) == 1:
        return np.invert(arrays[0]) if kind == "not" and arrays[0].dtype.kind in "iu" else UNARY[kind](arrays[0])
    if kind in BINARY and len(arrays) == 2:
        if arrays[0].dtype.kind in "iu" and kind in INTEGERS:
            return INTEGERS[kind](*arrays)
        return BINARY[kind](*arrays)
    if kind in SHIFTS and arrays[0].dtype.kind == "i":
        return shifted(kind, *arrays)
    if kind == "compare":
        return COMPARED[op.texts["comparison_direction"]](*arrays)
    if kind == "select":
        return np.where(*arrays)
    if kind == "clamp":
        return np.minimum(np.maximum(arrays[1], arrays[0]), arrays[2])
    return None


def _moved(op: HloOp, known: Sequence[Known], type: HloType) -> Array | None:
    """The result of an operation that moves elements, or makes them of their places."""
    if op.kind == "iota":
        axis = op.ints["iota_dimension"][0]
        if type.shape[axis] > MAX_FOLDED:
            return None
        shape = [size if number == axis else 1 for number, size in enumerate(type.shape)]
        return np.broadcast_to(np.arange(type.shape[axis], dtype=KINDS[type.element]).reshape(shape), type.shape)
    if not known:
        return None
    first, ints = known[0], op.ints
    a = first.array
    if op.kind == "convert" and first.scalar is not None:
        return _spread(first.scalar, type)
    if op.kind == "convert" and a.size <= MAX_FOLDED:
        return a.astype(KINDS[type.element])
    if op.kind == "broadcast_in_dim":
        return _broadcast(a, ints["broadcast_dimensions"], type.shape)
    if first.scalar is not None and op.kind in ("reshape", "transpose", "slice", "reverse", "dynamic_slice"):
        return _spread(a.flat[0], type)
    if op.kind == "reshape" and a.size <= MAX_FOLDED:
        return a.reshape(type.shape)
    if op.kind == "transpose":
        return a.transpose(ints["permutation"])
    if op.kind == "slice":
        parts = zip(ints["start_indices"], ints["limit_indices"], ints["strides"], strict=True)
        return a[tuple(slice(*part) for part in parts)]
    if op.kind == "dynamic_slice":
        starts = [int(one.array.flat[0]) for one in known[1:]]
        at = [min(max(start, 0), n - part) for start, n, part in zip(starts, a.shape, type.shape, strict=True)]
        return a[tuple(slice(start, start + part) for start, part in zip(at, type.shape, strict=True))]
    if op.kind == "concatenate" and prod(type.shape) <= MAX_FOLDED:
        return np.concatenate([one.array for one in known], ints["dimension"][0])
    return None


def _spread(value: object, type: HloType) -> Array:
    return np.broadcast_to(np.asarray(value).astype(KINDS[type.element]), type.shape)


def _broadcast(a: Array, axes: Sequence[int], shape: Sequence[int]) -> Array:
    sizes = [1] * len(shape)
    for axis, size in zip(axes, a.shape, strict=True):
        sizes[axis] = size
    order = sorted(range(len(axes)), key=lambda number: axes[number])
    return np.broadcast_to(a.transpose(order).reshape(sizes) if a.ndim else a, shape)
