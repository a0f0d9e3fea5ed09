"""Rules about values: assigned and never read, overwritten before they are read, computed for nothing."""

from collections.abc import Iterator

from npuc.frontends.dsl.lint.findings import Remark, Rule, Subject
from npuc.frontends.dsl.lint.liveness import assignments, liveness
from npuc.frontends.dsl.syntax import Assignment, Definition, For, reads, walk


def _deliberate(statement: Assignment) -> bool:
    """Names that begin with `_` say themselves that nobody reads them."""
    return all(target.text.startswith("_") for target in statement.targets)


def _shown(statement: Assignment) -> str:
    names = [f"'{target.text}'" for target in statement.targets]
    return f"the value of {names[0]} is" if len(names) == 1 else f"the values of {', '.join(names)} are"


def _read_somewhere(definition: Definition) -> frozenset[str]:
    return reads(*definition.defaults, *definition.body)


def _unused(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        read = _read_somewhere(definition)
        for statement in assignments(definition.body):
            if not _deliberate(statement) and all(target.text not in read for target in statement.targets):
                hint = "use it or remove it; a name that begins with _ is not checked"
                yield Remark(statement.at, f"{_shown(statement)} never used", hint)


def _overwritten(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        read, live = _read_somewhere(definition), liveness(definition, only_needed=False)
        yield from _overwritten_parameters(definition, read - live.entering)
        for statement in assignments(definition.body):
            if live.matters(statement) or _deliberate(statement) or _names_a_loop(definition, statement):
                continue
            if any(target.text in read for target in statement.targets):
                message = f"{_shown(statement)} never used: the name is reassigned first, or not read again"
                yield Remark(statement.at, message, "use it or remove it")


def _names_a_loop(definition: Definition, statement: Assignment) -> bool:
    """
    Whether a loop behind a statement assigns its name.

    The names of layers in a loop depend on whether the variable existed before it, so that such a value has an effect.
    """
    names = {target.text for target in statement.targets}
    return any(
        isinstance(loop, For)
        and loop.at > statement.at
        and any(target.text in names for inside in assignments(loop.body) for target in inside.targets)
        for loop in walk(*definition.body)
    )


def _overwritten_parameters(definition: Definition, not_live: frozenset[str]) -> Iterator[Remark]:
    defaults = reads(*definition.defaults)
    for parameter in definition.parameters:
        if parameter.name in not_live - defaults:
            message = f"the value given for parameter '{parameter.name}' is never used: the name is reassigned first"
            yield Remark(parameter.at, message, "use it or remove the parameter")


def _unneeded(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        read, needed = liveness(definition, only_needed=False), liveness(definition, only_needed=True)
        whose = "the network's losses and outputs" if definition.is_network else "the results of the block"
        for statement in assignments(definition.body):
            if read.matters(statement) and not needed.matters(statement) and not _deliberate(statement):
                message = f"{_shown(statement)} only used for values that nothing needs"
                yield Remark(statement.at, message, f"{whose} do not depend on it")


def _loop_variables(subject: Subject) -> Iterator[Remark]:
    for definition in subject.definitions:
        for outer in walk(*definition.body):
            if not isinstance(outer, For):
                continue
            for inner in walk(*outer.body):
                if isinstance(inner, For) and inner.name.text == outer.name.text:
                    message = (
                        f"this loop overwrites '{inner.name.text}', the variable of the loop in line {outer.at.line}"
                    )
                    yield Remark(inner.name.at, message, "give one of them another name")


RULES = (
    Rule("unused-value", "a value is assigned, but its name is never read", _unused),
    Rule("overwritten-value", "a variable or parameter is overwritten before anything reads it", _overwritten),
    Rule("unneeded-value", "a value is used, but only for values that no result, loss or condition needs", _unneeded),
    Rule("loop-variable", "nested loops have the same variable", _loop_variables),
)
