"""
In which order parameters, states of optimizers and inputs lie, so that products read them without a transpose.

A program of JAX may have its images as `NHWC` and its kernels as `HWIO`; the language has `NCHW` and `OIHW`. An
argument that a convolution reads lies as the language has it, and with a parameter the states that are of its shape. In
a forward function the rows of a matrix that flattened places and channels of images are multiplied by are in the
language's order. A run takes and gives all of them as JAX has them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Operand, made_of
from npuc.frontends.layout import ArgumentLayout, is_moved

if TYPE_CHECKING:
    from npuc.frontends.jax.arguments import StepSignature

Layouts = dict[HloValue, ArgumentLayout]
PARTS = re.compile(r"\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]")
MOST_TRANSPOSES = 16
"""So many of an argument, one after the other, are looked behind."""
_ALONG = frozenset(
    "add subtract multiply divide maximum minimum tanh logistic select exponential convert negate reduce_window".split()
)
"""Operations whose result lies as the operand of its shape, or of its rank, does."""


def parts_of(op: FlatOp) -> tuple[list[str], list[str], list[str]] | None:
    """The names of the axes of both operands of a convolution and of its result: `b`, `f`, `o`, `i`, 0, 1, …"""
    found = PARTS.search(op.op.texts.get("dimension_numbers", ""))
    if found is None:
        return None
    left, right, out = ([part.strip() for part in group.split(",")] for group in found.groups())
    return left, right, out


def layouts_of(flat: FlatProgram, signature: StepSignature, *, is_step: bool) -> Layouts:
    """The arguments that lie otherwise than in the source; marks the reshapes that keep the language's order."""
    found: Layouts = {}
    for op in flat.ops:
        parts = parts_of(op) if op.kind == "convolution" and op.role == "forward" else None
        if parts is None or len(parts[0]) != len(op.operands[0].type.shape):
            continue
        spatial = [str(axis) for axis in range(len(parts[0]) - 2)]
        for operand, own, wanted in zip(op.operands, parts, (["b", "f", *spatial], ["o", "i", *spatial]), strict=False):
            if sorted(own) == sorted(wanted):
                _add(found, operand, [own.index(part) for part in wanted])
    if not is_step:
        _flattened(flat, found)
    _states(flat, signature, found)
    return {made: layout for made, layout in found.items() if is_moved(layout)}


def _add(found: Layouts, operand: Operand, order: Sequence[int]) -> None:
    """The layout of the argument that an operand is, transposed or not."""
    for _ in range(MOST_TRANSPOSES):
        if not isinstance(operand, HloValue) or operand.op is None or operand.op.kind != "transpose":
            break
        permutation = operand.op.op.ints["permutation"]
        order, operand = [permutation[axis] for axis in order], operand.op.operands[0]
    if isinstance(operand, HloValue) and operand.op is None and operand not in found:
        found[operand] = ArgumentLayout(operand.type.shape, tuple(order))


def _states(flat: FlatProgram, signature: StepSignature, found: Layouts) -> None:
    """The layouts of the states of parameters, which have their shape and end in their name."""
    for number, made in enumerate(flat.arguments):
        if signature.kinds[number] != "state" or made in found:
            continue
        own = f".{signature.names[number]}"
        owners = [
            (name, parameter)
            for name, parameter, kind in zip(signature.names, flat.arguments, signature.kinds, strict=True)
            if kind == "param" and parameter in found and own.endswith(f".{name}") and parameter.type == made.type
        ]
        if owners:
            found[made] = found[max(owners, key=lambda one: len(one[0]))[1]]


def _flattened(flat: FlatProgram, found: Layouts) -> None:
    """Matrices by which images are multiplied whose axes but the first are made one, of which nothing else is read."""
    readers: Mapping[HloValue, list[object]] = _readers(flat)
    orders = _orders(flat)
    for op in flat.ops:
        source = op.operands[0] if op.operands else None
        if op.kind != "reshape" or not isinstance(source, HloValue) or len(op.results[0].type.shape) != 2:
            continue
        order, shape = orders.get(source), source.type.shape
        if order is None or order[0] != 0 or op.results[0].type.shape[0] != shape[0] or order == sorted(order):
            continue
        products = readers[op.results[0]]
        matrices = [_matrix(one, op.results[0], readers) for one in products]
        if not matrices or None in matrices:
            continue
        op.order = tuple(order)
        for matrix in matrices:
            assert matrix is not None
            rest = [axis - 1 for axis in order[1:]]
            found[matrix] = ArgumentLayout(matrix.type.shape, (*rest, len(rest)), (*shape[1:], matrix.type.shape[1]))


def _readers(flat: FlatProgram) -> Mapping[HloValue, list[object]]:
    readers: dict[HloValue, list[object]] = defaultdict(list)
    for op in flat.ops:
        for made in (made for operand in op.operands for made in made_of(operand)):
            readers[made].append(op)
    for made in (made for result in flat.results for made in made_of(result)):
        readers[made].append(None)
    return readers


def _matrix(op: object, rows: HloValue, readers: Mapping[HloValue, list[object]]) -> HloValue | None:
    """The parameter [in, out] that rows are multiplied by, if the product is its only reader; else None."""
    if not isinstance(op, FlatOp) or op.kind != "dot_general" or op.operands[0] is not rows:
        return None
    matrix, ints = op.operands[1], op.op.ints
    sides = ints.get("lhs_contracting_dimensions"), ints.get("rhs_contracting_dimensions")
    if not isinstance(matrix, HloValue) or matrix.op is not None or sides != ([1], [0]) or len(matrix.type.shape) != 2:
        return None
    return matrix if len(readers[matrix]) == 1 else None


def _orders(flat: FlatProgram) -> Mapping[HloValue, list[int]]:
    """Of what lies as images do the order in which a convolution before leaves their axes, of the first operand."""
    found: dict[HloValue, list[int]] = {}
    for op in flat.ops:
        for made in op.results:
            rank = len(made.type.shape)
            if op.kind == "convolution" and (parts := parts_of(op)) is not None:
                found[made] = [parts[2].index(part) for part in ("b", "f", *(str(axis) for axis in range(rank - 2)))]
            elif op.kind in _ALONG:
                for operand in op.operands:
                    if isinstance(operand, HloValue) and operand in found and len(operand.type.shape) == rank:
                        found[made] = found[operand]
                        break
    return found
