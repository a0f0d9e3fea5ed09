"""Sizes of results that depend on data: the values that are asked for, by the names of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuc.compiler.core.errors import UsageError
from npuc.dialects.tensors import MAX_ELEMENTS
from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.model import OnnxModel, OnnxNode
from npuc.frontends.onnx.names import plain

OPERATORS = ("NonZero", "Compress", "Unique", "NonMaxSuppression")
"""The operators whose results have a size that depends on data, unless they are known."""


def name_of(node: OnnxNode) -> str:
    """The name of a node as `-D` takes it: its own, or that of its first output."""
    return plain(node.name or next((name for name in node.outputs if name), ""))


def names_of(model: OnnxModel) -> tuple[str, ...]:
    """The nodes of a model whose results may have a size that depends on data."""
    return tuple(dict.fromkeys(name_of(node) for node in model.graph.nodes if node.op in OPERATORS and not node.domain))


@dataclass
class Assumed:
    """
    Sizes by the names of nodes; of those that were taken, the number of the node and what is said of it.

    Raises `UsageError` for sizes below 1.
    """

    sizes: Mapping[str, int]
    said: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def __post_init__(self) -> None:
        for name, size in self.sizes.items():
            if not 1 <= size <= MAX_ELEMENTS:
                raise UsageError(f"-D {name}={size}: found {size}, expected a size of at least 1")

    def of(self, call: OnnxCall, most: int) -> int:
        """The size of the result of a call, of which there are at most so many. Raises `SourceError` without one."""
        name = name_of(call.node)
        size = self.sizes.get(name)
        if size is None:
            raise call.error(f"the size of its result depends on data, 1 to {most}", f"-D {name}={most} assumes a size")
        if size > most:
            raise call.error(f"found a size of {size} by -D {name}, expected 1 to {most}")
        node = call.position.number
        self.said[name] = (node, f"{call.op} (node {node}) is assumed to give the size {size}")
        return size

    def check(self) -> None:
        """Raise `UsageError` for a size that no call has taken."""
        for name in self.sizes:
            if name not in self.said:
                raise UsageError(f"-D {name}: the size of its result does not depend on data, or nothing needs it")
