"""
A network under construction as statements of the network language.

    script = Script("net", "net.onnx")
    x = script.input("x", "f32", [1, 3, 224, 224])
    h = script.let("conv1", "conv2d", x, 64, kernel=7, stride=2, padding=3)
    h = script.let("relu", "relu", h)

Each statement is executed as it is written, so that the shape of every value is known at once. Names of variables are
the full names of their layers, dots included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.tensors import element_text, tensor_type
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.dsl.budget import Abort
from npuc.frontends.dsl.elaborate import Elaboration, function_names
from npuc.frontends.dsl.program import LoadedProgram, Routine
from npuc.frontends.dsl.syntax import (
    Argument,
    Assignment,
    Call,
    Declaration,
    Definition,
    Expr,
    Index,
    ListOf,
    Literal,
    Loss,
    Name,
    Optimizer,
    Output,
    Statement,
)
from npuc.frontends.dsl.values import Poison, Poisoned, Value, describe
from npuc.frontends.script.constants import MAX_ELEMENTS, Constants
from npuc.frontends.script.freeze import FrozenLayers
from npuc.frontends.script.weights import Weight
from npuc.frontends.source_text import Diagnostics, Place, SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.layers.base import Array

Term: TypeAlias = "Expr | int | float | bool | str | Sequence[Term] | None"
"""What an argument of a call may be: an expression, or what one is made of."""


class _Graph(SourceText):
    """A graph that is no text: its places are numbers of nodes, and errors quote no line."""

    def error(self, at: Place, message: str, hint: str | None = None) -> SourceError:
        return SourceError(message, location=self.location(at), hint=hint)


class Script:
    """
    The statements of a network, and the program that they make.

    Places are numbers of nodes of the graph that is read, from 1, as lines of `filename`. A mistake in a statement is
    raised at once as a `SourceError` with its place. `is_frozen` says by their names which parameters are not trained.
    """

    def __init__(
        self,
        name: str,
        filename: str,
        *,
        training: bool = True,
        max_ops: int = MAX_OPS,
        is_frozen: Callable[[str], bool] | None = None,
    ):
        self.training = training
        self.statements: list[Statement] = []
        self.labels: list[str] = []
        self.weights: dict[str, Weight] = {}
        self.classes: dict[str, str] = {}
        """The classes of the modules that layers are in, by their paths, as far as the graph tells."""
        self._source = _Graph("", filename)
        self._functions = function_names()
        self._at = Place(1, 1)
        self._name = name
        self._written: dict[str, Expr] = {}
        self._numbers: dict[str, int] = {}
        self._inputs: list[str] = []
        self._diagnostics = Diagnostics()
        self._unpacked: dict[str, tuple[Call, int]] = {}
        self._constants = Constants()
        self._with_buffers = Constants(self._stored)
        self.facts: dict[object, Any] = {}
        """What was found of values, by whatever names them, for those who look for it again."""
        self.frozen = FrozenLayers(is_frozen)
        self.builder = GraphBuilder(name, training=training, max_ops=max_ops, is_frozen=is_frozen)
        routine = Routine(self.definition, self._source)
        self._elaboration = Elaboration(LoadedProgram(routine, {}), self.builder, self._diagnostics)

    @property
    def definition(self) -> Definition:
        """The network as it is written so far."""
        top = Place(1, 1)
        return Definition(top, True, Name(top, self._name), (), tuple(self.statements))

    # places

    @contextmanager
    def node(self, number: int, source: str | None = None) -> Generator[None]:
        """
        The node, from 1, of the graph that is read, which the statements written inside stand for.

        `source` is the line of the model's own program, `model.py:41`, where the graph tells it.
        """
        saved = self._at, self.builder.source_line
        self._at, self.builder.source_line = Place(number, 1), source
        try:
            yield
        finally:
            self._at, self.builder.source_line = saved

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error at the node under way."""
        return self._source.error(self._at, message, hint)

    # statements

    def input(self, name: str, element: str, sizes: Sequence[int], *, labels: bool = False) -> Name:
        """An input of the network, or labels; a name that is taken gets a number."""
        own = self._unused(name)
        shape = self._expr(list(sizes))
        assert isinstance(shape, ListOf)
        self.execute(Declaration(self._at, labels, own, Name(self._at, element), shape))
        self._inputs.append(own.text)
        return own

    def let(self, layer: str, function: str, *arguments: Term, **named: Term) -> Name:
        """`layer = function(arguments)`: the value's name, which is the layer's, with a number where it is taken."""
        return self.assign(layer, self.call(function, *arguments, **named))

    def assign(self, layer: str, value: Expr) -> Name:
        """`layer = value`: the value's name, which is the layer's, with a number where it is taken."""
        own = self._unused(layer)
        self.execute(Assignment(self._at, (own,), value))
        self._written[own.text] = value
        return own

    def several(self, layers: Sequence[str], function: str, *arguments: Term, **named: Term) -> list[Name]:
        """`a, b = function(arguments)`: a name for each of the values that a call gives."""
        return self.unpacked(layers, self.call(function, *arguments, **named))

    def unpacked(self, layers: Sequence[str], call: Call) -> list[Name]:
        """`a, b = call`: a name for each of its values."""
        if len(layers) == 1:
            whole = self._unused(f"{layers[0]}.{call.function}")
            self.execute(Assignment(self._at, (whole,), call))
            return [self.assign(layers[0], Index(self._at, whole, Literal(self._at, 0)))]
        own: list[Name] = []
        for layer in layers:
            own.append(self._unused(layer, [one.text for one in own]))
        self.execute(Assignment(self._at, tuple(own), call))
        self._unpacked |= {name.text: (call, place) for place, name in enumerate(own)}
        return own

    def add_loss(self, value: Expr) -> None:
        """`loss value`."""
        self.execute(Loss(self._at, value))

    def add_output(self, name: str, value: Name) -> None:
        """`output name`, or `output name = value` where the value has another name."""
        own = Name(self._at, name)
        self.execute(Output(self._at, own, None if value.text == name else value))

    def set_optimizer(self, call: Call) -> None:
        """`optimizer call`."""
        self.execute(Optimizer(self._at, call))

    def execute(self, statement: Statement) -> None:
        """Write a statement of the language's syntax."""
        elaboration, made = self._elaboration, len(self.builder.parameters)
        try:
            elaboration.run_body((statement,), elaboration.frame)
        except (Abort, Poisoned):
            pass  # the reason is among the diagnostics
        self._diagnostics.raise_if_any()
        self.statements.append(self.frozen.marked(statement, self.builder.parameters, made))

    def unused(self, name: str) -> str:
        """A name as it is, or with a number where it is taken."""
        return self._unused(name).text

    def _unused(self, name: str, besides: Sequence[str] = ()) -> Name:
        """A name as it is, or with a number where it is taken."""
        taken = self._elaboration.frame.variables
        number, candidate = self._numbers.get(name, 2), name
        while candidate in taken or candidate in besides:
            candidate = f"{name}_{number}"
            number += 1
        if candidate != name:
            self._numbers[name] = number - 1
        return Name(self._at, candidate)

    # expressions

    def call(self, function: str, *arguments: Term, **named: Term) -> Call:
        """The expression `function(arguments)`; no statement is written."""
        if function not in self._functions:
            raise self.error(f"{function} is no function of the language, so that this has no counterpart")
        at = self._at
        given = [Argument(at, None, self._expr(value)) for value in arguments]
        given += [Argument(at, name, self._expr(value)) for name, value in named.items()]
        return Call(at, function, tuple(given))

    def _expr(self, value: Term) -> Expr:
        match value:
            case Name():
                return Name(self._at, value.text)
            case int() | float() | str() | None:
                return Literal(self._at, value)
            case list() | tuple():
                return ListOf(self._at, tuple(map(self._expr, value)))
            case _:
                assert not isinstance(value, Sequence)
                return value

    def written(self, name: Expr) -> Expr | None:
        """The expression that a variable was given; None for inputs, and where one call gave several values."""
        return self._written.get(name.text) if isinstance(name, Name) else None

    def origin(self, name: Name) -> tuple[Call, int] | None:
        """The call of several values that gave a variable, and the place among them; None for others."""
        return self._unpacked.get(name.text)

    def constant(self, expr: Expr) -> object:
        """What an expression of literals and names stands for: numbers, strings, lists, names."""
        match expr:
            case Literal():
                return expr.value
            case ListOf():
                return [self.constant(item) for item in expr.items]
            case _:
                return expr

    # values

    def value(self, name: Name) -> Value:
        """The value of a variable."""
        value = self._elaboration.frame.variables[name.text]
        assert not isinstance(value, Poison)
        return value

    def type(self, name: Name) -> TensorType[Attribute]:
        """The type of a variable that holds a tensor. Raises `SourceError` for one that holds numbers."""
        value = self.value(name)
        if not isinstance(value, SSAValue):
            raise self.error(f"'{name.text}' is {describe(value)}, expected a tensor")
        return tensor_type(value)

    def shape(self, name: Name) -> tuple[int, ...]:
        """The shape of a variable that holds a tensor."""
        return self.type(name).get_shape()

    def element(self, name: Name) -> str:
        """The element type of a variable that holds a tensor, as the language writes it."""
        return element_text(self.type(name).element_type)

    def numbers(self, name: Name) -> Array | None:
        """The values of a variable that depends on no input, as far as they are few; None for others."""
        value = self.value(name)
        return self._constants.of(value) if isinstance(value, SSAValue) else None

    def known(self, name: Name) -> Array | None:
        """The values of a variable that depends on no input and no trained parameter; None for others."""
        value = self.value(name)
        return self._with_buffers.of(value) if isinstance(value, SSAValue) else None

    def _stored(self, value: SSAValue) -> Array | None:
        """The values that the file has for a buffer, as far as they are few."""
        for text, weight in self.weights.items():
            if self._elaboration.frame.variables[text] is value:
                few = prod(weight.shape) <= MAX_ELEMENTS
                return weight.read() if few and not weight.trained and weight.read is not None else None
        return None

    @property
    def parameters(self) -> Mapping[str, TensorType[Attribute]]:
        """The types of the parameters made so far, by name."""
        return self.builder.parameters

    def finish(self) -> ModuleOp:
        """The module. The script must not be used afterwards."""
        return self._elaboration.finish()

    def unneeded(self, module: ModuleOp) -> frozenset[str]:
        """The inputs that the finished module lacks, because nothing that is kept reads them."""
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        return frozenset(self._inputs) - {argument.name for argument in arguments_of(function)}
