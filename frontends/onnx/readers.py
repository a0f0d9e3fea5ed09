"""Who reads the values of a graph: what belongs to one layer of the program though it is several nodes of the file."""

from __future__ import annotations

from collections.abc import Callable

from npuc.frontends.onnx.container.model import OnnxGraph, OnnxNode
from npuc.frontends.onnx.container.tensors import OnnxTensor
from npuc.frontends.onnx.origins import Origins
from npuc.frontends.onnx.weights import OnnxWeight


class Readers:
    """
    The nodes of the top graph by the names that they read.

    `absorbed` are the numbers of nodes whose work a node before them has done.
    """

    def __init__(self, graph: OnnxGraph, parameter: Callable[[str, OnnxTensor], OnnxWeight | None], origins: Origins):
        self.absorbed: set[int] = set()
        self._origins = origins
        self._parameter = parameter
        self._initializers = graph.initializers
        self._outputs = {output.name for output in graph.outputs}
        self._nodes: dict[str, list[OnnxNode]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self._nodes.setdefault(name, []).append(node)
            for inner in node.graphs():
                self._hidden(inner)

    def _hidden(self, graph: OnnxGraph) -> None:
        """Note what bodies read: it has other readers."""
        for node in graph.nodes:
            self._outputs.update(node.inputs)
            for inner in node.graphs():
                self._hidden(inner)

    def is_parameter(self, name: str) -> bool:
        """Whether a constant that is used as a weight is one of the model, as far as the file tells."""
        return name not in self._initializers or self._origins.of(name) == "parameter"

    def take_bias(self, name: str, width: int) -> OnnxWeight | None:
        """The vector that the only reader of a value adds to it; the reader is absorbed then."""
        nodes = self._nodes.get(name, [])
        if len(nodes) != 1 or name in self._outputs or nodes[0].op != "Add" or nodes[0].domain:
            return None
        (node,) = nodes
        other = next((one for one in node.inputs if one != name), "")
        tensor = self._initializers.get(other)
        if not isinstance(tensor, OnnxTensor) or tensor.shape != (width,):
            return None
        found = self._parameter(other, tensor)
        if found is not None:
            self.absorbed.add(node.number)
        return found
