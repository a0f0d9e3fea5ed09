"""The pass `set-precision`: which types it gives, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline, write_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.set_precision import SetPrecisionPass
from npuc.compiler.transforms.set_precision.autocast import POLICIES
from npuc.dialects.npu import VectorOp
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train import OPERATIONS
from npuc.dialects.train.arithmetic import CastOp, ConstantOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source
from tests.calls import COUNTED, all_calls
from tests.calls.values import build

NET = """
network net(batch=4) {
  input x: f32[batch, 3, 8, 8]
  labels y: i32[batch]
  h = relu(batch_norm(conv2d(x, 4, kernel=3, padding=1)))
  h = mean(h, [2, 3])
  h = layer_norm(linear(h, 8))
  loss cross_entropy(linear(h, 5), y)
  optimizer adamw(lr=0.01)
}
"""
ATTENTION = """
network net(batch=2) {
  input x: f32[batch, 4, 8]
  h = multi_head_attention(x, 2, causal=true) + x
  output h
}
"""


def read(text: str, passes: str = "", format: str = "dsl") -> ModuleOp:
    source = text_source(text, format, "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(inference="loss " not in text), sources)
    run_pipeline(module, read_pipeline(passes, available_passes()), make_context(), sources)
    module.verify()
    return module


def float_types(module: ModuleOp) -> set[str]:
    """The element types of all floats of a program."""
    func = the_function(module)
    values = [*func.body.block.args, *(r for op in func.body.walk() for r in op.results)]
    elements = [tensor_type(value).element_type for value in values if isinstance(value.type, TensorType)]
    return {str(element) for element in elements if isinstance(element, AnyFloat)}


@pytest.mark.parametrize("to", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("before", ["", "autodiff,", "autodiff,lower-to-npu,"])
def test_all_floats_get_one_type(to: str, before: str) -> None:
    module = read(NET, f"{before}set-precision{{to={to}}}")
    assert float_types(module) == {to}
    assert str(the_function(module).function_type.inputs.data[1]) == "tensor<4xi32>"


@pytest.mark.parametrize("text", [NET, ATTENTION])
@pytest.mark.parametrize("to", ["f32", "as-written"])
def test_what_changes_nothing_is_the_identity(text: str, to: str) -> None:
    assert str(read(text, f"set-precision{{to={to}}}")) == str(read(text))


def test_types_may_be_set_before_and_after_autodiff() -> None:
    assert str(read(NET, "autodiff,set-precision{to=bf16}")) == str(read(NET, "set-precision{to=bf16},autodiff"))
    assert str(read(NET, "autodiff,set-precision{to=mixed}")) == str(read(NET, "set-precision{to=mixed},autodiff"))


def test_mixed_precision_set_twice_is_the_same() -> None:
    once = read(NET, "set-precision{to=mixed}")
    assert str(read(NET, "set-precision{to=mixed},set-precision{to=mixed}")) == str(once)


def test_parameters_gradients_and_states_stay_f32() -> None:
    module = read(NET, "set-precision{to=mixed},autodiff")
    func = the_function(module)
    kinds = (ArgumentKind.PARAM, ArgumentKind.STATE, ArgumentKind.STAT)
    types = {a.name: func.function_type.inputs.data[a.index] for a in arguments_of(func) if a.kind in kinds}
    assert {str(type).rpartition("x")[2].rstrip(">") for name, type in types.items() if name != "step"} == {"f32"}
    updates = [op for op in module.walk() if op.name == "train.adamw"]
    assert updates
    assert {str(tensor_type(value).element_type) for op in updates for value in op.operands[:4]} == {"f32"}


def test_sums_of_f32_for_the_gradient_of_a_normalised_bf16() -> None:
    """Gradients of scale and shift are f32; dX of bf16 takes them as the sums that it needs."""
    module = read(NET, 'set-precision{to="mixed"},autodiff,lower-to-npu')
    (dx,) = [op for op in module.walk() if isinstance(op, VectorOp) and op.kind == "batch_norm_dx_from_sums"]
    *_, dgamma, dbeta = (tensor_type(value).element_type for value in dx.operands)
    assert (str(tensor_type(dx.operands[0]).element_type), str(dgamma), str(dbeta)) == ("bf16", "f32", "f32")


def test_a_parameter_is_cast_once() -> None:
    module = read(NET, "set-precision{to=mixed},autodiff")
    func = the_function(module)
    params = {func.body.block.args[a.index]: a.name for a in arguments_of(func) if a.kind is ArgumentKind.PARAM}
    casts = [op for op in module.walk() if isinstance(op, CastOp) and op.x in params]
    assert len({op.x for op in casts}) == len(casts)
    weights = {name for name in params.values() if name.endswith("conv2d.weight")}
    assert weights <= {layer_of(op) for op in casts}
    assert {layer_of(op) for op in casts} <= set(params.values())


def test_every_forward_operation_of_the_lists_exists() -> None:
    known = {op.name for op in OPERATIONS}
    assert set(POLICIES) <= known


@pytest.mark.parametrize("name", sorted(all_calls()))
@settings(max_examples=3)
@given(data=st.data())
def test_every_function_has_a_mixed_program(name: str, data: st.DataObject) -> None:
    """It verifies, with its backward pass, and computes what the program as written does."""
    net = build(all_calls()[name](data))
    SetPrecisionPass("f32").apply(Context(), net.module)
    before = str(net.module)
    for to in ("mixed", "bf16", "f16"):
        step = net.module.clone()
        SetPrecisionPass(to).apply(Context(), step)
        if net.has_loss:
            AutodiffPass().apply(Context(), step)
        step.verify()
    assert str(net.module) == before


@pytest.mark.parametrize("to", ["mixed", "bf16", "f16"])
@pytest.mark.parametrize("text", [NET, ATTENTION.replace("output h", "loss mean(h * h)")], ids=["norms", "attention"])
def test_a_step_means_the_same_at_all_levels(text: str, to: str) -> None:
    check_program(text_source(text, "dsl", "net.dsl"), {"precision": to, "level": "tiles"})


@pytest.mark.parametrize(
    "name", sorted(set(all_calls()) - COUNTED - {"binary_cross_entropy"})
)  # the data of `check` are integers
@settings(max_examples=2)
@given(data=st.data())
def test_every_function_in_mixed_precision_means_the_same_at_all_levels(name: str, data: st.DataObject) -> None:
    net = build(all_calls()[name](data))
    SetPrecisionPass("f32").apply(Context(), net.module)
    check_program(text_source(str(net.module), "mlir", "net.mlir"), {"precision": "mixed", "level": "tiles"})


def test_a_large_constant_stays_finite_in_f16() -> None:
    module = read(ATTENTION, "set-precision{to=f16}")
    values = [op.value.value.data for op in module.walk() if isinstance(op, ConstantOp)]
    assert min(values) == -65504.0
    run = execute(module, {"x": np.ones((2, 4, 8))})
    assert np.isfinite(np.asarray(run.outputs["h"])).all()


def test_f64_stays_in_mixed_precision() -> None:
    text = "network net() { input x: f64[2, 4]\n output h = softmax(linear(x, 3)) }"
    assert float_types(read(text, "set-precision{to=mixed}")) == {"f64"}


def test_a_cast_that_a_network_writes_stays_in_mixed_precision() -> None:
    text = "network net() { input x: f32[2, 4]\n output h = relu(cast(linear(x, 3), to=f16)) }"
    module = read(text, "set-precision{to=mixed}")
    assert str(the_function(module).function_type.outputs.data[0]) == "tensor<2x3xf16>"


def test_the_bias_of_a_product_is_its_part() -> None:
    text = "network net() { input x: f32[2, 4, 4]\n output h = lstm(x, 3) }"
    module = read(text, "set-precision{to=mixed}")
    assert str(the_function(module).function_type.outputs.data[0]) == "tensor<2x4x3xbf16>"


def test_pipelines_print_and_parse() -> None:
    (step,) = read_pipeline("set-precision{to=bf16}", available_passes())
    assert write_pipeline([step]) == 'set-precision{to="bf16"}'
    assert read_pipeline(write_pipeline([step]), available_passes()) == [step]


LOWERED = """
func.func @f(%x: tensor<4x4xf32> {train.input = "x"}) -> (tensor<4x4xf32> {train.output = "y"}) {
  %y = npu.contract (m = 4, n = 4, k = 4) ins(X = %x[m, k], W = %x[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "y"}
       : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
"""


def test_mixed_precision_of_a_lowered_program_is_refused_at_its_place() -> None:
    with pytest.raises(SourceError, match=r"set-precision: found npu\.contract, expected train operations") as caught:
        read(LOWERED, "set-precision{to=mixed}", "mlir")
    assert caught.value.location is not None
    assert caught.value.location.line == 3
    assert float_types(read(LOWERED, "set-precision{to=bf16}", "mlir")) == {"bf16"}


def test_tiles_keep_their_types() -> None:
    target = "set-target{rows=4 cols=4 spm_bytes=4096 clock_mhz=1000 gb_per_s=4 lanes=8}"
    with pytest.raises(SourceError, match=r"set-precision: found .*, expected operations on tensors"):
        read(NET, f"{target},autodiff,lower-to-npu,schedule,lower-tiles,set-precision{{to=bf16}}")


def test_a_step_that_was_changed_is_refused() -> None:
    with pytest.raises(SourceError, match="the step was changed since autodiff"):
        read(NET, "autodiff,recompute{policy=every-k k=2},set-precision{to=mixed}")
