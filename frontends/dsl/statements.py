"""Execution of statements that stand anywhere: assignments, branches, loops, returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from xdsl.ir import OpResult

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.frozen import frozen
from npuc.frontends.dsl import syntax
from npuc.frontends.dsl.arithmetic import integer
from npuc.frontends.dsl.budget import Abort, Budget, Loop, max_steps
from npuc.frontends.dsl.invocation import Invocations, Refusal
from npuc.frontends.dsl.naming import Frame, Slot, join
from npuc.frontends.dsl.program import Routine
from npuc.frontends.dsl.syntax import Name, Statement
from npuc.frontends.dsl.values import POISON, Fault, Poison, Poisoned, Value, describe, literal_text
from npuc.frontends.source_text import Diagnostics


@frozen
class _Returned:
    value: Value | Poison


class Statements(Invocations):
    """
    Runs bodies of statements.

    A wrong statement is reported and the names it assigns are poisoned, then the next one runs.
    """

    def __init__(self, diagnostics: Diagnostics, builder: GraphBuilder, blocks: Mapping[str, Routine]):
        super().__init__(Budget(diagnostics, max_steps(builder.max_ops)), builder, blocks)
        self.diagnostics = diagnostics
        self._failures = 0

    @abstractmethod
    def is_network(self, frame: Frame) -> bool:
        """Whether a frame is that of the network, not of a block."""

    @abstractmethod
    def execute_network_statement(self, statement: syntax.NetworkStatement, frame: Frame) -> None:
        """Execute a statement that stands in the network only."""

    def run_block(self, routine: Routine, frame: Frame) -> Value:
        """The value that a block returns."""
        returned = self.run_body(routine.definition.body, frame)
        if returned is None:
            name = routine.definition.name
            raise routine.source.error(name.at, f"block '{name.text}' ended without 'return'")
        if isinstance(returned.value, Poison):
            raise Poisoned
        return returned.value

    def run_body(self, body: Sequence[Statement], frame: Frame) -> _Returned | None:
        """Run statements up to a return; what a block returned, or None."""
        for statement in body:
            self.budget.spend(frame, statement.at)
            try:
                returned = self._execute(statement, frame)
            except SourceError as error:
                if frame.caller is not None:
                    raise  # blocks of the library are correct, so the mistake is in the call
                self.diagnostics.add(error)
                if self.diagnostics.full:
                    raise Abort from None
                returned = self._poison(statement, frame)
            except Poisoned:
                returned = self._poison(statement, frame)
            if returned is not None:
                return returned
        return None

    def _poison(self, statement: Statement, frame: Frame) -> _Returned | None:
        """Poison the variables that a wrong statement would have set, and the value that it would have returned."""
        self._failures += 1
        for name in syntax.assigned(statement):
            frame.variables[name.text] = POISON
        returns = any(isinstance(node, syntax.Return) for node in syntax.walk(statement))
        return _Returned(POISON) if returns else None

    # statements

    def _execute(self, statement: Statement, frame: Frame) -> _Returned | None:
        match statement:
            case syntax.Assignment():
                self._assign(statement, frame)
            case syntax.Return():
                slot = Slot(self.names, frame)
                first, *others = statement.values
                if others:
                    return _Returned(tuple(self.single(e, frame, slot) for e in statement.values))
                return _Returned(self.evaluate(first, frame, slot, outermost=True))
            case syntax.Error():
                self._refuse(statement, frame)
            case syntax.If():
                return self._if(statement, frame)
            case syntax.For():
                return self._for(statement, frame)
            case _:
                self.execute_network_statement(statement, frame)
        return None

    def _refuse(self, statement: syntax.Error, frame: Frame) -> None:
        slot = Slot(self.names, frame)
        parts = [
            e.value
            if isinstance(e, syntax.Literal) and isinstance(e.value, str)
            else literal_text(self.single(e, frame, slot))
            for e in statement.values
        ]
        text = "".join(parts)
        if self.is_network(frame):
            raise frame.source.error(statement.at, text)
        first = next((node.text for node in syntax.walk(*statement.values) if isinstance(node, Name)), None)
        raise Refusal(text, first)

    def _assign(self, statement: syntax.Assignment, frame: Frame) -> None:
        targets: Sequence[Name] = statement.targets
        slot = Slot(self.names, frame, targets[0].text, several=len(targets) > 1)
        value = self.evaluate(statement.value, frame, slot, outermost=True)
        if len(targets) == 1:
            if isinstance(value, tuple):
                message = f"found {describe(value)} for one name, expected as many names: a, b = …"
                raise frame.source.error(statement.value.at, message)
            self.bind(targets[0], value, frame)
            return
        if not isinstance(value, list | tuple):
            message = f"found {describe(value)} for {len(targets)} names, expected as many values"
            raise frame.source.error(statement.value.at, message)
        if len(value) != len(targets):
            message = f"found {len(value)} values for {len(targets)} names"
            raise frame.source.error(statement.value.at, message)
        for target, one in zip(targets, value, strict=True):
            self.bind(target, one, frame)

    def bind(self, target: Name, value: Value, frame: Frame) -> None:
        """Give a variable its value; the value is printed under that name, if it is one of IR (a module may be `0`)."""
        if isinstance(value, OpResult) and value.name_hint is None and OpResult.is_valid_name(target.text):
            value.name_hint = target.text
        frame.variables[target.text] = value

    def _if(self, statement: syntax.If, frame: Frame) -> _Returned | None:
        slot = Slot(self.names, frame)
        chosen = statement.otherwise
        for condition, body in statement.cases:
            if self.condition(condition, frame, slot):
                chosen = body
                break
        self.budget.enter(frame, statement.at)
        try:
            return self.run_body(chosen, frame)
        finally:
            self.budget.nesting -= 1

    def _items(self, statement: syntax.For, frame: Frame) -> Sequence[Value]:
        slot = Slot(self.names, frame)
        first = self.single(statement.first, frame, slot)
        if statement.last is None:
            if not isinstance(first, list):
                message = f"found {describe(first)}, expected a list or a range"
                raise frame.source.error(statement.first.at, message, "a range is written 0..6")
            return first
        last = self.single(statement.last, frame, slot)
        bounds: list[int] = []
        for value, expr in ((first, statement.first), (last, statement.last)):
            try:
                bounds.append(integer(value, "a bound of a range"))
            except Fault as fault:
                raise frame.source.error(expr.at, fault.message) from None
        return range(*bounds)

    def _for(self, statement: syntax.For, frame: Frame) -> _Returned | None:
        items = self._items(statement, frame)
        saved = (frame.prefix, frame.carried, frame.plain)
        frame.carried = frozenset(frame.variables)
        self.budget.enter(frame, statement.at)
        self.budget.spend(frame, statement.at, len(frame.variables) // 64)
        if frame.caller is None:
            trips = items.stop - items.start if isinstance(items, range) else len(items)
            self.budget.loops.append(Loop(frame.source, statement.at, trips))
        try:
            return self._iterate(statement, items, frame)
        finally:
            if frame.caller is None:
                self.budget.loops.pop()
            self.budget.nesting -= 1
            frame.prefix, frame.carried, frame.plain = saved

    def _iterate(self, statement: syntax.For, items: Sequence[Value], frame: Frame) -> _Returned | None:
        prefix, failures = frame.prefix, self._failures
        for number, value in enumerate(items):
            self.budget.spend(frame, statement.at)
            index = value if isinstance(items, range) else number
            frame.prefix, frame.plain = join(prefix, str(index)), True
            frame.variables[statement.name.text] = value
            returned = self.run_body(statement.body, frame)
            if returned is None and self._failures > failures:
                return self._poison(statement, frame)
            if returned is not None:
                return returned
        return None
