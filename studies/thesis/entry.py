"""The entry of the study `thesis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, FolderOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.thesis.study import ThesisResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], FolderOutcome):
    found: ThesisResults
    figures: Sequence[str] = ()

    def draw(self, kind: str) -> bytes:
        from npuc.studies.thesis.figures import draw

        return draw(self.found, self.figures, kind)

    def draw_all(self, kinds: Sequence[str]) -> Mapping[str, bytes]:
        from npuc.studies.thesis.figures import draw

        return {f"figure-{n}.{kind}": draw(self.found, [n], kind) for n in self.figures for kind in kinds}


class Thesis(Study):
    """The roofline of training iterations under a cache: four networks, capacities 24 to 1000 MB (Tsai, 2021)."""

    presets = ("thesis", "retain", "networks", "default")
    source = "C.-Y. Tsai, A Performance Analytical Model for DNN Training with Focus on Memory Subsystem, NTU, 2021."
    takes = frozenset({"networks", "defines", "settings", "plot", "figures"})
    folder = True

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.thesis import view
        from npuc.studies.thesis.figures import figure_points, figures_of
        from npuc.studies.thesis.study import plan_study, run_study

        if asked.figures and not asked.draws:
            raise UsageError("--figure chooses what --plot draws, and there is none", hint="--plot FILE")
        plan = plan_study(asked.preset, asked.networks, asked.defines or {}, asked.settings or {})
        numbers = figures_of(asked.figures, plan.networks) if asked.draws else []
        points = figure_points(numbers, plan.networks)

        def run(advance: Advance) -> Outcome:
            found = run_study(plan, points, advance)
            return _Outcome(found, view, found.warnings, numbers)

        return Plan(len(plan.points) + len(points), run)


STUDY = Thesis()
