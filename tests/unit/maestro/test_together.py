"""Machines that are scored together: their reports are those of each alone."""

from functools import partial

import pytest

from npuc.backends.maestro.backend import BACKEND
from npuc.backends.maestro.scorer import Variant, score_variants
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Course, explore
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.task import task_of
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware


def test_reports_are_those_of_each_machine_alone() -> None:
    """Also energies, which differ with the sizes of buffers, and remarks, which do with those of elements."""
    module, machine = lowered_module(
        open_source("samples:lenet"), BACKEND, {"overrides": {"technology.node_nm": 28}}, print, []
    )
    task = task_of(module, machine, 2, divisors=True)
    budget = Budget(area_model(machine, 1.0), 0.5)
    course = Course(1500, 3, lambda count: None)
    found = explore(task, budget, access_energy(machine), [Goal("time")], course, area=True)
    assert len(found.designs) > 3
    variants = [Variant(designed(machine, one.design.size), partial(task.write, one)) for one in found.designs]
    small = load_hardware({**variants[0].hardware.values, "maestro.l1_size": 1})
    variants.append(Variant(small, partial(task.write, found.designs[-1])))
    together = score_variants(module, variants)
    for one, report in zip(variants, together, strict=True):
        one.write()
        alone = BACKEND.score(module, one.hardware)
        assert report == alone
        assert report.to_json() == alone.to_json()
    few = load_hardware({**variants[0].hardware.values, "maestro.num_pes": 1, "array.rows": 1, "array.cols": 1})
    with pytest.raises(CapacityError, match="the machine has 1"):
        score_variants(module, [Variant(few, partial(task.write, found.designs[0]))])
