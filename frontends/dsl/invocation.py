"""Calls of blocks, and the place that is blamed for a mistake inside one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache

from npuc.compiler.core.errors import SourceError
from npuc.frontends.dsl.binding import match_arguments
from npuc.frontends.dsl.calls import Calls
from npuc.frontends.dsl.naming import Frame, Slot
from npuc.frontends.dsl.program import Routine
from npuc.frontends.dsl.syntax import Argument, Call, Literal, Name, Operation, walk
from npuc.frontends.dsl.values import Value
from npuc.frontends.source_text import ArgumentMistake, Place, argument_mistake


class Refusal(Exception):
    """An `error` statement of a block: its text, and the first variable that it mentions."""

    def __init__(self, text: str, variable: str | None):
        super().__init__(text)
        self.text = text
        self.variable = variable


class Invocations(Calls):
    """Evaluates calls of blocks; running a block's body is the subclass's."""

    @abstractmethod
    def run_block(self, routine: Routine, frame: Frame) -> Value:
        """The value that a block returns; its arguments are in the frame."""

    def call_block(self, routine: Routine, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        """
        The value that a block returns.

        What its `error` statements say is an error of the call: of the argument that they mention first, if that is
        one. So is every mistake inside a block of the library: of the argument that the wrong expression is.
        """
        matched = match_arguments(routine.signature, call, frame.source)
        caller = frame.caller or ((frame.source, call.at) if routine.shipped else None)
        inner = Frame(routine.source, "", frozen=frame.frozen or call.frozen, caller=caller)
        words = _takes_words(routine)
        for name, argument in matched.items():
            expr = argument.value
            if name in words and isinstance(expr, Name) and expr.text not in frame.variables:
                inner.variables[name] = expr.text
            else:
                inner.variables[name] = self.single(expr, frame, slot)
        is_part = routine.shipped and call.function.startswith("_")
        inner.prefix = slot.block(call.function, outermost, is_part=is_part)
        self.budget.enter(frame, call.at)
        try:
            self._defaults(routine, inner)
            return self.run_block(routine, inner)
        except Refusal as refusal:
            raise _mistake(routine, call, matched, (frame, inner.prefix), refusal.variable, refusal.text) from None
        except SourceError as error:
            if not routine.shipped:
                raise
            reason = error.reason if isinstance(error, ArgumentMistake) else error.message
            blamed = _blamed(routine, error)
            if blamed not in matched:
                blamed, reason = None, error.message
            raise _mistake(routine, call, matched, (frame, inner.prefix), blamed, reason) from None
        finally:
            self.budget.nesting -= 1

    def _defaults(self, routine: Routine, inner: Frame) -> None:
        slot = Slot(self.names, inner)
        for parameter in routine.definition.parameters:
            if parameter.name not in inner.variables and parameter.default is not None:
                inner.variables[parameter.name] = self.single(parameter.default, inner, slot)


def _mistake(
    routine: Routine,
    call: Call,
    matched: Mapping[str, Argument],
    where: tuple[Frame, str],
    argument: str | None,
    reason: str,
) -> SourceError:
    """The error that a call is wrong for a reason: at an argument, if that is a given one, else at the call."""
    frame, layer = where
    at = call.at if argument is None or argument not in matched else matched[argument].value.at
    if frame.caller is not None:
        return frame.source.error(at, reason)  # the call in the program names the function and the argument
    if argument is not None and argument in matched:
        usage = f"signature: {routine.signature.text}"
        return argument_mistake(frame.source, at, argument, call.function, layer, reason, usage)
    shown = f" (layer '{layer}')" if layer else ""
    return frame.source.error(call.at, f"{call.function}{shown}: {reason}")


def _blamed(routine: Routine, error: SourceError) -> str | None:
    """The parameter of a block that stands where an error is, if it is only one."""
    at = error.location
    if at is None or at.file != routine.source.filename:
        return None
    parameters = {p.name for p in routine.definition.parameters}
    found = [name for name in _names_at(routine).get(Place(at.line, at.col), ()) if name in parameters]
    return found[0] if len(found) == 1 else None


@cache
def _takes_words(routine: Routine) -> frozenset[str]:
    """The parameters whose default is a string; a bare word that is no variable is one, as in calls of layers."""
    defaults = {p.name: p.default for p in routine.definition.parameters}
    return frozenset(n for n, d in defaults.items() if isinstance(d, Literal) and isinstance(d.value, str))


@cache
def _names_at(routine: Routine) -> Mapping[Place, Sequence[str]]:
    """The names in a body by their places; operands and arguments that are names also by operator and call."""
    names: dict[Place, Sequence[str]] = {}
    for node in walk(*routine.definition.body):
        if isinstance(node, Name):
            names[node.at] = [node.text]
        elif isinstance(node, Call):
            names[node.at] = [a.value.text for a in node.arguments if isinstance(a.value, Name)]
        elif isinstance(node, Operation):
            operands = [node.first, *(operand for _, _, operand in node.rest)]
            for number, (_, at, _) in enumerate(node.rest):
                names[at] = [one.text for one in operands[: number + 2] if isinstance(one, Name)]
    return names
