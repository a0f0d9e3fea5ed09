"""The entry of the study `flexion`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.studies.base import Advance, Asked, Outcome, Plan, Study

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.studies.flexion.study import FlexionResults


@dataclass(frozen=True)
class _Outcome(Outcome):
    found: FlexionResults

    @property
    def warnings(self) -> Sequence[str]:
        return tuple(dict.fromkeys(one for machine in self.found.machines for one in machine.warnings))

    def json(self) -> str:
        from npuc.studies.flexion.view import to_json

        return to_json(self.found)

    def csv(self) -> str:
        from npuc.studies.flexion.view import to_csv

        return to_csv(self.found)

    def show(self, console: Console) -> None:
        from npuc.studies.flexion.view import print_study

        print_study(self.found, console)


class Flexion(Study):
    """Flexibility of accelerators: a machine of 2014 on later networks (Kao et al., SIGMETRICS 2022)."""

    presets = ("inference", "training")
    takes = frozenset({"networks", "hardware", "settings", "evaluations"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.flexion.study import plan_study, run_study

        preset = "training" if asked.preset == "training" else "inference"
        plan = plan_study(preset, asked.networks, asked.hardware, asked.settings, asked.evaluations)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(plan, advance))

        return Plan(plan.count, run)


STUDY = Flexion()
