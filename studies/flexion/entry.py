"""The entry of the study `flexion`."""

from __future__ import annotations

from npuc.studies.base import Advance, Asked, Outcome, Plan, Study, ViewedOutcome


class Flexion(Study):
    """Flexibility of accelerators: a machine of 2014 on later networks (Kao et al., SIGMETRICS 2022)."""

    presets = ("inference", "training")
    takes = frozenset({"networks", "hardware", "settings", "evaluations"})
    source = (
        "S.-C. Kao, H. Kwon, M. Pellauer, A. Parashar, T. Krishna, A Formalism of DNN Accelerator Flexibility, "
        "SIGMETRICS 2022."
    )

    def plan(self, asked: Asked) -> Plan:
        from npuc.studies.flexion import view
        from npuc.studies.flexion.study import plan_study, run_study

        preset = "training" if asked.preset == "training" else "inference"
        plan = plan_study(preset, asked.networks, asked.hardware, asked.settings, asked.evaluations)

        def run(advance: Advance) -> Outcome:
            found = run_study(plan, advance)
            warnings = dict.fromkeys(one for machine in found.machines for one in machine.warnings)
            return ViewedOutcome(found, view, tuple(warnings))

        return Plan(plan.count, run)


STUDY = Flexion()
