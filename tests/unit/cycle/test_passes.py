"""The passes `schedule` and `set-target`."""

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.compiler.transforms.set_target import SetTargetPass
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Loop, Schedule

Parse = Callable[[str], ModuleOp]
TARGET = SetTargetPass(rows=4, cols=4, spm_bytes=512, clock_mhz=1000, gb_per_s=4, lanes=8)

NET = """
func.func @net(%x: tensor<40x40xf32>) -> tensor<40x40xf32> {
  %0 = npu.contract (m = 40, n = 40, k = 40) ins(X = %x[m, k], W = %x[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "a.fc1"} : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %1 = npu.contract (m = 40, n = 40, k = 40) ins(X = %0[m, k], W = %x[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "b.fc1"} : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %2 = npu.contract (m = 40, n = 40, k = 40) ins(X = %1[m, k], W = %x[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 1] {layer = "b.fc2"} : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  func.return %2 : tensor<40x40xf32>
}"""


def contracts(module: ModuleOp) -> list[ContractOp]:
    return [op for op in module.walk() if isinstance(op, ContractOp)]


def scheduled(module: ModuleOp, *passes: SchedulePass | SetTargetPass) -> list[Schedule | None]:
    for one in passes:
        one.apply(Context(), module)
        module.verify()
    return [None if op.schedule_attr is None else op.schedule for op in contracts(module)]


def test_writes_loops_keep_and_budget(parse: Parse) -> None:
    """Equal nests get one attribute; what has a schedule keeps it."""
    module = parse(NET)
    first, second, third = scheduled(module, TARGET, SchedulePass())
    assert first is not None
    assert first == second
    assert first.spm == 512
    assert first.loops
    assert third == Schedule((Loop("m", 1),))
    shared = contracts(module)
    assert shared[0].schedule_attr is shared[1].schedule_attr


def test_element_bytes_of_the_machine(parse: Parse) -> None:
    target = SetTargetPass(4, 4, 512, 1000, 4, 8, element_bytes=2)
    first, _, _ = scheduled(parse(NET), target, SchedulePass("traffic"))
    assert first is not None
    assert first.spm == 512


def test_only(parse: Parse) -> None:
    first, second, _ = scheduled(parse(NET), TARGET, SchedulePass(only="b.*"))
    assert first is None
    assert second is not None


def test_target_in_the_module(parse: Parse) -> None:
    module = parse(NET)
    scheduled(module, TARGET)
    machine = machine_of(module)
    assert machine is not None
    assert (machine.array.rows, machine.spm_bytes, machine.bytes_per_cycle) == (4, 512, 4)


def test_messages(parse: Parse) -> None:
    with pytest.raises(SourceError, match=r"no npu\.target, and schedule depends on it"):
        scheduled(parse(NET), SchedulePass())
    with pytest.raises(ValueError, match="objective is 'speed', expected time, traffic, energy, edp"):
        SchedulePass("speed")
    with pytest.raises(PassFailedException, match=r"needs energy\.mac_pj"):
        scheduled(parse(NET), TARGET, SchedulePass("energy"))
    with pytest.raises(PassFailedException, match="set-target: fill is 'half', expected per-fold, overlap"):
        scheduled(parse(NET), SetTargetPass(4, 4, 512, 1000, 4, 8, fill="half"))


def test_capacity(parse: Parse) -> None:
    with pytest.raises(CapacityError, match=r"a\.fc1: the smallest tiles need 12 bytes of SPM .* may use 8"):
        scheduled(parse(NET), SetTargetPass(4, 4, 8, 1000, 4, 8), SchedulePass())


@pytest.mark.parametrize("one", [SchedulePass("edp", "b.*"), SchedulePass(), TARGET])
def test_text_round_trip(one: SchedulePass | SetTargetPass) -> None:
    from npuc.compiler.driver.passes import read_pipeline, write_pipeline
    from npuc.compiler.transforms import get_all_passes

    assert read_pipeline(write_pipeline([one]), get_all_passes()) == [one]
