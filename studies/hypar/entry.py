"""The entry of the study `hypar`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.hypar.study import HyparResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: HyparResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.hypar.plot import draw

        return draw(self.found, kind)


class Hypar(Study):
    """Layers over accelerators: ten networks on 16 accelerators (Song et al., "HyPar", HPCA 2019)."""

    presets = ("published", "table2", "physical")
    takes = frozenset({"networks", "hardware", "plot"})
    source = (
        "L. Song, J. Mao, Y. Zhuo, X. Qian, H. Li, Y. Chen, HyPar: Towards Hybrid Parallelism for Deep Learning "
        "Accelerator Array, HPCA 2019."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.hypar import view
        from npuc.studies.hypar.settings import PRESETS
        from npuc.studies.hypar.study import plan_study, run_study

        plan = plan_study(next(known for known in PRESETS if known == asked.preset), asked.networks, asked.hardware)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(plan, advance), view)

        return Plan(plan.count, run)


STUDY = Hypar()
