"""
Checking a program: every operation's verifier, every message, at its place in the source.

`ModuleOp.verify` stops at the first mistake and prints the whole module with it; `verify_module` reports up to
`MAX_ERRORS` of them, one line each.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.errors import Location, NpucError, SourceError, SourceErrors
from npuc.compiler.core.foreign import summary
from npuc.dialects.distributed.buckets import bucket_problems
from npuc.dialects.distributed.signature import sharding_problems
from npuc.dialects.npu.resident import ElsewhereError
from npuc.dialects.provenance import layer_of, provenance_problem
from npuc.dialects.structural import structural_key
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import arguments_of, name_all, training_functions
from npuc.dialects.train.signature_problems import signature_problems

MAX_ERRORS = 20
_SHOWN = 5


@dataclass
class SourceTexts:
    """The texts of source files by name, for the lines that errors are about. Files not given are read when needed."""

    texts: dict[str, str] = field(default_factory=dict[str, str])

    def line(self, location: Location) -> str | None:
        """The line that `location` names, or None when its file cannot be read."""
        if location.file not in self.texts:
            try:
                file = Path(location.file)
                self.texts[location.file] = file.read_text(encoding="utf-8-sig") if file.is_file() else ""
            except (OSError, ValueError):
                self.texts[location.file] = ""
        lines = self.texts[location.file].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return lines[location.line - 1] if 0 < location.line <= len(lines) else None

    @contextmanager
    def quoted(self) -> Generator[None]:
        """Errors that come from inside get the lines that they are about: a backend knows places, but no texts."""
        try:
            yield
        except NpucError as e:
            for error in (e, *e.errors) if isinstance(e, SourceErrors) else (e,):
                if error.location is not None and error.source_line is None:
                    error.source_line = self.line(error.location)
            raise


def location_of(part: Operation | BlockArgument) -> Location | None:
    """The place in the source that an operation or an argument came from, or None where it is unknown."""
    loc = part.location
    if isinstance(loc, FileLineColLoc):
        return Location(loc.filename.data, loc.line.data, loc.column.data)
    return None


def error_at(op: Operation, message: str, sources: SourceTexts, hint: str | None = None) -> SourceError:
    """An error about an operation, at its place in the source; the layer is named where the place is unknown."""
    location = location_of(op)
    if location is None:
        layer = layer_of(op)
        return SourceError(f"{message}{f' (layer {layer})' if layer else ''}", hint=hint)
    return SourceError(message, location=location, hint=hint, source_line=sources.line(location))


def raise_all(errors: list[SourceError]) -> None:
    """Raise the errors found, if any, as one."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SourceErrors(errors)


def verify_module(module: ModuleOp, sources: SourceTexts, *, after: str | None = None) -> None:
    """
    Check the invariants of every operation, of operations that are alike once.

    Raises `SourceErrors` with a message for each that is broken. `after` names the pass that just ran, whose fault it
    then is.
    """
    errors: list[SourceError] = []
    stumbled: list[SourceError] = []
    blame = "" if after is None else f" (after pass '{after}')"
    right: set[Hashable] = set()
    for op in module.walk():
        problem = provenance_problem(op)
        if problem is not None:
            errors.append(error_at(op, f"'{op.name}' {problem}{blame}", sources))
            continue
        kind = structural_key(op)
        if kind in right:
            continue
        try:
            op.verify_()
        except VerifyException as e:
            culprit = e.op if isinstance(e, ElsewhereError) else op
            errors.append(error_at(culprit, f"'{culprit.name}' {e}{blame}", sources))
            if len(errors) == MAX_ERRORS:
                break
        # Verifiers, xDSL's and those from outside too, look at neighbours that are wrong themselves, or take a type for
        # granted: whatever they raise then is told where nothing else is.
        except Exception as e:
            stumbled.append(error_at(op, f"'{op.name}' is not well formed: {summary(e)}{blame}", sources))
        else:
            if kind is not None:
                right.add(kind)
    errors = errors or stumbled[:MAX_ERRORS]
    if not errors:
        early = islice(undefined_uses(module), MAX_ERRORS)
        errors = [error_at(op, f"{undefined_text(op, number)}{blame}", sources) for op, number in early]
    if not errors:
        bodies = (op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration)
        errors = [error_at(func, f"{problem}{blame}", sources) for func in bodies for problem in _problems(func)]
    raise_all(errors)


def undefined_uses(module: ModuleOp) -> Iterator[tuple[Operation, int]]:
    """The operands that are used before they are defined: operations and numbers of operands."""
    known: set[SSAValue] = set()

    def visit(region: Region) -> Iterator[tuple[Operation, int]]:
        for block in region.blocks:
            own: list[SSAValue] = [*block.args]
            known.update(own)
            for op in block.ops:
                for number, operand in enumerate(op.operands):
                    if operand not in known:
                        yield op, number
                for inner in op.regions:
                    yield from visit(inner)
                known.update(op.results)
                own += op.results
            known.difference_update(own)

    yield from visit(module.body)


def undefined_text(op: Operation, number: int) -> str:
    """What is wrong with an operand that is used before it is defined."""
    name = op.operands[number].name_hint
    value = f"%{name}" if name else f"operand {number}"
    return f"'{op.name}' uses {value} before it is defined"


def _problems(func: FuncOp) -> list[str]:
    """What is wrong with the signature of a function, or between its operations."""
    return [*signature_problems(func)] or [*sharding_problems(func)] or [*bucket_problems(func)]


def name_signatures(module: ModuleOp, sources: SourceTexts) -> None:
    """
    Name the arguments and results of a verified program that have no name: `arg0`, `result0`.

    Raises `SourceError` where another argument or result has such a name.
    """
    errors: list[SourceError] = []
    for func in training_functions(module):
        name_all(func)
        errors += [error_at(func, problem, sources) for problem in _problems(func)]
    raise_all(errors)


def require_function(module: ModuleOp) -> None:
    """Raise `SourceError` for a module in which nothing is computed."""
    if not any(isinstance(op, FuncOp) and not op.is_declaration for op in module.ops):
        raise SourceError("the program has no function with a body", location=location_of(module))


def refused(op: Operation, message: str, name: str) -> SourceError:
    """An error about what a pass cannot take, at the place of an operation."""
    return SourceError(f"{name}: {message}", location=location_of(op))


def require_train_level(func: FuncOp, name: str) -> None:
    """
    Raise `SourceError` for a function that the pass `name` does not take: of a lower level than `train`, at the first
    such operation, or of plain numbers.
    """
    odd = next((a for a in arguments_of(func) if not isinstance(func.body.block.args[a.index].type, TensorType)), None)
    if odd is not None:
        type = func.body.block.args[odd.index].type
        raise refused(func, f"found the argument '{odd.name}' of type {type}, expected tensors", name)
    lowered = next((op for op in func.body.block.ops if not isinstance(op, TrainOp | ReturnOp)), None)
    if lowered is not None:
        message = f"found {lowered.name}, expected train operations: run it before lower-to-npu"
        raise refused(lowered, message, name)


def the_function(module: ModuleOp) -> FuncOp:
    """The one function of a module that is a program."""
    functions = training_functions(module)
    if len(functions) != 1:
        names = f": {', '.join(f'@{func.sym_name.data}' for func in functions[:_SHOWN])}" if functions else ""
        location = location_of(functions[1]) if functions else None
        hint = "make the others private, or name only the arguments of one" if functions else None
        raise SourceError(f"found {len(functions)} functions{names}, expected one", location=location, hint=hint)
    return functions[0]
