"""
Reading npuc's own IR, at any level, from its text.

Every operation without a location of its own gets the place where it stands, so that errors and reports can name it.
"""

from __future__ import annotations

from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from npuc.compiler.boundary import Foreign, summary
from npuc.compiler.errors import Location, SourceError
from npuc.dialects import get_all_dialects


def make_context() -> Context:
    """A context that knows npuc's dialects and xDSL's."""
    from xdsl.dialects import get_all_dialects as get_upstream_dialects

    context = Context()
    for name, factory in {**get_upstream_dialects(), **get_all_dialects()}.items():
        context.register_dialect(name, factory)
    return context


class _LocatingParser(Parser):
    """A parser that gives operations without a location the place where they begin."""

    def __init__(self, context: Context, text: str, filename: str):
        super().__init__(context, text, filename)
        self.text = text
        self.file = StringAttr(filename)
        self.starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both from 1."""
        line = bisect_right(self.starts, position)
        return line, position - self.starts[line - 1] + 1

    def error(self, message: str, position: int, hint: str | None = None) -> SourceError:
        """An error at a position of the text."""
        line, col = self.place(min(position, len(self.text)))
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        location = Location(self.file.data, line, col)
        return SourceError(message, location=location, hint=hint, source_line=self.text[self.starts[line - 1] : end])

    def parse_operation(self) -> Operation:
        """An operation, with its place. What a verifier of an attribute says is an error at the operation."""
        start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as e:
            raise self.error(str(e), start) from e
        if isinstance(op.location, UnknownLoc):
            line, col = self.place(start)
            op.location = FileLineColLoc(self.file, IntAttr(line), IntAttr(col))
        return op


def read_mlir(text: str, filename: str, context: Context | None = None) -> ModuleOp:
    """
    The module that a text holds.

    Raises `SourceError` for text that is not IR, and for values that are used where they are not defined. Verifiers
    of operations are the caller's to run (`npuc.compiler.verify`).
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    parser = _LocatingParser(context or make_context(), text, filename)
    try:
        with Foreign(lambda e: parser.error(_message(e), _position(e, parser))):
            module = parser.parse_module()
    except RecursionError as e:
        raise SourceError(f"{filename}: regions or types are nested too deeply") from e
    _check_order(module, parser)
    return module


def _message(error: Exception) -> str:
    """What to say: the parser's own message, or what the text made it stumble over."""
    if isinstance(error, ParseError):
        return error.msg.strip().partition("\n")[0]
    if isinstance(error, RecursionError):
        return "regions or types are nested too deeply"
    return f"this cannot be read ({summary(error)})"


def _position(error: Exception, parser: Parser) -> int:
    return error.span.start if isinstance(error, ParseError) else parser.pos


def _check_order(module: ModuleOp, parser: _LocatingParser) -> None:
    """Every value must be defined before it is used: the parser allows any order."""

    def visit(region: Region, defined: set[SSAValue]) -> None:
        for block in region.blocks:
            known = defined | set(block.args)
            for op in block.ops:
                for number, operand in enumerate(op.operands):
                    if operand not in known:
                        raise _undefined(op, number)
                for inner in op.regions:
                    visit(inner, known)
                known.update(op.results)

    def _undefined(op: Operation, number: int) -> SourceError:
        name = op.operands[number].name_hint
        value = f"%{name}" if name else f"operand {number}"
        loc = op.location
        position = parser.starts[loc.line.data - 1] + loc.column.data - 1 if isinstance(loc, FileLineColLoc) else 0
        return parser.error(f"'{op.name}' uses {value} before it is defined", position)

    for region in module.regions:
        visit(region, set())
