"""
From the raw tokens of a text to those the grammar expects.

The lexer knows no context. Here line ends become statement ends, soft keywords become names where they begin no
statement, and characters that belong to no token are reported.
"""

from collections.abc import Iterable, Sequence
from math import isfinite

from lark import Token

from npuc.compiler.core.frozen import frozen
from npuc.frontends.source_text import Diagnostics, Place, SourceText

END = "_NL"
MAX_BRACKETS = 1000
SOFT_WORDS = ("NETWORK", "BLOCK", "IMPORT", "INPUT", "LABELS", "LOSS", "OUTPUT", "OPTIMIZER", "ERROR", "FROZEN")
_NAME_LIKE = frozenset({"NAME", *SOFT_WORDS})
_HARD_STATEMENTS = frozenset({"FOR", "RETURN"})
OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSING = frozenset(OPENING.values())
_CONTINUED = frozenset({"PLUS", "MINUS", "PRODUCT", "POWER", "COMPARE", "AND", "OR", "COMMA"})
_BEGINNING = frozenset({END, "LBRACE", "RBRACE"})

_RANGES = {"INT": "an integer below 2**63", "FLOAT": "a finite float"}
_HINTS = {
    "'": 'strings stand in double quotes: "same"',
    ".": "there are no attributes or methods: write shape(x) for the sizes of x",
    "!": "write 'not'",
    "&": "write 'and'",
    "|": "write 'or'",
    "@": "write matmul(a, b)",
    "^": "a power is written **",
}


class Newlines:
    """Keeps the tokens that `prepare` needs although the grammar does not name them; lark calls it a post-lexer."""

    always_accept = (END, "BAD", "BAD_STRING")

    def process(self, stream: Iterable[Token]) -> Iterable[Token]:
        """The tokens as they are."""
        return stream


@frozen
class Tokens:
    """The prepared tokens, and the numbers of the lines that hold lexical errors."""

    tokens: list[Token]
    bad_lines: frozenset[int]


def place(token: Token) -> Place:
    """Where a token begins."""
    return Place(token.line or 1, token.column or 1)


def _like(token: Token, type: str, value: str) -> Token:
    return Token.new_borrow_pos(type, value, token)


def _report_bad(source: SourceText, raw: Iterable[Token], diagnostics: Diagnostics) -> Tokens:
    """The tokens without bad ones; a run of bad letters counts as a name, so that what is around it still parses."""
    kept: list[Token] = []
    bad: set[tuple[int, str]] = set()
    run_end, depth = -1, 0
    for token in raw:
        at, text = place(token), str(token)
        depth = max(0, depth + (token.type in OPENING) - (token.type in CLOSING))
        if depth > MAX_BRACKETS:
            diagnostics.add(source.error(at, f"brackets are nested more than {MAX_BRACKETS:,} deep"))
            return Tokens([], frozenset())
        if token.type == "BAD_STRING":
            diagnostics.add(source.error(at, "found a string without end, expected '\"' on the same line"))
            token = _like(token, "STRING", text + '"')
            bad.add((at.line, text))
        elif token.type == "BAD":
            if (at.line, text) not in bad and run_end != token.start_pos:
                diagnostics.add(source.error(at, f"found {_character(text)}", _bad_hint(text)))
            bad.add((at.line, text))
            run_end = token.end_pos
            follows_name = kept and kept[-1].type == "NAME" and kept[-1].end_pos == token.start_pos
            if not text.isalpha() or follows_name:
                continue
            token = _like(token, "NAME", text)
        elif token.type in ("INT", "FLOAT") and not _is_in_range(token):
            diagnostics.add(source.error(at, f"found a number that is too large, expected {_RANGES[token.type]}"))
            token = _like(token, token.type, "0")
        kept.append(token)
    return Tokens(kept, frozenset(line for line, _ in bad))


def _character(char: str) -> str:
    shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
    return f"the character {shown}, which has no meaning here"


def _bad_hint(char: str) -> str | None:
    if char.isalpha():
        return "names are made of ASCII letters, digits and _"
    return _HINTS.get(char)


def _is_in_range(token: Token) -> bool:
    if token.type == "FLOAT":
        return isfinite(float(token))
    digits = token.lstrip("0")
    return len(digits) < 19 or (len(digits) == 19 and int(digits) < 2**63)


def prepare(source: SourceText, raw: Iterable[Token], diagnostics: Diagnostics) -> Tokens:
    """The tokens of a file as the grammar expects them; bad characters go to `diagnostics`."""
    found = _report_bad(source, raw, diagnostics)
    following = _following(found.tokens)
    tokens: list[Token] = []
    brackets: list[str] = []
    for number, (token, after) in enumerate(zip(found.tokens, following, strict=True)):
        begins = not tokens or tokens[-1].type in _BEGINNING
        if token.type == END:
            is_end = not brackets or brackets[-1] == "LBRACE"
            if token == "\n":
                is_end &= tokens != [] and tokens[-1].type not in _CONTINUED and after not in ("LBRACE", "ELSE")
            if is_end and not begins:
                tokens.append(token)
            continue
        if token.type in SOFT_WORDS:
            is_followed = number + 1 < len(found.tokens) and found.tokens[number + 1].type in _NAME_LIKE
            token = _soft_word(token, is_followed, begins and after not in ("EQUAL", "COMMA"))
        if token.type in _HARD_STATEMENTS or token.type in ("LBRACE", "RBRACE"):
            while brackets and brackets[-1] != "LBRACE":
                brackets.pop()
        if token.type == "RBRACE" and not begins:
            tokens.append(_like(token, END, str(token)))
        if token.type in OPENING:
            brackets.append(token.type)
        elif brackets and token.type == OPENING[brackets[-1]]:
            brackets.pop()
        tokens.append(token)
    if tokens and tokens[-1].type not in _BEGINNING:
        line, column = tokens[-1].end_line, tokens[-1].end_column
        tokens.append(Token(END, "", line=line, column=column, end_line=line, end_column=column))
    return Tokens(tokens, found.bad_lines)


def _following(tokens: Sequence[Token]) -> list[str]:
    """For each token the type of the next one that is no line end; empty at the end of the file."""
    following: list[str] = []
    after = ""
    for token in reversed(tokens):
        following.append(after)
        if token.type != END:
            after = token.type
    return following[::-1]


def _soft_word(token: Token, is_followed_by_name: bool, begins_statement: bool) -> Token:
    is_word = is_followed_by_name if token.type == "FROZEN" else begins_statement
    return token if is_word else _like(token, "NAME", str(token))


def unclosed_bracket(tokens: Sequence[Token]) -> Token | None:
    """The innermost bracket that `tokens` leave open."""
    brackets: list[Token] = []
    for token in tokens:
        if token.type in OPENING:
            brackets.append(token)
        elif brackets and token.type == OPENING[brackets[-1].type]:
            brackets.pop()
    return brackets[-1] if brackets else None


def statement_around(tokens: Sequence[Token], position: int) -> tuple[int, int]:
    """
    The range of tokens to skip after a syntax error at `position`: the statement it is in, a body included.

    The range is never empty.
    """
    start = position
    while start > 0 and tokens[start - 1].type not in _BEGINNING:
        start -= 1
    stop, depth = position, 0
    while stop < len(tokens):
        kind = tokens[stop].type
        if kind == "RBRACE" and depth == 0:
            break
        stop += 1
        depth += (kind == "LBRACE") - (kind == "RBRACE")
        if depth == 0 and kind == END:
            break
        if depth == 0 and kind == "RBRACE" and not (stop < len(tokens) and tokens[stop].type == "ELSE"):
            break
    return start, max(stop, position + 1)
