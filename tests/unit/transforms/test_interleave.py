"""When `interleave` merges contractions and when it leaves them: one test a condition."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.passes import available_passes, read_pipeline
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.interleave.together import together
from npuc.compiler.transforms.set_target import SetTargetPass
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, layer_of, repeat_of, role_of
from npuc.dialects.train.signature import writes_of
from npuc.frontends.mlir import make_context

ARGS = "%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>"
DX = """  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
"""
DW = """  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
"""
END = "  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>\n}"
RESULTS = "tensor<6x8xf32>, tensor<8x4xf32>"


def parse(*lines: str, args: str = ARGS, results: str = RESULTS) -> ModuleOp:
    text = f"func.func @f({args}) -> ({results}) {{\n{''.join(lines)}"
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def contracts(module: ModuleOp) -> list[ContractOp]:
    return [op for op in module.walk() if isinstance(op, ContractOp)]


def fused(module: ModuleOp, step: InterleavePass = InterleavePass()) -> list[int]:
    """The number of statements of each contraction after the pass."""
    step.apply(Context(), module)
    module.verify()
    return [len(op.nest.statements) for op in contracts(module)]


def problem(module: ModuleOp) -> str | None:
    """Why the first two contractions may not run together."""
    first, second = contracts(module)[:2]
    assert first.parent is not None
    return together([first], second, writes_of(first.parent)).problem


def test_dx_and_dw_become_one() -> None:
    assert fused(parse(DX, DW, END)) == [2]


def test_the_order_of_the_program_is_the_order_of_the_results() -> None:
    module = parse(DW, DX, END)
    assert fused(module) == [2]
    assert [out.name for out in contracts(module)[0].nest.outs] == ["dW", "dX"]


def test_role_repetitions_and_layer_are_kept() -> None:
    module = parse(*(line.replace('"fc"', '"fc", repeat = 3 : i64') for line in (DX, DW)), END)
    assert fused(module) == [2]
    (op,) = contracts(module)
    assert (layer_of(op), role_of(op), repeat_of(op)) == ("fc", Role.DXDW, 3)


def test_one_side_alone_stays() -> None:
    """The first layer has no dX, a frozen weight no dW."""
    text = "network n() {{ input x: f32[4, 5]\n h = {0}\n y = linear(relu(h), 3)\n loss sum(y ** 2) }}"
    for first, expected in (("linear(x, 6)", {"y"}), ("x * 2", set[str]())):
        report = compile_source(text.format(first), pipeline="autodiff,lower-to-npu,interleave,schedule")
        assert {row.name for row in report.ops if row.phase == "dxdw"} == expected


def test_another_value_is_not_shared() -> None:
    other = DW.replace("%dy", "%dz")
    assert fused(parse(DX, other, END, args=f"{ARGS}, %dz: tensor<6x4xf32>")) == [1, 1]


def test_other_sizes_of_the_dimensions() -> None:
    """Siblings of X whose n differs: they run over other dimensions."""
    args = "%x: tensor<6x8xf32>, %a: tensor<8x4xf32>, %b: tensor<8x5xf32>"
    product = (
        "  %{0} = npu.contract (m = 6, n = {1}, k = 8) ins(X = %x[m, k], W = %{0}[k, n]) outs(Y[m, n]) do(Y += X * W)"
    )
    types = " : (tensor<6x8xf32>, tensor<8x{1}xf32>) -> tensor<6x{1}xf32>\n"
    first, second = (
        (product + types).format(w, n).replace("%a =", "%p =").replace("%b =", "%q =") for w, n in (("a", 4), ("b", 5))
    )
    end = "  func.return %p, %q : tensor<6x4xf32>, tensor<6x5xf32>\n}"
    module = parse(first, second, end, args=args, results="tensor<6x4xf32>, tensor<6x5xf32>")
    assert problem(module) is None
    assert fused(module, InterleavePass(what="siblings")) == [1, 1]


def test_another_index_map_of_the_shared_operand() -> None:
    args = "%x: tensor<6x6xf32>, %w: tensor<6x6xf32>"
    product = "  %{0} = npu.contract (m = 6, n = 6, k = 6) ins(X = %x{1}, W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)"
    types = " : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>\n"
    first, second = (
        (product + types).format(name, axes) for name, axes in (("p", "[m, k]"), ("q", "[k * 1 + m * 2, k]"))
    )
    second = second.replace("[k * 1 + m * 2, k]", "[m * 2, k]")
    end = "  func.return %p, %q : tensor<6x6xf32>, tensor<6x6xf32>\n}"
    module = parse(first, second, end, args=args, results="tensor<6x6xf32>, tensor<6x6xf32>")
    assert fused(module, InterleavePass(what="siblings")) == [2], "they share W"
    module = parse(
        first,
        second.replace("%w", "%v"),
        end,
        args=f"{args}, %v: tensor<6x6xf32>",
        results="tensor<6x6xf32>, tensor<6x6xf32>",
    )
    assert fused(module, InterleavePass(what="siblings")) == [1, 1]


CHAIN = """  %h = npu.vector relu(%dx) ops 48 {layer = "h"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
"""


@pytest.mark.parametrize(("between", "read"), [("", "%dx"), (CHAIN, "%h")])
def test_no_result_feeds_the_other(between: str, read: str) -> None:
    """Directly, and through what is between them."""
    module = parse(DX, between, DW.replace("X = %x", f"X = {read}"), END)
    assert problem(module) == "one reads what the other computes"
    assert fused(module) == [1, 1]


def test_an_operand_computed_between_them_moves_up() -> None:
    scaled = '  %s = npu.vector relu(%x) ops 48 {layer = "h"} : (tensor<6x8xf32>) -> tensor<6x8xf32>\n'
    module = parse(DX, CHAIN, scaled, DW.replace("X = %x", "X = %s"), END)
    assert fused(module) == [2]
    func = next(op for op in module.walk() if op.name == "func.func")
    assert [op.name for op in func.regions[0].block.ops] == ["npu.vector", "npu.contract", "npu.vector", "func.return"]


def test_an_operand_of_another_contraction_between_them() -> None:
    product = """  %s = npu.contract (m = 6, n = 8, k = 4) ins(X = %dy[m, k], W = %w[n, k]) outs(Y[m, n]) do(Y += X * W)
    {layer = "other", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
"""
    module = parse(DX, product, DW.replace("X = %x", "X = %s"), END)
    first, _, last = contracts(module)
    assert first.parent is not None
    assert (
        together([first], last, writes_of(first.parent)).problem == "an operand is not there at the place of the first"
    )
    assert fused(module) == [1, 1, 1]


SGD = """  %w1 = npu.vector sgd(%w, %g)
    <{lr = 1.0 : f64, momentum = 0.0 : f64, weight_decay = 0.0 : f64, dampening = 0.0 : f64}>
    ops 64 {layer = "w", role = "update"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
"""
STEP = '%dy: tensor<6x4xf32>, %w: tensor<8x4xf32> {train.param = "w"}, %x: tensor<6x8xf32>, %g: tensor<8x4xf32>'


def step_of(*lines: str) -> ModuleOp:
    """A training step whose first result is the loss and whose last is the new W."""
    end = "  func.return %dx, %dw, %w1 : tensor<6x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>\n}"
    return parse(*lines, end, args=STEP, results=f"{RESULTS}, tensor<8x4xf32> {{train.updates = 1 : i64}}")


def test_an_update_of_w_in_place_between_them() -> None:
    assert fused(step_of(DX, DW, SGD)) == [2]
    assert problem(step_of(DX, SGD, DW)) == "an operation between them writes in place what one of them reads"
    assert fused(step_of(DX, SGD, DW)) == [1, 1]
    # dX reads the W that was there before the update of this step: merged, it would still be, but not in place.
    assert fused(step_of(DW, SGD, DX)) == [1, 1]


def test_an_update_through_a_view_between_them() -> None:
    view = "  %v = npu.view reshape(%w) : (tensor<8x4xf32>) -> tensor<8x4xf32>\n"
    assert fused(step_of(view, DX.replace("W = %w", "W = %v"), SGD, DW)) == [1, 1]


def test_an_operand_that_an_update_computes() -> None:
    """dX reads the new W: the update cannot move up, others may read the old value until then."""
    late = DX.replace("W = %w", "W = %w1")
    module = step_of(DW, SGD.replace("%w,", "%g,"), late)
    assert problem(module) == "an operand is not there at the place of the first"


def test_different_phases() -> None:
    forward = """  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
"""
    module = parse(forward, DX, DW, END)
    assert problem(module) == "they are not of one phase"
    assert fused(module, InterleavePass(what="all")) == [1, 2]


@pytest.mark.parametrize("attribute", ["repeat = 2 : i64", 'sparsity = "2:4"'])
def test_different_repetitions_or_sparsity(attribute: str) -> None:
    module = parse(DX, DW.replace('role = "dw"', f'role = "dw", {attribute}'), END)
    assert problem(module) == "they do not run equally often, or not with equal sparsity"
    assert fused(module) == [1, 1]


def test_gradients_of_two_layers_are_no_pair() -> None:
    """What adds dY of one value to two layers: siblings, not the gradients of one."""
    other = DW.replace('"fc"', '"other"')
    assert fused(parse(DX, other, END)) == [1, 1]
    module = parse(DX, other, END)
    assert fused(module, InterleavePass(what="siblings")) == [2]
    assert layer_of(contracts(module)[0]) == "fc+other"


def test_only() -> None:
    assert fused(parse(DX, DW, END), InterleavePass(only="f*")) == [2]
    assert fused(parse(DX, DW, END), InterleavePass(only="g*")) == [1, 1]


def test_at_most_four_siblings() -> None:
    lines = [DW.replace("%dw", f"%d{n}").replace("%dy", f"%y{n}").replace('"fc"', f'"l{n}"') for n in range(6)]
    args = "%x: tensor<6x8xf32>, " + ", ".join(f"%y{n}: tensor<6x4xf32>" for n in range(6))
    types = ", ".join(["tensor<8x4xf32>"] * 6)
    end = f"  func.return {', '.join(f'%d{n}' for n in range(6))} : {types}\n}}"
    assert fused(parse(*lines, end, args=args, results=types), InterleavePass(what="siblings")) == [4, 2]


def test_schedules_are_dropped_and_searched_again_on_a_known_machine() -> None:
    old = DX.replace("do(dX += dY * W)", "do(dX += dY * W) loops [m : 1, n : 1]")
    module = parse(old, DW, END)
    assert fused(module) == [2]
    assert contracts(module)[0].schedule_attr is None
    target = SetTargetPass(rows=4, cols=4, spm_bytes=512, clock_mhz=1000, gb_per_s=4, lanes=8)
    for first, scheduled in ((old, True), (DX, False)):
        module = parse(first, DW, END)
        target.apply(Context(), module)
        assert fused(module) == [2]
        (op,) = contracts(module)
        assert (op.schedule_attr is not None) is scheduled
    module = parse(old, DW, END)
    SetTargetPass(rows=4, cols=4, spm_bytes=16, clock_mhz=1000, gb_per_s=4, lanes=8).apply(Context(), module)
    with pytest.raises(CapacityError, match="fc: the smallest tiles need 20 bytes of SPM"):
        fused(module)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("interleave{mode=mixed}", "mode is 'mixed', expected"),
        ("interleave{what=some}", "what is 'some', expected gradients, siblings, all"),
        ("interleave{wha=all}", "pass 'interleave' has no option 'wha'"),
    ],
)
def test_wrong_options(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_pipeline(text, available_passes())


def test_nests_that_fit_whole_run_in_turn() -> None:
    """A whole nest has a schedule without loops, which would be the same as none."""
    text = "network n() { input x: f32[2, 2]\n y = linear(linear(x, 3), 2)\n loss sum(y ** 2) }"
    for pipeline in ("interleave{mode=zip},schedule", "schedule,interleave{mode=zip}"):
        report = compile_source(text, pipeline=f"autodiff,lower-to-npu,{pipeline}")
        assert [row.schedule.program for row in report.ops if row.phase == "dxdw" and row.schedule] == ["zip"]


def test_the_best_needs_a_machine_and_leaves_schedules_that_are_set() -> None:
    with pytest.raises(SourceError, match=r"no npu\.target, and mode=best depends on it"):
        fused(parse(DX, DW, END), InterleavePass(mode="best"))
    with pytest.raises(ValueError, match="objective is 'speed', expected time"):
        InterleavePass(objective="speed")
    target = SetTargetPass(4, 4, 512, 1000, 4, 8)
    for lines, expected in ((DX, [2]), (DX.replace("{layer", "loops [m : 3] {layer"), [1, 1])):
        module = parse(lines, DW, END)
        target.apply(Context(), module)
        assert fused(module, InterleavePass(mode="best", objective="traffic", tolerance=0.0)) == expected
