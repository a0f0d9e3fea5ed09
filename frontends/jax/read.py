"""From the bytes of a StableHLO module and a request to a program."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from npuc.compiler.core.builder import function_name
from npuc.compiler.core.errors import UsageError
from npuc.frontends.base import Program, Request, Source
from npuc.frontends.dsl.syntax import Name
from npuc.frontends.jax.arguments import StepSignature, keys_of, signature_of
from npuc.frontends.jax.biases import mark_biases
from npuc.frontends.jax.dropouts import find_dropouts, random_remark, sharers_of
from npuc.frontends.jax.flatten import flatten
from npuc.frontends.jax.layers import set_layers
from npuc.frontends.jax.layouts import Layouts, layouts_of
from npuc.frontends.jax.load import load
from npuc.frontends.jax.random import is_unsigned
from npuc.frontends.jax.roles import set_roles
from npuc.frontends.jax.step import finish_step
from npuc.frontends.jax.translate import translate
from npuc.frontends.jax.values import FlatProgram, HloValue, Known, needed
from npuc.frontends.jax.views import TensorView, Views, constant, turned, whole
from npuc.frontends.layout import ArgumentLayout, inverse
from npuc.frontends.script.context import CallContext
from npuc.frontends.script.direct import DirectScript
from npuc.frontends.script.freeze import Frozen
from npuc.frontends.script.training import Wanted, complete
from npuc.frontends.script.weights import Refused, Weight

if TYPE_CHECKING:
    from npuc.frontends.jax.program import HloFunction


def read_jax(source: Source, request: Request) -> Program:
    """The program in a source: a forward function with the step that is asked for, or a whole step as it is."""
    if request.defines:
        raise UsageError(f"unknown network parameter '{next(iter(request.defines))}'", hint="a module has fixed sizes")
    module = load(source.data, source.filename)
    function = module.functions[module.main]
    flat = flatten(module, source.filename, request.max_ops)
    find_dropouts(flat)
    if function.result_names:
        function = structs.replace(function, result_names=tuple(function.result_names[number] for number in flat.kept))
    signature = signature_of(function, flat)
    reading = _Reading(source.filename, request, function, flat, signature)
    return reading.step() if signature.is_step and not request.inference else reading.forward()


class _Reading:
    """One run over a list of operations."""

    def __init__(
        self, filename: str, request: Request, function: HloFunction, flat: FlatProgram, signature: StepSignature
    ):
        self.filename, self.request, self.function = filename, request, function
        self.flat, self.signature = flat, signature
        self.views = Views()
        self.names: dict[str, int] = {}
        self.layouts: Layouts = {}
        self.moved: dict[str, ArgumentLayout] = {}
        """The layouts by the names that the program has."""

    def forward(self) -> Program:
        """A forward function, in training with the loss that is asked for."""
        request, signature = self.request, self.signature
        frozen = Frozen(request.freeze)
        script = DirectScript(
            self._title(),
            self.filename,
            training=not request.inference,
            max_ops=request.max_ops,
            is_frozen=frozen.matches,
        )
        kept = [value for number, value in enumerate(self.flat.results) if number not in signature.updates]
        flat = needed(self.flat, kept)
        set_layers(flat, replace(signature, updates={}))  # of a step what is left are other results
        mark_biases(flat)
        self.layouts = layouts_of(flat, signature, is_step=False)
        weights = self._inputs(script, flat)
        self.views.sharers = sharers_of(flat)
        translate(flat, script, self.views, self.filename, False)
        numbers = [number for number in range(len(self.flat.results)) if number not in signature.updates]
        outputs = dict(zip(self._result_names(numbers), self._outputs(script, flat), strict=True))
        remarks = complete(script, outputs, Wanted(request.results, request.losses, request.optimizer))
        remarks += [*random_remark(flat), *self._left_out(), *self._moved()]
        if "param" not in signature.kinds:
            remarks.append("found no parameters, as no argument has a name: export with as_text(debug_info=True)")
        frozen.check()
        module = script.finish()
        values = {weight.name: weight.read for weight in weights if weight.read is not None}

        def text() -> str:
            """The network as text."""
            from npuc.frontends.script.text import network_text

            return network_text(script.definition, script.classes, [])

        return Program(module, tuple(remarks), values, script.unneeded(module), text=text, layouts=self.moved)

    def step(self) -> Program:
        """A whole training step, with its phases."""
        request, signature = self.request, self.signature
        for option, given in (
            ("--loss", request.losses),
            ("--optimizer", request.optimizer),
            ("--freeze", request.freeze),
        ):
            if given:
                raise UsageError(
                    f"{option}: the module is a whole training step, which has its own",
                    hint="export the forward function",
                )
        if request.results:
            raise UsageError("--result: the module is a whole training step", hint="export the forward function")
        script = DirectScript(self._title(), self.filename, training=False, max_ops=request.max_ops)
        flat = needed(self.flat, self.flat.results)
        set_roles(flat, signature)
        set_layers(flat, signature)
        self.layouts = layouts_of(flat, signature, is_step=True)
        self._inputs(script, flat)
        translate(flat, script, self.views, self.filename, True)
        results: dict[str, int] = {}
        names = self._result_names(range(len(flat.results)))
        for number, (name, value) in enumerate(zip(names, self._outputs(script, flat), strict=True)):
            own = script.unused(f"{name}.new")
            script.add_output(own, value)
            results[own] = number
        module = script.finish()
        finish_step(module, flat, signature, self.names, results)
        unneeded = script.unneeded(module) - set(signature.names)
        remarks = (*self._remarks(), *random_remark(flat), *self._left_out(), *self._moved())
        return Program(module, remarks, unneeded=unneeded, layouts=self.moved)

    def _moved(self) -> list[str]:
        """What lies otherwise than JAX has it, for the user."""
        if not self.moved:
            return []
        name, layout = next(iter(self.moved.items()))
        rest = f" and {len(self.moved) - 1} more" if len(self.moved) > 1 else ""
        verb, pronoun = ("lie", "them") if rest else ("lies", "it")
        return [
            f"'{name}' {list(layout.shape)}{rest} {verb} as the language has {pronoun}, {list(layout.stored_shape)}; "
            f"npuc run takes and gives {pronoun} as JAX has {pronoun}"
        ]

    def _left_out(self) -> list[str]:
        """Which results of the function the program lacks, for the user."""
        count = self.flat.given - len(self.flat.results)
        results = "a result" if count == 1 else f"{count} results"
        return [f"leaves out {results} of unsigned integers, as keys are"] if count else []

    def _title(self) -> str:
        return function_name(os.path.splitext(os.path.basename(self.filename))[0], "network")

    def _remarks(self) -> tuple[str, ...]:
        kinds = [
            kind
            for kind, made in zip(self.signature.kinds, self.flat.arguments, strict=True)
            if not is_unsigned(made.type)
        ]
        counts = {kind: kinds.count(kind) for kind in ("param", "state", "input")}
        return (
            f"a whole training step of {counts['param']} parameters, {counts['state']} states of the optimizer and "
            f"{counts['input']} inputs",
        )

    def _inputs(self, script: DirectScript, flat: FlatProgram) -> list[Weight]:
        """Write the arguments."""
        weights: list[Weight] = []
        used = {
            made for op in flat.ops for operand in op.operands if isinstance(operand, HloValue) for made in (operand,)
        }
        is_step = not script.training and self.signature.is_step and not self.request.inference
        for number, made in enumerate(flat.arguments):
            name, type, layout = self.signature.names[number], made.type, self.layouts.get(made)
            shape = type.shape if layout is None else layout.stored_shape
            if made not in used and not any(made is result for result in flat.results):
                continue
            with script.node(1):
                if self.signature.kinds[number] == "param" and not is_step:
                    weight = Weight(name, shape, type.element, trained=True)
                    variable = CallContext(script, name).variable(weight)
                    weights.append(weight)
                else:
                    variable = self._input(script, name, type.element, shape)
                    self.names[variable.text] = number
            if layout is None or layout.split:
                self.views.values[made] = whole(variable, type.shape, type.element)
            else:
                axes = tuple(inverse(layout.order))
                self.views.values[made] = TensorView(variable, axes, type.shape, type.element)
            if layout is not None:
                self.moved[variable.text] = layout
        return weights

    def _input(self, script: DirectScript, name: str, element: str, shape: tuple[int, ...]) -> Name:
        try:
            return script.input(name, element, shape)
        except Refused as refusal:
            raise script.error(f"argument '{name}': {refusal.message}", refusal.hint) from None

    def _outputs(self, script: DirectScript, flat: FlatProgram) -> list[Name]:
        found: list[Name] = []
        for number, result in enumerate(flat.results):
            context = CallContext(script, f"result{number}")
            last = result.op.number if isinstance(result, HloValue) and result.op is not None else len(flat.ops) + 1
            with script.node(last):
                value = self.views.of(context, result)
                value = constant(context, value) if isinstance(value, Known) else value
                updated = self.signature.updates.get(number)
                layout = None if updated is None else self.layouts.get(flat.arguments[updated])
                found.append(self.views.plain(context, value if layout is None else turned(value, layout.order)))
        return found

    def _result_names(self, numbers: range | list[int]) -> list[str]:
        """Names of results, by their paths."""
        names: list[str] = []
        for number in numbers:
            known = self.function.result_names
            keys = keys_of(known[number]) if number < len(known) else ()
            name = "_".join(keys) or f"result{number}"
            names.append(name if name not in names else f"{name}_{number}")
        return names
