"""What the results of a network depend on; the rest is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.dsl.syntax import Assignment, Declaration, Definition, Loss, Output, Statement, reads

if TYPE_CHECKING:
    from npuc.frontends.script.script import Script


def needed(definition: Definition) -> list[Statement]:
    """The statements that the results of a network depend on."""
    wanted = set(reads(*(s for s in definition.body if isinstance(s, Loss | Output))))
    found: list[Statement] = []
    for statement in reversed(definition.body):
        match statement:
            case Assignment():
                if wanted.isdisjoint(t.text for t in statement.targets):
                    continue
                wanted |= reads(statement.value)
            case Declaration():
                if statement.name.text not in wanted:
                    continue
            case _:
                pass
        found.append(statement)
    return found[::-1]


def leave_out_idle(script: Script) -> None:
    """Keep the statistics of layers on which no result depends as they are, so that nothing of them is computed."""
    if script.builder.has_updates:
        definition = script.definition
        used = {target.text for one in needed(definition) if isinstance(one, Assignment) for target in one.targets}
        made = {target.text for one in definition.body if isinstance(one, Assignment) for target in one.targets}
        script.builder.idle = frozenset(made - used)
