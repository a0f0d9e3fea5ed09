"""The entry of the study `training-methods`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.studies.training_methods.study import MethodsResults

NETWORKS = {"priced": "samples:revnet", "executed": str(Path(__file__).parent / "small.dsl")}
MACHINE = "tpu-v4"
MULTIPLIERS: Mapping[str, object] = {"array.mantissa_bits": 2}
"""That of FAST: a multiplier takes two bits of either mantissa at a time, so that each format has a price."""


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: MethodsResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.training_methods.plot import draw

        return draw(self.found, kind)


class TrainingMethods(Study):
    """Methods made for training, formats of few bits, reversible networks, predicted gradients, on one network."""

    presets = ("priced", "executed")
    takes = frozenset({"networks", "hardware", "defines", "settings", "plot"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.frontends.source import open_source
        from npuc.studies.training_methods import view
        from npuc.studies.training_methods.study import MethodsStudy

        if len(asked.networks) > 1:
            raise UsageError("--network: methods are compared on one network", hint="run the study for each")
        names = asked.networks or (NETWORKS[asked.preset],)
        options: CompileKeywords = {"precision": "f32", "hardware": asked.hardware or MACHINE}
        if asked.defines:
            options |= {"defines": asked.defines}
        if asked.settings or not asked.hardware:
            options |= {"overrides": asked.settings or MULTIPLIERS}
        study = MethodsStudy(open_source(names[0]), "cycle", options, cast("Any", asked.preset))
        chosen = study.chosen()

        def run(advance: Advance) -> Outcome:
            found = study.run(chosen, advance)
            return _Outcome(found, view, found.warnings)

        return Plan(len(chosen), run)


STUDY = TrainingMethods()
