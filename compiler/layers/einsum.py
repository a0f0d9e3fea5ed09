"""
Einsum as matrix products, sums and transpositions: operands are joined from left to right, two at a time.

Of two operands the axes that both have and the rest needs are those of a batch, those that both have and nothing else
needs are contracted. Axes of one operand alone that nothing else needs are summed first. Without a contracted axis
the operands are multiplied elementwise, as in PyTorch. Operands are transposed only where no product reads them as
they are.
"""

import re
from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import arithmetic, reduction
from npuc.compiler.layers.arguments import ArgumentError, Values
from npuc.compiler.layers.box import slice as sliced
from npuc.compiler.layers.matmul import matmul
from npuc.compiler.layers.shape import transpose, view
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.rules import check_numbers, same_element

_FORM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")
Labels = tuple[str, ...]
"""Names of axes: letters, and `0`, `1`, … from the last to the first of those that an ellipsis stands for."""


@frozen
class _Term:
    """A tensor and the names of its axes, each once."""

    value: SSAValue
    labels: Labels

    def size(self, label: str) -> int:
        """The size of an axis."""
        return shape_of(self.value)[self.labels.index(label)]

    def total(self, labels: Labels) -> int:
        """The number of positions along some axes."""
        return prod(map(self.size, labels))


def _wrong(equation: str, what: str) -> ArgumentError:
    return ArgumentError("equation", f"found '{equation}', {what}")


def _labels(equation: str, text: str, rank: int) -> Labels:
    """The names of the axes of an operand."""
    if not _FORM.fullmatch(text):
        raise _wrong(equation, "expected letters, '...', ',' and '->'")
    before, dots, behind = text.partition("...")
    hidden = rank - len(before) - len(behind)
    if hidden < 0 or (hidden and not dots):
        raise _wrong(equation, f"in which '{text}' names {len(before + behind)} axes of a tensor of rank {rank}")
    return (*before, *(str(i) for i in reversed(range(hidden))), *behind)


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The names of the axes of the operands and of the result."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise _wrong(equation, f"which names {len(parts)} operands, expected {len(ranks)}")
    names = [_labels(equation, part, rank) for part, rank in zip(parts, ranks, strict=True)]
    listed = [name for labels in names for name in labels]
    hidden = tuple(sorted({name for name in listed if name.isdigit()}, key=int, reverse=True))
    if not arrow:
        once = sorted(name for name in set(listed) if listed.count(name) == 1 and not name.isdigit())
        return names, (*hidden, *once)
    out = _labels(equation, right, len(right.replace("...", "")) + (len(hidden) if "..." in right else 0))
    if len(set(out)) != len(out):
        raise _wrong(equation, "expected each axis of the result once")
    unknown = next((name for name in out if name not in listed), None)
    if unknown is not None:
        raise _wrong(equation, f"in which no operand has the axis '{unknown}' of the result")
    return names, out


def _diagonal(b: GraphBuilder, equation: str, value: SSAValue, labels: Labels) -> _Term:
    """A tensor without the axes that repeat another: the elements at equal places of both."""
    for name in labels:
        if labels.count(name) > 1:
            first = labels.index(name)
            second = labels.index(name, first + 1)
            shape = shape_of(value)
            size = shape[first]
            if shape[second] != size:
                raise _wrong(equation, f"in which '{name}' has the sizes {size} and {shape[second]}")
            others = [i for i in range(len(shape)) if i not in (first, second)]
            kept = [shape[i] for i in others]
            lines = view(_ordered(b, value, [*others, first, second]), [*kept, size * size], b.emit)
            if size > 1:
                lines = sliced(b, lines, len(kept), 0, size * size, size + 1)
            return _diagonal(b, equation, lines, (*(labels[i] for i in others), name))
    return _Term(value, labels)


def _ordered(b: GraphBuilder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """A tensor with its axes in another order; itself where that is its own."""
    return value if list(axes) == sorted(axes) else transpose(b, value, axes)


def _arranged(b: GraphBuilder, term: _Term, labels: Labels) -> SSAValue:
    return _ordered(b, term.value, [term.labels.index(name) for name in labels])


def _sum_out(b: GraphBuilder, term: _Term, kept: set[str]) -> _Term:
    """A tensor summed over the axes that nothing else needs."""
    gone = [i for i, name in enumerate(term.labels) if name not in kept]
    if not gone:
        return term
    return _Term(reduction.sum(b, term.value, gone), tuple(name for name in term.labels if name in kept))


def _unbroadcast(b: GraphBuilder, term: _Term, sizes: dict[str, int]) -> _Term:
    """A tensor without the axes of size 1 that are larger in others: they broadcast."""
    labels = tuple(name for name in term.labels if term.size(name) == sizes[name])
    return _Term(view(term.value, [sizes[name] for name in labels], b.emit), labels)


def _multiplied(b: GraphBuilder, x: _Term, y: _Term) -> _Term:
    """The elementwise product over all axes of both."""
    labels = (*x.labels, *(name for name in y.labels if name not in x.labels))
    factors: list[SSAValue] = []
    for term in (x, y):
        own = tuple(name for name in labels if name in term.labels)
        shape = [term.size(name) if name in own else 1 for name in labels]
        factors.append(view(_arranged(b, term, own), shape, b.emit))
    return _Term(arithmetic.mul(b, *factors), labels)


def _factor(b: GraphBuilder, term: _Term, batch: Labels, rows: Labels, columns: Labels) -> tuple[SSAValue, bool]:
    """A tensor as matrices [batch…, rows, columns] or, where no copy is needed then, [batch…, columns, rows]: true."""
    swapped = term.labels == (*batch, *columns, *rows) and term.labels != (*batch, *rows, *columns)
    last = (columns, rows) if swapped else (rows, columns)
    arranged = _arranged(b, term, (*batch, *last[0], *last[1]))
    shape = [*map(term.size, batch), *map(term.total, last)]
    return view(arranged, shape, b.emit), swapped


def _joined(b: GraphBuilder, x: _Term, y: _Term, needed: set[str]) -> _Term:
    """Two operands as one, summed over the axes that neither the result nor other operands need."""
    x = _sum_out(b, x, needed | set(y.labels))
    y = _sum_out(b, y, needed | set(x.labels))
    inner = tuple(name for name in x.labels if name in y.labels and name not in needed)
    if not inner:
        return _multiplied(b, x, y)
    batch = tuple(name for name in x.labels if name in y.labels and name in needed)
    rows = tuple(name for name in x.labels if name not in y.labels)
    columns = tuple(name for name in y.labels if name not in x.labels)
    if not batch and len(inner) == 1 and rows and x.labels == (*rows, *inner):
        lhs, turned = x.value, False  # all rows are those of one product, as in a linear layer
    else:
        lhs, turned = _factor(b, x, batch, rows, inner)
    rhs, behind = _factor(b, y, batch, inner, columns)
    product = matmul(b, lhs, rhs, transpose_a=turned, transpose_b=behind)
    labels = (*batch, *rows, *columns)
    return _Term(view(product, [*map(x.size, batch + rows), *map(y.size, columns)], b.emit), labels)


def einsum(b: GraphBuilder, equation: str, tensors: Values) -> SSAValue:
    """
    Products of tensors summed over the axes that the result does not name: `einsum("bij,bjk->bik", [x, y])`.

    Each letter names an axis, `...` all others; without `->` the result has the letters that occur once, in order of
    the alphabet. Several operands are joined from left to right.
    """
    if not tensors:
        raise ArgumentError("tensors", "found an empty list, expected at least one tensor")
    types = [tensor_type(value) for value in tensors]
    same_element(*types)
    check_numbers(types[0])
    names, out = _parse(equation, [len(type.get_shape()) for type in types])
    terms = [_diagonal(b, equation, value, labels) for value, labels in zip(tensors, names, strict=True)]
    sizes: dict[str, int] = {}
    for term in terms:
        for name in term.labels:
            size = term.size(name)
            if 1 not in (size, sizes.get(name, 1)) and size != sizes[name]:
                called = "..." if name.isdigit() else name
                raise _wrong(equation, f"in which '{called}' has the sizes {sizes[name]} and {size}")
            sizes[name] = max(size, sizes.get(name, 1))
    terms = [_unbroadcast(b, term, sizes) for term in terms]
    joined = terms[0]
    for number, term in enumerate(terms[1:], start=2):
        needed = {*out, *(name for other in terms[number:] for name in other.labels)}
        joined = _joined(b, joined, term, needed)
    joined = _sum_out(b, joined, set(out))
    return _arranged(b, joined, out)


LAYERS = ()
FUNCTIONS = (einsum,)
