"""Which calls of a graph count, and which of their results share memory: calls may write in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Refused
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.graphs.control import CONTROL, operands_of
from npuc.frontends.torch.operators import Meaning, meaning_of
from npuc.frontends.torch.operators.shapes import written
from npuc.frontends.torch.program import ScalarName, TensorName, TorchGraph, TorchNode, TorchValue
from npuc.frontends.torch.sizes import Sizes

_SHARES = frozenset(
    "view reshape permute transpose t slice select squeeze unsqueeze expand expand_as flatten unflatten alias detach "
    "split split_with_sizes chunk unbind narrow view_as movedim contiguous to".split()
)
"""The operators whose results may share the memory of their first operand."""
_RESHAPES = frozenset("view reshape squeeze unsqueeze flatten unflatten alias detach view_as contiguous to".split())


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


def functional(operator: str) -> tuple[Meaning, bool] | None:
    """The meaning of an operator, and whether it writes its first argument in place."""
    found = meaning_of(operator)
    if found is not None:
        return found, False
    space, _, rest = operator.partition(".")
    name, _, overload = rest.partition(".")
    if not name.endswith("_") or name.startswith("_"):
        return None
    found = meaning_of(f"{space}.{name[:-1]}.{overload}")
    return None if found is None else (found, True)


def computes(node: TorchNode) -> bool:
    """Whether a call computes tensors: numbers are known of their expressions."""
    return not node.outputs or any(not isinstance(value, ScalarName) for value in node.outputs)


def leaves(value: TorchValue | Sequence[TorchValue]) -> Iterator[TorchValue]:
    """The values in an argument, those of lists included."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def _names(values: TorchValue | Sequence[TorchValue]) -> set[str]:
    return {value.name for value in leaves(values) if isinstance(value, TensorName)}


class Effects:
    """
    What is known of the calls of a graph before any is written.

    `needed` are the names of the calls that some results depend on, `shared` the operand whose memory the results of a
    call share, where that memory is written in place somewhere. `written_inputs` are the inputs of the graph that are
    written, `returned` those whose memory an output shares, by its place. `tangled` are calls of graphs of whose
    results it is not known how they share memory that is written in place.
    """

    def __init__(self, graph: TorchGraph, results: Sequence[TorchValue], sizes: Sizes):
        self._root: dict[str, str] = {}
        bases: dict[str, str] = {}
        written: dict[str, list[str]] = {}
        passed: dict[str, set[str]] = {}
        for node in graph.nodes:
            if node.operator in CONTROL:
                written[node.name], passed[node.name] = self._of_graphs(node, sizes)
                continue
            first = next(iter(_names(node.arguments[0].value)), None) if node.arguments else None
            found = functional(node.operator)
            in_place = found is not None and found[1]
            if first is None:
                continue
            if in_place:
                written[node.name] = [first]
            if in_place or self._shares(graph, node, first, sizes):
                for name in _names(node.outputs):
                    self._root[name] = self._root_of(first)
                bases[node.name] = first
        changed = {self._root_of(name) for names in written.values() for name in names}
        by = {node: {self._root_of(name) for name in names} for node, names in written.items()}
        inputs = {value.name for value in graph.inputs if isinstance(value, TensorName)}
        self.written_inputs = changed & inputs
        outputs = [self._root_of(value.name) if isinstance(value, TensorName) else "" for value in graph.outputs]
        self.returned = {place: root for place, root in enumerate(outputs) if root in inputs}
        self.tangled = frozenset(
            node
            for node, names in passed.items()
            if any(root in roots for root in map(self._root_of, names) for other, roots in by.items() if other != node)
        )
        self.shared = {
            node: base for node, base in bases.items() if node not in written and self._root_of(base) in changed
        }
        self.needed = self._needed(graph, _names(results), written)

    def _of_graphs(self, node: TorchNode, sizes: Sizes) -> tuple[list[str], set[str]]:
        """The operands of a call of graphs that it writes, and those whose memory its results share."""
        writes: list[str] = []
        shares: set[str] = set()
        operands = operands_of(node)
        for subgraph in node.subgraphs():
            inner = Effects(subgraph.graph, subgraph.graph.outputs, sizes)
            names = [value.name if isinstance(value, TensorName) else "" for value in subgraph.graph.inputs]
            outer = {
                name: value.name for name, value in zip(names, operands, strict=False) if isinstance(value, TensorName)
            }
            writes += [outer[name] for name in sorted(inner.written_inputs) if name in outer]
            shares.update(outer[name] for name in inner.returned.values() if name in outer)
        return writes, shares

    def _shares(self, graph: TorchGraph, node: TorchNode, first: str, sizes: Sizes) -> bool:
        """Whether the results of a call share the memory of its first operand."""
        kind = node.operator.partition(".")[2].partition(".")[0]
        if kind not in _SHARES:
            return False
        operand, results = graph.tensors.get(first), [graph.tensors[name] for name in _names(node.outputs)]
        if operand is None or any(one.dtype != operand.dtype for one in results):
            return False
        if kind == "contiguous":
            return all(one.strides == operand.strides for one in results)
        if kind not in ("reshape", "flatten"):
            return True
        strides = [sizes.size(stride) for stride in operand.strides]
        return all(is_view(sizes.shape(operand), strides, sizes.shape(one)) for one in results)

    def _root_of(self, name: str) -> str:
        return self._root.get(name, name)

    def _needed(self, graph: TorchGraph, names: set[str], written: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """Backwards from the results; a write counts where a value of the same memory is needed later."""
        needed: set[str] = set()
        roots = {self._root_of(name) for name in names}
        for node in reversed(graph.nodes):
            targets = {self._root_of(name) for name in written.get(node.name, ())}
            if _names(node.outputs) & names or targets & roots:
                needed.add(node.name)
                operands = {name for argument in node.arguments for name in _names(argument.value)}
                names |= operands
                roots |= {self._root_of(name) for name in operands}
        return frozenset(needed)


def write_back(operator: str, c: Context, named: Mapping[str, object], whole: Name, part: Name) -> Name:
    """A value after the part of it that an operator took is another. Raises `Refused` where it is unknown how."""
    kind = operator.split(".")[1]
    shape = c.shape(whole)
    if kind in _RESHAPES:
        return part if c.shape(part) == shape else c.let("reshape", part, list(shape))
    if kind in ("slice", "select", "narrow"):
        return written(c, whole, part, {name: cast(int, value) for name, value in named.items() if name != "x"})
    if kind in ("transpose", "permute", "t"):
        rank = len(shape)
        axes = list(range(rank))
        if kind == "permute":
            axes = [int(axis) % rank for axis in cast("Sequence[int]", named["dims"])]
        else:
            a, b = (named.get(name) for name in ("dim0", "dim1")) if kind == "transpose" else (-2, -1)
            if not isinstance(a, int) or not isinstance(b, int):
                raise Refused("found a transpose without its two axes that is written to")
            axes[a], axes[b] = axes[b], axes[a]
        return c.let("transpose", part, [axes.index(axis) for axis in range(rank)])
    raise Refused(f"found a write to what {operator} gave, which has no counterpart", "write to the whole tensor")
