"""From the bytes of a `.pt2` file and a request to a program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.builder import function_name
from npuc.compiler.core.errors import SourceError, SourceErrors, UsageError, did_you_mean
from npuc.compiler.core.kinds import show
from npuc.frontends.base import Program, Request, Source
from npuc.frontends.dsl.defines import literal
from npuc.frontends.dsl.syntax import Definition
from npuc.frontends.script.freeze import Frozen
from npuc.frontends.script.opaque.calls import OpaqueOperators
from npuc.frontends.script.script import Script
from npuc.frontends.script.training import Wanted, complete
from npuc.frontends.torch.archive import ArchiveBytes
from npuc.frontends.torch.graphs.translation import Translation
from npuc.frontends.torch.load import load
from npuc.frontends.torch.program import ExportedProgram
from npuc.frontends.torch.sizes import FreeSizes, Sizes, assumptions, check_assumed
from npuc.frontends.torch.translate import translate

if TYPE_CHECKING:
    from npuc.frontends.script.text.sizes import FreeSize


def read_pt2(source: Source, request: Request) -> Program:
    """The program in a source, with the training step that is asked for. Raises `SourceError`s and `UsageError`."""
    program = load(source.data, source.filename, source.values)
    free = FreeSizes(program)
    script, done, remarks = _written(program, free, source.filename, request)
    module = script.finish()
    values = {weight.name: weight.read for weight in done.weights if weight.read is not None}

    def text() -> str:
        """The network as text."""
        from npuc.frontends.script.text import network_text

        script.frozen.check()
        return network_text(
            script.definition, script.classes, _free_sizes(program, free, source.filename, request, script)
        )

    assumed, unchecked = assumptions(free, symbols_of(free, request.defines), module)
    return Program(module, (*done.remarks, *remarks, *assumed), values, script.unneeded(module), unchecked, text)


def _written(
    program: ExportedProgram, free: FreeSizes, filename: str, request: Request
) -> tuple[Script, Translation, list[str]]:
    """A program as a script, with the training step that is asked for and remarks on it."""
    frozen = Frozen(request.freeze)
    name = function_name(os.path.splitext(os.path.basename(filename))[0], "network")
    script = Script(name, filename, training=not request.inference, max_ops=request.max_ops, is_frozen=frozen.matches)
    symbols = symbols_of(free, request.defines)
    check_assumed(program, free, symbols)
    opaque = OpaqueOperators(request.opaque_costs) if request.opaque else None
    done = translate(program, script, Sizes(symbols, filename), opaque)
    remarks = complete(script, done.outputs, Wanted(request.results, request.losses, request.optimizer))
    frozen.check()
    return script, done, [*remarks, *(() if opaque is None else opaque.remarks())]


def _free_sizes(
    program: ExportedProgram, free: FreeSizes, filename: str, request: Request, script: Script
) -> list[FreeSize]:
    """The sizes that may be parameters of the network's text: those that the file leaves free, else the batch."""
    from npuc.frontends.script.rebatch import BATCH, batch_size
    from npuc.frontends.script.text.sizes import FreeSize, parameter_names

    now = symbols_of(free, request.defines)

    def at(symbol: str, value: int) -> Definition | None:
        """The network with another size; None where that is none."""
        try:
            return _written(program, free, filename, replace(request, defines={**now, symbol: value}))[0].definition
        except (SourceError, SourceErrors, UsageError):
            return None

    found: list[FreeSize] = []
    for symbol, name in parameter_names(free.axes).items():
        least, most = free.range(symbol)
        others = tuple(v for v in (k * now[symbol] for k in (2, 3, 4, 5)) if least <= v <= most)
        found.append(FreeSize(name, now[symbol], others, partial(at, symbol)))
    batch = batch_size(script, max_ops=request.max_ops)
    return [*found, batch] if batch is not None and all(one.name != BATCH for one in found) else found


def symbols_of(free: FreeSizes, defines: Mapping[str, Any]) -> dict[str, int]:
    """The values of free sizes: those of the example, or those that are asked for. Raises `UsageError`."""
    found = {symbol: free.example(symbol) for symbol in free.symbols}
    for name, value in defines.items():
        symbol = free.symbol(name)
        if symbol is None:
            known = ", ".join(free.names) or "none"
            raise UsageError(
                f"unknown network parameter '{name}'",
                hint=did_you_mean(name, free.names) or f"free sizes of the program: {known}",
            )
        size = literal(value)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"-D {name}: found {show(value)}, expected a size of at least 1")
        least, most = free.range(symbol)
        if not least <= size <= most:
            bounds = f"{least} to {most}" if most < free.NO_BOUND else f"at least {least}"
            raise UsageError(f"-D {name}: found {size}, expected {bounds}, as the program was exported")
        found[symbol] = size
    return found


class SizeParameters:
    """The free sizes of a program, by symbol, `s27`, and by input and axis, `ids.0`."""

    def __init__(self, data: ArchiveBytes, filename: str):
        self._free = FreeSizes(load(data, filename))
        self.names: tuple[str, ...] = tuple(self._free.names)
        self.texts: tuple[tuple[str, str], ...] = ()
        """None: the file is no text, and holds all of the program."""

    def check(self, defines: Mapping[str, Any]) -> None:
        """Raise `UsageError` for names and values that the program refuses."""
        symbols_of(self._free, defines)
