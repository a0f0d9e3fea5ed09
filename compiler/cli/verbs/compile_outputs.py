"""Where the results of `npuc compile` go, checked before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.cli.shared import check_folder, check_target
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.verbs.tables import TableTarget, on_stdout
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from npuc.compiler.cli.plot.target import PictureTarget
    from npuc.compiler.emit.base import Emitter
    from npuc.compiler.report.text.table import Rows

SCALESIM = "SCALE-Sim's files come from the backend 'cycle' alone"


@frozen
class CompileOutputs:
    """Where results go: `-` is standard output, None nowhere."""

    json: str | None
    csv: str | None
    program: str | None
    emitter: Emitter
    """What writes `program`."""
    rows: Rows
    reports: str | None = None
    """A folder for SCALE-Sim's reports."""
    depth: str | None = None
    """How far a graph is folded."""
    picture: PictureTarget | None = None
    statistics: str | None = None
    """Those of the passes."""
    html: str | None = None
    """A page."""
    table: TableTarget | None = None

    @property
    def files(self) -> list[str | None]:
        """Those that are one file each."""
        return [self.json, self.csv, self.html, None if self.emitter.folder else self.program]

    @property
    def emits_primitives(self) -> bool:
        """Whether `program` is the step in primitives, whatever the backend makes of it."""
        return self.program is not None and self.emitter.of_primitives

    def check(self, backends: Sequence[str]) -> None:
        """Raise `UsageError` for outputs that cannot be, before any work is done."""
        emitted = self.program if self.emitter.folder else None
        for folder in (self.reports, emitted):
            if folder is not None:
                check_folder(folder)
        only = {"cycle": SCALESIM} if self.reports is not None else {}
        if self.program is not None and self.emitter.backend is not None:
            only[self.emitter.backend] = self.emitter.refusal
        for backend, refusal in only.items():
            if list(backends) != [backend]:
                raise UsageError(refusal, hint=f"-b {backend}")
        program = None if self.emitter.folder else self.program
        check_one_on_stdout(
            json=self.json, csv=self.csv, o=program, table=on_stdout(self.table), statistics_json=self.statistics
        )
        if self.program is not None and len(backends) > 1:
            raise UsageError("-o writes the program of one backend, and several are named")
        for path in self.files:
            check_target(path)
