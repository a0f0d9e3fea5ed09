"""Rules about statements that never run: branches, statements behind a return, loops over nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from npuc.frontends.dsl.lint.conditions import Unknown, constant, key_of, never
from npuc.frontends.dsl.lint.findings import Remark, Rule, Subject
from npuc.frontends.dsl.syntax import Conditional, Error, Expr, For, If, ListOf, Return, Statement, walk
from npuc.frontends.source_text import Place


def _conditions(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        for node in walk(*definition.defaults, *definition.body):
            if isinstance(node, If):
                otherwise = node.otherwise[0].at if node.otherwise else None
                yield from _chain([condition for condition, _ in node.cases], otherwise)
            elif isinstance(node, Conditional):
                yield from _chain([condition for condition, _ in node.cases], node.otherwise.at)


_MOST_CONDITIONS = 32


def _chain(conditions: Sequence[Expr], otherwise: Place | None) -> Iterator[Remark]:
    """
    What is wrong with conditions that are asked one after another; `otherwise` is the place of the last branch.

    Of a very long chain only the single conditions are looked at.
    """
    earlier: list[tuple[Expr, bool]] = []
    is_short = len(conditions) <= _MOST_CONDITIONS
    for condition in conditions:
        if never((condition, True)):
            yield Remark(condition.at, "this condition is always false", "the branch is never taken: remove it")
        elif never((condition, False)):
            yield Remark(condition.at, "this condition is always true", "the branch is always taken: remove the others")
            return
        elif is_short and never(*earlier, (condition, True)):
            yield Remark(condition.at, "this branch is never taken: the conditions before it cover every case")
        earlier.append((condition, False))
    if otherwise is not None and is_short and never(*earlier):
        yield Remark(otherwise, "this branch is never taken: the conditions before it cover every case")


def _unreachable(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        for body in _bodies(definition.body):
            for statement, following in pairwise(body):
                if _ends(statement):
                    hint = f"the statement before it, in line {statement.at.line}, always leaves the block"
                    yield Remark(following.at, "this statement is never reached", hint)
                    break


def _bodies(body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """A body and all that are nested in it."""
    yield body
    for node in walk(*body):
        if isinstance(node, For):
            yield node.body
        elif isinstance(node, If):
            yield from (inside for _, inside in node.cases)
            yield node.otherwise


def _ends(statement: Statement) -> bool:
    """Whether nothing behind a statement is executed."""
    if isinstance(statement, If):
        bodies = [*(body for _, body in statement.cases), statement.otherwise]
        return all(any(_ends(inside) for inside in body) for body in bodies)
    return isinstance(statement, Return | Error)


def _empty_loops(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        for node in walk(*definition.body):
            if not isinstance(node, For):
                continue
            if node.last is None and isinstance(node.first, ListOf) and not node.first.items:
                yield Remark(node.first.at, "this list is empty: the loop never runs", "remove the loop")
            elif node.last is not None and _is_empty(node.first, node.last):
                hint = "a range ends before its second bound: 0..3 is 0, 1, 2"
                yield Remark(node.first.at, "this range is empty: the loop never runs", hint)


def _is_empty(first: Expr, last: Expr) -> bool:
    if key_of(first) == key_of(last):
        return True
    try:
        a, b = constant(first), constant(last)
    except Unknown:
        return False
    return isinstance(a, int) and isinstance(b, int) and a >= b


RULES = (
    Rule("constant-condition", "a condition has one value, or a branch is excluded by those before it", _conditions),
    Rule("unreachable", "a statement follows a return or an error", _unreachable),
    Rule("empty-loop", "a loop runs over an empty range or list", _empty_loops),
)
