"""
Reading npuc's own IR, at any level, from its text.

Every operation without a location of its own gets the place where it stands, so that errors and reports can name it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TypeGuard, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from npuc.compiler.core.errors import Location, SourceError, nearest
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import undefined_text, undefined_uses
from npuc.dialects import get_all_dialects
from npuc.dialects.npu.schedule_syntax import BarePromise

_QUOTE_OR_COMMENT = re.compile(r'"|//[^\n]*')
_STRING = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')
_UNKNOWN_OP = re.compile(r"Operation (\S+) is not registered")
_BARE = re.compile(r"(?:\s|//[^\n]*+)*+")
_UNDEFINED = re.compile(r"values used but not defined: \[(%[^\s,\]]+)")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|[-+]?[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?|true|false")


def make_context() -> Context:
    """A context that knows npuc's dialects and xDSL's."""
    from xdsl.dialects import get_all_dialects as get_upstream_dialects

    context = Context()
    for name, factory in {**get_upstream_dialects(), **get_all_dialects()}.items():
        context.register_dialect(name, factory)
    return context


@frozen
class _Text:
    """A text with its name, `before` lines down in its file: positions as lines and columns, and errors there."""

    text: str
    filename: str
    before: int = 0

    @cached_property
    def starts(self) -> list[int]:
        """Where lines begin."""
        return [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both from 1."""
        line = bisect_right(self.starts, position)
        return self.before + line, position - self.starts[line - 1] + 1

    def error(self, message: str, position: int, hint: str | None = None) -> SourceError:
        """An error at a position of the text."""
        line, col = self.place(min(position, len(self.text)))
        source_line = self.text[self.starts[line - self.before - 1] :].partition("\n")[0]
        return SourceError(message, location=Location(self.filename, line, col), hint=hint, source_line=source_line)


class ExactParser(Parser):
    """
    A parser to which `dense<0xFF800000> : tensor<f32>` is minus infinity, as MLIR has it, not a large number.

    Infinities, NaN and floats without a short decimal form are printed so; xDSL reads their bits as an integer.
    """

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """A dense literal; see `AttrParser`."""
        start = self.pos
        found = super().parse_dense_int_or_fp_elements_attr(type)
        element = found.type.element_type
        literal = (self.lexer.input.slice(start, self.pos) or "").partition(">")[0]
        if not isinstance(element, AnyFloat) or '"' in literal or "0x" not in literal.lower():
            return found
        values = [_value(text, element) for text in _NUMBER.findall(literal)]
        if len(values) == 1:
            values *= len(found)
        return DenseIntOrFPElementsAttr.from_list(cast("RankedStructure[AnyFloat]", found.type), values)


def _value(text: str, element: AnyFloat) -> float:
    """The value of a number as it is written: a hexadecimal one by its bits."""
    if text[:2] in ("0x", "0X"):
        raw = (int(text, 16) & (1 << element.bitwidth) - 1).to_bytes(element.compile_time_size, "little")
        return next(element.iter_unpack(raw))
    return float(text == "true") if text in ("true", "false") else float(text)


class _LocatingParser(ExactParser):
    """A parser that gives operations without a location the place where they begin."""

    def __init__(self, context: Context, source: _Text):
        super().__init__(context, source.text, source.filename)
        self.source = source
        self.file = StringAttr(source.filename)

    def parse_operation(self) -> Operation:
        """An operation, with its place. Errors of an attribute's verifier are errors at the operation."""
        start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as e:
            raise self.source.error(str(e), start) from e
        if isinstance(op.location, UnknownLoc):
            line, col = self.source.place(start)
            op.location = FileLineColLoc(self.file, IntAttr(line), IntAttr(col))
        return op


def read_mlir(text: str, filename: str, context: Context | None = None) -> ModuleOp:
    """
    The module that a text holds.

    Raises `SourceError` for text that is not IR, and for values that are used where they are not defined. Verifiers of
    operations are the caller's to run (`npuc.compiler.core.verify`).
    """
    source = _Text(text.removeprefix("\ufeff").replace("\r\n", "\n"), filename)
    check_text(source.text, filename)
    parsers: list[_LocatingParser] = []
    with Foreign(lambda e: _error(e, source, parsers)):
        parsers.append(_LocatingParser(context or make_context(), source))
        module = parsers[0].parse_module()
    _check_order(module, source)
    return module


def parse_part(
    context: Context, text: str, filename: str, *, before: int = 0, implicit_module: bool = True
) -> ModuleOp:
    """
    The module that a text holds, with the place of each operation, in a file of which `before` lines come first.

    Raises the `ParseError` of xDSL as it is.
    """
    return _LocatingParser(context, _Text(text, filename, before)).parse_module(implicit_module)


def check_text(text: str, filename: str) -> None:
    """
    Raise `SourceError` for a text without operations, and at a string that is not closed on its line or holds an
    unknown escape.

    xDSL's lexer takes time exponential in the length of such a string.
    """
    if _BARE.fullmatch(text):
        raise _Text(text, filename).error("found no operation, expected a module", 0)
    position = 0
    while (found := _QUOTE_OR_COMMENT.search(text, position)) is not None:
        if found.group() == '"':
            string = _STRING.match(text, found.start())
            if string is None:
                message = "this string is not closed on its line, or has an unknown escape"
                raise _Text(text, filename).error(message, found.start(), 'escapes are \\", \\\\, \\n, \\t and \\XX')
            position = string.end()
        else:
            position = found.end()


def _error(error: BaseException, source: _Text, parsers: list[_LocatingParser]) -> SourceError:
    """The parser's error at its place, or the internal error that the text caused in the parser."""
    if not isinstance(error, ParseError):
        nested = isinstance(error, RecursionError)
        text = "regions or types are nested too deeply" if nested else f"this cannot be read ({summary(error)})"
        return source.error(text, parsers[0].pos if parsers else 0)
    text, position = error.msg.strip().partition("\n")[0], error.span.start
    if unknown := _UNKNOWN_OP.match(text):
        name = unknown.group(1)
        found = source.text.rfind(name, 0, position)
        close = nearest(name, [op.name for op in parsers[0].ctx.loaded_ops] if parsers else [])
        hint = f"did you mean '{close}'?" if close else "npuc explain --op NAME says what an operation means"
        return source.error(f"unknown operation '{name}'", max(found, 0), hint)
    if undefined := _UNDEFINED.match(text):
        used = re.search(re.escape(undefined.group(1)) + r"(?![\w$.-])", source.text)
        return source.error(f"{undefined.group(1)} is not defined", used.start() if used else position)
    if text == "in block definition":
        text = "expected an operation or the end of the block"
    return source.error(text, position, error.hint if isinstance(error, BarePromise) else None)


def _check_order(module: ModuleOp, source: _Text) -> None:
    """Raise `SourceError` for a value that is used before it is defined: the parser allows any order."""
    for op, number in undefined_uses(module):
        loc, position = op.location, 0
        if _is_here(loc, source) and 0 < loc.line.data <= len(source.starts):
            position = source.starts[loc.line.data - 1] + loc.column.data - 1
        raise source.error(undefined_text(op, number), position)


def _is_here(loc: Attribute, source: _Text) -> TypeGuard[FileLineColLoc]:
    return isinstance(loc, FileLineColLoc) and loc.filename.data == source.filename
