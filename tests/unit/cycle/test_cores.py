"""Chips of several cores: rows by hand, what the report says of each core, errors, the language's way there."""

import json
import re
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler import compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.report import OpRow, Partition, Scalar, TensorBytes, make_report, report_from_json
from npuc.compiler.report.text.cores import load_balance, print_cores
from npuc.compiler.report.text.table import print_report
from npuc.hardware import Hardware

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]
MLP = """
network mlp(batch=64) {
  input x: f32[batch, 256]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 512)), 64), y)
  optimizer sgd(lr=0.1)
}
"""


def product(schedule: str) -> str:
    """An 8 x 4 x 40 product of half floats."""
    return f"""
    func.func @net(%x: tensor<8x40xf16>, %w: tensor<40x4xf16>) -> tensor<8x4xf16> {{
      %y = npu.contract (m = 8, n = 4, k = 40) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
        {schedule} {{layer = "fc1"}} : (tensor<8x40xf16>, tensor<40x4xf16>) -> tensor<8x4xf16>
      func.return %y : tensor<8x4xf16>
    }}"""


def number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


def numbers(value: Scalar | list[Scalar]) -> list[float]:
    assert isinstance(value, list)
    return [number(item) for item in value]


def row(module: ModuleOp, hardware: Hardware) -> OpRow:
    (only,) = CycleBackend().score(module, hardware).ops
    return only


def test_split_by_hand(parse: Parse, hardware: Machine) -> None:
    """Two cores with 4 rows each: each is the product of one core alone at its own 4 bytes a cycle."""
    found = row(parse(product("loops [cores m : 4, k : 4]")), hardware(array__cores=2))
    assert (found.cycles, found.compute_cycles) == (10 * 16 + 4 + 6 + 8, 46)
    assert found.tensors == {"X": TensorBytes(640, 0), "W": TensorBytes(640, 0), "Y": TensorBytes(0, 64)}
    assert found.utilization == 1280 / (2 * 16 * 178)
    assert found.schedule is not None
    assert found.schedule.partition == Partition("m", 2, "cores")
    assert (found.schedule.order, found.schedule.tile) == (["k"], {"m": 4, "n": 4, "k": 4})
    assert found.spm_bytes == 32 + 32 + 64
    native = found.native
    assert (native["cores"], native["load_balance"], native["tiles"]) == (2, 1.0, 20)
    assert native["fill_drain_cycles"] == 6
    assert native["core_cycles"] == [178, 178]
    assert native["core_read_bytes"] == [640, 640]
    assert native["core_write_bytes"] == [32, 32]


def test_partial_sums_of_a_split_reduction(parse: Parse, hardware: Machine) -> None:
    """Both cores add to all of Y: the second reads the sums that the first wrote, unless they pass on chip."""
    module = product("loops [cores k : 20, k : 4]")
    dram = row(parse(module), hardware(array__cores=2))
    assert dram.tensors["Y"] == TensorBytes(128, 128 + 64)
    assert dram.native["core_read_bytes"] == [320 + 160, 320 + 160 + 128]
    on_chip = row(parse(module), hardware(array__cores=2, array__reduction="on-chip"))
    assert on_chip.tensors["Y"] == TensorBytes(0, 64)
    assert number(on_chip.cycles) < number(dram.cycles)


def test_multicast_reads_shared_blocks_once(parse: Parse, hardware: Machine) -> None:
    module = product("loops [cores m : 4, k : 4]")
    found = row(parse(module), hardware(array__cores=2, array__multicast=True))
    assert found.tensors["W"] == TensorBytes(320, 0)
    assert found.native["core_read_bytes"] == [640, 640]
    assert number(found.cycles) < 178


def test_uneven_parts_show_in_the_balance(parse: Parse, hardware: Machine) -> None:
    """Five rows and three on arrays of four: two folds for the first core, one for the second, none for the third."""
    found = row(parse(product("loops [cores m : 5]")), hardware(array__cores=3, memory__spm_kib=2))
    work = found.native["core_compute_cycles"]
    assert work == [2 * 40 + 6, 40 + 6]
    assert found.native["load_balance"] == (86 + 46) / (3 * 86)
    assert (found.compute_cycles, found.native["fill_drain_cycles"]) == (86, 6)


@pytest.mark.parametrize(
    ("array", "steady"),
    [
        ({"fill": "per-fold"}, 2 * 40),
        ({"dataflow": "ws"}, 10 * 5),
        ({"dataflow": "in-place", "fill": "per-fold"}, 10 * 5),
        ({"dataflow": "ws", "overlap": "base", "tile_m": 5}, 10 * 5),
    ],
)
def test_fill_and_drain_are_of_the_busiest_core(
    parse: Parse, hardware: Machine, array: dict[str, object], steady: int
) -> None:
    """What streams nothing is the rest of the cycles of the core with five rows, not of both."""
    keys = {f"array__{key}": value for key, value in array.items()}
    found = row(parse(product("loops [cores m : 5]")), hardware(array__cores=2, memory__spm_kib=2, **keys))
    assert number(found.native["fill_drain_cycles"]) == number(found.compute_cycles) - steady


def test_parts_of_each_dimension(parse: Parse, hardware: Machine) -> None:
    """Two dimensions over cores: how many parts each of them is cut in, in the report and in the table of cores."""
    module = parse(product("loops [cores m : 4, cores n : 1]"))
    report = CycleBackend().score(module, hardware(array__cores=8, memory__spm_kib=2))
    assert report.ops[0].schedule is not None
    assert report.ops[0].schedule.partition == Partition("m,n", 8, "cores", {"m": 2, "n": 4})
    (line,) = json.loads(report.to_json())["ops"]
    assert line["schedule"]["partition"] == {"dim": "m,n", "parts": 8, "over": "cores", "each": {"m": 2, "n": 4}}
    assert report_from_json(report.to_json()) == report
    assert "schedule.partition.each.m" in report.to_csv().splitlines()[0]
    console = Console(width=120, record=True, file=StringIO())
    print_cores(report, console)
    text = console.export_text()
    assert " m 2 x n 4 " in text
    assert re.search(r"layer +phase +cut +core", text)
    one = row(parse(product("loops [cores m : 4]")), hardware(array__cores=2, memory__spm_kib=2))
    assert one.schedule is not None
    assert json.loads(make_report("cycle", {}, [one]).to_json())["ops"][0]["schedule"]["partition"] == {
        "dim": "m",
        "parts": 2,
        "over": "cores",
    }


def test_one_core_alone_has_the_whole_channel(parse: Parse, hardware: Machine) -> None:
    alone = row(parse(product("loops [k : 4]")), hardware(array__cores=2))
    fast = row(parse(product("loops [k : 4]")), hardware(dram__gb_per_s=8.0))
    assert alone.cycles == fast.cycles
    assert alone.native["cores"] == 1


def test_more_parts_than_cores(parse: Parse, hardware: Machine) -> None:
    with pytest.raises(CapacityError, match="takes 4 cores, the machine has 2") as error:
        row(parse(product("loops [cores m : 2, k : 4]")), hardware(array__cores=2))
    assert error.value.exit_code == 3


def test_scalesim_has_one_array(hardware: Machine, parse: Parse) -> None:
    with pytest.raises(UsageError, match="SCALE-Sim has one array"):
        row(parse(product("")), hardware(array__cores=2, cycle__compat="scalesim3"))


@pytest.mark.parametrize("cores", [2, 4])
def test_a_training_step_is_faster_on_more_cores(cores: int) -> None:
    one = compile_source(MLP, hardware="igo-small", opt_level=0)
    several = compile_source(MLP, hardware="igo-small", overrides={"array.cores": cores}, opt_level=0)
    assert one.totals["macs"] == several.totals["macs"]
    assert number(several.totals["cycles"]) < number(one.totals["cycles"])
    assert number(several.totals["cycles"]) * cores >= number(one.totals["cycles"]) * 0.999
    for before, after in zip(one.ops, several.ops, strict=True):
        assert number(after.cycles) <= number(before.cycles)
        assert number(after.lower_bound_seconds) <= number(after.seconds)


def test_vector_work_is_shared() -> None:
    slow = compile_source(MLP, hardware="igo-small", overrides={"vector.lanes": 1})
    fast = compile_source(MLP, hardware="igo-small", overrides={"vector.lanes": 1, "array.cores": 4})
    relu = next(op for op in slow.ops if op.kind == "vector" and op.vector_ops == 64 * 512)
    assert relu.compute_cycles == 64 * 512
    assert fast.ops[relu.index].compute_cycles == 64 * 512 // 4


def test_a_line_a_core() -> None:
    report = compile_source(MLP, hardware="igo-small", overrides={"array.cores": 2, "dram.gb_per_s": 1000})
    out = StringIO()
    print_report(report, Console(file=out, width=100, highlight=False), rows="cores")
    table = [line.split() for line in out.getvalue().splitlines()]
    row = next(op for op in report.ops if op.native.get("cores") == 2)
    assert row.schedule is not None
    assert row.schedule.partition is not None
    cycles = numbers(row.native["core_cycles"])
    head = [row.name, row.phase, row.schedule.partition.dim, "0"]
    first = next(n for n, words in enumerate(table) if words[:4] == head)
    assert [table[first][4], table[first + 1][1]] == [f"{c:,}" for c in cycles]
    assert "load balance" in out.getvalue()


def test_load_balance_of_a_report() -> None:
    report = compile_source(MLP, hardware="igo-small", overrides={"array.cores": 2}, opt_level=0)
    rows = [op for op in report.ops if op.kind == "matrix"]
    work = [numbers(op.native["core_compute_cycles"]) for op in rows]
    assert load_balance(report) == pytest.approx(sum(map(sum, work)) / sum(2 * max(w) for w in work))
    assert load_balance(compile_source(MLP, hardware="igo-small")) is None


def test_explanation_of_the_slowest_core(capsys: pytest.CaptureFixture[str]) -> None:
    """It says how many cores there are and which one it shows."""
    assert run_command(["explain", "samples:lenet", "conv2", "--hw", "igo-small", "--set", "array.cores=4", "-q"]) == 0
    text = capsys.readouterr().out
    assert "4 cores of" in text
    assert "4 in use, " in text
    assert "the slowest" in text
