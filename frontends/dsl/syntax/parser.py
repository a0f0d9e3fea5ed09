"""From text to syntax tree, with as many syntax errors as there are."""

from collections.abc import Iterator
from functools import cache
from typing import Protocol, cast

from lark import Token, UnexpectedToken

from npuc.frontends.dsl.syntax import File
from npuc.frontends.dsl.syntax.expected import hint_for, message_for
from npuc.frontends.dsl.syntax.table import grammar_text, made_of_grammar, made_of_table
from npuc.frontends.dsl.syntax.tokens import END, Newlines, place, prepare, statement_around
from npuc.frontends.dsl.syntax.tree import TreeBuilder
from npuc.frontends.source_text import Diagnostics, Place, SourceText


class _Lexer(Protocol):
    """The lexer of one run, which was built with the grammar."""

    def lex(self, parser_state: object) -> Iterator[Token]: ...


class _Session(Protocol):
    """One run of the parser, fed token by token."""

    @property
    def lexer_thread(self) -> _Lexer: ...
    def feed_token(self, token: Token) -> object: ...
    def feed_eof(self, last_token: Token) -> File: ...
    def accepts(self) -> set[str]: ...


class _Grammar(Protocol):
    """The part of `lark.Lark` that is used here."""

    def parse_interactive(self, text: str) -> _Session: ...


def parser_options() -> dict[str, object]:
    """What the parser is made with beside the grammar."""
    return {"postlex": Newlines(), "transformer": TreeBuilder(), "maybe_placeholders": False}


@cache
def _grammar() -> _Grammar:
    text, options = grammar_text(), parser_options()
    return cast(_Grammar, made_of_table(text, options) or made_of_grammar(text, options))


class _Failure(Exception):
    """The parser stopped at token `position` (at the end: the number of tokens), where it accepts `accepted`."""

    def __init__(self, position: int, token: Token, accepted: frozenset[str]):
        super().__init__()
        self.position = position
        self.token = token
        self.accepted = accepted


def _parse_tokens(tokens: list[Token]) -> File:
    parser = _grammar().parse_interactive("")
    position = 0
    token = tokens[-1] if tokens else Token("$END", "", line=1, column=1)
    try:
        for position, token in enumerate(tokens):
            parser.feed_token(token)
        position, token = len(tokens), Token.new_borrow_pos("$END", "", token)
        return parser.feed_eof(token)
    except UnexpectedToken as error:
        raise _Failure(position, token, frozenset(parser.accepts())) from error


def lex(source: SourceText) -> Iterator[Token]:
    """The raw tokens of a text, line ends among them; comments and blanks are the gaps between them."""
    # `Lark.lex` would build a lexer for each text
    return _grammar().parse_interactive(source.text).lexer_thread.lex(None)


def _end(tokens: list[Token]) -> Place:
    return Place(tokens[-1].end_line or 1, tokens[-1].end_column or 1) if tokens else Place(1, 1)


def parse(source: SourceText, diagnostics: Diagnostics) -> File:
    """
    The syntax tree of a text; syntax errors go to `diagnostics`.

    After a syntax error the rest is parsed again, without the wrong statement or with the brace that is missing, so
    that further ones are found.
    """
    prepared = prepare(source, lex(source), diagnostics)
    tokens = prepared.tokens
    while not diagnostics.full:
        try:
            return _parse_tokens(tokens)
        except _Failure as failure:
            at = place(failure.token) if failure.position < len(tokens) else _end(tokens)
            if at.line not in prepared.bad_lines:
                before = tokens[: failure.position]
                message = message_for(failure.token, failure.accepted)
                diagnostics.add(source.error(at, message, hint_for(failure.token, before, failure.accepted)))
            if failure.position == len(tokens):
                break
            tokens = _mended(tokens, failure)
    return File((), ())


def _mended(tokens: list[Token], failure: _Failure) -> list[Token]:
    """The tokens for the next attempt: with a brace that must have been forgotten, else without the wrong statement."""
    position, token = failure.position, failure.token
    if failure.accepted == frozenset({"LBRACE"}):
        rest = position + (token.type == END)
        return [*tokens[:position], Token.new_borrow_pos("LBRACE", "{", token), *tokens[rest:]]
    if token.type in ("NETWORK", "BLOCK", "IMPORT") and "RBRACE" in failure.accepted:
        return [*tokens[:position], Token.new_borrow_pos("RBRACE", "}", token), *tokens[position:]]
    start, stop = statement_around(tokens, position)
    return tokens[:start] + tokens[stop:]
