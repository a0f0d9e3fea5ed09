"""The entry of the study `themis`."""

from __future__ import annotations

from npuc.studies.base import Advance, Asked, Outcome, Plan, Study, ViewedOutcome


class Themis(Study):
    """Collectives in chunks: orders of levels on six networks of 1,024 devices (Rashidi et al., ISCA 2022)."""

    presets = ("overlap", "serial")
    source = (
        "S. Rashidi, W. Won, S. Srinivasan, S. Sridharan, T. Krishna, Themis: A Network Bandwidth-Aware Collective "
        "Scheduling Policy for Distributed Training of DL Models, ISCA 2022."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.themis import view
        from npuc.studies.themis.settings import PROGRAMS, TOPOLOGIES
        from npuc.studies.themis.study import run_study

        def run(advance: Advance) -> Outcome:
            found = run_study("serial" if asked.preset == "serial" else "overlap", advance)
            return ViewedOutcome(found, view, found.warnings)

        return Plan(len(TOPOLOGIES) + len(PROGRAMS), run)


STUDY = Themis()
