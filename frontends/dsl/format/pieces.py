"""
The tokens of a text as the formatter sees them: with the comments behind each, and the blanks that belong between them.

A comment belongs to the token before it, and stays behind it. Two tokens are exceptions: a comment before a comma or a
`{` moves behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from lark import Token

from npuc.frontends.dsl.syntax.parser import lex
from npuc.frontends.dsl.syntax.tokens import CLOSING, END, OPENING, prepare
from npuc.frontends.source_text import Diagnostics, Place, SourceText

MAX_NESTING = 100
_BRACKETS = ("LPAR", "LSQB")
_CLOSED = ("RPAR", "RSQB")
_OPERAND_ENDS = frozenset({"NAME", "RPAR", "RSQB", "INT", "FLOAT", "STRING", "TRUE", "FALSE", "NONE"})
_NEVER_AFTER_BLANK = frozenset({"RPAR", "RSQB", "COMMA", "COLON", "RANGE"})
_NEVER_BEFORE_BLANK = frozenset({"LPAR", "LSQB", "RANGE"})


@dataclass(frozen=True)
class Comment:
    """A comment, whether it has a line of its own, and whether a blank line precedes it."""

    text: str
    own_line: bool
    blank: bool

    def alone(self) -> "Comment":
        """The comment on a line of its own."""
        return Comment(self.text, True, self.blank)


@dataclass
class Piece:
    """A token, its line, whether a blank line precedes it, whether its statement ends behind it, its comments."""

    kind: str
    text: str
    line: int
    blank: bool = False
    ends: bool = False
    comments: list[Comment] = field(default_factory=list[Comment])


class Pieces:
    """
    The pieces of a file.

    `match` holds for each `(` and `[` the number of the closing one; `head` are the comments before everything.
    `is_spaced[k]` says whether a blank separates piece k from the one before it on the same line.
    """

    def __init__(self, items: list[Piece], head: list[Comment]):
        self.items = items
        self.head = head
        self.match = _matches(items)
        depths = _depths(items)
        self.is_unary = [p.kind == "MINUS" and items[k - 1].kind not in _OPERAND_ENDS for k, p in enumerate(items)]
        self.is_spaced = [k > 0 and self._spaced(k, depths[k]) for k in range(len(items))]
        self._commented = [0, *accumulate(bool(p.comments) for p in items)]
        self._ends: list[int] = []

    def _spaced(self, k: int, depth: int) -> bool:
        before, kind = self.items[k - 1].kind, self.items[k].kind
        if kind in _NEVER_AFTER_BLANK or before in _NEVER_BEFORE_BLANK or self.is_unary[k - 1]:
            return False
        if depth and "EQUAL" in (before, kind):
            return False
        if kind == "LPAR":
            return before != "NAME"
        return kind != "LSQB" or before not in _OPERAND_ENDS

    def __len__(self) -> int:
        return len(self.items)

    def kind(self, k: int) -> str:
        """The kind of piece k; empty behind the last one."""
        return self.items[k].kind if k < len(self.items) else ""

    def measure(self) -> None:
        """Take the widths of the pieces; to be called when their texts are final."""
        self._ends = [0, *accumulate(len(p.text) + s for p, s in zip(self.items, self.is_spaced, strict=True))]

    def width(self, start: int, stop: int) -> int:
        """The width of pieces on one line, without the blank before the first."""
        return self._ends[stop] - self._ends[start] - self.is_spaced[start] if start < stop else 0

    def has_comments(self, start: int, stop: int) -> bool:
        """Whether a comment stands behind one of the pieces."""
        return stop > start and self._commented[stop] > self._commented[start]


def _matches(items: Sequence[Piece]) -> dict[int, int]:
    found: dict[int, int] = {}
    open_at: list[int] = []
    for k, piece in enumerate(items):
        if piece.kind in _BRACKETS:
            open_at.append(k)
        elif piece.kind in _CLOSED:
            found[open_at.pop()] = k
    return found


def _depths(items: Sequence[Piece]) -> list[int]:
    """How many round and square brackets are open at each piece."""
    depths: list[int] = []
    depth = 0
    for piece in items:
        depth -= piece.kind in _CLOSED
        depths.append(depth)
        depth += piece.kind in _BRACKETS
    return depths


def read_pieces(source: SourceText) -> Pieces:
    """The pieces of a text that has no syntax errors. Raises SourceError where brackets are nested too deep."""
    raw = list(lex(source))
    prepared = prepare(source, iter(raw), Diagnostics())
    items: list[Piece] = []
    nesting = 0
    for token in prepared.tokens:
        if token.type == END:
            items[-1].ends = True
            continue
        items.append(Piece(token.type, str(token), token.line or 1))
        nesting += (token.type in OPENING) - (token.type in CLOSING)
        if nesting > MAX_NESTING:
            at = Place(token.line or 1, token.column or 1)
            raise source.error(at, f"found brackets nested more than {MAX_NESTING} deep")
    head = _attach(source.text, raw, items)
    _pass_on(items)
    return Pieces(_without_last_commas(items), head)


def _attach(text: str, raw: Sequence[Token], items: Sequence[Piece]) -> list[Comment]:
    """Give every piece the comments behind it; returns those before the first one."""
    head: list[Comment] = []
    current, number, newlines, at = head, 0, 0, 0
    for token in [*raw, None]:
        stop = len(text) if token is None else token.start_pos
        gap = text[at:stop]
        if "#" in gap:
            own_line = newlines > 0 or current is head
            current.append(Comment(gap[gap.index("#") :].rstrip(), own_line, newlines > 1))
            newlines = 0
        if token is None:
            break
        at = token.end_pos or 0
        if token.type == END:
            newlines += token == "\n"
        else:
            items[number].blank = newlines > 1
            current, number, newlines = items[number].comments, number + 1, 0
    return head


def _pass_on(items: Sequence[Piece]) -> None:
    """Move comments behind a comma or `{` that follows them."""
    for before, piece in pairwise(items):
        if piece.kind in ("COMMA", "LBRACE") and before.comments:
            moved = before.comments + piece.comments
            before.comments, piece.comments = [], [moved[0], *(c.alone() for c in moved[1:])]


def _without_last_commas(items: Sequence[Piece]) -> list[Piece]:
    """The pieces without commas before a closing bracket; the comments of one stay behind the piece before it."""
    kept: list[Piece] = []
    for piece in items:
        if piece.kind in _CLOSED and kept[-1].kind == "COMMA":
            comments = kept.pop().comments
            kept[-1].comments = comments
        kept.append(piece)
    return kept
