"""
Which values of a definition are read, and which are needed.

Statements are walked backwards with the names whose values matter behind them. A value is read if some path leads from
its assignment to a use; it is needed if that use is a result, a loss, a condition or a range, or the assignment of a
value that is needed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from npuc.frontends.dsl.syntax import (
    Assignment,
    Declaration,
    Definition,
    For,
    If,
    Output,
    Return,
    Statement,
    reads,
    walk,
)

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass
class Liveness:
    """
    The assignments of a definition whose values matter.

    With `only_needed` a value matters if it is needed, else if it is read. `entering` are the names whose values at
    the begin matter.
    """

    only_needed: bool
    live: set[int] = field(default_factory=set[int])
    entering: Names = _NONE
    _loops: dict[tuple[int, Names], Names] = field(default_factory=dict[tuple[int, Names], Names])

    def matters(self, assignment: Assignment) -> bool:
        """Whether one of the assigned values matters."""
        return id(assignment) in self.live

    def body(self, statements: Sequence[Statement], after: Names) -> Names:
        """The names whose values matter before statements, given those behind them."""
        for statement in reversed(statements):
            after = self._statement(statement, after)
        return after

    def _statement(self, statement: Statement, after: Names) -> Names:
        match statement:
            case Assignment():
                return self._assignment(statement, after)
            case Declaration():
                return after - {statement.name.text} | reads(statement)
            case Output():
                return after - ({statement.name.text} if statement.value is not None else _NONE) | reads(statement)
            case Return():
                return reads(statement)
            case If():
                bodies = [body for _, body in statement.cases]
                before = [self.body(body, after) for body in (*bodies, statement.otherwise)]
                return _NONE.union(*before) | reads(*(condition for condition, _ in statement.cases))
            case For():
                return self._loop(statement, after)
            case _:
                return after | reads(statement)

    def _assignment(self, statement: Assignment, after: Names) -> Names:
        targets = {target.text for target in statement.targets}
        matters = not targets.isdisjoint(after)
        if matters:
            self.live.add(id(statement))
        return after - targets | (reads(statement.value) if matters or not self.only_needed else _NONE)

    def _loop(self, statement: For, after: Names) -> Names:
        """A loop; its result is cached, as the loops around it ask again."""
        known = (id(statement), after)
        if known not in self._loops:
            self._loops[known] = self._repeated(statement, after)
        return self._loops[known]

    def _repeated(self, statement: For, after: Names) -> Names:
        """A body that runs any number of times: the names that matter before it, as a least fixed point."""
        bounds = (statement.first, *(() if statement.last is None else (statement.last,)))
        before = after
        while True:
            again = after | (self.body(statement.body, before) - {statement.name.text})
            if again <= before:
                return before | reads(*bounds)
            before |= again


def liveness(definition: Definition, *, only_needed: bool) -> Liveness:
    """The liveness of a network or block."""
    result = Liveness(only_needed)
    result.entering = result.body(definition.body, _NONE)
    return result


def assignments(statements: Iterable[Statement]) -> list[Assignment]:
    """All assignments in statements, in source order."""
    return [node for node in walk(*statements) if isinstance(node, Assignment)]
