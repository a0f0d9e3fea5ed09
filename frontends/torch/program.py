"""What an exported program says: its graphs, calls, types and names, as frozen data without any meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from npuc.compiler.core.errors import Location, SourceError
from npuc.frontends.torch.expressions import SizeExpression

if TYPE_CHECKING:
    from npuc.frontends.torch.weights import Weights

Size: TypeAlias = int | SizeExpression
Scalar: TypeAlias = int | float | bool | SizeExpression


@dataclass(frozen=True, slots=True)
class TensorName:
    """A tensor, by its name in the graph."""

    name: str


@dataclass(frozen=True, slots=True)
class ScalarName:
    """A whole number, float or truth value that the graph computes, by its name there."""

    name: str


@dataclass(frozen=True, slots=True)
class Keyword:
    """
    A value that PyTorch names: `kind` is dtype, layout, memory_format, device, operator, or the kind of an object.

    Names of element types are numpy's, and bfloat16, complex32 and float8_….
    """

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph that an operator takes."""

    name: str
    graph: TorchGraph


_Plain: TypeAlias = bool | int | float | complex | str | TensorName | ScalarName | Keyword | Subgraph
TorchValue: TypeAlias = "_Plain | tuple[TorchValue, ...] | Mapping[str, TorchValue] | None"
"""A value of a graph, or a list or dictionary of some."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """
    The type of a tensor: element type by name, sizes and strides in elements, place in its storage, device.

    `layout` is "strided" for all but sparse tensors.
    """

    dtype: str
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    layout: str = "strided"
    device: str = ""
    requires_grad: bool = False

    @property
    def symbols(self) -> tuple[str, ...]:
        """The free sizes in its shape."""
        return tuple(symbol for size in self.shape if isinstance(size, SizeExpression) for symbol in size.symbols)


@dataclass(frozen=True, slots=True)
class TorchArgument:
    """An argument of a call; its name is that of the operator's schema, "" where that has none."""

    name: str
    value: TorchValue
    is_keyword: bool = False


@dataclass(frozen=True)
class TorchNode:
    """
    A call of an operator.

    `number` counts the nodes of the top graph from 1; a node of a subgraph has that of the node around it.
    `target` is the operator's full name, as in `torch.ops.aten.add.Tensor`. `arguments` are those that were given: an
    operator's defaults are not written. An output that is a list of tensors is a tuple. `modules` are path and class of
    the modules around the call, from the model ("") inwards, `line` is the line of source as reports show it (None
    where the file has no traces).
    """

    number: int
    name: str
    target: str
    arguments: tuple[TorchArgument, ...]
    outputs: tuple[TorchValue, ...]
    modules: tuple[tuple[str, str], ...] = ()
    line: str | None = None

    @cached_property
    def operator(self) -> str:
        """The operator without `torch.ops.`, as in `aten.add.Tensor`."""
        return self.target.removeprefix("torch.ops.")

    @property
    def module(self) -> str:
        """The path of the innermost module around the call; "" is the model. A later call of it ends in `@1`, …"""
        return self.modules[-1][0] if self.modules else ""

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tensors of the graph that the call takes, those in lists included, in order."""
        return tensors_in([argument.value for argument in self.arguments])

    @cached_property
    def makes(self) -> tuple[str, ...]:
        """The tensors of the graph that the call gives, those in lists included, in order."""
        return tensors_in(self.outputs)

    @property
    def scalars(self) -> tuple[str, ...]:
        """The numbers of the graph that the call takes or gives."""
        return scalars_in([*(argument.value for argument in self.arguments), *self.outputs])

    @cached_property
    def subgraphs(self) -> tuple[Subgraph, ...]:
        """The graphs that it takes."""
        return tuple(a.value for a in self.arguments if isinstance(a.value, Subgraph))


def tensors_in(values: Iterable[TorchValue]) -> tuple[str, ...]:
    """The names of the tensors among values, in lists and dictionaries of them, too, as they stand."""
    found: list[str] = []
    _gather(values, TensorName, found)
    return tuple(found)


def scalars_in(values: Iterable[TorchValue]) -> tuple[str, ...]:
    """The names of the numbers among values, in lists and dictionaries of them, too, as they stand."""
    found: list[str] = []
    _gather(values, ScalarName, found)
    return tuple(found)


def _gather(values: Iterable[TorchValue], kind: type[TensorName | ScalarName], found: list[str]) -> None:
    for value in values:
        if isinstance(value, kind):
            found.append(value.name)
        elif isinstance(value, tuple):
            _gather(value, kind, found)
        elif isinstance(value, dict):
            _gather(value.values(), kind, found)


@dataclass(frozen=True)
class TorchGraph:
    """
    Calls in order, with inputs and outputs, and the types of the values by their names.

    Names belong to one graph: a subgraph sees its inputs only.
    """

    inputs: tuple[TorchValue, ...]
    outputs: tuple[TorchValue, ...]
    nodes: tuple[TorchNode, ...]
    tensors: Mapping[str, TensorType]
    scalars: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class GraphInput:
    """
    An input of the top graph.

    `kind` is parameter, buffer, constant (a tensor of the forward function), user, literal (an input that is no
    tensor, at the example's value), object or token. `name` is its name in the graph, `target` that of the parameter,
    buffer or constant.
    """

    kind: str
    name: str
    value: TorchValue
    target: str = ""
    persistent: bool = True


@dataclass(frozen=True, slots=True)
class GraphOutput:
    """
    An output of the top graph.

    `kind` is user, loss, token, or what it is of `target`: buffer_mutation, parameter_mutation, user_input_mutation,
    gradient_to_parameter, gradient_to_user_input. `name` is the user's: its place in the result, as in
    `hidden.0`, or `output`.
    """

    kind: str
    value: TorchValue
    name: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class SymbolRange:
    """The values that a free size may have; None: no bound."""

    least: int | None
    most: int | None


@dataclass(frozen=True)
class ExportedProgram:
    """
    A model that `torch.export` wrote.

    `hints` are the values of expressions of free sizes in the example, by their text. `is_training_ir` tells whether
    operators may work in place; `torch_version` wrote it.
    """

    filename: str
    name: str
    graph: TorchGraph
    inputs: tuple[GraphInput, ...]
    outputs: tuple[GraphOutput, ...]
    ranges: Mapping[str, SymbolRange]
    hints: Mapping[SizeExpression, int | float | bool]
    modules: tuple[str, ...]
    opsets: Mapping[str, int]
    schema_version: tuple[int, int]
    torch_version: str
    is_training_ir: bool
    guards: tuple[str, ...]
    weights: Weights

    def place(self, node: TorchNode) -> Location:
        """The place of a node, as messages and reports show it."""
        return Location(self.filename, node.number, 1)

    def error(self, node: TorchNode, message: str, hint: str | None = None) -> SourceError:
        """An error at a node."""
        return SourceError(f"{node.operator}: {message}", location=self.place(node), hint=hint)
