"""
Fusion of nests over the same dimensions into one nest of several statements, with the union of their tensors.

    (m, n, k) ins(dY[m, n], W[k, n]) outs(dX[m, k]) do(dX += dY * W)
    (m, n, k) ins(X[m, k], dY[m, n]) outs(dW[k, n]) do(dW += X * dY)
      ->
    (m, n, k) ins(dY[m, n], W[k, n], X[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY)

Two nests have the same dimensions if those of the second can be renamed to those of the first, with equal sizes, so
that the shared tensor has equal index maps. Tensors of the same value and index map are merged; others of the same name
are numbered: W, W1, W2.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor


@frozen
class NestPart:
    """
    One of the nests; `values` identifies the value of each input, then of each initial value of a sum.

    `names` maps its dimensions to their names in the union.
    """

    nest: Nest
    values: tuple[Hashable, ...]
    names: Mapping[str, str]


@frozen
class Union:
    """The fused nest, and the source of each operand (inputs, then initial values) as (part, operand of that part)."""

    nest: Nest
    sources: tuple[tuple[int, int], ...]


def same_dimensions(first: Nest, second: Nest, shared: tuple[str, str]) -> dict[str, str] | None:
    """
    The dimensions of `second` renamed to those of `first`; None if the two do not run over the same dimensions.

    `shared` is the name of the shared tensor in either nest. Its index maps must agree, and the remaining dimensions
    must have the same sizes; those of equal names are matched where possible.
    """
    one, two = (nest.tensors[name] for nest, name in zip((first, second), shared, strict=True))
    if one.shape != two.shape or len(first.dims) != len(second.dims):
        return None
    if one.axes == two.axes and first.sizes == second.sizes:
        return {dim: dim for dim in second.sizes}
    names: dict[str, str] = {}
    for mine, other in zip(one.axes, two.axes, strict=True):
        if mine.offset != other.offset or [c for _, c in mine.terms] != [c for _, c in other.terms]:
            return None
        names |= dict(zip(other.dims, mine.dims, strict=True))
    free = [dim for dim in first.sizes if dim not in names.values()]
    rest = [dim for dim in second.sizes if dim not in names]
    for dim in sorted(rest, key=lambda d: d not in free):
        fitting = [f for f in free if first.sizes[f] == second.sizes[dim]]
        if not fitting:
            return None
        names[dim] = dim if dim in fitting else fitting[0]
        free.remove(names[dim])
    return names if all(first.sizes[new] == second.sizes[old] for old, new in names.items()) else None


def union(parts: Sequence[NestPart]) -> Union:
    """The nest of all statements of the parts, in order, over the dimensions of the first part."""
    ins: list[Tensor] = []
    outs: list[Tensor] = []
    starts: list[Tensor | None] = []
    statements: list[Statement] = []
    known: dict[Hashable, str] = {}
    taken: set[str] = set()
    sources: list[tuple[int, int]] = []
    start_sources: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        names: dict[str, str] = {}
        for operand, tensor in enumerate(part.nest.ins):
            axes = renamed(tensor.axes, part.names)
            key = (part.values[operand], axes)
            if key not in known:
                known[key] = _free(tensor.name, taken)
                taken.add(known[key])
                ins.append(Tensor(known[key], tensor.shape, axes))
                sources.append((number, operand))
            names[tensor.name] = known[key]
        operand = len(part.nest.ins)
        for out, start in zip(part.nest.outs, part.nest.starts, strict=True):
            names[out.name] = name = _free(out.name, taken, started=start is not None)
            taken.add(name)
            outs.append(Tensor(name, out.shape, renamed(out.axes, part.names)))
            starts.append(None)
            if start is not None:
                taken.add(f"{name}0")
                starts[-1] = Tensor(f"{name}0", start.shape, renamed(start.axes, part.names))
                start_sources.append((number, operand))
                operand += 1
        statements += [
            Statement(names[s.out], names[s.lhs], names[s.rhs], s.passes, s.factors) for s in part.nest.statements
        ]
    nest = Nest(parts[0].nest.dims, tuple(ins), tuple(outs), tuple(starts), tuple(statements))
    return Union(nest, (*sources, *start_sources))


def single_statement(nest: Nest, number: int) -> Nest:
    """One statement of a nest as a nest of its own."""
    statement = nest.statements[number]
    ins = tuple(tensor for tensor in nest.ins if tensor.name in (statement.lhs, statement.rhs))
    (out,) = (tensor for tensor in nest.outs if tensor.name == statement.out)
    return replace(nest, ins=ins, outs=(out,), starts=(nest.start_of(out.name),), statements=(statement,))


def renamed(axes: Sequence[Axis], names: Mapping[str, str]) -> tuple[Axis, ...]:
    """An index map over renamed dimensions."""
    return tuple(replace(axis, terms=tuple((names[dim], c) for dim, c in axis.terms)) for axis in axes)


def _free(name: str, taken: set[str], *, started: bool = False) -> str:
    """The name, numbered if another tensor has it; with an initial value, the name of that must be free too."""
    found, number = name, 0
    while found in taken or (started and f"{found}0" in taken):
        number += 1
        found = f"{name}{number}"
    return found
