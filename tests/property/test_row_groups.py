"""Groups that walk rows, chosen by the pass: they compute what the operations did, and cost what the pass says."""

from math import isclose

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.driver.check import run_results
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import GroupOp
from npuc.hardware import load_hardware, machine_target
from tests.networks import integer_data
from tests.row_groups import image_networks


@settings(max_examples=30)
@given(
    module=image_networks(samples=1, steps=5, scale=3),
    spm=st.sampled_from((0.5, 1, 2)),
    objective=st.sampled_from(("time", "traffic", "energy")),
    rows=st.sampled_from(("any", "keep", "recompute")),
    seed=st.integers(0, 9),
)
def test_rows_keep_the_results_and_save_what_they_say(
    module: ModuleOp, spm: float, objective: str, rows: str, seed: int
) -> None:
    hardware = load_hardware("igo-small", {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm})
    module.attributes[TARGET] = target_attr(machine_target(hardware))
    for step in (LowerToNpuPass(), SchedulePass(objective=objective)):
        step.apply(Context(), module)
    data = integer_data(module, seed)
    results, before = run_results(module, data), CycleBackend().score(module, hardware).totals
    FuseLayersPass(objective=objective, rows=rows).apply(Context(), module)
    module.verify()
    now = run_results(module, data)
    assert all(np.array_equal(results[name], now[name]) for name in results)
    after = CycleBackend().score(module, hardware).totals
    groups = [op for op in module.walk() if isinstance(op, GroupOp)]
    assert (before.cycles or 0) - (after.cycles or 0) == sum(_whole(group, "saved_cycles") for group in groups)
    moved = [(t.dram_read_bytes or 0) + (t.dram_write_bytes or 0) for t in (before, after)]
    assert moved[0] - moved[1] == sum(_whole(group, "saved_bytes") for group in groups)
    score = {"time": (before.cycles, after.cycles), "traffic": moved, "energy": (before.energy_j, after.energy_j)}
    old, new = score[objective]
    assert (new or 0) < (old or 0) if groups else isclose(new or 0, old or 0)
    for group in groups:
        walk = group.row_walk
        assert walk is None or rows in ("any", walk.halo)


def _whole(group: GroupOp, name: str) -> int:
    value = group.attributes[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data
