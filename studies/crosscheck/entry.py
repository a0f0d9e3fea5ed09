"""The entry of the study `crosscheck`."""

from __future__ import annotations

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import Advance, Asked, Outcome, Plan, Study, ViewedOutcome


class Crosscheck(Study):
    """Two of our backends, cycle and maestro: the same products under the same dataflow."""

    presets = ("all", "os", "ws", "is")
    takes = frozenset({"networks", "defines", "settings"})

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.crosscheck import view
        from npuc.studies.crosscheck.study import NETWORK, PRESETS, run_crosscheck

        if len(asked.networks) > 1:
            raise UsageError("the study crosscheck takes one network", hint="run it again for another")

        def run(advance: Advance) -> Outcome:
            found = run_crosscheck(
                asked.networks[0] if asked.networks else NETWORK,
                overrides=asked.settings or {},
                defines=asked.defines or {},
                dataflows=PRESETS[asked.preset],
                done=advance,
            )
            return ViewedOutcome(found, view, found.warnings)

        return Plan(len(PRESETS[asked.preset]), run)


STUDY = Crosscheck()
