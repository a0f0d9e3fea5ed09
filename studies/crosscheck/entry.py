"""The entry of the study `crosscheck`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, Outcome, Plan, Study

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.studies.crosscheck.study import CrossCheckResults


@dataclass(frozen=True)
class _Outcome(Outcome):
    found: CrossCheckResults

    def json(self) -> str:
        from npuc.studies.crosscheck.view import to_json

        return to_json(self.found)

    @property
    def warnings(self) -> Sequence[str]:
        return self.found.warnings

    def csv(self) -> str:
        from npuc.studies.crosscheck.view import to_csv

        return to_csv(self.found)

    def show(self, console: Console) -> None:
        from npuc.studies.crosscheck.view import print_crosscheck

        print_crosscheck(self.found, console)


class Crosscheck(Study):
    """Two of our backends, cycle and maestro: the same products under the same dataflow."""

    presets = ("all", "os", "ws", "is")
    takes = frozenset({"networks", "defines", "settings"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.crosscheck.study import NETWORK, PRESETS, run_crosscheck

        if len(asked.networks) > 1:
            raise UsageError("the study crosscheck takes one network", hint="run it again for another")

        def run(advance: Advance) -> Outcome:
            found = run_crosscheck(
                asked.networks[0] if asked.networks else NETWORK,
                overrides=asked.settings or {},
                defines=asked.defines or {},
                dataflows=PRESETS[asked.preset],
                done=advance,
            )
            return _Outcome(found)

        return Plan(len(PRESETS[asked.preset]), run)


STUDY = Crosscheck()
