"""The entry of the study `themis`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.studies.base import Advance, Asked, Outcome, Plan, Study

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.studies.themis.study import ThemisResults


@dataclass(frozen=True)
class _Outcome(Outcome):
    found: ThemisResults

    def json(self) -> str:
        from npuc.studies.themis.view import to_json

        return to_json(self.found)

    def csv(self) -> str:
        from npuc.studies.themis.view import to_csv

        return to_csv(self.found)

    def show(self, console: Console) -> None:
        from npuc.studies.themis.view import print_study

        print_study(self.found, console)


class Themis(Study):
    """Collectives in chunks: orders of levels on six networks of 1,024 devices (Rashidi et al., ISCA 2022)."""

    presets = ("overlap", "serial")

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.themis.settings import TOPOLOGIES
        from npuc.studies.themis.study import run_study

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study("serial" if asked.preset == "serial" else "overlap", advance))

        return Plan(len(TOPOLOGIES), run)


STUDY = Themis()
