"""Groups on random networks: they compute what the operations did, and cost what the pass says, which is never more."""

from math import isclose

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.driver.check import run_results
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import GroupOp
from npuc.hardware import load_hardware, machine_target
from tests.networks import integer_data, integer_networks


@settings(max_examples=25)
@given(
    module=integer_networks(),
    spm=st.sampled_from((0.5, 1, 2, 8, 64)),
    objective=st.sampled_from(("time", "traffic", "energy", "edp")),
    mapper=st.sampled_from(("dp", "genetic", "learned")),
    seed=st.integers(0, 9),
    mode=st.sampled_from((None, None, "zip", "best")),
)
def test_groups_keep_the_results_and_save_what_they_say(
    module: ModuleOp, spm: float, objective: str, mapper: str, seed: int, mode: str | None
) -> None:
    """Also beside contractions that run in turn, whose region reads what is around it, and fused ones."""
    hardware = load_hardware("igo-small", {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm})
    module.attributes[TARGET] = target_attr(machine_target(hardware))
    together = () if mode is None else (InterleavePass(mode=mode),)
    for step in (AutodiffPass(), LowerToNpuPass(), *together, SchedulePass(objective=objective)):
        step.apply(Context(), module)
    data = integer_data(module, seed)
    results, before = run_results(module, data), CycleBackend().score(module, hardware).totals
    FuseLayersPass(mapper, objective=objective).apply(Context(), module)
    module.verify()
    assert compare(results, run_results(module, data)).exact
    after = CycleBackend().score(module, hardware).totals
    groups = [op for op in module.walk() if isinstance(op, GroupOp)]
    saved = {name: sum(_whole(group, name) for group in groups) for name in ("saved_cycles", "saved_bytes")}
    assert before.cycles is not None
    assert after.cycles is not None
    assert before.cycles - after.cycles == saved["saved_cycles"]
    moved = [(t.dram_read_bytes or 0) + (t.dram_write_bytes or 0) for t in (before, after)]
    assert moved[0] - moved[1] == saved["saved_bytes"]
    energies = (before.energy_j or 0.0, after.energy_j or 0.0)
    now = {"time": after.cycles, "traffic": moved[1], "energy": energies[1], "edp": energies[1] * after.cycles}
    old = {"time": before.cycles, "traffic": moved[0], "energy": energies[0], "edp": energies[0] * before.cycles}
    assert now[objective] < old[objective] if groups else isclose(now[objective], old[objective])
    assert moved[1] >= (after.lower_bound_bytes or 0)


def _whole(group: GroupOp, name: str) -> int:
    value = group.attributes[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data
