"""The programs of a sweep as they were read, and what points of them come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuc.backends.base import Backend
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.driver.compile import lowering_options, read_for
from npuc.compiler.driver.options import fields_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.score import full_totals
from npuc.compiler.driver.session import Session
from npuc.compiler.driver.unread import unread_in_sweep
from npuc.compiler.explore.sweep.choices import Choices
from npuc.compiler.explore.sweep.devices import MOVED, Moved, moved_by
from npuc.compiler.explore.sweep.messages import Said, one_line, point_text
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report import Report
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.driver.lower import Lowered

PROGRAMS_KEPT = 8
"""Programs that are kept as they were read; a sweep with the network's parameters last comes back to them."""


@dataclass(frozen=True)
class SourceProgram:
    """A program as read, with the messages of its reader."""

    module: ModuleOp
    remarks: list[str]


@dataclass
class Programs:
    """The programs of a sweep's points; each is read once for each set of network parameters."""

    choices: Choices
    _read: dict[tuple[object, ...], SourceProgram] = field(default_factory=dict[tuple[object, ...], SourceProgram])
    _right: bool | None = None

    def read(self, machine: Hardware, options: Options, index: int) -> SourceProgram:
        """The program of a point, cached."""
        values = self.choices.grid.values(index)
        varied = (repr(values[axis.key]) for axis in self.choices.grid.axes if axis.place == "define")
        key = (machine.get("cycle.compat", str), *varied)
        program = self._read.pop(key, None)
        if program is None:
            remarks: list[str] = []
            program = SourceProgram(
                read_for([machine], self.choices.source, options, texts_of(self.choices.source), remarks), remarks
            )
        while len(self._read) >= PROGRAMS_KEPT:
            self._read.pop(next(iter(self._read)))
        self._read[key] = program
        return program

    def session(
        self, options: Options, model: Backend, machine: Hardware, program: SourceProgram, messages: Said
    ) -> Session:
        """The compilation of a point, whose warnings begin with those of its reader."""
        source, remarks = self.choices.source, list(program.remarks)
        left = lowering_options(source, options)
        return Session(source, left, model, machine, texts_of(source), messages.add, remarks)

    def point(
        self,
        index: int,
        report: Report,
        lowered: Lowered,
        module: ModuleOp,
        machine: Hardware,
        messages: tuple[str, ...],
    ) -> SweepPoint:
        """A point with the totals of a report."""
        moved = moved_by(report, module) if self.choices.grid.is_shared else None
        unread = unread_in_sweep(self.choices.options_of(index).overrides, self.choices.backend_of(index), machine)
        return SweepPoint(
            index, self.choices.grid.values(index), full_totals(report, lowered), None, messages, moved, unread
        )

    def failed(self, index: int, error: NpucError, messages: Iterable[str]) -> SweepPoint:
        """A point without totals. Raises the error again where it is one of the whole sweep."""
        values = self.choices.grid.values(index)
        if isinstance(error, CapacityError) or (isinstance(error, SourceError) and self._is_right_elsewhere()):
            moved: Moved | None = dict.fromkeys(MOVED) if self.choices.grid.is_shared else None
            return SweepPoint(index, values, None, one_line(error), tuple(messages), moved)
        if isinstance(error, UsageError):
            message = f"{point_text(values)}: {error.message}"
            raise UsageError(message, location=error.location, hint=error.hint, source_line=error.source_line)
        raise error

    def _is_right_elsewhere(self) -> bool:
        """Whether network parameters are varied and the program is valid with their defaults."""
        if not any(axis.place == "define" for axis in self.choices.grid.axes):
            return False
        if self._right is None:
            try:
                read_program(
                    self.choices.source, Options(**fields_of(self.choices.options)), texts_of(self.choices.source)
                )
                self._right = True
            except SourceError:
                self._right = False
            except UsageError:  # a parameter has no default
                self._right = True
        return self._right
