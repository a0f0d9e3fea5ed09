"""The entry of the study `igo`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.igo.study import IgoResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: IgoResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.igo.plot import draw

        return draw(self.found, kind)


class Igo(Study):
    """Interleaved gradient orders: nine networks on two NPUs (Kim et al., MICRO 2023)."""

    presets = ("lru", "paper", "explicit")
    takes = frozenset({"networks", "defines", "pipelines", "load", "jobs", "plot"})
    source = (
        "J. Kim, S. Na, S. Lee, S. Lee, J. Huh, Improving Data Reuse in NPU On-chip Memory with Interleaved Gradient "
        "Order for DNN Training, MICRO 2023."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.igo import view
        from npuc.studies.igo.networks import MODELS
        from npuc.studies.igo.own import own_of
        from npuc.studies.igo.settings import SETTINGS
        from npuc.studies.igo.study import IgoPlan, run_study

        own = own_of(asked.networks, asked.defines or {}, asked.pipelines, asked.load)
        plan = IgoPlan(asked.preset, SETTINGS, tuple(MODELS), own)

        def run(advance: Advance) -> Outcome:
            found = run_study(plan.preset, plan.settings, plan.models, advance, own, asked.jobs)
            return _Outcome(found, view)

        scope = f"{len(SETTINGS)} settings of {len(MODELS)} networks"
        notice = f"preset {asked.preset}, {scope}; this takes minutes, less with -j N"
        return Plan(plan.count, run, notice)


STUDY = Igo()
