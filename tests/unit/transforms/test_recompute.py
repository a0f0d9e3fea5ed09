"""The pass `recompute`: what runs again, where, and what it refuses."""

import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import memory_of_module
from npuc.compiler.analysis.memory.recompute_exact import Unsolved
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.levels.preset import STEPS
from npuc.compiler.driver.passes import available_passes, read_pipeline, write_pipeline
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.report.text.summary.recomputed import again_text
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_vector import FuseVectorPass
from npuc.compiler.transforms.interleave.together import together
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.recompute import EXACT, RecomputePass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.provenance import Role, derive, is_recomputed, layer_of, role_of
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.shape import ReshapeOp
from npuc.dialects.train.signature import writes_of
from tests.networks import Net, Optimizer, dot_loss

SOURCE = """network chain(batch=64, width=32, depth=8) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = x
  for i in 0..depth { h = relu(linear(h, width)) }
  loss cross_entropy(h, y)
}
"""


def step(depth: int = 4) -> ModuleOp:
    net = Net()
    x = net.input("x", 8, 4)
    for i in range(depth):
        x = net.call("tanh", net.call("linear", x, 4, layer=f"fc{i}"), layer=f"act{i}")
    module = net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 0.5}))
    AutodiffPass().apply(Context(), module)
    return module


def again(module: ModuleOp) -> list[str]:
    """The layers that run again, in order."""
    return [layer_of(op) for op in module.walk() if is_recomputed(op)]


def peak(module: ModuleOp) -> int:
    memory = memory_of_module(module)
    assert memory is not None
    return memory.peak_bytes


def test_none_changes_nothing() -> None:
    module = step()
    before = str(module)
    RecomputePass(policy="none").apply(Context(), module)
    assert str(module) == before


def test_what_crosses_the_end_of_a_segment_is_kept() -> None:
    module = step()
    RecomputePass(k=4).apply(Context(), module)
    # The cuts are behind act1 and act3, whose results are kept.
    assert again(module) == ["fc2", "fc2", "act2", "fc0", "fc0", "act0"]


def test_k_is_the_root_of_the_number_of_layers_by_default() -> None:
    ours, same = step(8), step(8)
    RecomputePass().apply(Context(), ours)
    RecomputePass(k=4).apply(Context(), same)
    assert again(ours) == again(same)


def test_a_copy_stands_in_front_of_the_backward_pass_of_the_layer_that_needs_it() -> None:
    module = step()
    RecomputePass(k=4).apply(Context(), module)
    ops = list(the_function(module).body.block.ops)
    last = max(number for number, op in enumerate(ops) if layer_of(op) == "act2" and is_recomputed(op))
    assert [(layer_of(op), role_of(op)) for op in ops[last + 1 : last + 4]] == [
        ("fc3", Role.DW),
        ("fc3", Role.DX),
        ("fc3", Role.DW),
    ]


def test_only_keeps_the_other_layers() -> None:
    module = step()
    RecomputePass(k=4, only="*2").apply(Context(), module)
    assert again(module) == ["fc2", "fc2", "act2"]


def test_the_memory_falls() -> None:
    module = step(16)
    before = peak(module)
    RecomputePass(k=4).apply(Context(), module)
    assert peak(module) < before


def test_running_statistics_are_updated_once() -> None:
    net = Net()
    x = net.input("x", 2, 3, 4, 4)
    for _ in range(4):
        x = net.call("relu", net.call("batch_norm", net.call("conv2d", x, 3, 3, padding=1)))
    module = net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 0.5}))
    AutodiffPass().apply(Context(), module)
    before = sum(op.name == "train.ema" for op in module.walk())
    RecomputePass(k=3).apply(Context(), module)
    assert sum(op.name == "train.ema" for op in module.walk()) == before
    assert sum(op.name == "train.batch_norm" for op in module.walk()) == 8


def test_what_reads_memory_that_is_written_before_the_backward_pass_is_kept() -> None:
    """Running statistics that the forward pass reads and then writes in place."""
    net = Net()
    x = net.input("x", 2, 3, 4, 4)
    for _ in range(4):
        x = net.call("relu", net.call("batch_norm", x))
    module = net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 0.5}))
    AutodiffPass().apply(Context(), module)
    func = the_function(module)
    block = func.body.block
    ema = next(op for op in block.ops if op.name == "train.ema")
    relu = next(op for op in block.ops if op.name == "train.relu")
    reader = AddOp(relu.results[0], _as_image(block, ema.operands[0], relu))
    block.insert_op_after(derive(relu, reader), relu)
    relu.results[0].replace_uses_with_if(reader.out, lambda use: use.operation is not reader)
    module.verify()
    RecomputePass(k=4).apply(Context(), module)
    copies = [op for op in block.ops if is_recomputed(op)]
    assert copies
    assert not any(isinstance(op, AddOp) for op in copies)


def _as_image(block: Block, statistic: SSAValue, place: Operation) -> SSAValue:
    view = ReshapeOp(statistic, results=[tensor_of(f64, (3, 1, 1))])
    block.insert_op_before(derive(place, view), place)
    return view.out


def test_products_that_run_again_do_not_run_together_with_others() -> None:
    module = step()
    RecomputePass(k=4).apply(Context(), module)
    LowerToNpuPass().apply(Context(), module)
    products = [op for op in module.walk() if isinstance(op, ContractOp) and layer_of(op) == "fc2"]
    first, second = (op for op in products if role_of(op) is Role.FORWARD)
    assert is_recomputed(second)
    assert first.parent is not None
    assert together([first], second, writes_of(first.parent)).problem == "one is recomputed in the backward pass"


@pytest.mark.parametrize("level", range(4))
def test_every_level_keeps_the_copies_apart(level: int) -> None:
    passes = ",".join(("autodiff", "recompute{k=4}", "lower-to-npu", *STEPS[level], "schedule"))
    plain = compile_source(SOURCE, backend="cycle", pipeline=passes.replace("recompute{k=4},", ""))
    report = compile_source(SOURCE, backend="cycle", pipeline=passes)
    products = [row.name for row in report.ops if row.phase == "forward" and row.kind == "matrix"]
    assert max(map(products.count, products)) == 2
    assert report.totals.macs is not None
    assert plain.totals.macs is not None
    again = len(products) - len(set(products))
    assert report.totals.macs - plain.totals.macs == again * 64 * 32 * 32
    forward, before = (r.totals.seconds_by_phase["forward"] or 0.0 for r in (report, plain))
    assert forward > before
    others = {phase: s for phase, s in report.totals.seconds_by_phase.items() if phase != "forward"}
    assert others == pytest.approx({phase: plain.totals.seconds_by_phase[phase] for phase in others})


def test_the_report_tells_what_runs_again() -> None:
    passes = "autodiff,recompute{k=4},lower-to-npu,interleave{mode=best},schedule"
    plain = compile_source(SOURCE, backend="cycle", pipeline=passes.replace("recompute{k=4},", ""))
    report = compile_source(SOURCE, backend="cycle", pipeline=passes)
    rows = [row for row in report.ops if "recompute" in row.native]
    assert rows
    assert {row.phase for row in rows} == {"forward"}
    assert again_text(plain) is None
    macs = sum(row.macs or 0 for row in rows)
    assert macs == (report.totals.macs or 0) - (plain.totals.macs or 0)
    assert f"{len(rows):,} operations run again in the backward pass: {macs:,} MACs" in (again_text(report) or "")
    seconds = sum(row.seconds or 0.0 for row in rows)
    forward, before = (r.totals.seconds_by_phase["forward"] or 0.0 for r in (report, plain))
    assert seconds == pytest.approx(forward - before)
    assert report.certificates is not None
    once = {one.layer: len(one.products) for one in plain.certificates or ()}
    twice = {one.layer: len(one.products) for one in report.certificates}
    products = [row.name for row in rows if row.kind == "matrix"]
    assert twice == {layer: count + products.count(layer) for layer, count in once.items()}


def test_explain_shows_both_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(SOURCE, encoding="utf-8")
    passes = "autodiff,recompute{k=4},lower-to-npu,schedule"
    assert run_command(["explain", str(tmp_path / "net.dsl"), "0.h.linear", "-p", passes]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("0.h.linear forward")]
    assert [title.partition(":")[0] for title in titles] == ["0.h.linear forward", "0.h.linear forward, again"]


def test_vector_work_that_runs_again_is_not_fused_with_a_product_that_does_not() -> None:
    module = step()
    stamp_default_target(module)
    for one in (RecomputePass(k=4, only="act*"), LowerToNpuPass(), SchedulePass(), FuseVectorPass()):
        one.apply(Context(), module)
    forward = [op for op in module.walk() if isinstance(op, VectorOp) and op.kind == "tanh"]
    assert [(layer_of(op), op.fused) for op in forward if is_recomputed(op)] == [("act2", False), ("act0", False)]
    assert all(op.fused for op in forward if not is_recomputed(op))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("policy=all", "policy is 'all', expected none, every-k, optimal"),
        ("policy=optimal", "expected a budget_mib with policy=optimal"),
        ("budget_mib=3", "expected a budget_mib with policy=optimal, and with no other policy"),
        ("policy=optimal budget_mib=0", "budget_mib is 0, expected more than 0"),
        ("policy=none k=3", "k is 3, expected at least 1, with policy=every-k"),
        ("k=0", "k is 0, expected at least 1"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_pipeline(f"recompute{{{options}}}", available_passes())


def in_mib(count: float) -> float:
    return count / (1 << 20)


def test_optimal_stays_within_the_budget_and_runs_as_little_as_possible() -> None:
    work: list[int] = []
    for share in (1.0, 0.95, 0.87):
        module = step(12)
        budget = int(peak(module) * share)
        RecomputePass(policy="optimal", budget_mib=in_mib(budget)).apply(Context(), module)
        assert peak(module) <= budget
        work.append(len(again(module)))
    assert work[0] == 0
    assert 0 < work[1] < work[2]


@pytest.mark.parametrize("exact", [0, EXACT])
def test_a_budget_that_cannot_be_met_names_one_that_can(exact: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuc.compiler.transforms.recompute.EXACT", exact)
    with pytest.raises(CapacityError, match=r"no plan keeps the memory of tensors within 0\.001 MiB") as caught:
        RecomputePass(policy="optimal", budget_mib=0.001).apply(Context(), step(12))
    assert caught.value.exit_code == 3
    assert caught.value.hint is not None
    least = float(caught.value.hint.partition("budget_mib=")[2])
    module = step(12)
    RecomputePass(policy="optimal", budget_mib=least).apply(Context(), module)
    assert in_mib(peak(module)) <= least
    if exact:
        with pytest.raises(CapacityError):
            RecomputePass(policy="optimal", budget_mib=least - 0.001).apply(Context(), step(12))


def test_without_a_solver_small_networks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match="needs HiGHS") as caught:
        RecomputePass(policy="optimal", budget_mib=0.001).apply(Context(), step(12))
    assert caught.value.hint == 'pip install "npuc[solver]"'


def test_where_the_proof_takes_too_long_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsolved(*_: object) -> None:
        raise Unsolved

    monkeypatch.setattr("npuc.compiler.transforms.recompute.least_work", unsolved)
    module = step(12)
    budget = int(0.9 * peak(module))
    RecomputePass(policy="optimal", budget_mib=in_mib(budget)).apply(Context(), module)
    assert peak(module) <= budget


@pytest.mark.parametrize("optimizer", [Optimizer("sgd", {"lr": 0.5}), None])
def test_without_a_backward_pass_it_is_an_error(optimizer: Optimizer | None) -> None:
    net = Net()
    module = net.finish(dot_loss(net, net.call("linear", net.input("x", 2, 3), 4)), optimizer)
    with pytest.raises(SourceError, match="run it after autodiff"):
        RecomputePass().apply(Context(), module)


def test_after_the_lowering_it_is_an_error() -> None:
    module = step()
    LowerToNpuPass().apply(Context(), module)
    with pytest.raises(SourceError, match="expected train operations: run it before lower-to-npu"):
        RecomputePass().apply(Context(), module)


@pytest.mark.parametrize(
    "text",
    [
        "recompute",
        "recompute{policy=every-k k=4}",
        'recompute{policy="none"}',
        'recompute{policy=optimal budget_mib=1.5 only="stage1.*"}',
    ],
)
def test_the_text_of_the_pass_reads_back(text: str) -> None:
    passes = read_pipeline(text, available_passes())
    assert read_pipeline(write_pipeline(passes), available_passes()) == passes


@pytest.mark.parametrize(("last", "differentiable"), [("detach", False), ("relu", True)])
def test_a_step_whose_parameters_have_no_gradient_stays(last: str, differentiable: bool) -> None:
    """Behind a detach autodiff has nothing to add, so that its absence is no reason to refuse."""
    net = Net()
    x = net.call(last, net.call("linear", net.input("x", 8, 4), 4))
    module = net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 0.5}))
    if differentiable:
        with pytest.raises(SourceError, match="there is no backward pass"):
            RecomputePass(k=2).apply(Context(), module)
        return
    before = str(module)
    RecomputePass(k=2).apply(Context(), module)
    assert str(module) == before
