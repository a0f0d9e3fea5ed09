"""The names of layers: the module that a call is in, and the call where a module makes several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from npuc.frontends.torch.program import TorchNode


class Layers:
    """
    The layer of each call.

    The last call of a module without modules inside is named as the module, `layer1.0.conv1`; all others by the module
    and the operator, `layer1.0.add`. A module that is called again has a last call each time.
    """

    def __init__(self, nodes: Sequence[TorchNode]):
        stacks = dict.fromkeys(node.modules for node in nodes)
        self._outer = {path for stack in stacks for path, _ in stack[:-1]}
        self._last = {a.name for a, b in pairwise(nodes) if a.module != b.module} | {node.name for node in nodes[-1:]}
        self.classes = {_plain(path): kind.rpartition(".")[2] for stack in stacks for path, kind in stack}
        """The classes of modules, by their paths."""

    def name_of(self, node: TorchNode) -> str:
        """The name of a call's layer, which may be that of another."""
        path = node.module
        if path and path not in self._outer and node.name in self._last:
            return _plain(path)
        name = node.operator.split(".")[1].strip("_") if "." in node.operator else node.operator
        return f"{_plain(path)}.{name}" if path else name


def _plain(path: str) -> str:
    """The path of a module without the number of the call."""
    return path.partition("@")[0]
