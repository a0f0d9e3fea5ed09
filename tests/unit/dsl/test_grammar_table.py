"""The parser made of its table is the one made of the grammar, and stands aside for any other grammar."""

import json
from typing import Any, cast

import lark
import pytest

from npuc.frontends.dsl.syntax import parser, table
from tests.unit.dsl.grammar_table import FILE, present


def test_the_table_is_that_of_the_grammar() -> None:
    written = json.loads(FILE.read_text(encoding="utf-8"))
    if written["lark"] != lark.__version__:
        pytest.skip("the table is of another version of lark")
    assert written == json.loads(present()), "run: python -m tests.unit.dsl.grammar_table"


def test_another_grammar_or_version_is_parsed_without_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text, options = table.grammar_text(), parser.parser_options()
    assert table.made_of_table(text + "\n", options) is None
    monkeypatch.setattr(table, "__version__", "0.0.0")
    assert table.made_of_table(text, options) is None


@pytest.mark.parametrize("words", ["network f ( batch = 2 ) { }", "import x", "network network"])
def test_both_accept_the_same_tokens_at_every_place(words: str) -> None:
    text, options = table.grammar_text(), parser.parser_options()
    of_table = table.made_of_table(text, options)
    if of_table is None:
        pytest.skip("the table is of another version of lark")
    accepted: list[list[set[str]]] = []
    for made in (of_table, table.made_of_grammar(text, options)):
        session, seen = cast(Any, made).parse_interactive(words), list[set[str]]()
        tokens = list(session.lexer_thread.lex(session.parser_state))
        for token in tokens:
            seen.append(session.accepts())
            if token.type not in seen[-1]:
                break
            session.feed_token(token)
        accepted.append([{str(token) for token in tokens}, *seen])
    assert accepted[0] == accepted[1]
    assert len(accepted[0]) > 2
