"""Machines that are scored together: their reports are those of each alone."""

from functools import partial

import pytest

from npuc.backends.base import Variant
from npuc.backends.maestro.backend import BACKEND
from npuc.backends.maestro.scorer import score_variants
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Course, explore
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.task import task_of
from npuc.compiler.report import Report
from npuc.dialects.mapping import shared_mapping
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import open_source, text_source
from npuc.hardware import load_hardware
from tests.unit.mapping.texts import clusters_of


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


PRODUCT = """network n(batch = 16) {
  input x: f32[batch, 32]
  labels t: i32[batch]
  y = linear(x, 24)
  loss cross_entropy(y, t)
  optimizer sgd(lr=0.1)
}
"""
SMALL = {
    "array": {"rows": 8, "cols": 4},
    "memory": {"element_bytes": 1, "spm_kib": 64},
    "maestro": {"num_pes": 32, "noc_bw": 16, "l1_size": 16},
}
IN_BYTES = {
    **SMALL,
    "memory": {"element_bytes": 1, "spm_kib": 64, "levels": [{"name": "L1", "kib": 16 / 1024, "shared": False}]},
    "maestro": {"num_pes": 32, "noc_bw": 16},
}
WIDER = {**SMALL, "maestro": {"num_pes": 32, "noc_bw": 64, "l1_size": 16}}
MAPPED = "4 [n : 3 / 3, k : 32 / 16, m : 16 / 16], 8 [k : 1 / 1, n : 1 / 1, m : 8 / 1]"  # its clusters buffer k over m


def test_machines_that_differ_in_rates_or_in_sums_are_costed_each_by_its_own() -> None:
    """Of one mapping: a slower network takes longer, and where sums take more of a buffer less else stays in it."""
    module, _ = lowered_module(text_source(PRODUCT, "dsl", "n.dsl"), BACKEND, {"hardware": SMALL}, print, [])
    first = next(op for op in module.walk() if isinstance(op, ContractOp))

    def write() -> None:
        first.mapping_attr = shared_mapping(clusters_of(MAPPED))

    variants = [Variant(load_hardware(one), write) for one in (SMALL, IN_BYTES, WIDER)]
    alone: list[Report] = []
    for one in variants:
        one.write()
        alone.append(BACKEND.score(module, one.hardware))
    for some in (variants, variants[::-1]):
        together = score_variants(module, some)
        assert together == (alone if some is variants else alone[::-1])
    slow, in_bytes, _ = ([one for one in report.warnings if "the network carries" in one] for report in alone)
    assert (slow, len(in_bytes)) == ([], 1)
    assert alone[0].ops[0].cycles != alone[2].ops[0].cycles
