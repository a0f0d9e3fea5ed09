"""
Products of groups of rows with a matrix each, as of tokens sorted by their experts.

The rows of each group are copied to `capacity` rows of their own, so that the product is one of a batch of equal
matrices, and the results are copied back. That states the balance: the work is groups x capacity x k x n
multiplications, whatever the sizes of the groups, and every matrix is read. With as many rows in each group it is
that of the rows alone.
"""

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, IndexOrInts, OptInt, Value, rank_exactly
from npuc.compiler.layers.arithmetic import add, cast, mul, sub
from npuc.compiler.layers.box import slice as sliced
from npuc.compiler.layers.compare import greater_equal, less, where
from npuc.compiler.layers.constant import arange, integers
from npuc.compiler.layers.index import index_select
from npuc.compiler.layers.join import concat
from npuc.compiler.layers.matmul import matmul
from npuc.compiler.layers.pointwise import min as smaller
from npuc.compiler.layers.reduction import sum
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import element_text, shape_of, shape_text, tensor_of, tensor_type


def _ends(b: GraphBuilder, offsets: IndexOrInts, groups: int) -> SSAValue:
    """The end of each group of rows, as a vector of integers."""
    ends = offsets if isinstance(offsets, SSAValue) else integers(b, offsets)
    type = tensor_type(ends)
    if type.get_shape() != (groups,) or type.element_type not in (i32, i64):
        found = f"{shape_text(type)} {element_text(type.element_type)}"
        raise ArgumentError("offsets", f"found {found}, expected {groups} integers, the end of each group of rows")
    return ends


def grouped_mm(b: GraphBuilder, x: Value, y: Value, offsets: IndexOrInts, capacity: OptInt = None) -> SSAValue:
    """
    Each row of x [rows, k] times the matrix of its group of y [groups, k, n]: group i ends before row `offsets[i]`.

    The last group ends with the last row. A group has at most `capacity` rows, by default rows / groups, rounded up;
    the work is that of as many rows in each group. A run in which a group has more ends with an error.
    """
    rows, k = rank_exactly("x", x, 2, "[rows, k]")
    groups, inner, n = rank_exactly("y", y, 3, "[groups, k, n]")
    if inner != k:
        raise ArgumentError("y", f"found {shape_text(tensor_type(y))}, expected [groups, {k}, n]")
    ends, least = _ends(b, offsets, groups), -(-rows // groups)
    each = least if capacity is None else capacity
    if not least <= each <= rows:
        raise ArgumentError("capacity", f"found {each}, expected {least} to {rows} for {rows} rows in {groups} groups")
    dtype = element_text(tensor_type(ends).element_type)
    zero = b.constant(tensor_of(tensor_type(ends).element_type, [1]), 0)
    starts = zero if groups == 1 else concat(b, [zero, sliced(b, ends, 0, 0, groups - 1)], 0)
    places = add(b, view(starts, [groups, 1], b.emit), view(arange(b, each, dtype=dtype), [1, each], b.emit))
    inside = view(less(b, places, view(ends, [groups, 1], b.emit)), [groups, each, 1], b.emit)
    taken = index_select(b, x, view(smaller(b, places, rows - 1), [groups * each], b.emit), 0)
    apart = where(b, inside, view(taken, [groups, each, k], b.emit), 0)
    product = view(matmul(b, apart, y), [groups * each, n], b.emit)
    return index_select(b, product, _places(b, ends, starts, rows, each), 0)


def _places(b: GraphBuilder, ends: SSAValue, starts: SSAValue, rows: int, each: int) -> SSAValue:
    """Where the result of each row lies among those of all groups; beyond their end where its group is too large."""
    (groups,) = shape_of(ends)
    dtype = element_text(tensor_type(ends).element_type)
    row = arange(b, rows, dtype=dtype)
    behind = greater_equal(b, view(row, [rows, 1], b.emit), view(ends, [1, groups], b.emit))
    group = sum(b, cast(b, behind, dtype), 1)
    place = sub(b, row, index_select(b, starts, smaller(b, group, groups - 1), 0))
    return where(b, less(b, place, each), add(b, mul(b, group, each), place), groups * each)


LAYERS = ()
FUNCTIONS = (grouped_mm,)
