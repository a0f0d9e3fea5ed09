"""Passes and values that are resident across operations: which passes refuse them, and which values cannot be."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import UsageError
from npuc.compiler.core.verify import SourceTexts, the_function, verify_module
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.transforms.keep_resident.spans import is_elementwise
from npuc.dialects.npu import VectorOp
from npuc.frontends.mlir import make_context, read_mlir
from tests.ir_programs import DENSE, lowered, text_of


def after(module: ModuleOp, pipeline: str) -> ModuleOp:
    run_pipeline(module, read_pipeline(pipeline, available_passes()), make_context(), SourceTexts())
    return module


@pytest.mark.parametrize(
    "step",
    [
        "fuse-vector",
        "interleave",
        "interleave{mode=zip}",
        'keep{tensors="W:1"}',
        "partition{dim=m parts=2}",
        "rearrange{order=n,m}",
        'tile{steps="m:2"}',
    ],
)
def test_passes_that_would_break_the_rules_of_resident_values_refuse_them(step: str) -> None:
    module = read_mlir(text_of("resident"), "f.mlir")
    with pytest.raises(UsageError, match="the pass does not support resident values") as caught:
        after(module, step)
    assert caught.value.location is not None
    verify_module(module, SourceTexts())


def test_a_value_is_not_resident_across_what_overwrites_it() -> None:
    module = lowered(DENSE % "adam(lr=0.1)", "autodiff,lower-to-npu,schedule")
    block = the_function(module).body.block
    vectors = [op for op in block.ops if isinstance(op, VectorOp)]
    increment = next(op for op in vectors if op.kind == "increment")
    first = next(op for op in vectors if op.kind == "adam")
    increment.detach()
    block.insert_op_before(increment, first)
    verify_module(after(module, "keep-resident"), SourceTexts())
    assert "in0" not in increment.resident.outs
    assert any(op.resident.names for op in vectors)


def test_sums_of_rows_are_not_elementwise() -> None:
    """What an elementwise operation has read of its operand may be overwritten; a norm reads its rows again."""
    text = "network n(batch=2) { input x: f32[batch, 8]; h = relu(layer_norm(x)); loss mean(h) }"
    vectors = [op for op in lowered(text, "lower-to-npu").walk() if isinstance(op, VectorOp)]
    assert {op.kind: is_elementwise(op) for op in vectors}.items() >= {("relu", True), ("layer_norm", False)}
