"""From an exported program to a script: each call in order, its meaning, and what inputs and outputs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.script import Script
from npuc.frontends.script.weights import Empty, Refused, Tensor, Uniform, Weight
from npuc.frontends.script.writer import CallWriter
from npuc.frontends.torch.arguments import bound
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.graphs.autocast import autocast
from npuc.frontends.torch.graphs.call import GraphCall
from npuc.frontends.torch.graphs.control import CONTROL, uses_of
from npuc.frontends.torch.graphs.known import all_nodes, check_known, check_priced
from npuc.frontends.torch.graphs.translation import Translation
from npuc.frontends.torch.memory.effects import Effects, computes, functional
from npuc.frontends.torch.memory.values import Memory, View, itself, new_part
from npuc.frontends.torch.memory.views import turns, write_back
from npuc.frontends.torch.names import Layers
from npuc.frontends.torch.opaque import names_of, price_call
from npuc.frontends.torch.operators import Meaning
from npuc.frontends.torch.operators.complex import of_complex
from npuc.frontends.torch.program import (
    Keyword,
    ScalarName,
    Subgraph,
    TensorName,
    TensorType,
    TorchGraph,
    TorchNode,
    TorchValue,
)
from npuc.frontends.torch.sizes import Sizes
from npuc.frontends.torch.values import Complex, element_of, element_or_name, stored

if TYPE_CHECKING:
    from npuc.frontends.script.opaque.calls import OpaqueOperators
    from npuc.frontends.torch.program import ExportedProgram

MAX_INLINED = 400_000
"""The most calls of all blocks and iterations of loops together."""
_REAL = "torch.view_as_real gives both parts"


def translate(
    program: ExportedProgram, script: Script, sizes: Sizes, opaque: OpaqueOperators | None = None
) -> Translation:
    """
    Write a program into a script. Raises `SourceError`s with the node's place.

    `opaque` prices operators without a meaning; None: they are refused.
    """
    (check_known if opaque is None else check_priced)(program)
    return _Translator(program, script, sizes, opaque).run()


class _Translator:
    """One run over a program."""

    def __init__(self, program: ExportedProgram, script: Script, sizes: Sizes, opaque: OpaqueOperators | None):
        self.opaque = opaque
        self.program = program
        self.script = script
        self.sizes = sizes
        self.layers = Layers([node for node in all_nodes(program.graph) if computes(node)])
        script.classes.update(self.layers.classes)
        self.autocast = False
        self._inlined = 0
        self.done = Translation()

    def run(self) -> Translation:
        memory = Memory()
        self._inputs(memory)
        kept = [one.value for one in self.program.outputs if one.kind in ("user", "loss")]
        self._calls(self.program.graph, kept, memory)
        self._outputs(memory)
        return self.done

    # inputs and outputs

    def _inputs(self, memory: Memory) -> None:
        uses = uses_of(self.program.graph)
        for one in self.program.inputs:
            if one.kind in ("object", "token") or not isinstance(one.value, TensorName):
                memory.define(one.name, one.value)
                continue
            type = self.program.graph.tensors[one.value.name]
            if one.kind == "user":
                if uses[one.value.name]:
                    memory.define(one.value.name, self._user_input(one.name, type))
                continue
            read = self.program.weights.reader(one.target)
            value, weights = stored(one, type, self.sizes.shape(type), uses[one.value.name], read)
            self.done.weights += weights
            memory.define(one.value.name, value)

    def _user_input(self, name: str, type: TensorType) -> Name | Empty:
        shape = self.sizes.shape(type)
        if 0 in shape:
            return Empty(shape, element_or_name(type))
        try:
            return self.script.input(name, element_of(type.dtype), self.sizes.shape(type))
        except Refused as refusal:
            raise self.script.error(f"input '{name}': {refusal.message}", refusal.hint) from None

    def _outputs(self, memory: Memory) -> None:
        names = self.done.outputs
        for number, one in enumerate(self.program.outputs):
            if one.kind == "buffer_mutation" or not isinstance(one.value, TensorName):
                continue
            if one.kind not in ("user", "loss"):
                self.done.remarks.append(f"the new value of '{one.target}' is not kept")
                continue
            value = memory[one.value.name] if one.value.name in memory else None
            if isinstance(value, Complex):
                raise self.script.error(f"output '{one.name}': found complex numbers, expected real ones", _REAL)
            name = one.name or ("loss" if one.kind == "loss" else f"output{number}")
            if isinstance(value, Weight) and name not in names:
                value = self._kept(name, value)
            if isinstance(value, Name) and name not in names:
                names[name] = value
                continue
            why = "it has no elements" if isinstance(value, Empty) else "no call makes a value of it"
            self.done.remarks.append(f"output '{name}' is left out: {why}")
        if not names and self.done.remarks:
            raise self.script.error(f"the graph has no output to keep: {self.done.remarks[-1]}")

    def _kept(self, name: str, weight: Weight) -> Name:
        """A parameter or buffer that is an output as it is."""
        try:
            return CallWriter(self.script, weight.owner or weight.name).variable(weight)
        except Refused as refusal:
            raise self.script.error(f"output '{name}': {refusal.message}", refusal.hint) from None

    # calls

    def _calls(self, graph: TorchGraph, results: Sequence[TorchValue], memory: Memory) -> None:
        """Write the calls that some results depend on."""
        effects = Effects(graph, results, self.sizes)
        for node in graph.nodes:
            if node.name not in effects.needed or not computes(node):
                continue
            with self.script.node(node.number, node.line or self.script.builder.source_line):
                try:
                    self._call(graph, node, memory, effects)
                except Refused as refusal:
                    raise self.program.error(node, refusal.message, refusal.hint) from None
                except (LookupError, ArithmeticError, ValueError, StopIteration) as error:
                    problem = "found arguments that contradict the types in the file"
                    raise self.program.error(node, problem) from error

    def _call(self, graph: TorchGraph, node: TorchNode, memory: Memory, effects: Effects) -> None:
        if node.operator in CONTROL:
            self._graphs(graph, node, memory, effects)
            return
        found = functional(node.operator)
        types = [graph.tensors[name] for name in node.makes]
        layer = self.script.unused(self.layers.name_of(node))
        context = Context(self.script, layer, types, [self.sizes.shape(type) for type in types])
        named = {a.name: self._value(graph, a.value, memory) for a in node.arguments}
        if self.autocast:
            named = autocast(context, node.operator, named)
        if all(0 in shape for shape in context.result_shapes) and context.result_count:
            shapes = zip(context.result_shapes, types, strict=True)
            empty = [Empty(shape, element_or_name(type)) for shape, type in shapes]
            self._define(node.outputs, empty, context, memory)  # nothing is written to it, either
            return
        if found is None:
            price_call(self.opaque, context, node, types, named, effects.read, memory)
            return
        meaning, in_place = found
        if any(isinstance(value, Complex) for value in named.values()):
            meaning = of_complex(node.operator, meaning)
        given, named = named, bound(meaning, named)
        try:
            result: object = meaning(context, **named)
        except Refused as refusal:
            if self.opaque is None or in_place or node.name in effects.shared:
                raise
            self.opaque.refused(names_of(node.operator)[-1], refusal.message)
            again = Context(self.script, layer, types, context.result_shapes)
            price_call(self.opaque, again, node, types, given, effects.read, memory)
            return
        call = meaning, context, named
        if in_place:
            target = node.arguments[0].value
            if not isinstance(target, TensorName):
                raise Refused("found no tensor to write to")
            if turns(node.operator):
                operand = self._operand(call, memory[target.name])
                memory.turn(target.name, lambda base: self._view(node, base, call, operand))
            else:
                memory.write(target.name, self._written(result, context))
            memory.define(node.makes[0], memory[target.name], View(target.name, itself, new_part))
        elif (base := effects.shared.get(node.name)) is None:
            self._define(node.outputs, result, context, memory)
        else:
            self._share(node, base, result, call, memory)

    def _share(self, node: TorchNode, base: str, result: object, call: _Call, memory: Memory) -> None:
        """Name the results of a call that share the memory of a value which is written in place."""
        operand = self._operand(call, memory[base])
        for place, output in enumerate(node.makes):
            value = self._tensor(_listed(result)[place], call[1])
            memory.define(output, value, self._view(node, base, call, operand, place))

    def _operand(self, call: _Call, value: object) -> str:
        """The argument of a call that is a value."""
        for name, one in call[2].items():
            if one is value:
                return name
        raise Refused("found results that share memory which is written in place", "write to clones of them")

    def _view(self, node: TorchNode, base: str, call: _Call, operand: str, place: int = 0) -> View:
        """How a result of a call is made of its operand `base`, and that one of the result."""
        meaning, context, named = call

        def make(whole: object) -> Name:
            again = _listed(meaning(context, **{**named, operand: whole}))
            return self._written(again[place], context)

        def write(whole: object, part: Name) -> Name:
            return write_back(node.operator, context, named, self._written(whole, context), part)

        return View(base, make, write)

    def _define(self, outputs: Sequence[TorchValue], result: object, context: Context, memory: Memory) -> None:
        """Name the results of a call."""
        if not outputs or result is None:
            return
        if isinstance(outputs[0], tuple):
            outputs = outputs[0]
        results = _listed(result)
        for output, value in zip(outputs, results, strict=False):
            if isinstance(output, TensorName):
                memory.define(output.name, self._tensor(value, context))

    def _tensor(self, value: object, context: Context) -> Tensor | Complex:
        """A result as a value: an expression becomes the variable of the call's layer."""
        if isinstance(value, Name | Weight | Empty | Uniform | Complex):
            return value
        if not isinstance(value, Call):
            raise Refused("found a result of a call that computes none")
        return self.script.assign(context.layer, value)

    def _written(self, value: object, context: Context) -> Name:
        """A result that is written in place, as a variable."""
        found = self._tensor(value, context)
        if isinstance(found, Complex):
            raise Refused("found complex numbers that are written in place", "write real and imaginary parts")
        return context.variable(found)

    def _graphs(self, graph: TorchGraph, node: TorchNode, memory: Memory, effects: Effects) -> None:
        """Write a call of graphs."""
        if node.name in effects.tangled:
            raise Refused("found a result that shares memory which is written in place", "return a clone of it")
        values = [self._value(graph, a.value, memory) for a in node.arguments if not a.is_keyword]
        call = GraphCall(self, node, memory)
        results = CONTROL[node.operator](call, values)
        outputs = node.outputs[0] if node.outputs and isinstance(node.outputs[0], tuple) else node.outputs
        if len(results) != len(outputs):
            raise Refused(f"found {len(results)} results of its graph, expected {len(outputs)}")
        for output, result in zip(outputs, results, strict=True):
            if isinstance(output, TensorName):
                memory.define(output.name, result)

    def inlined(self, graph: TorchGraph, operands: Sequence[object], made: Memory) -> list[object]:
        """The results of a graph's calls, which are written; `made` gets its values."""
        self._inlined += 1 + len(graph.nodes)
        if self._inlined > MAX_INLINED:
            raise Refused(f"found loops and blocks of more than {MAX_INLINED:,} calls, expected at most as many")
        if len(operands) != len(graph.inputs):
            raise Refused(f"found {len(operands)} operands of a graph, expected {len(graph.inputs)}")
        for name, operand in zip(graph.inputs, operands, strict=True):
            if isinstance(name, TensorName):
                made.define(name.name, operand)
        self._calls(graph, graph.outputs, made)
        return [self._value(graph, value, made) for value in graph.outputs]

    def _value(self, graph: TorchGraph, value: TorchValue, memory: Memory) -> object:
        """An argument as meanings take it."""
        match value:
            case TensorName():
                return memory[value.name]
            case ScalarName():
                return self.sizes.number(graph.scalars[value.name])
            case tuple():
                return [self._value(graph, one, memory) for one in value]
            case None | bool() | int() | float() | str() | Keyword() | Subgraph():
                return value
            case Mapping():
                return []
            case _:
                raise Refused(f"found an argument of another kind: {type(value).__name__}")


_Call = tuple[Meaning, Context, Mapping[str, object]]


def _listed(result: object) -> list[object]:
    """The results of a meaning, which gives one or a list."""
    return cast("list[object]", result) if isinstance(result, list) else [result]
