"""The entry of the study `aespa`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.aespa.study import AespaResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: AespaResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.aespa.plot import draw

        return draw(self.found, kind)


class Aespa(Study):
    """Sparse products on a machine of several kinds of units against one kind (Qin et al., arXiv 2201.08916)."""

    presets = ("all", "networks", "graphs", "scientific")
    takes = frozenset({"hardware", "plot"})
    source = "E. Qin et al., arXiv 2201.08916."

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.aespa import view
        from npuc.studies.aespa.kernels import kernels_of
        from npuc.studies.aespa.study import machine_named, run_study

        machine, area = machine_named(asked.hardware)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(asked.preset, machine, area, advance), view)

        return Plan(len(kernels_of(asked.preset)), run)


STUDY = Aespa()
