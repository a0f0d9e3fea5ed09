"""The entry of the study `rasa`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.rasa.study import RasaResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: RasaResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.rasa.plot import draw

        return draw(self.found, kind)


class Rasa(Study):
    """Overlapped tile instructions on the matrix engine of a processor (Jeong et al., "RASA", DAC 2021)."""

    presets = ("inference", "training")
    takes = frozenset({"networks", "defines", "plot"})
    source = (
        "G. Jeong et al., RASA: efficient register-aware systolic array matrix engine for CPU, DAC 2021, "
        "arXiv 2110.01752."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.rasa import view
        from npuc.studies.rasa.study import run_study, workloads

        preset = "training" if asked.preset == "training" else "inference"
        networks = workloads(asked.networks)

        def run(advance: Advance) -> Outcome:
            return _Outcome(run_study(preset, networks, asked.defines or {}, advance), view)

        return Plan(len(networks), run)


STUDY = Rasa()
