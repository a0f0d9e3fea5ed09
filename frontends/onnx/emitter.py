"""From the calls of a model to a script: what each operator means, and where parameters come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from npuc.compiler.core.errors import Location, SourceError, SourceErrors
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.assumed import Assumed
from npuc.frontends.onnx.batch.new import Batches
from npuc.frontends.onnx.calls import OnnxCall, Position
from npuc.frontends.onnx.container.model import OnnxModel, OnnxNode
from npuc.frontends.onnx.container.tensors import OnnxTensor
from npuc.frontends.onnx.context import TYPES, OnnxContext
from npuc.frontends.onnx.opaque import OpaqueNodes
from npuc.frontends.onnx.operators import Meaning, Result, meanings
from npuc.frontends.onnx.operators.refused import REASONS
from npuc.frontends.onnx.origins import Origins
from npuc.frontends.onnx.readers import Readers
from npuc.frontends.onnx.survey import used_operators, uses
from npuc.frontends.onnx.values import Constant, OnnxValue, ValueSequence
from npuc.frontends.onnx.walk import EVALUATED
from npuc.frontends.onnx.weights import OnnxWeight, Read, Variable, weight_of
from npuc.frontends.script.script import Script
from npuc.frontends.script.weights import FLOATS, Refused


class ScriptEmitter:
    """
    Writes the calls of a model into a script.

    `values` gets, by the names of the program's parameters, how they are read from the file. `batches` follows the
    shapes of the calls. `opaque` prices nodes of operators without a meaning; None: they are refused.
    """

    def __init__(
        self,
        model: OnnxModel,
        script: Script,
        assumed: Assumed | None = None,
        batches: Batches | None = None,
        opaque: OpaqueNodes | None = None,
    ):
        self.script = script
        self._opaque = opaque
        self._assumed = assumed or Assumed({})
        self._batches = batches
        self._filename = model.filename
        self.values: dict[str, Read] = {}
        self._uses = Counter(uses(model.graph))
        self._parameters: dict[str, OnnxWeight | None] = {}
        self._origins = Origins(model)
        self._readers = Readers(model.graph, self.parameter, self._origins)

    def parameter(self, name: str, tensor: OnnxTensor) -> OnnxWeight | None:
        """See `Emitter`: real numbers are trained, unless there is only one or the file tells another origin."""
        if tensor.type.language not in FLOATS or tensor.count <= 1:
            return None
        if name not in self._parameters:
            origin = self._origins.of(name)
            trained = origin == "parameter"
            made = weight_of(name, tensor.shape, tensor.type, tensor.numpy, trained=trained, uses=self._uses[name])
            self._parameters[name] = None if origin == "constant" else made
        return self._parameters[name]

    def emit(self, call: OnnxCall) -> Sequence[OnnxValue]:
        """See `Emitter`."""
        if self._batches is None:
            return self._emitted(call)
        results = self._emitted(self._batches.rewritten(call, partial(self._repeated, call)))
        self._batches.made(call, results)
        return results

    def _repeated(self, call: OnnxCall, weight: OnnxWeight, axis: int, times: int) -> Variable:
        """A parameter repeated along an axis."""
        repeats = [times if other == axis else 1 for other in range(len(weight.shape))]
        with self.script.node(call.position.number):
            context = OnnxContext(self.script, call, self.values, self._readers)
            return self.variable(context.let("repeat", context.variable(weight), repeats))

    def _emitted(self, call: OnnxCall) -> Sequence[OnnxValue]:
        if call.node.number in self._readers.absorbed and not call.position.way:
            return [next(value for value in call.inputs if isinstance(value, Variable))]
        meaning = meanings().get(call.full_op)
        if meaning is None and self._opaque is None:
            raise call.error("has no counterpart", hint="npuc list operators shows what is read; --opaque prices it")
        with self.script.node(call.position.number):
            context = OnnxContext(self.script, call, self.values, self._readers, self._assumed)
            try:
                result = self._meant(context, meaning)
            except Refused as refusal:
                raise call.error(refusal.message, refusal.hint) from None
            results = [result] if isinstance(result, Call | Name | Constant) else list(result)
            return [None if one is None else self._value(context, one, n) for n, one in enumerate(results)]

    def _meant(self, context: OnnxContext, meaning: Meaning | None) -> Result:
        """The results of a call by its meaning; where it has none, or this one is refused, a call that is priced."""
        if meaning is not None and self._opaque is None:
            return meaning(context)
        assert self._opaque is not None
        why = None
        if meaning is not None:
            try:
                return meaning(context)
            except (Refused, SourceError) as refusal:
                why = refusal.message
        again = OnnxContext(self.script, context.onnx, self.values, self._readers, self._assumed)
        return self._opaque.results(again, why)

    def _value(self, context: OnnxContext, value: Call | Name | Constant, number: int) -> Variable | Constant:
        """A result as a value: an expression becomes the variable of the call's layer."""
        if isinstance(value, Constant):
            return value
        layer = context.layer if number == 0 else f"{context.layer}.{number}"
        name = self.script.assign(layer, value) if isinstance(value, Call) else value
        return self.variable(name)

    def variable(self, name: Name) -> Variable:
        """A variable of the script as a value."""
        return Variable(name, self.script.shape(name), TYPES[self.script.element(name)])

    def output(self, name: str, value: OnnxValue) -> Name:
        """An output of the model as a variable. Raises `SourceError`."""
        if value is None or isinstance(value, ValueSequence):
            raise self.script.error(f"output '{name}' is {'nothing' if value is None else 'a sequence'}")
        assert isinstance(value, Constant | Variable | OnnxWeight)
        node = OnnxNode(1, "Output", (name,), (name,))
        position = Position(self._filename, 1)
        call = OnnxCall("Output", "", (value,), {}, (name,), node, position)
        return OnnxContext(self.script, call, self.values, self._readers).variable(value)


def check_known(model: OnnxModel) -> None:
    """Raise an error that names all operators of a model that have no meaning here, with their nodes."""
    known = meanings()
    problems: list[SourceError] = []
    for used in used_operators(model):
        name = f"{used.domain}.{used.op}" if used.domain else used.op
        if name in known or (not used.domain and (used.op in EVALUATED or used.op in _OLDER)):
            continue
        places = ", ".join(map(str, used.numbers[:8])) + (", …" if len(used.numbers) > 8 else "")
        where = f" (nodes {places})" if len(used.numbers) > 1 else ""
        at = Location(model.filename, min(used.numbers), 1)
        hint = "npuc list operators shows what is read; other options of the exporter may avoid it; --opaque prices it"
        reason = f": {REASONS[used.op]}" if not used.domain and used.op in REASONS else ""
        problems.append(SourceError(f"unsupported operator {name}{where}{reason}", location=at, hint=hint))
    if problems:
        raise problems[0] if len(problems) == 1 else SourceErrors(tuple(problems))


_OLDER = ("Upsample", "Scatter")
"""Operators that newer ones replace."""
