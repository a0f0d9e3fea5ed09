"""Syntax errors in the words of the language: what was found, what was expected, what to do."""

from collections.abc import Sequence

from lark import Token

from npuc.compiler.core.errors import either, nearest
from npuc.frontends.dsl.syntax.tokens import END, unclosed_bracket

_EXPRESSION = frozenset({"NAME", "INT", "FLOAT", "STRING", "TRUE", "FALSE", "NONE", "LPAR", "LSQB", "FROZEN"})
_OPERATORS = frozenset({"PLUS", "MINUS", "PRODUCT", "POWER", "COMPARE", "AND", "OR", "LSQB"})
_STATEMENT = frozenset({"INPUT", "LABELS", "LOSS", "OUTPUT", "OPTIMIZER", "ERROR", "RETURN", "FOR", "IF", "NAME"})
_SYMBOLS = {
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "EQUAL": "'='",
    "RANGE": "'..'",
    "IN": "'in'",
    "AND": "'and'",
    "OR": "'or'",
    "IF": "'if'",
    "ELSE": "'else'",
    "NETWORK": "'network'",
    "BLOCK": "'block'",
    "IMPORT": "'import'",
    "NAME": "a name",
    "STRING": "a string",
    END: "the end of the statement",
    "$END": "the end of the file",
}
_GROUPS = ((_STATEMENT, "a statement"), (_EXPRESSION, "an expression"), (_OPERATORS, "an operator"))
_STATEMENT_WORDS = (
    "input", "labels", "loss", "output", "optimizer", "error", "return", "for", "if", "network", "block", "import",
)  # fmt: skip
_FILE_WORDS = ("network", "block", "import")
_FILE_TOKENS = ("NETWORK", "BLOCK", "IMPORT", "$END")
_RESERVED = ("FOR", "IN", "IF", "ELSE", "RETURN", "TRUE", "FALSE", "NONE", "AND", "OR", "NOT")


def found(token: Token) -> str:
    """A token as a message names it."""
    if token.type == "$END" or (token.type == END and token == ""):
        return "the end of the file"
    if token == "\n":
        return "the end of the line"
    return f"'{token}'" if token.type != "STRING" else str(token)


def _alternatives(accepted: frozenset[str]) -> list[str]:
    words: list[str] = []
    rest = set(accepted)
    for group, word in _GROUPS:
        if group <= rest:
            words.append(word)
            rest -= group
    if "an operator" in words:
        rest -= {"IF", "EQUAL"}
    if "an expression" in words:
        rest -= {"MINUS", "NOT"}
    first = [_SYMBOLS[kind] for kind in sorted(rest - {END, "$END"}) if kind in _SYMBOLS]
    last = [_SYMBOLS[kind] for kind in (END, "$END") if kind in rest]
    return first + words + last


def message_for(token: Token, accepted: frozenset[str]) -> str:
    """What was found and what could stand there."""
    return f"found {found(token)}, expected {either(_alternatives(accepted))}"


def hint_for(token: Token, before: Sequence[Token], accepted: frozenset[str]) -> str | None:
    """The likely fix of a syntax error at `token`, after the tokens `before`."""
    previous = before[-1] if before else None
    if token.type == "NAME" and "NETWORK" in accepted:
        word = nearest(str(token), _FILE_WORDS)
        return f"did you mean '{word}'?" if word else "statements stand in the braces of a network or block"
    bracket = unclosed_bracket(before)
    if token.type in _RESERVED and "NAME" in accepted and "FOR" not in accepted:
        return f"'{token}' is a reserved word"
    if previous is not None and previous.type == "NAME" and accepted == frozenset({"EQUAL", "COMMA"}):
        if token.type == "LPAR":
            return f"the result of a call gets a name: h = {previous}(…)"
        word = nearest(str(previous), _STATEMENT_WORDS)
        return f"did you mean '{word}'?" if word else "a statement begins with a name and '=', or with a word as 'loss'"
    if bracket is not None and bracket.line != token.line and (bracket != "{" or token.type in _FILE_TOKENS):
        return f"the '{bracket}' of line {bracket.line} is not closed"
    if token.type == "COMPARE" and "AND" in accepted:
        return "comparisons do not chain: write a < b and b < c"
    if token.type == "EQUAL" and "COMPARE" in accepted:
        return "equality is written =="
    if previous is not None and previous.type == "INT" and token.type == "NAME" and previous.end_pos == token.start_pos:
        return "a name begins with a letter or _"
    return None
