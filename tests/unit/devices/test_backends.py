"""Every backend scores one device's work and tells the same of what devices exchange."""

from fractions import Fraction

import pytest

from npuc.compiler import compile_file, compile_source
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.sweep import sweep_file
from npuc.compiler.report import Report

LENET = "samples:lenet_c"
BACKENDS = ("cycle", "hetero", "maestro", "roofline")
PAIR: dict[str, object] = {"kind": "pair", "size": 2, "gb_per_s": 1.0, "latency_ns": 0.0}
PAIRS: dict[str, object] = {"network.levels": [PAIR, PAIR]}


def exchanged(report: Report) -> list[tuple[str, str, object, object, Fraction]]:
    """What devices exchange, in elements."""
    width = report.hardware.get("memory", {})
    assert isinstance(width, dict)
    size = width.get("element_bytes", 2 if report.precision == "bf16" else 4)
    assert isinstance(size, int)
    rows = [row for row in report.ops if row.kind == "comm"]
    found: list[tuple[str, str, object, object, Fraction]] = []
    for row in rows:
        operand = row.native["operand_bytes"]
        assert isinstance(operand, int)
        found.append((row.name, row.op, row.native["of"], row.native["levels"], Fraction(operand, size)))
    return found


@pytest.mark.parametrize("strategy", ["dp", "mp", "hypar"])
def test_all_backends_tell_the_same_of_the_network(strategy: str) -> None:
    cycle, *others = compile_file(
        LENET, backend=list(BACKENDS), defines={"batch": 16}, devices=4, parallel=strategy, opt_level=0
    )
    assert {row[2] for row in exchanged(cycle)} == {
        "dp": {"forward", "dw"},
        "mp": {"forward", "dx"},
        "hypar": {"forward", "dx", "dw"},
    }[strategy]
    for report in others:
        assert exchanged(report) == exchanged(cycle)


TWO = """
network two(batch=8) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  a = linear(x, 64, bias=false)
  logits = linear(relu(a), 64, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.mark.parametrize("gb_per_s", [0.001, 0.5, 100.0])
def test_sums_of_gradients_run_beside_the_work_behind_them(gb_per_s: float) -> None:
    level = {**PAIR, "gb_per_s": gb_per_s}
    overrides = {"network.levels": [level]}
    report = compile_source(TWO, overrides=overrides, devices=2, parallel="dp", opt_level=0)

    def seconds(name: str, *phases: str) -> float:
        return sum(row.seconds or 0.0 for row in report.ops if row.name == name and row.phase in phases)

    def sent(name: str, of: str) -> float:
        return sum(row.seconds or 0.0 for row in report.ops if row.name == name and row.native.get("of") == of)

    forward = sum(row.seconds or 0.0 for row in report.ops if row.phase == "forward") + sent("cross_entropy", "forward")
    # the loss's gradient, dX and dW of the last layer; then its sum goes on while the first layer works
    last = forward + seconds("cross_entropy", "dx") + seconds("logits", "dx", "dw")
    first = last + seconds("logits.relu", "dx") + seconds("a", "dx", "dw")
    summed = max(first, last + sent("logits", "dw")) + sent("a", "dw")
    end = max(first, summed) + sum(row.seconds or 0.0 for row in report.ops if row.phase == "update")
    assert report.native["overlapped_seconds"] == pytest.approx(end, rel=1e-12)
    assert report.totals.seconds is not None
    assert end < report.totals.seconds


def test_messages_have_a_cost() -> None:
    text = """
    func.func @f(%x: tensor<4x8xf32> {train.input = "x"}) -> (tensor<4x8xf32> {train.output = "y"})
      attributes {dist.mesh = #dist.mesh<[2]>} {
      %0 = dist.send_receive %x source [0] target [1] over [0] {layer = "s"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = train.relu %0 {layer = "r"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      func.return %1 : tensor<4x8xf32>
    }
    """
    report = compile_source(text, "mlir", overrides={"network.levels": [PAIR], "memory.element_bytes": 4})
    (row,) = [row for row in report.ops if row.kind == "comm"]
    # 128 bytes at 10^9 a second; of two devices one sends
    assert row.seconds == pytest.approx(128e-9)
    assert row.native["sent_bytes"] == 64


def test_a_forward_pass_exchanges_nothing_of_the_backward_pass() -> None:
    report = compile_file(LENET, backend="roofline", devices=4, parallel="mp", inference=True)
    assert {row[2] for row in exchanged(report)} == {"forward"}


def test_a_step_of_its_own_is_read_as_the_forward_function_that_it_comes_from() -> None:
    after, before = (
        compile_file(LENET, backend="roofline", defines={"batch": 16}, pipeline=passes)
        for passes in ("autodiff,parallelize{devices=4}", "parallelize{devices=4}")
    )
    assert exchanged(after) == exchanged(before)
    assert after.ops == before.ops


def test_layers_that_are_left_out_exchange_nothing() -> None:
    for backend in ("cycle", "roofline"):
        report = compile_file(LENET, backend=backend, defines={"batch": 16}, devices=4, parallel="mp", only="conv*")
        assert {row[0] for row in exchanged(report)} == {"conv2"}


def test_a_rate_of_samples_counts_the_batch_of_all_devices_and_the_network() -> None:
    one = compile_file(LENET, backend="roofline", devices=4, parallel="dp")
    slow = compile_file(LENET, backend="roofline", devices=4, parallel="dp", overrides=PAIRS)
    for report in (one, slow):
        assert report.totals.seconds is not None
        assert report.native["samples_per_second"] == pytest.approx(256 / report.totals.seconds)
    assert slow.native["comm_seconds"] == pytest.approx((slow.totals.seconds or 0) - (one.totals.seconds or 0))
    (gathered,) = [row for row in slow.ops if row.name == "fc1" and row.kind == "comm"]
    # 400,000 weights of 4 bytes: halves at the inner level and quarters at the outer one, there and back
    assert gathered.seconds == pytest.approx(2 * (800_000 + 400_000) / 1e9)


def test_energy_without_that_of_the_network_is_said_to_be_so() -> None:
    prices = {f"energy.{name}": 1.0 for name in ("mac_pj", "spm_pj_per_byte", "dram_pj_per_byte")}
    energy = [{**PAIR, "pj_per_byte": 2.0}] * 2
    reports = [
        compile_file(LENET, backend="cycle", defines={"batch": 16}, devices=4, overrides={**prices, **network})
        for network in (PAIRS, {"network.levels": energy})
    ]
    said = [
        "igo-large has no pj_per_byte in network.levels: energy is of the work alone" in r.warnings for r in reports
    ]
    assert said == [True, False]
    rows = [row.energy_j for row in reports[1].ops if row.kind == "comm"]
    assert reports[1].totals.energy_j == pytest.approx((reports[0].totals.energy_j or 0) + sum(e or 0 for e in rows))


@pytest.mark.parametrize("backend", ["cycle", "roofline"])
def test_a_sweep_counts_the_time_on_the_network(backend: str) -> None:
    """Also where a backend scores many machines together, which has no rows."""
    passes = "parallelize{devices=4}" + (",autodiff,lower-to-npu,schedule" if backend == "cycle" else "")
    options: CompileKeywords = {"defines": {"batch": 16}, "pipeline": passes, "overrides": PAIRS}
    swept = sweep_file(LENET, vary={"memory.spm_kib": [2048, 4096]}, backend=backend, jobs=1, **options)
    for point, size in zip(swept, (2048, 4096), strict=True):
        own: CompileKeywords = {**options, "overrides": {**PAIRS, "memory.spm_kib": size}}
        assert point.totals == compile_file(LENET, backend=backend, **own).totals
        assert point.totals is not None
        assert (point.totals.seconds_by_kind["comm"] or 0) > 0


GATHERED = """
func.func @net(
  %x: tensor<4x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
  %t: tensor<8x4xf32> {train.input = "t", dist.sharding = #dist.sharding<[[], [0]]>},
  %w: tensor<8x8xf32> {train.param = "w"}, %v: tensor<8x8xf32> {train.param = "v"}
) -> (tensor<f32> {train.loss})
  attributes {dist.mesh = #dist.mesh<[2]>, train.optimizer = {kind = "sgd", lr = 0.1 : f64}}
{
  %c = dist.copy %w over [0] {layer = "a"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = train.matmul %x, %c {layer = "a"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dist.all_gather %0 axis 0 over [0] {layer = "b"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %2 = train.matmul %1, %v {layer = "b"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = dist.slice %2 axis 1 over [0] {layer = "c"} : (tensor<8x8xf32>) -> tensor<8x4xf32>
  %4 = train.relu %3 {layer = "c"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = train.dot_loss %4, %t {layer = "loss"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  %6 = dist.all_reduce %5 over [0] {layer = "loss"} : (tensor<f32>) -> tensor<f32>
  func.return %6 : tensor<f32>
}
"""


def test_what_devices_exchange_is_no_work_but_in_memory() -> None:
    """The other half of what is gathered is read, its gradient dropped; of what is cut half, and its gradient whole."""
    report = compile_source(GATHERED, "mlir", backend="roofline", overrides={"roofline.loss": "free"})
    work = [row for row in report.ops if row.phase in ("forward", "dxdw")]
    assert [(row.name, row.phase) for row in work] == [
        (name, phase) for phase, names in (("forward", "abc"), ("dxdw", "cba")) for name in names
    ]
    footprints = [row.native["footprint_bytes"] for row in work]
    half, weight = 4 * 8 * 4, 8 * 8 * 4
    a, b, c = 2 * half + weight, 4 * half + weight, 2 * half
    backward = (2 * half, 6 * half + 2 * weight, 2 * half + weight)
    assert footprints == [a, b, c, *backward]
