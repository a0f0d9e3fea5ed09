"""
The one layout of a program: `npuc fmt`.

Names, numbers, strings, brackets and comments stay as they are, and so do single blank lines; everything else of the
layout is decided here. The syntax tree does not change, and formatting twice is formatting once. docs/editor.md lists
the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from npuc.frontends.dsl.format.lines import INDENT, Layout, Writer
from npuc.frontends.dsl.format.pieces import Comment, Piece, Pieces, read_pieces
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.source_text import Diagnostics, SourceText


@dataclass(frozen=True)
class _Simple:
    """A statement without a body: pieces `first` to `last`."""

    first: int
    last: int


@dataclass(frozen=True)
class _Part:
    """A head that begins with piece `first`, its `{` and `}`, and the statements between them."""

    first: int
    opening: int
    body: tuple[_Simple | _Compound, ...]
    closing: int


@dataclass(frozen=True)
class _Compound:
    """A definition, a loop, or a chain of branches."""

    parts: tuple[_Part, ...]

    @property
    def first(self) -> int:
        """The first piece."""
        return self.parts[0].first

    @property
    def last(self) -> int:
        """The last piece."""
        return self.parts[-1].closing


_Statement = _Simple | _Compound


def format_source(text: str, filename: str) -> str:
    """
    A program, or a file of blocks, in the one layout.

    Raises SourceError or SourceErrors for what cannot be parsed.
    """
    source = SourceText(text, filename)
    diagnostics = Diagnostics()
    parse(source, diagnostics)
    diagnostics.raise_if_any()
    pieces = read_pieces(source)
    statements, _ = _structure(pieces, 0)
    _align(pieces, statements)
    pieces.measure()
    lines = _Formatter(pieces).file(statements)
    return "".join(f"{line}\n" for line in lines)


def _structure(pieces: Pieces, start: int) -> tuple[tuple[_Statement, ...], int]:
    """The statements from a piece on, and the piece behind them: the `}` of their body, or the end of the file."""
    found: list[_Statement] = []
    k = start
    while k < len(pieces) and pieces.kind(k) != "RBRACE":
        first = k
        while not pieces.items[k].ends and pieces.kind(k) != "LBRACE":
            k += 1
        if pieces.kind(k) != "LBRACE":
            found.append(_Simple(first, k))
            k += 1
            continue
        body, closing = _structure(pieces, k + 1)
        parts = [_Part(first, k, body, closing)]
        while pieces.kind(closing + 1) == "ELSE":
            first = k = closing + 1
            while pieces.kind(k) != "LBRACE":
                k += 1
            body, closing = _structure(pieces, k + 1)
            parts.append(_Part(first, k, body, closing))
        found.append(_Compound(tuple(parts)))
        k = closing + 1
    return tuple(found), k


def _align(pieces: Pieces, statements: Sequence[_Statement]) -> None:
    """Where inputs and labels follow each other, their names begin in one column."""
    run: list[Piece] = []
    for statement in [*statements, None]:
        first = None if statement is None else pieces.items[statement.first]
        if first is not None and first.kind in ("INPUT", "LABELS"):
            run.append(first)
            continue
        width = max((len(piece.text) for piece in run), default=0)
        for piece in run:
            piece.text = piece.text.ljust(width)
        run = []
        if isinstance(statement, _Compound):
            for part in statement.parts:
                _align(pieces, part.body)


class _Formatter:
    """Writes the statements of a file."""

    def __init__(self, pieces: Pieces):
        self.pieces = pieces
        self.writer = Writer()
        self.layout = Layout(pieces, self.writer)

    def file(self, statements: Sequence[_Statement]) -> list[str]:
        """The lines of the file."""
        self._comments(self.pieces.head, 0)
        self._body(statements, 0)
        return self.writer.lines

    def _comments(self, comments: Sequence[Comment], indent: int, *, keep_blanks: bool = True) -> None:
        for comment in comments:
            if comment.own_line:
                self.writer.start(indent, comment.blank and keep_blanks)
                self.writer.write(comment.text)
            else:
                self.writer.write(f"  {comment.text}")

    def _body(self, statements: Sequence[_Statement], indent: int) -> None:
        for statement in statements:
            self.writer.start(indent, self.pieces.items[statement.first].blank)
            if isinstance(statement, _Simple):
                self.layout.statement(statement.first, statement.last + 1, indent)
            elif self._is_one_line(statement):
                self.layout.flat(statement.first, statement.last + 1)
            else:
                self._compound(statement, indent)
            self._comments(self.pieces.items[statement.last].comments, indent)

    def _is_one_line(self, statement: _Compound) -> bool:
        """Whether a statement with bodies stays on one line: each has one simple statement at most, all fits."""
        items = self.pieces.items
        for part in statement.parts:
            is_short = not part.body or (len(part.body) == 1 and isinstance(part.body[0], _Simple))
            if not is_short or items[part.opening].line != items[part.closing].line:
                return False
        for before, part in pairwise(statement.parts):
            if items[before.closing].line != items[part.first].line:
                return False
        return self.layout.fits(statement.first, statement.last + 1)

    def _compound(self, statement: _Compound, indent: int) -> None:
        items = self.pieces.items
        for number, part in enumerate(statement.parts):
            if number:
                comments = items[part.first - 1].comments
                self._comments(comments, indent, keep_blanks=False)
                if comments:
                    self.writer.start(indent)
            self.layout.statement(part.first, part.opening + 1, indent)
            if not part.body and not items[part.opening].comments:
                self.layout.flat(part.closing, part.closing + 1)
                continue
            comments = items[part.opening].comments
            trailing = comments[:1] if comments and not comments[0].own_line else []
            self._comments(trailing, indent)
            self.writer.is_fresh = True
            self._comments(comments[len(trailing) :], indent + INDENT)
            self._body(part.body, indent + INDENT)
            self.writer.start(indent)
            self.writer.write("}")
