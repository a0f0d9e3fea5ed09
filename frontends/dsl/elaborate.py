"""From a text in the network language to the forward graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType, i32, i64
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder, Optimizer
from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.core.options import MAX_OPS
from npuc.compiler.layers import get_functions
from npuc.compiler.layers.optimizer import OPTIMIZERS, option_problem, options_problem
from npuc.dialects.tensors import element_text, tensor_type
from npuc.frontends.dsl import syntax
from npuc.frontends.dsl.binding import REQUIRED, Formal, Signature, convert, match_arguments
from npuc.frontends.dsl.blocks import library_names
from npuc.frontends.dsl.budget import Abort
from npuc.frontends.dsl.calls import BUILT_IN, sizes_of
from npuc.frontends.dsl.checks import check
from npuc.frontends.dsl.defines import check_names, fitting
from npuc.frontends.dsl.naming import Frame, Slot
from npuc.frontends.dsl.program import LoadedProgram, load_program
from npuc.frontends.dsl.statements import Statements
from npuc.frontends.dsl.values import Fault, Poison, Poisoned, Value, describe, literal_text
from npuc.frontends.source_text import Diagnostics, Place


class Elaboration(Statements):
    """One run of a program: builds an operation for each layer that its network meets."""

    def __init__(self, program: LoadedProgram, builder: GraphBuilder, diagnostics: Diagnostics):
        super().__init__(diagnostics, builder, program.blocks)
        self._network = program.network
        self.frame = Frame(program.network.source, "")
        self._inputs: set[str] = set()
        self._outputs: dict[str, SSAValue] = {}
        self._loss: SSAValue | None = None
        self._optimizer: Optimizer | None = None

    def run_network(self, defines: Mapping[str, Value]) -> None:
        """Run the body of the network."""
        self.set_parameters(defines)
        self.run_body(self._network.definition.body, self.frame)

    def set_parameters(self, defines: Mapping[str, Value]) -> None:
        """Give the parameters of the network their values. Raises UsageError for wrong `defines`."""
        definition = self._network.definition
        frame = self.frame
        check_names([p.name for p in definition.parameters], defines)
        slot = Slot(self.names, frame)
        for parameter in definition.parameters:
            default = None
            if parameter.default is not None:
                default = self.single(parameter.default, frame, slot)
            elif parameter.name not in defines:
                message = f"network parameter '{parameter.name}' has no value"
                raise UsageError(message, hint=f"give it one: -D {parameter.name}=…")
            given = parameter.name in defines
            value = fitting(parameter.name, defines[parameter.name], default) if given else default
            frame.variables[parameter.name] = value

    def is_network(self, frame: Frame) -> bool:
        """Whether a frame is that of the network, not of a block."""
        return frame is self.frame

    def execute_network_statement(self, statement: syntax.NetworkStatement, frame: Frame) -> None:
        """Execute an input, labels, loss, output or optimizer statement."""
        if not self.is_network(frame):
            raise Poisoned  # the statement stands in a block, which the checks have reported
        match statement:
            case syntax.Declaration():
                self._declare(statement, frame)
            case syntax.Loss():
                self._add_loss(statement, frame)
            case syntax.Output():
                self._add_output(statement, frame)
            case syntax.Optimizer():
                self._set_optimizer(statement, frame)

    def _declare(self, statement: syntax.Declaration, frame: Frame) -> None:
        name = statement.name
        element = self.element_type(statement.element, frame)
        sizes = sizes_of(self.single(statement.shape, frame, Slot(self.names, frame)), statement.shape, frame)
        if statement.labels and element not in (i32, i64):
            hint = "targets of another type are an 'input'"
            message = f"found labels of {element_text(element)}, expected i32 or i64"
            raise frame.source.error(statement.element.at, message, hint)
        if name.text in self._inputs:
            raise frame.source.error(name.at, f"there are two inputs named '{name.text}'")
        self._inputs.add(name.text)
        with self.builder.at(name.text, frame.source.location(name.at)):
            value = self.builder.input(name.text, TensorType(element, sizes), labels=statement.labels)
        frame.variables[name.text] = value

    def _add_loss(self, statement: syntax.Loss, frame: Frame) -> None:
        self.losses.under_way = True
        try:
            value = self.evaluate(statement.value, frame, Slot(self.names, frame), outermost=True)
        finally:
            self.losses.under_way = False
        if not isinstance(value, SSAValue) or tensor_type(value).get_shape() != ():
            hint = "a loss such as cross_entropy or mse gives a scalar"
            raise frame.source.error(statement.value.at, f"found {describe(value)}, expected a scalar tensor", hint)
        if self._loss is not None:
            name = self.names.unique("loss")
            value = self.operate("+", statement.at, (self._loss, value), frame, name)
            assert isinstance(value, SSAValue)
        self._loss = value

    def _add_output(self, statement: syntax.Output, frame: Frame) -> None:
        name = statement.name
        expr = statement.value or name
        value = self.evaluate(expr, frame, Slot(self.names, frame, name.text), outermost=True)
        if not isinstance(value, SSAValue):
            raise frame.source.error(expr.at, f"found {describe(value)} as output, expected a tensor")
        if name.text in self._outputs:
            raise frame.source.error(name.at, f"there are two outputs named '{name.text}'")
        if statement.value is not None:
            self.bind(name, value, frame)
        self._outputs[name.text] = value

    def _set_optimizer(self, statement: syntax.Optimizer, frame: Frame) -> None:
        call, source = statement.call, frame.source
        if self._optimizer is not None:
            raise source.error(statement.at, "found a second optimizer, expected one")
        if call.function not in OPTIMIZERS:
            hint = did_you_mean(call.function, list(OPTIMIZERS))
            raise source.error(call.at, f"found the unknown optimizer '{call.function}'", hint)
        rule = OPTIMIZERS[call.function]
        formals = [
            Formal(name, bool if rule.takes_flag(name) else float, REQUIRED if d is None else literal_text(d))
            for name, d in rule.defaults.items()
        ]
        signature = Signature(call.function, tuple(formals))
        arguments = match_arguments(signature, call, source)
        options = {name: d for name, d in rule.defaults.items() if d is not None and name not in rule.unsaid}
        for name, argument in arguments.items():
            value = self.evaluate(argument.value, frame, Slot(self.names, frame))
            try:
                options[name] = cast(float | bool, convert(value, signature.formal(name).kind))
                problem = option_problem(name, options[name])
            except Fault as fault:
                problem = fault.message
            if problem is not None:
                raise self._option_error(signature, name, argument.value.at, problem)
        conflict = options_problem(options)
        if conflict is not None:
            raise self._option_error(signature, conflict[0], arguments[conflict[0]].value.at, conflict[1])
        self._optimizer = Optimizer(call.function, options)

    def _option_error(self, signature: Signature, name: str, at: Place, problem: str) -> SourceError:
        message = f"argument '{name}' of {signature.function}: {problem}"
        return self.frame.source.error(at, message, f"signature: {signature.text}")

    def finish(self) -> ModuleOp:
        """The module: in training with loss and optimizer, else with the outputs alone."""
        definition, source = self._network.definition, self._network.source
        self.diagnostics.raise_if_any()
        outputs = self._outputs or self._predictions()
        if self.builder.training and self._loss is None:
            hint = "add one, 'loss cross_entropy(logits, y)', or compile for inference"
            raise source.error(definition.name.at, f"network '{definition.name.text}' has no loss", hint)
        if not outputs and not self.builder.training:
            hint = "name one: 'output h'"
            raise source.error(definition.name.at, f"network '{definition.name.text}' has no output", hint)
        loss, optimizer = (self._loss, self._optimizer) if self.builder.training else (None, None)
        return self.builder.finish(loss=loss, outputs=list(outputs.items()), optimizer=optimizer)

    def _predictions(self) -> dict[str, SSAValue]:
        """The default outputs: what the losses compare with their targets."""
        outputs: dict[str, SSAValue] = {}
        for name, value in self.losses.predictions:
            if value not in outputs.values():
                unique, number = name, 2
                while unique in outputs:
                    unique, number = f"{name}_{number}", number + 1
                outputs[unique] = value
        return outputs


class NetworkParameters:
    """The parameters of the network in a text: their names, and whether given values suit them."""

    def __init__(self, text: str, filename: str):
        """Raises the SourceErrors of a text that is no program."""
        self._program = load_program(text, filename)
        self.names = tuple(p.name for p in self._program.network.definition.parameters)
        routines = (self._program.network, *self._program.blocks.values())
        self.texts = tuple(sorted({(routine.source.filename, routine.source.text) for routine in routines}))
        """The files that the program is made of, but for those that ship with npuc."""

    def check(self, defines: Mapping[str, Value]) -> None:
        """Raise UsageError for names and values that `-D` refuses; the network itself is not looked at."""
        self.values(defines)

    def values(self, defines: Mapping[str, Value]) -> dict[str, Value]:
        """The value of each parameter, given or its default. Raises as `check` does."""
        diagnostics = Diagnostics()
        builder = GraphBuilder(self._program.network.definition.name.text, training=False, max_ops=MAX_OPS)
        elaboration = Elaboration(self._program, builder, diagnostics)
        try:
            elaboration.set_parameters(defines)
        except (Abort, Poisoned):
            diagnostics.raise_if_any()
        found = ((name, elaboration.frame.variables.get(name)) for name in self.names)
        return {name: value for name, value in found if value is not None and not isinstance(value, Poison)}


def function_names() -> frozenset[str]:
    """The functions of the language that every program knows."""
    return frozenset({*get_functions(), *BUILT_IN, *library_names()})


def read_dsl(
    text: str,
    filename: str,
    *,
    defines: Mapping[str, Value] | None = None,
    training: bool = True,
    max_ops: int = MAX_OPS,
) -> ModuleOp:
    """
    The forward graph of a program in the network language.

    Raises SourceError or SourceErrors for what is wrong with the program, UsageError for wrong `defines`.
    """
    program = load_program(text, filename)
    diagnostics = Diagnostics()
    if check(program, function_names(), diagnostics):
        builder = GraphBuilder(program.network.definition.name.text, training=training, max_ops=max_ops)
        elaboration = Elaboration(program, builder, diagnostics)
        try:
            elaboration.run_network(defines or {})
            return elaboration.finish()
        except (Abort, Poisoned):
            pass  # the reason is among the diagnostics
    diagnostics.raise_if_any()
    raise AssertionError("a program is refused for a reason")
