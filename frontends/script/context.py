"""One call of a graph as the meanings of operators see it: they write calls, of which some are recognised as others."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.recognise import recognised
from npuc.frontends.script.writer import CallWriter, Operand


class CallContext(CallWriter):
    """A writer of calls that knows what the language has functions for."""

    def call(self, function: str, *arguments: Operand, **named: Operand) -> Call:
        """
        A call that is the result, as an expression.

        Where it is the last of several that spell out what the language has a function for, it is that one's.
        """
        found = recognised(self, function, arguments, named)
        return super().call(function, *arguments, **named) if found is None else found
