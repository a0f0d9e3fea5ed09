"""Resident values on random networks: no program gets worse, resident tensors do not move, and all fits."""

from collections.abc import Callable
from random import Random
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.cycle.backend import CycleBackend
from npuc.backends.cycle.costed import costed_operations
from npuc.compiler.analysis.machine.facts import TARGET, machine_from, target_attr
from npuc.compiler.analysis.nest.elements import element_bits
from npuc.compiler.report import OpRow
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_vector import FuseVectorPass
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.keep_resident import KeepResidentPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import HasResidency, memory_of
from npuc.dialects.npu.widths import elements_of, whole_bytes
from npuc.hardware import load_hardware, machine_target
from tests.networks import integer_networks

Draw = Callable[..., tuple[Nest, Schedule]]


class Moves(Protocol):
    read: dict[str, int]


Walk = Callable[[Nest, Schedule], Moves]


@pytest.mark.parametrize("seed", range(4))
def test_inputs_of_blocks_that_are_visited_once_are_read_once(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r, found = Random(seed), 0
    for _ in range(80):
        nest, schedule = draw(r)
        moves = explicit_walk(nest, schedule)
        for tensor in nest.ins:
            once = incomplete_reason(nest, schedule, tensor.name) is None
            found += once
            assert not once or moves.read[tensor.name] == tensor.elements, f"{nest}\n{schedule}\n{tensor.name}"
    assert found > 20


def score(rows: list[OpRow], objective: str) -> float:
    if objective == "time":
        return sum(row.repeat * (row.cycles or 0) for row in rows)
    if objective == "energy":
        return sum(row.repeat * (row.energy_j or 0.0) for row in rows)
    return sum(row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)) for row in rows)


def check_walk(ops: list[Operation], rows: list[OpRow], spm_bytes: int, float_bytes: int | None) -> int:
    """Follow what is in SPM with a plain set; the number of tensors that were found there."""
    inside: set[SSAValue] = set()
    found = 0
    for op, row in zip(ops, rows, strict=True):
        if not isinstance(op, HasResidency):
            continue
        resident = op.resident
        values = {**op.named_operands(), **op.named_results()}
        for name in resident.ins:
            found += 1
            assert memory_of(values[name]) in inside
            assert row.tensors[name].read_bytes == 0
        inside -= {memory_of(values[name]) for name in resident.ins if name not in resident.outs}
        inside |= {memory_of(values[name]) for name in resident.outs}
        for name, value in op.named_results().items():
            used = [use.operation for use in value.uses]
            if name in resident.outs and not all(isinstance(user, HasResidency) and user.resident.ins for user in used):
                assert row.tensors[name].write_bytes > 0 or any(user.name == "npu.view" for user in used)
        bits = sum(elements_of(value) * element_bits(value.type, float_bytes) for value in inside)
        assert whole_bytes(bits) <= spm_bytes
        if row.spm_bytes is not None:
            assert row.spm_bytes <= spm_bytes
    assert not inside
    return found


@settings(max_examples=60)
@given(
    module=integer_networks(),
    spm=st.sampled_from((0.5, 1, 2, 8, 64)),
    objective=st.sampled_from(("time", "traffic", "energy")),
    what=st.sampled_from(("pairs", "gradients", "all")),
    more=st.sampled_from(("", "fused", "zip", "vector")),
)
def test_no_program_gets_worse_and_what_stays_does_not_move(
    module: ModuleOp, spm: float, objective: str, what: str, more: str
) -> None:
    hardware = load_hardware("igo-small", {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm})
    machine = machine_from(machine_target(hardware))
    module.attributes[TARGET] = target_attr(machine_target(hardware))
    passes = [AutodiffPass(), LowerToNpuPass()]
    passes += [InterleavePass(mode=more)] if more in ("fused", "zip") else []
    passes += [SchedulePass(objective=objective), *([FuseVectorPass()] if more == "vector" else [])]
    for step in passes:
        step.apply(Context(), module)
    before = CycleBackend().score(module, hardware).ops
    KeepResidentPass(what, objective).apply(Context(), module)
    module.verify()
    after = CycleBackend().score(module, hardware).ops
    assert score(after, objective) <= score(before, objective) * (1 + 1e-12)
    ops = costed_operations(module)
    found = check_walk(ops, after, machine.spm_bytes, machine.element_bytes)
    assert found or score(after, objective) == score(before, objective)
    for row in after:
        assert (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) >= (row.lower_bound_bytes or 0)
        assert (row.seconds or 0.0) >= (row.lower_bound_seconds or 0.0) * (1 - 1e-12)
