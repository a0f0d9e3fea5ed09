"""Which results share memory with an operand, and what that operand is after a write to such a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import FLOATS, Refused
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators.diagonals import diagonal_scatter
from npuc.frontends.torch.operators.shapes import moved_axes, written
from npuc.frontends.torch.program import TorchGraph, TorchNode, tensors_in
from npuc.frontends.torch.sizes import Sizes

_SAME = frozenset("view view_as alias detach squeeze unsqueeze unflatten positive lift_fresh _unsafe_view".split())
"""Operators whose result is their operand under another shape, in row-major order."""
_PERMUTES = frozenset("permute transpose t mT mH numpy_T matrix_H adjoint swapaxes swapdims movedim moveaxis".split())
_PARTS = frozenset("slice select narrow diagonal linalg_diagonal".split())
_OTHERS = frozenset(
    "expand expand_as broadcast_to split split_with_sizes chunk tensor_split hsplit vsplit dsplit unbind unfold "
    "unsafe_split unsafe_split_with_sizes unsafe_chunk view_as_complex view_as_real real imag conj _conj resolve_conj "
    "resolve_neg".split()
)
_TURNS = frozenset("t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_".split())
_WHERE_POSSIBLE = frozenset("reshape reshape_as flatten ravel".split())
_WHERE_EQUAL = frozenset("contiguous to type_as sum_to_size cartesian_prod conj_physical".split())
"""Operators that give the operand itself where it has the layout, type and shape that are asked for."""
_EACH = frozenset("atleast_1d atleast_2d atleast_3d broadcast_tensors meshgrid".split())
"""Operators of several tensors, of which each result shares the memory of its own."""
VIEWS = _SAME | _PERMUTES | _PARTS | _OTHERS | _WHERE_POSSIBLE | _WHERE_EQUAL | _EACH
"""The operators whose results may share the memory of operands."""
_RESHAPES = _SAME | _WHERE_POSSIBLE | _WHERE_EQUAL | _EACH


def bases_of(graph: TorchGraph, node: TorchNode, sizes: Sizes) -> dict[str, str]:
    """The results of a call that share the memory of operands, each with its operand."""
    kind = _kind(node.operator)
    if kind not in VIEWS and kind != "dropout":
        return {}
    operands, results = tensors_in([argument.value for argument in node.arguments[:1]]), node.makes
    if not operands:
        return {}
    if kind in _EACH:
        return dict(zip(results, operands, strict=False))
    base = operands[0]
    return dict.fromkeys(results, base) if _shares(graph, node, base, results, sizes) else {}


def _shares(graph: TorchGraph, node: TorchNode, base: str, results: Sequence[str], sizes: Sizes) -> bool:
    """Whether the results of a call share the memory of its operand."""
    kind, operand = _kind(node.operator), graph.tensors.get(base)
    given = {argument.name: argument.value for argument in node.arguments}
    if operand is None or given.get("copy") is True:
        return False
    types = [graph.tensors[name] for name in results]
    if kind in _WHERE_EQUAL:
        asked = operand.dtype, operand.shape, operand.strides
        return all((one.dtype, one.shape, one.strides) == asked for one in types)
    if kind in _WHERE_POSSIBLE:
        strides = [sizes.size(stride) for stride in operand.strides]
        return all(is_view(sizes.shape(operand), strides, sizes.shape(one)) for one in types)
    return kind != "dropout" or given.get("p") == 0


def _kind(operator: str) -> str:
    """The name of an operator without its namespace and overload."""
    return operator.partition(".")[2].partition(".")[0]


def turns(operator: str) -> bool:
    """Whether an operator changes the axes of its operand in place."""
    return _kind(operator) in _TURNS


def is_view(shape: Sequence[int], strides: Sequence[int], other: Sequence[int]) -> bool:
    """
    Whether a tensor can be seen under another shape, in row-major order, without a copy.

    Neighbouring axes that lie as one axis would are one; the other shape must split each such run into whole axes.
    """
    if len(shape) != len(strides) or prod(shape) != prod(other):
        return False
    axes = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size > 1]
    left = [size for size in other if size > 1]
    run = 1
    for axis in reversed(range(len(axes))):
        size, stride = axes[axis]
        run *= size
        if axis and axes[axis - 1][1] == stride * size:
            continue
        while left and run % left[-1] == 0:
            run //= left.pop()
        if run != 1:
            return False
    return not left


def write_back(operator: str, c: Context, named: Mapping[str, object], whole: Name, part: Name) -> Name:
    """A value after the part of it that an operator took is another. Raises `Refused` where it is unknown how."""
    kind, shape = _kind(operator).removesuffix("_"), c.shape(whole)
    given = {name: value for name, value in named.items() if name != "x"}
    if kind == "detach" and c.script.training and c.element(whole) in FLOATS and c.script.known(whole) is None:
        raise Refused("found a write in place to an activation without gradients", "write outside of no_grad")
    if kind in _RESHAPES or kind == "dropout":
        return part if c.shape(part) == shape else c.let("reshape", part, list(shape))
    if kind in ("diagonal", "linalg_diagonal"):
        places = {"dim1": -2, "dim2": -1, **given} if kind == "linalg_diagonal" else given
        put = diagonal_scatter(c, whole, part, **cast("dict[str, int]", places))
        return c.script.assign(f"{c.layer}.put", put) if isinstance(put, Call) else c.variable(put)
    if kind in _PARTS:
        return written(c, whole, part, cast("dict[str, int]", given))
    if kind in _PERMUTES:
        axes = moved_axes(kind, len(shape), given)
        return c.let("transpose", part, [axes.index(axis) for axis in range(len(shape))])
    raise Refused(f"found a write to what {operator} gave, which has no counterpart", "write to the whole tensor")
