"""The entry of the study `congestion`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.congestion.study import CongestionResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: CongestionResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.congestion.plot import draw

        return draw(self.found, kind)


class Congestion(Study):
    """Congestion control on RoCE fabrics: five schemes under collectives and incasts (Khan et al., HOTI 2022)."""

    presets = ("64", "1024")
    takes = frozenset({"settings", "plot"})
    source = (
        "T. Khan, S. Rashidi, S. Sridharan, P. Shurpali, A. Akella, T. Krishna, Impact of RoCE Congestion Control "
        "Policies on Distributed Training of DNNs, HOTI 2022."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.congestion import view
        from npuc.studies.congestion.settings import setup
        from npuc.studies.congestion.study import points, run_study

        chosen = setup(asked.preset, asked.settings or {})

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(chosen, advance), view)

        return Plan(points(chosen), run)


STUDY = Congestion()
