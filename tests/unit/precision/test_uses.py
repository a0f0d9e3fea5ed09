"""Values that several operations read in another type: one cast, and a gradient for each use, as autocast has it."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp, CastOp
from npuc.dialects.train.base import TrainOp
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

NET = """
network net(batch=4) {{
  input x: f32[batch, 16]
  labels y: i32[batch]
  n = layer_norm(linear(x, 16, bias=false))
  r = {read}
  a = linear(r, 8, bias=false)
  b = linear(r, 8, bias=false)
  c = linear(r, 8, bias=false)
  loss cross_entropy(a * b + c, y)
  optimizer sgd(lr=0.1)
}}
"""
SHAPE = (4, 16)


def step(text: str, *passes: str) -> ModuleOp:
    """The training step of a network in mixed precision."""
    source = text_source(text, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    names = ",".join(["set-precision{to=mixed}", *passes, "autodiff"])
    run_pipeline(module, read_pipeline(names, available_passes()), make_context(), sources)
    module.verify()
    return module


def backward(module: ModuleOp, kind: type[TrainOp]) -> list[str]:
    """The element types of the results of backward operations of a kind on the value that is read."""
    found = [op for op in module.walk() if isinstance(op, kind) and role_of(op) is Role.DX]
    return [str(tensor_type(op.results[0]).element_type) for op in found if shape_of(op.results[0]) == SHAPE]


def casts_to_bf16(module: ModuleOp) -> list[CastOp]:
    forward = [op for op in module.walk() if isinstance(op, CastOp) and role_of(op) is Role.FORWARD]
    return [op for op in forward if shape_of(op.out) == SHAPE and str(tensor_type(op.out).element_type) == "bf16"]


def test_one_cast_for_three_products_and_a_gradient_of_f32_for_each() -> None:
    module = step(NET.format(read="n"))
    of_input, of_value = casts_to_bf16(module)
    assert (of_input.each_use is None, of_value.each_use is None) == (True, False)
    assert len(list(of_value.out.uses)) == 6  # three products, and three gradients of weights
    assert backward(module, AddOp) == ["f32", "f32"]
    assert backward(module, CastOp) == ["f32"] * 3 + ["bf16"]  # the last is of what the normalisation reads


def test_a_cast_that_a_network_writes_is_one_value() -> None:
    module = step(NET.format(read="cast(n, to=bf16)"))
    assert all(op.each_use is None for op in casts_to_bf16(module))
    assert backward(module, AddOp) == ["bf16", "bf16"]
    assert backward(module, CastOp) == ["f32", "bf16"]


def test_a_value_of_bf16_that_is_read_in_f32_has_gradients_of_bf16() -> None:
    text = NET.format(read="exp(n0) + softplus(n0)").replace("n = layer_norm(", "n0 = (")
    assert backward(step(text), AddOp)[-1] == "bf16"


@pytest.mark.parametrize("strategy", ["mp", "accpar", "accpar-joint"])
def test_devices_add_in_f32_what_they_move_in_bf16(strategy: str) -> None:
    module = step(NET.format(read="n"), f'parallelize{{strategy={strategy} mesh="2" convention=physical}}')
    adds = [op for op in module.walk() if isinstance(op, AddOp) and role_of(op) is Role.DX]
    assert [str(tensor_type(op.out).element_type) for op in adds] == ["f32", "f32"]
    casts = [op for op in module.walk() if isinstance(op, CastOp) and op.x is adds[-1].out]
    assert [str(tensor_type(op.out).element_type) for op in casts] == ["bf16"]
    (use,) = casts[0].out.uses
    assert isinstance(use.operation, DistOp)


@pytest.mark.parametrize("text", [NET.format(read="n"), NET.format(read="exp(n) + n")])
def test_it_means_the_same_at_all_levels(text: str) -> None:
    check_program(text_source(text, "dsl", "<string>"), {"precision": "mixed", "level": "tiles"})
