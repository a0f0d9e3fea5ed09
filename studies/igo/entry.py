"""The entry of the study `igo`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.studies.igo.study import IgoResults


@dataclass(frozen=True)
class _Outcome(DrawnOutcome):
    found: IgoResults

    def json(self) -> str:
        from npuc.studies.igo.view import to_json

        return to_json(self.found)

    def csv(self) -> str:
        from npuc.studies.igo.view import to_csv

        return to_csv(self.found)

    def show(self, console: Console) -> None:
        from npuc.studies.igo.view import print_study

        print_study(self.found, console)

    def draw(self, kind: str) -> bytes:
        from npuc.studies.igo.plot import draw

        return draw(self.found, kind)


class Igo(Study):
    """Interleaved gradient orders: nine networks on two NPUs (Kim et al., MICRO 2023)."""

    presets = ("lru", "paper", "explicit")
    takes = frozenset({"networks", "defines", "pipelines", "load", "jobs", "plot"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.igo.networks import MODELS
        from npuc.studies.igo.own import own_of
        from npuc.studies.igo.settings import SETTINGS
        from npuc.studies.igo.study import IgoPlan, run_study

        own = own_of(asked.networks, asked.defines or {}, asked.pipelines, asked.load)
        plan = IgoPlan(asked.preset, SETTINGS, tuple(MODELS), own)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(plan.preset, plan.settings, plan.models, advance, own, asked.jobs))

        scope = f"{len(SETTINGS)} settings of {len(MODELS)} networks"
        notice = f"preset {asked.preset}, {scope}; this takes minutes, less with -j N"
        return Plan(plan.count, run, notice)


STUDY = Igo()
