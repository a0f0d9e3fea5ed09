"""Forward work that runs again in groups: the numbers of the step as before, and never a worse price."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.driver.check import run_results
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.hardware import load_hardware, machine_target
from tests.networks import Net, dot_loss, integer_data


@st.composite
def steps_with_squares(draw: st.DrawFn) -> ModuleOp:
    """Training steps of linear layers with activations whose gradients need their operands."""
    net = Net()
    x = net.input("x", 4, draw(st.integers(2, 6)))
    for _ in range(draw(st.integers(1, 2))):
        x = net.call("linear", x, draw(st.integers(2, 8)))
        x = net.call("mul", x, x) if draw(st.booleans()) else net.call("relu", x)
    return net.finish(dot_loss(net, net.call("linear", x, 2)))


@settings(max_examples=6)
@given(
    module=steps_with_squares(),
    spm=st.sampled_from((0.5, 1, 8)),
    objective=st.sampled_from(("time", "traffic")),
    seed=st.integers(0, 9),
)
def test_running_again_changes_no_number_and_is_never_worse(
    module: ModuleOp, spm: float, objective: str, seed: int
) -> None:
    hardware = load_hardware("igo-small", {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm})
    module.attributes[TARGET] = target_attr(machine_target(hardware))
    for step in (AutodiffPass(), LowerToNpuPass(), SchedulePass(objective=objective)):
        step.apply(Context(), module)
    data = integer_data(module, seed)
    results, stored = run_results(module, data), module.clone()
    FuseLayersPass(objective=objective).apply(Context(), stored)
    FuseLayersPass(objective=objective, recompute=True).apply(Context(), module)
    module.verify()
    again = run_results(module, data)
    assert all(np.array_equal(results[name], again[name]) for name in results)
    one, other = (CycleBackend().score(program, hardware).totals for program in (stored, module))
    moved = [(t.dram_read_bytes or 0) + (t.dram_write_bytes or 0) for t in (one, other)]
    assert (other.cycles or 0) <= (one.cycles or 0) if objective == "time" else moved[1] <= moved[0]
