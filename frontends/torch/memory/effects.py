"""Which calls of a graph count, where calls write in place to memory that several values share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from npuc.frontends.torch.graphs.control import CONTROL, operands_of
from npuc.frontends.torch.memory.views import bases_of
from npuc.frontends.torch.operators import Meaning, meaning_of
from npuc.frontends.torch.program import ScalarName, TensorName, TorchGraph, TorchNode, TorchValue, tensors_in
from npuc.frontends.torch.sizes import Sizes


@lru_cache(maxsize=1024)
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


def written_by(node: TorchNode) -> str | None:
    """The tensor that a call writes in place; None for one that writes none."""
    found = functional(node.operator)
    if found is None or not found[1] or not node.arguments:
        return None
    return next(iter(tensors_in([node.arguments[0].value])), None)


def computes(node: TorchNode) -> bool:
    """Whether a call computes tensors: numbers are known of their expressions."""
    return not node.outputs or any(not isinstance(value, ScalarName) for value in node.outputs)


class Effects:
    """
    What is known of the calls of a graph before any is written.

    `needed` are the names of the calls that some results depend on, `read` those of the tensors that they read,
    `shared` the operand whose memory the results of a call share, where that memory is written in place somewhere.
    `written_inputs` are the inputs of the graph that are written, `returned` those whose memory an output shares,
    by its place. `tangled` are calls of graphs of whose results it is not known how they share memory that is
    written in place.
    """

    def __init__(self, graph: TorchGraph, results: Sequence[TorchValue], sizes: Sizes):
        self._root: dict[str, str] = {}
        bases: dict[str, list[str]] = {}
        written: dict[str, list[str]] = {}
        passed: dict[str, set[str]] = {}
        for node in graph.nodes:
            if node.operator in CONTROL:
                written[node.name], passed[node.name] = self._of_graphs(node, sizes)
                continue
            if in_place := written_by(node):
                written[node.name] = [in_place]
                shares = dict.fromkeys(node.makes, in_place)
            else:
                shares = bases_of(graph, node, sizes)
                bases[node.name] = list(shares.values())
            self._root |= {name: self._root_of(base) for name, base in shares.items()}
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
            node: base for node, names in bases.items() for base in reversed(names) if self._root_of(base) in changed
        }
        self.read = set(tensors_in(results))
        self.needed = self._needed(graph, self.read, written)

    def _of_graphs(self, node: TorchNode, sizes: Sizes) -> tuple[list[str], set[str]]:
        """The operands of a call of graphs that it writes, and those whose memory its results share."""
        writes: list[str] = []
        shares: set[str] = set()
        operands = operands_of(node)
        for subgraph in node.subgraphs:
            inner = Effects(subgraph.graph, subgraph.graph.outputs, sizes)
            names = [value.name if isinstance(value, TensorName) else "" for value in subgraph.graph.inputs]
            outer = {
                name: value.name for name, value in zip(names, operands, strict=False) if isinstance(value, TensorName)
            }
            writes += [outer[name] for name in sorted(inner.written_inputs) if name in outer]
            shares.update(outer[name] for name in inner.returned.values() if name in outer)
        return writes, shares

    def _root_of(self, name: str) -> str:
        return self._root.get(name, name)

    def _needed(self, graph: TorchGraph, names: set[str], written: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """Backwards from the results; a write counts where a value of the same memory is needed later."""
        needed: set[str] = set()
        roots = {self._root_of(name) for name in names}
        for node in reversed(graph.nodes):
            targets = written.get(node.name, ())
            if not names.isdisjoint(node.makes) or any(self._root_of(name) in roots for name in targets):
                needed.add(node.name)
                names.update(node.reads)
                roots.update(map(self._root_of, node.reads))
        return frozenset(needed)
