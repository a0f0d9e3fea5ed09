"""The entry of the study `digamma`."""

from __future__ import annotations

from npuc.studies.base import Advance, Asked, Outcome, Plan, Study, ViewedOutcome


class Digamma(Study):
    """Machines with mappings under an area, by seven optimisers (Kao et al., "DiGamma", DATE 2022)."""

    presets = ("both", "inference", "training")
    takes = frozenset({"networks", "hardware", "jobs", "area_mm2", "evaluations", "resume"})
    source = (
        "S.-C. Kao, M. Pellauer, A. Parashar, T. Krishna, DiGamma: Domain-aware Genetic Algorithm for HW-Mapping "
        "Co-optimization for DNN Accelerators, DATE 2022."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.digamma import view
        from npuc.studies.digamma.settings import EVALUATIONS, PRESETS
        from npuc.studies.digamma.study import plan_points, run_study

        count = asked.evaluations or EVALUATIONS
        points = plan_points(PRESETS[asked.preset], asked.networks, asked.area_mm2, count, asked.hardware)

        def run(advance: Advance) -> Outcome:
            found = run_study(asked.preset, points, advance, asked.jobs, asked.resume)
            return ViewedOutcome(found, view, found.warnings)

        hours = "this may take hours; --resume FILE keeps what was found" if asked.resume is None else None
        return Plan(len(points), run, hours if count * len(points) >= LONG else None)


LONG = 40_000
"""Designs in all from which on a search takes long."""
STUDY = Digamma()
