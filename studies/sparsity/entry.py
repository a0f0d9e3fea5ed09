"""The entry of the study `sparsity`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.sparsity.study import SparsityResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: SparsityResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.sparsity.plot import draw

        return draw(self.found, kind)


class Sparsity(Study):
    """Training steps of one network dense, 2:4, and unstructured on the machines of Procrustes and TensorDash."""

    presets = ("training",)
    takes = frozenset({"networks", "hardware", "defines", "settings", "plot"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.sparsity import settings, view
        from npuc.studies.sparsity.study import run_study

        if len(asked.networks) > 1:
            raise UsageError("--network: steps of one network are compared", hint="run the study for each")
        own = not asked.networks
        source = settings.NETWORK if own else asked.networks[0]
        defines = {**(settings.DEFINES if own else {}), **(asked.defines or {})}
        keys = {**settings.SKIPPING, **(asked.settings or {})}

        def run(advance: Advance) -> Outcome:
            found = run_study(source, defines, asked.hardware or settings.MACHINE, keys, advance)
            return _Outcome(found, view, found.warnings)

        return Plan(len(settings.cases()), run)


STUDY = Sparsity()
