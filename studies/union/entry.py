"""The entry of the study `union`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.union.study import UnionResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: UnionResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.union.plot import draw

        return draw(self.found, kind)


class Union(Study):
    """One mapper under the constraints of four machines, by two cost models (Jeong et al., "Union", PACT 2021)."""

    presets = ("inference", "training")
    takes = frozenset({"networks", "defines", "evaluations", "plot"})
    source = (
        "G. Jeong et al., Union: a unified HW-SW co-design ecosystem in MLIR for evaluating tensor operations on "
        "spatial accelerators, PACT 2021, arXiv 2109.07419."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.union import view
        from npuc.studies.union.settings import EVALUATIONS, LAYERS
        from npuc.studies.union.study import points, run_study

        if len(asked.networks) > 1:
            raise UsageError("the study union takes one network", hint="run it again for another")
        preset = "training" if asked.preset == "training" else "inference"
        source, tried = asked.networks[0] if asked.networks else LAYERS, asked.evaluations or EVALUATIONS

        def run(advance: Advance) -> Outcome:
            found = run_study(preset, source, asked.defines or {}, tried, advance)
            return _Outcome(found, view, found.warnings)

        return Plan(points(), run)


STUDY = Union()
