"""
Walks over a model: functions are expanded, constants computed, branches chosen and loops unrolled.

What remains are calls of operators on values of the program, which an `Emitter` gets in an order in which they can be
computed. Places of errors are numbers of the nodes of the top graph, from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from npuc.compiler.core.errors import SourceError
from npuc.frontends.onnx.calls import OnnxCall, Position
from npuc.frontends.onnx.container.model import AttributeValue, OnnxFunction, OnnxGraph, OnnxModel, OnnxNode
from npuc.frontends.onnx.container.tensors import OnnxTensor, SparseTensor
from npuc.frontends.onnx.control import CONTROL
from npuc.frontends.onnx.fold import elementwise, made, moves
from npuc.frontends.onnx.fold.limits import Limits, NotFolded
from npuc.frontends.onnx.fold.rules import Folded, Rule
from npuc.frontends.onnx.order import ordered
from npuc.frontends.onnx.sequences import SEQUENCES
from npuc.frontends.onnx.survey import names_read
from npuc.frontends.onnx.values import Constant, Dynamic, OnnxValue, ValueSequence
from npuc.frontends.onnx.versions import newest

RULES: dict[str, Rule] = elementwise.BOOK.rules | moves.BOOK.rules | made.BOOK.rules
"""What is computed while a file is read, by operator."""
EVALUATED = {"Shape", *RULES, *CONTROL, *SEQUENCES}
"""ONNX's own operators that need no emitter where their operands are constant."""
MAX_NESTING = 48
"""How deep functions and bodies may be entered."""


class Emitter(Protocol):
    """What makes a program of the calls that are left."""

    def parameter(self, name: str, tensor: OnnxTensor) -> Dynamic | None:
        """The value of the program for an initial value; None where it is a constant."""
        ...

    def emit(self, call: OnnxCall) -> Sequence[OnnxValue]:
        """The results of a call; as many as the operator has, or fewer. Raises `SourceError`."""
        ...


@dataclass
class _Scope:
    """The names of a graph, body or function under evaluation, and where they are."""

    values: dict[str, OnnxValue]
    initializers: Mapping[str, OnnxTensor | SparseTensor]
    opsets: Mapping[str, int]
    attributes: Mapping[str, AttributeValue]
    title: str = ""
    outer: _Scope | None = None
    position: Position | None = None


@dataclass
class Walk:
    """An evaluation of a model. `run` may be called once."""

    model: OnnxModel
    emitter: Emitter
    limits: Limits = field(default_factory=Limits)
    _scope: _Scope = field(init=False)
    _read: frozenset[str] = field(init=False)
    _entered: list[OnnxFunction | OnnxGraph] = field(default_factory=list["OnnxFunction | OnnxGraph"])
    _orders: dict[int, tuple[OnnxNode, ...]] = field(default_factory=dict[int, "tuple[OnnxNode, ...]"])

    def run(self, inputs: Mapping[str, OnnxValue]) -> dict[str, OnnxValue]:
        """The outputs of the model by name, for values of its inputs. Raises `SourceError`."""
        graph = self.model.graph
        self._scope = _Scope(dict(inputs), graph.initializers, self.model.opsets, {})
        self._read = names_read(self.model)
        self._nodes(graph.nodes)
        return {output.name: self._output(output.name) for output in graph.outputs}

    def _output(self, name: str) -> OnnxValue:
        """A value that the top graph returns."""
        try:
            return self._named(name)
        except KeyError:
            raise SourceError(f"{self.model.filename}: output '{name}' is made by no node") from None

    # names

    def _named(self, name: str) -> OnnxValue:
        """The value of a name, here or in a graph around. Raises `KeyError`."""
        scope: _Scope | None = self._scope
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.initializers:
                scope.values[name] = self._initial(name, scope.initializers[name])
                return scope.values[name]
            scope = scope.outer
        raise KeyError(name)

    def _initial(self, name: str, tensor: OnnxTensor | SparseTensor) -> OnnxValue:
        if isinstance(tensor, SparseTensor):
            return Constant(tensor.numpy(self.limits.elements), tensor.values.type, name)
        found = self.emitter.parameter(name, tensor)
        return Constant(tensor, name=name) if found is None else found

    # nodes

    def _nodes(self, nodes: tuple[OnnxNode, ...]) -> None:
        if id(nodes) not in self._orders:
            self._orders[id(nodes)] = ordered(nodes, self.model.filename)
        for node in self._orders[id(nodes)]:
            self._node(node)

    def _node(self, node: OnnxNode) -> None:
        scope = self._scope
        call = self._call(node)
        if not node.outputs:
            raise call.error("has no output", hint="the file is damaged")
        self.limits.nodes -= 1
        if self.limits.nodes < 0:
            raise call.error(
                "more nodes than may be built, functions and loops expanded", hint="--max-ops N allows more"
            )
        function = self.model.functions.get((node.domain, node.op, node.overload))
        results = self._evaluated(call) if function is None else self._inlined(call, function)
        for name, value in zip(node.outputs, results, strict=False):
            if name and name in scope.values:
                raise call.error(f"makes '{name}', which is made before")
            if name:
                scope.values[name] = _renamed(value, name)

    def _call(self, node: OnnxNode) -> OnnxCall:
        """A node with the values of its inputs and attributes."""
        scope = self._scope
        position = self._position(node)
        inputs: list[OnnxValue] = []
        version = scope.opsets.get(node.domain, 0)
        outputs = tuple(name if name in self._read else "" for name in node.outputs)
        call = OnnxCall(node.op, node.domain, (), {}, outputs, node, position, version)
        for name in node.inputs:
            try:
                inputs.append(self._named(name) if name else None)
            except KeyError:
                raise call.error(f"reads '{name}', which no input, parameter or node before it makes") from None
        resolved: dict[str, AttributeValue] = {}
        for name, attribute in node.attributes.items():
            value = scope.attributes.get(attribute.reference) if attribute.reference else attribute.value
            if value is not None:
                resolved[name] = value
        return call.changed(inputs=tuple(inputs), attributes=resolved)

    def _position(self, node: OnnxNode) -> Position:
        around = self._scope.position
        if around is None:
            return Position(self.model.filename, node.number)
        step = f"node {node.number} of {self._scope.title}"
        return Position(around.filename, around.number, (*around.way, step))

    def _inlined(self, call: OnnxCall, function: OnnxFunction) -> Sequence[OnnxValue]:
        """The results of a function of the model."""
        missing = [name for name, default in function.attributes.items() if default is None]
        missing = [name for name in missing if name not in call.attributes]
        if len(call.inputs) > len(function.inputs):
            raise call.error(f"has {len(call.inputs)} inputs, the function has {len(function.inputs)}")
        defaults = {name: a.value for name, a in function.attributes.items() if a is not None and a.value is not None}
        given = (*call.inputs, *(None,) * (len(function.inputs) - len(call.inputs)))
        values = dict(zip(function.inputs, given, strict=True))
        attributes = {**defaults, **{n: v for n, v in call.attributes.items() if n not in missing}}
        opsets = {**self.model.opsets, **function.opsets}
        scope = _Scope(values, {}, opsets, attributes, f"function '{function.name}'", None, call.position)
        return self._enter(call, function, function.nodes, function.outputs, scope)

    def body(self, call: OnnxCall, graph: OnnxGraph, inputs: Sequence[OnnxValue], title: str) -> tuple[OnnxValue, ...]:
        """See `Runner`."""
        if len(graph.inputs) != len(inputs):
            raise call.error(f"its body has {len(graph.inputs)} inputs, expected {len(inputs)}")
        around = self._scope
        values = dict(zip((value.name for value in graph.inputs), inputs, strict=True))
        scope = _Scope(values, graph.initializers, around.opsets, around.attributes, title, around, call.position)
        self.limits.nodes -= 1  # an empty body takes time, too
        return self._enter(call, graph, graph.nodes, [output.name for output in graph.outputs], scope)

    def _enter(
        self,
        call: OnnxCall,
        part: OnnxFunction | OnnxGraph,
        nodes: tuple[OnnxNode, ...],
        outputs: Sequence[str],
        scope: _Scope,
    ) -> tuple[OnnxValue, ...]:
        """The outputs of a function or body. Raises `SourceError` for one that calls itself."""
        if any(part is other for other in self._entered):
            raise call.error("calls itself, directly or through others")
        if len(self._entered) >= MAX_NESTING:
            raise call.error(f"functions and bodies are nested deeper than {MAX_NESTING}")
        around, self._scope = self._scope, scope
        self._entered.append(part)
        try:
            self._nodes(nodes)
            return tuple(self._returned(call, name) for name in outputs)
        finally:
            self._entered.pop()
            self._scope = around

    def _returned(self, call: OnnxCall, name: str) -> OnnxValue:
        try:
            return self._named(name)
        except KeyError:
            raise call.error(f"its output '{name}' is made by no node") from None

    # evaluation

    def _evaluated(self, call: OnnxCall) -> Sequence[OnnxValue]:
        """The results of an operator: known ones, or values of the program."""
        if call.domain:
            return self.emitter.emit(call)
        newer = newest(call, lambda op, inputs, attributes: self.result(call, op, inputs, attributes))
        if not isinstance(newer, OnnxCall):
            return newer
        evaluate = CONTROL.get(newer.op) or SEQUENCES.get(newer.op)
        if evaluate is not None:
            return evaluate(newer, self)
        for index, value in enumerate(newer.inputs):
            if isinstance(value, ValueSequence):
                raise newer.error(f"input {index} is a sequence, expected a tensor")
        if newer.op == "Shape":
            return [moves.shape_of(Folded(newer, self.limits))]
        if newer.op in RULES and all(value is None or isinstance(value, Constant) for value in newer.inputs):
            try:
                return RULES[newer.op](Folded(newer, self.limits))
            except NotFolded:
                pass  # the program computes it
            except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError) as error:
                raise newer.error(f"cannot be computed: {error}") from None
        return self.emitter.emit(newer)

    def results(
        self,
        call: OnnxCall,
        op: str,
        inputs: Sequence[OnnxValue],
        attributes: Mapping[str, AttributeValue],
        outputs: int,
    ) -> Sequence[OnnxValue]:
        """See `Runner`."""
        names = (next((name for name in call.outputs if name), op),) * outputs
        changed = call.changed(op=op, inputs=tuple(inputs), attributes=attributes, outputs=names, version=_NEWEST)
        found = self._evaluated(changed)
        if len(found) != outputs:
            raise call.error(f"{op} gives {len(found)} results, expected {outputs}")
        return found

    def result(
        self, call: OnnxCall, op: str, inputs: Sequence[OnnxValue], attributes: Mapping[str, AttributeValue]
    ) -> OnnxValue:
        """See `Runner`."""
        return self.results(call, op, inputs, attributes, 1)[0]


_NEWEST = 1 << 31
"""The version of calls that the reader makes itself."""


def _renamed(value: OnnxValue, name: str) -> OnnxValue:
    """A constant with the name of an output, where it has none."""
    if isinstance(value, Constant) and not value.name:
        value.name = name
    return value
