"""Evaluation of calls: language functions, `param`, `shape`, `type` and the functions of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.builder import GraphBuilder, TooManyOps
from npuc.compiler.core.errors import SourceError, did_you_mean
from npuc.compiler.layers import Function, get_functions, get_losses, get_operators
from npuc.compiler.layers.arguments import ELEMENT_TYPES, ArgumentError
from npuc.dialects.tensors import element_text, shape_of, tensor_type
from npuc.dialects.train.signature_problems import MAX_BOUND
from npuc.frontends.dsl.arithmetic import NUMBER_FUNCTIONS, takes_numbers
from npuc.frontends.dsl.binding import (
    Formal,
    Signature,
    fitted,
    match_arguments,
    signature_of,
    takes_strings,
)
from npuc.frontends.dsl.blocks import library_block
from npuc.frontends.dsl.budget import Budget
from npuc.frontends.dsl.expressions import MINUS, Expressions
from npuc.frontends.dsl.given_names import given_name, is_layer_name, without
from npuc.frontends.dsl.naming import Frame, Names, Slot
from npuc.frontends.dsl.program import Routine
from npuc.frontends.dsl.syntax import Argument, Call, Expr, ListOf, Name
from npuc.frontends.dsl.values import (
    Fault,
    Poisoned,
    Value,
    checked_list,
    describe,
    is_integer,
    is_number,
    kind_of,
    literal_text,
)
from npuc.frontends.source_text import Place, argument_mistake

PARAM = Signature(
    "param",
    (
        Formal("shape", list[int]),
        Formal("type", str, '"f32"'),
        Formal("fill", float | None, "none"),
        Formal("bound", float | None, "none"),
    ),
)
SHAPE = Signature("shape", (Formal("x", SSAValue),))
TYPE = Signature("type", (Formal("x"),))
_FACTS = {fact.function: fact for fact in (SHAPE, TYPE)}
BUILT_IN = frozenset({PARAM.function, *_FACTS, *NUMBER_FUNCTIONS})


@dataclass
class LossCalls:
    """The first argument of each call of a loss function inside a loss statement: the default outputs."""

    under_way: bool = False
    predictions: list[tuple[str, SSAValue]] = field(default_factory=list[tuple[str, SSAValue]])


class Calls(Expressions):
    """Evaluates calls; those of blocks are the subclass's."""

    def __init__(self, budget: Budget, builder: GraphBuilder, blocks: Mapping[str, Routine]):
        super().__init__(budget)
        self.builder = builder
        self.blocks = blocks
        self.names = Names()
        self.losses = LossCalls()

    @abstractmethod
    def call_block(self, routine: Routine, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        """The value that a block returns."""

    def call(self, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        """The value of a call, which may say the name of its layer."""
        given = given_name(call, self.blocks.get(call.function))
        if given is None:
            return self._call(call, frame, slot, outermost)
        name = self.single(given.value, frame, slot)
        if not is_layer_name(name, frame):
            message = f"found {literal_text(name)}, expected the name of a layer"
            raise frame.source.error(given.value.at, message, 'a name is a string, as in name="conv1"')
        value = self._call(without(call, given), frame, slot.given(name), True)
        if is_number(value) or call.function in BUILT_IN - {PARAM.function, *get_functions()}:
            raise frame.source.error(given.at, f"found a name for {call.function}, which makes no layer here")
        return value

    def _call(self, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        """The value of a call; a program's own blocks hide all others, but not from the blocks of the library."""
        name, inside = call.function, frame.caller is not None
        if not inside and name in self.blocks:
            return self.call_block(self.blocks[name], call, frame, slot, outermost)
        if name == PARAM.function:
            return self._param(call, frame, slot, outermost)
        function = get_functions().get(name)
        if name in NUMBER_FUNCTIONS or name in _FACTS:
            if call.frozen:
                raise frame.source.error(call.at, f"found 'frozen' before {name}, which makes no parameters")
            if name in _FACTS:
                return self._fact(_FACTS[name], call, frame, slot)
            return self._number_function(call, frame, slot, function, outermost)
        if function is not None:
            return self._call_layer(function, call, frame, slot, outermost)
        routine = library_block(name, inside=inside)
        if routine is None:
            raise Poisoned  # the checks before elaboration have reported it
        return self.call_block(routine, call, frame, slot, outermost)

    # layers

    def _call_layer(
        self,
        function: Function,
        call: Call,
        frame: Frame,
        slot: Slot,
        outermost: bool,
        known: Mapping[Argument, Value] = MappingProxyType({}),
    ) -> Value:
        """The value of a call of a layer; `known` holds the arguments that have been evaluated before."""
        signature = signature_of(function)
        matched = match_arguments(signature, call, frame.source)
        values = {
            name: self._fit(signature, name, argument, known[argument], frame)
            if argument in known
            else self._argument(signature, name, argument, frame, slot)
            for name, argument in matched.items()
        }
        layer = slot.layer(call.function, outermost)
        try:
            with self._building(frame, call.at, layer, frozen=call.frozen):
                result: Value = function(self.builder, **values)
        except ArgumentError as error:
            at = matched[error.argument].value.at if error.argument in matched else call.at
            hint = error.hint or f"signature: {signature.text}"
            raise argument_mistake(
                frame.source, at, error.argument, call.function, layer, error.message, hint
            ) from None
        except VerifyException as error:
            raise _shape_error(error, call.function, list(values.values()), layer, frame, call.at) from None
        except TooManyOps as error:
            self._too_many(frame, call.at, error)
        if self.losses.under_way and call.function in get_losses():
            self._note_prediction(signature, matched, values)
        if isinstance(result, list | tuple):
            # a layer with several results gives a list: their number depends on its arguments
            results: Sequence[Value] = result
            self.budget.spend(frame, call.at, len(results))
            return checked_list(results)
        return result

    def _building(self, frame: Frame, at: Place, layer: str, *, frozen: bool) -> AbstractContextManager[None]:
        """Name the operations built inside; see `_too_many`."""
        return self.builder.at(layer, frame.location(at), frozen=frozen or frame.frozen)

    def _too_many(self, frame: Frame, at: Place, error: TooManyOps) -> NoReturn:
        """End the elaboration: the operations exceed the network's limit."""
        self.budget.abort(frame, at, str(error))

    def _note_prediction(
        self, signature: Signature, matched: Mapping[str, Argument], values: Mapping[str, Value]
    ) -> None:
        first = signature.formals[0].name
        value, expr = values[first], matched[first].value
        if isinstance(value, SSAValue):
            name = expr.text if isinstance(expr, Name) else "prediction"
            self.losses.predictions.append((name, value))

    def _argument(self, signature: Signature, name: str, argument: Argument, frame: Frame, slot: Slot) -> Value:
        formal = signature.formal(name)
        expr: Expr = argument.value
        value: Value
        if isinstance(expr, Name) and expr.text not in frame.variables and takes_strings(formal.kind):
            value = expr.text
        else:
            value = self.evaluate(expr, frame, slot)
        return value if type(value) in formal.as_they_are else self._fit(signature, name, argument, value, frame)

    def _fit(self, signature: Signature, name: str, argument: Argument, value: Value, frame: Frame) -> Value:
        """The value of an argument as its parameter takes it."""
        try:
            return fitted(value, signature.formal(name))
        except Fault as fault:
            at, usage = argument.value.at, f"signature: {signature.text}"
            raise argument_mistake(frame.source, at, name, signature.function, None, fault.message, usage) from None

    # operators on tensors

    def operator_name(self, symbol: str) -> str:
        """The name of the function that an operator on tensors stands for."""
        function = get_operators().get(symbol)
        if function is None:
            known = " ".join(get_operators())
            raise Fault(f"'{symbol}' has no meaning for tensors", f"operators on tensors: {known}")
        return function.__name__

    def operate(self, symbol: str, at: Place, operands: Sequence[Value], frame: Frame, name: str) -> Value:
        """The result of an operator on tensors, as a layer of a name."""
        for value in operands:
            if not isinstance(value, SSAValue) and not is_number(value):
                raise Fault(f"found {describe(value)} beside '{symbol}', expected a tensor or a number")
        function = get_operators()[symbol] if len(operands) == 2 else get_functions()[MINUS]
        formals = signature_of(function).formals[: len(operands)]
        values = {f.name: fitted(value, f) for f, value in zip(formals, operands, strict=True)}
        try:
            with self._building(frame, at, name, frozen=False):
                return function(self.builder, **values)
        except ArgumentError as error:
            raise Fault(error.message, error.hint) from None
        except VerifyException as error:
            raise _shape_error(error, f"'{symbol}'", operands, name, frame, at) from None
        except TooManyOps as error:
            self._too_many(frame, at, error)

    # built-in functions

    def element_type(self, word: Name, frame: Frame) -> Attribute:
        """The element type that a name stands for: its own, or that of the string a variable holds."""
        name = frame.variables.get(word.text, word.text)
        if isinstance(name, str) and name in ELEMENT_TYPES:
            return ELEMENT_TYPES[name]
        shown = word.text if not isinstance(name, str) else name
        hint = did_you_mean(shown, list(ELEMENT_TYPES))
        raise frame.source.error(word.at, f"found '{shown}', expected an element type", hint)

    def _param(self, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        matched = match_arguments(PARAM, call, frame.source)
        values = {name: self._argument(PARAM, name, matched[name], frame, slot) for name in matched}
        element_name = values.get("type", "f32")
        if element_name not in ELEMENT_TYPES:
            hint = did_you_mean(str(element_name), list(ELEMENT_TYPES))
            message = f"found {literal_text(element_name)}, expected an element type"
            raise frame.source.error(matched["type"].value.at, message, hint)
        bound = _optional_float(values.get("bound"))
        if bound is not None and not 0 <= bound <= MAX_BOUND:
            raise frame.source.error(matched["bound"].value.at, f"found {bound}, expected 0 to {MAX_BOUND}")
        if values.get("fill") is not None and bound is not None:
            raise frame.source.error(matched["bound"].value.at, "found both 'fill' and 'bound', expected one of them")
        sizes = sizes_of(values["shape"], matched["shape"].value, frame)
        name = slot.layer(PARAM.function, outermost)
        element, fill = ELEMENT_TYPES[str(element_name)], _optional_float(values.get("fill"))
        try:
            with self._building(frame, call.at, name, frozen=call.frozen):
                self.builder.claim(1)
                return self.builder.param("", sizes, element, fill=fill, bound=bound)
        except TooManyOps as error:
            self._too_many(frame, call.at, error)

    def _fact(self, fact: Signature, call: Call, frame: Frame, slot: Slot) -> Value:
        """A fact known of a value while the network is built: the sizes of a tensor, the type of any value."""
        matched = match_arguments(fact, call, frame.source)
        value = self._argument(fact, "x", matched["x"], frame, slot)
        if not isinstance(value, SSAValue):
            return kind_of(value)
        return list(shape_of(value)) if fact is SHAPE else element_text(tensor_type(value).element_type)

    def _number_function(self, call: Call, frame: Frame, slot: Slot, layer: Function | None, outermost: bool) -> Value:
        count, function = NUMBER_FUNCTIONS[call.function]
        if any(a.name is not None for a in call.arguments) and layer is not None:
            return self._call_layer(layer, call, frame, slot, outermost)
        named = next((a for a in call.arguments if a.name is not None), None)
        if named is not None:
            raise frame.source.error(named.at, f"the arguments of {call.function} have no names")
        values = [self.single(a.value, frame, slot) for a in call.arguments]
        if layer is not None and not takes_numbers(values):
            known = dict(zip(call.arguments, values, strict=True))
            return self._call_layer(layer, call, frame, slot, outermost, known)
        if count is not None and count != len(values):
            raise frame.source.error(
                call.at, f"{call.function} takes {count} argument{'s' * (count > 1)}, found {len(values)}"
            )
        return function(values)


def sizes_of(value: Value, expr: Expr, frame: Frame) -> list[int]:
    """The sizes of a tensor, the value of `expr`: positive integers."""
    sizes: list[int] = []
    for number, size in enumerate(value if isinstance(value, list) else []):
        if not is_integer(size) or size < 1:
            at = expr.items[number].at if isinstance(expr, ListOf) else expr.at
            raise frame.source.error(at, f"found {describe(size)} as the size of an axis, expected a positive integer")
        sizes.append(size)
    return sizes


def _optional_float(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _shape_error(
    error: VerifyException, function: str, values: Sequence[Value], layer: str, frame: Frame, at: Place
) -> SourceError:
    shown = ", ".join(literal_text(v) for v in values)
    return frame.source.error(at, f"{error} (layer '{layer}': {function} of {shown})")
