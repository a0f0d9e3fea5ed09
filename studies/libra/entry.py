"""The entry of the study `libra`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, DrawnOutcome, Outcome, Plan, Study, ViewedOutcome

if TYPE_CHECKING:
    from npuc.studies.libra.study import LibraResults


@dataclass(frozen=True)
class _Outcome(ViewedOutcome[Any], DrawnOutcome):
    found: LibraResults

    def draw(self, kind: str) -> bytes:
        from npuc.studies.libra.plot import draw

        return draw(self.found, kind)


class Libra(Study):
    """Bandwidth over the levels of networks of 4,096 devices (Won et al., ISPASS 2024), and of npuc's programs."""

    presets = ("both", "workloads", "programs")
    takes = frozenset({"networks", "plot", "total_gb_per_s"})
    source = (
        "W. Won, S. Rashidi, S. Srinivasan, T. Krishna, LIBRA: Enabling Workload-aware Multi-dimensional Network "
        "Topology Optimization for Distributed Training of Large AI Models, ISPASS 2024."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.libra import view
        from npuc.studies.libra.settings import PROGRAMS
        from npuc.studies.libra.study import plan_points, run_study

        if asked.networks and asked.preset == "workloads":
            raise UsageError("--preset workloads: --network names programs", hint="--preset programs")
        total = asked.total_gb_per_s
        programs = asked.networks or PROGRAMS

        def run(advance: Advance) -> Outcome:
            found = run_study(asked.preset, programs, total, advance)
            return _Outcome(found, view, found.warnings)

        return Plan(len(plan_points(asked.preset, programs)), run)


STUDY = Libra()
