"""
The parser of the grammar as a table beside it, made once: to make it of the grammar takes longer than a small network.

`grammar_table.json` is what lark serialises of its parser, for the version of lark and the grammar that it names. For
any other the parser is made of the grammar. `python -m tests.unit.dsl.grammar_table` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from operator import itemgetter
from typing import Any, cast

import msgspec
from lark import Lark, __version__
from lark.grammar import Rule
from lark.lexer import TerminalDef

TABLE = "grammar_table.json"
SHIFT = 0
"""The kind of an action of a state that goes to another state; the others reduce by a rule."""
_Action = tuple[int, object]


def grammar_text() -> str:
    """The grammar of the language."""
    return files("npuc.frontends.dsl").joinpath("grammar.lark").read_text(encoding="utf-8")


def made_of_grammar(text: str, options: Mapping[str, object]) -> Lark:
    """The parser, made of the text of the grammar."""
    return Lark(text, parser="lalr", lexer="basic", **cast(Any, options))


def table_of(text: str, options: Mapping[str, object]) -> str:
    """The table of a grammar as JSON text; objects among the `options` are left out of it."""
    data, memo = cast(Any, made_of_grammar(text, options)).memo_serialize([TerminalDef, Rule])
    data["options"] = {name: value for name, value in data["options"].items() if name not in options}
    _renumber(data["parser"]["parser"])
    found = {"lark": __version__, "grammar": _digest(text), "data": data, "memo": memo}
    return msgspec.json.encode(found).decode() + "\n"


def made_of_table(text: str, options: Mapping[str, object]) -> Lark | None:
    """The parser, made of the table; None where that is of another grammar or version of lark."""
    found = msgspec.json.decode(files("npuc.frontends.dsl").joinpath(TABLE).read_bytes())
    if (found["lark"], found["grammar"]) != (__version__, _digest(text)):
        return None
    data, memo = found["data"], _numbered(found["memo"])
    tables = data["parser"]["parser"]
    tables["tokens"] = _numbered(tables["tokens"])
    tables["states"] = {key: _numbered(value) for key, value in _numbered(tables["states"]).items()}
    data["options"] |= options
    return cast(Any, Lark).load({"data": data, "memo": memo})


def _renumber(tables: dict[str, Any]) -> None:
    """
    Number tokens by their names, and states as they are reached from the start: lark's numbers are those of sets, which
    differ from run to run.
    """
    names, states = cast("dict[int, str]", tables["tokens"]), cast("dict[int, dict[int, _Action]]", tables["states"])
    numbers = {name: number for number, name in enumerate(sorted(names.values()))}
    reached = dict.fromkeys(tables["start_states"].values())
    table: dict[int, list[tuple[int, _Action]]] = {}
    waiting = [*reached]
    while waiting:
        state = waiting.pop(0)
        found = {numbers[names[token]]: action for token, action in states[state].items()}
        table[state] = sorted(found.items(), key=itemgetter(0))
        new = [target for _, (kind, target) in table[state] if kind == SHIFT and target not in reached]
        reached |= dict.fromkeys(new)
        waiting += dict.fromkeys(new)
    order = {state: number for number, state in enumerate(reached)}
    tables["tokens"] = {number: name for name, number in numbers.items()}
    tables["states"] = {
        order[state]: {
            token: (kind, order[cast(int, to)] if kind == SHIFT else to) for token, (kind, to) in table[state]
        }
        for state in reached
    }
    for ends in ("start_states", "end_states"):
        tables[ends] = {name: order[state] for name, state in tables[ends].items()}


def _numbered(items: Mapping[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in items.items()}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
