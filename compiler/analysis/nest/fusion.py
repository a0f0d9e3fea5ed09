"""
Several nests over the same dimensions as one nest of several statements: the union of their tensors.

    (m, n, k) ins(dY[m, n], W[k, n]) outs(dX[m, k]) do(dX += dY * W)
    (m, n, k) ins(X[m, k], dY[m, n]) outs(dW[k, n]) do(dW += X * dY)
      ->
    (m, n, k) ins(dY[m, n], W[k, n], X[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY)

Two nests have the same dimensions when those of the second can be renamed to those of the first, sizes kept, so that
the tensor which they share is indexed alike. Tensors of the same value and index map become one; others that have the
same name are numbered: W, W1, W2.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor


@dataclass(frozen=True)
class NestPart:
    """
    One of the nests: `values` says what each of its inputs, then each of its starts, is; equal ones are the same.

    `names` gives each of its dimensions the name that it has in the union.
    """

    nest: Nest
    values: tuple[Hashable, ...]
    names: Mapping[str, str]


@dataclass(frozen=True)
class Union:
    """The nest, and where each of its operands (inputs, then starts) comes from: (part, operand of that part)."""

    nest: Nest
    sources: tuple[tuple[int, int], ...]


def same_dimensions(first: Nest, second: Nest, shared: tuple[str, str]) -> dict[str, str] | None:
    """
    The names in `first` of the dimensions of `second`; None if the two do not run over the same dimensions.

    `shared` names one tensor as each of the nests does. Its indices must be the same; what dimensions are left must
    have the same sizes, those of one name going together where they can.
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
    """The nest of all statements of the parts, in their order; its dimensions are those of the first part."""
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
        statements += [Statement(names[s.out], names[s.lhs], names[s.rhs]) for s in part.nest.statements]
    nest = Nest(parts[0].nest.dims, tuple(ins), tuple(outs), tuple(starts), tuple(statements))
    return Union(nest, (*sources, *start_sources))


def alone(nest: Nest, number: int) -> Nest:
    """One statement of a nest as a nest of its own."""
    statement = nest.statements[number]
    ins = tuple(tensor for tensor in nest.ins if tensor.name in (statement.lhs, statement.rhs))
    (out,) = (tensor for tensor in nest.outs if tensor.name == statement.out)
    return replace(nest, ins=ins, outs=(out,), starts=(nest.start_of(out.name),), statements=(statement,))


def renamed(axes: Sequence[Axis], names: Mapping[str, str]) -> tuple[Axis, ...]:
    """An index map over renamed dimensions."""
    return tuple(replace(axis, terms=tuple((names[dim], c) for dim, c in axis.terms)) for axis in axes)


def _free(name: str, taken: set[str], *, started: bool = False) -> str:
    """The name, or the first numbered one, that no other tensor has; with a start, its name must be free too."""
    found, number = name, 0
    while found in taken or (started and f"{found}0" in taken):
        number += 1
        found = f"{name}{number}"
    return found
