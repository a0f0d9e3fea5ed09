"""The entry of the study `hypar`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.studies.hypar.study import HyparResults


@dataclass(frozen=True)
class _Outcome(DrawnOutcome):
    found: HyparResults

    def json(self) -> str:
        from npuc.studies.hypar.view import to_json

        return to_json(self.found)

    def csv(self) -> str:
        from npuc.studies.hypar.view import to_csv

        return to_csv(self.found)

    def show(self, console: Console) -> None:
        from npuc.studies.hypar.view import print_study

        print_study(self.found, console)

    def draw(self, kind: str) -> bytes:
        from npuc.studies.hypar.plot import draw

        return draw(self.found, kind)


class Hypar(Study):
    """Layers over accelerators: ten networks on 16 accelerators (Song et al., "HyPar", HPCA 2019)."""

    presets = ("published", "table2", "physical")
    takes = frozenset({"networks", "hardware", "plot"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.hypar.settings import PRESETS
        from npuc.studies.hypar.study import plan_study, run_study

        plan = plan_study(next(known for known in PRESETS if known == asked.preset), asked.networks, asked.hardware)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(plan, advance))

        return Plan(plan.count, run)


STUDY = Hypar()
