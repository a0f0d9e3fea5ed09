"""What an ONNX file says, as frozen data without meaning: the model, its graphs, nodes, attributes and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from npuc.frontends.onnx.container.element_types import ElementType
from npuc.frontends.onnx.container.tensors import OnnxTensor, SparseTensor
from npuc.frontends.onnx.container.wire import Message

_Whole: TypeAlias = "OnnxTensor | SparseTensor | OnnxGraph | OnnxType"
AttributeValue: TypeAlias = "int | float | bytes | _Whole | tuple[int | float | bytes | _Whole, ...]"
"""A number, text, tensor, graph or type, or several of one kind."""


@dataclass(frozen=True, slots=True)
class OnnxAttribute:
    """An attribute of a node; `reference` names the attribute of the function around that it stands for."""

    name: str
    kind: str
    value: AttributeValue | None
    reference: str = ""


class Metadata:
    """Named texts that a tool wrote beside a node or a model, read when they are asked for."""

    __slots__ = ("_message", "_number")

    def __init__(self, message: Message | None = None, number: int = 0):
        self._message = message
        self._number = number

    def entries(self) -> dict[str, str]:
        """All texts by their names."""
        found = self._message.messages(self._number, "metadata_props") if self._message is not None else []
        return {entry.string(1, "key"): entry.string(2, "value") for entry in found}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """
    A call of an operator.

    `number` counts from 1 in its graph. An input "" is left out, an output "" is not wanted. The domain of ONNX's own
    operators is "".
    """

    number: int
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, OnnxAttribute] = field(default_factory=dict[str, OnnxAttribute])
    name: str = ""
    domain: str = ""
    overload: str = ""
    metadata: Metadata = field(default_factory=Metadata, compare=False)

    @property
    def full_op(self) -> str:
        """The operator with the domain that it is of, where it is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def __str__(self) -> str:
        """The node as messages show it."""
        outputs = ", ".join(self.outputs) or "()"
        return f"{outputs} = {self.full_op}({', '.join(self.inputs)})"

    def graphs(self) -> Iterator[OnnxGraph]:
        """The graphs in its attributes."""
        for attribute in self.attributes.values():
            values: Sequence[object] = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
            yield from (value for value in values if isinstance(value, OnnxGraph))


@dataclass(frozen=True, slots=True)
class OnnxType:
    """
    The type of a value: `tensor`, `sequence`, `optional`, or another kind by its name.

    Of a tensor `element` and, where the rank is known, `sizes`: a number, the name of a free size, or "" for an unknown
    one. Of a sequence or optional value `inner`.
    """

    kind: str
    element: ElementType | None = None
    sizes: tuple[int | str, ...] | None = None
    inner: OnnxType | None = None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of a tensor whose sizes are all numbers."""
        sizes = self.sizes
        if sizes is None:
            return None
        known = tuple(size for size in sizes if isinstance(size, int))
        return known if len(known) == len(sizes) else None


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A named value and its type, None where the file does not tell it."""

    name: str
    type: OnnxType | None
    metadata: Metadata = field(default_factory=Metadata, compare=False)


def _nothing() -> Mapping[str, ValueInfo]:
    return {}


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """
    Nodes with the inputs, outputs and initial values of a graph, as the file orders them.

    `described` reads what the file says of values between nodes and of outputs, by name: their types, and where
    initial values come from.
    """

    name: str
    nodes: tuple[OnnxNode, ...]
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    initializers: Mapping[str, OnnxTensor | SparseTensor]
    described: Callable[[], Mapping[str, ValueInfo]] = field(default=_nothing, compare=False)

    @property
    def free_inputs(self) -> tuple[ValueInfo, ...]:
        """The inputs without an initial value: old files list parameters among the inputs, too."""
        return tuple(value for value in self.inputs if value.name not in self.initializers)


@dataclass(frozen=True, slots=True)
class OnnxFunction:
    """A function that the model defines: its parameters, attributes with their defaults (None: none), and nodes."""

    name: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, OnnxAttribute | None]
    nodes: tuple[OnnxNode, ...]
    opsets: Mapping[str, int]


@dataclass(frozen=True)
class OnnxModel:
    """
    A model: its graph, its functions by (domain, name, overload), and the version of each domain of operators.

    `producer` is the tool that wrote it and its version. `filename` is its name in messages.
    """

    filename: str
    graph: OnnxGraph
    functions: Mapping[tuple[str, str, str], OnnxFunction]
    opsets: Mapping[str, int]
    ir_version: int
    producer: str
    metadata: Metadata
