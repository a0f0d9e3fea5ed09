"""The pass `quantize`: which operands it converts, along which axes, and what the program then computes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, IntegerAttr, ModuleOp, f32, i32
from xdsl.ir import Operation

from npuc.compiler import compile_source, run_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.quantize import quantize_blocks
from npuc.compiler.layers.scaled import quantize_scaled, scale_of
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.formats import INT8, BlockFloat
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.tensors import tensor_type
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

NET = """
network net(batch=4, width=32) {
  input x: f32[batch, width]
  labels y: i32[batch]
  h = relu(linear(x, 48))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.1)
}
"""
CONV = """
network conv(batch=2) {
  input x: f32[batch, 16, 6, 6]
  labels y: i32[batch]
  h = relu(conv2d(x, 8, kernel=3, padding=1))
  g = conv2d(h, 8, kernel=3, groups=8)
  loss cross_entropy(linear(flatten(g), 4), y)
  optimizer adam(lr=0.01)
}
"""
Array = npt.NDArray[Any]
LOWERED = "autodiff,lower-to-npu"


def read(text: str, passes: str) -> ModuleOp:
    source = text_source(text, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    run_pipeline(module, read_pipeline(passes, available_passes()), make_context(), sources)
    module.verify()
    return module


def contracts(module: ModuleOp) -> dict[tuple[str, str], ContractOp]:
    found = [op for op in module.walk() if isinstance(op, ContractOp)]
    return {(layer_of(op), role_of(op).value): op for op in found}


def elements(op: ContractOp) -> list[str]:
    return [str(tensor_type(value).element_type) for value in op.operands]


def conversions(module: ModuleOp) -> list[VectorOp]:
    return [op for op in module.walk() if isinstance(op, VectorOp) and "quantize" in op.kind]


def test_operands_are_converted_along_the_axis_that_is_summed_and_once_for_all_that_read_them_so() -> None:
    module = read(NET, f"{LOWERED},quantize{{to=bfp-low}}")
    for op in contracts(module).values():
        assert [tensor_type(value).element_type for value in op.operands[:2]] == [BlockFloatType(2, 16, 3)] * 2
        assert tensor_type(op.results[0]).element_type == f32
        summed = set(op.nest.sizes) - op.nest.outs[0].dims
        for tensor, value in zip(op.nest.ins, op.operands, strict=False):
            made = value.owner
            assert isinstance(made, VectorOp)
            axis = made.params["axis"]
            assert isinstance(axis, IntegerAttr)
            assert set(tensor.axes[axis.value.data].dims) == summed
    # x, its weight and dY of two layers, each but the last dX along both of their axes
    assert len(conversions(module)) == 2 * 2 + 1 + (2 * 3 - 2) * 1 + 1
    assert len({(op.operands[0], str(op.params)) for op in conversions(module)}) == len(conversions(module))


def test_formats_of_eight_bits_have_scales_and_share_conversions_between_products() -> None:
    module = read(NET, f"{LOWERED},quantize{{to=int8}}")
    for op in contracts(module).values():
        assert elements(op)[:2] == ["i8", "i8"]
        assert tensor_type(op.results[0]).element_type == i32
        assert op.nest.starts == (None,)
    converted = [op.operands[0] for op in conversions(module)]
    assert len(converted) == len(set(converted)) == 6
    hybrid = contracts(read(NET, f"{LOWERED},quantize{{to=fp8}}"))
    for (_, role), op in hybrid.items():
        first, second = (tensor_type(value).element_type for value in op.operands[:2])
        low, wide = Float8E4M3FNType(), Float8E5M2Type()
        assert {role: (first, second)} == {
            role: {"forward": (low, low), "dx": (wide, low), "dw": (low, wide)}[role],
        }


def by_hand(x: Array, w: Array, b: Array, to: str) -> Array:
    """The first product of the network with operands of a format, in numpy."""
    if to == "int8":
        s, t = scale_of(x, INT8), scale_of(w, INT8)
        codes = quantize_scaled(x, INT8, s, "nearest", 0), quantize_scaled(w, INT8, t, "nearest", 0)
        sums = codes[0].astype(np.int64) @ codes[1].astype(np.int64)
        return (sums * (s * t)).astype(np.float32) + b
    fmt = BlockFloat(4, 16, 3)
    pair = quantize_blocks(x, fmt, 1, "nearest", 0), quantize_blocks(w, fmt, 0, "nearest", 0)
    return pair[0].astype(np.float64) @ pair[1].astype(np.float64) + b


@pytest.mark.parametrize("to", ["bfp-high", "int8"])
@pytest.mark.parametrize("level", ["npu", "tiles"])
def test_products_are_of_the_quantised_values(to: str, level: str) -> None:
    rng = np.random.default_rng(3)
    x, w, b = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 32), (32, 16), (16,)))
    text = "network net(batch=4) {\n input x: f32[batch, 32]\n h = linear(x, 16)\n output h\n}"
    passes = f"lower-to-npu,quantize{{to={to}}}" + (",schedule,lower-tiles" if level == "tiles" else "")
    inputs = {"x": x, "h.weight": w, "h.bias": b}
    run = run_source(text, inputs=inputs, pipeline=passes, inference=True)
    (out,) = run.outputs.values()
    expected = by_hand(x, w, b, to)
    assert np.allclose(out, expected, rtol=1e-6, atol=1e-6)
    assert not np.allclose(out, x @ w + b, rtol=1e-3, atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(["bfp<8, 16, 8>", "bfp<8, 5, 8>", "bfp<12, 64, 4>"]),
    st.sampled_from(["nearest", "stochastic", "gradients"]),
    st.integers(0, 99),
)
def test_small_integers_are_values_of_wide_formats_so_that_nothing_changes(
    batch: int, width: int, out: int, to: str, rounding: str, seed: int
) -> None:
    text = (
        f"network net(batch={batch}) {{\n input x: f32[batch, {width}]\n input t: f32[batch, {out}]\n"
        f" loss mse(linear(x, {out}), t)\n optimizer sgd(lr=1.0)\n}}"
    )
    rng = np.random.default_rng(seed)
    shapes = {"x": (batch, width), "t": (batch, out), "linear.weight": (width, out), "linear.bias": (out,)}
    inputs = {name: rng.integers(-3, 4, size=shape).astype(float) for name, shape in shapes.items()}
    passes = f'{LOWERED},quantize{{to="{to}" of=weights rounding={rounding}}}'
    passes += f',quantize{{to="{to}" of=activations rounding={rounding}}}'
    plain = run_source(text, inputs=inputs, pipeline=LOWERED, dtype="float64")
    made = run_source(text, inputs=inputs, pipeline=passes, dtype="float64")
    assert plain.losses == made.losses
    assert all(np.array_equal(value, made.updated[name]) for name, value in plain.updated.items())


@pytest.mark.parametrize("to", ["bfp-low", "fp8", "int8", "fast"])
@pytest.mark.parametrize("text", [NET, CONV])
def test_what_later_passes_make_of_it_computes_the_same(to: str, text: str) -> None:
    passes = f"{LOWERED},quantize{{to={to}}},interleave{{mode=zip}},schedule,fuse-vector,keep-resident,lower-tiles"
    source = text_source(text, "dsl", "<string>")
    done = check_program(source, {"pipeline": passes})
    assert [one.step.partition("{")[0] for one in done][2] == "quantize"
    assert "other numbers" in str(done[2])
    assert all("other numbers" not in str(one) for one in done[3:])


def kinds_converted(options: str) -> set[tuple[str, str, str]]:
    """The layers, roles and tensors whose operands a pass converts."""
    module = read(NET, f"{LOWERED},quantize{{to=bfp-low {options}}}")
    return {
        (*key, tensor.name)
        for key, op in contracts(module).items()
        for tensor, value in zip(op.nest.ins, op.operands, strict=False)
        if isinstance(tensor_type(value).element_type, BlockFloatType)
    }


def test_operands_may_be_chosen_by_kind_side_and_layer() -> None:
    everything = kinds_converted("")
    assert len(everything) == 2 * 5
    assert {name for *_, name in kinds_converted("of=weights")} == {"W"}
    assert {name for *_, name in kinds_converted("of=activations")} == {"X"}
    assert {name for *_, name in kinds_converted("of=gradients")} == {"dY"}
    assert kinds_converted("of=lhs") | kinds_converted("of=rhs") == everything
    assert len(kinds_converted("of=lhs")) == 5
    first, last = kinds_converted("end=1"), kinds_converted("first=1")
    assert first | last == everything
    assert not first & last
    (layer,) = {layer for layer, *_ in last}
    assert kinds_converted(f'only="{layer}"') == last


def remarks(passes: str) -> list[str]:
    said: list[str] = []
    with remarks_to(said.append):
        read(NET, passes)
    return said


def test_groups_that_do_not_divide_and_passes_without_work_are_said() -> None:
    assert any("(4 values by 16)" in one for one in remarks(f"{LOWERED},quantize{{to=bfp-low}}"))
    assert not remarks(f'{LOWERED},quantize{{to="bfp<4, 4, 3>"}}')
    twice = remarks(f"{LOWERED},quantize{{to=int8}},quantize{{to=int8}}")
    assert any("nothing to do" in one for one in twice)
    assert any("no contractions yet" in one for one in remarks("autodiff,quantize{to=int8}"))
    assert any("no effect" in one for one in remarks(f"{LOWERED},quantize{{to=int8 only=nope}}"))
    assert any("has 2 layers" in one for one in remarks(f"{LOWERED},quantize{{to=int8 first=2}}"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("to=bfp-lo", "or one of bfp-low"),
        ('to="bfp<0, 16, 3>"', "mantissa"),
        ("to=int4", "expected one of"),
        ("to=int8 of=bias", "of is 'bias', expected all, weights"),
        ("to=int8 rounding=up", "rounding is 'up', expected gradients, nearest, stochastic"),
        ("to=int8 first=3 end=3", "first is 3 and end 3"),
        ("to=int8 steps=5", "with to=fast"),
        ("to=int8 seed=-1", "seed is -1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: str, message: str) -> None:
    with pytest.raises(NpucError, match=message):
        read(NET, f"{LOWERED},quantize{{{options}}}")


def test_products_with_schedules_are_refused() -> None:
    with pytest.raises(NpucError, match="has a schedule already, or runs with others"):
        read(NET, f'{LOWERED},tile{{steps="m:2,n:2,k:2"}},quantize{{to=int8}}')


def test_the_option_places_the_pass_and_takes_its_words() -> None:
    report = compile_source(NET, quantize="bfp-low")
    assert report.products == "bfp-low"
    assert 'lower-to-npu,quantize{to="bfp-low"}' in report.pipeline
    assert compile_source(NET, quantize="none").products is None
    assert compile_source(NET, backend="roofline", quantize="int8").products == "int8"
    with pytest.raises(UsageError, match="--quantize int9: "):
        compile_source(NET, quantize="int9")
    with pytest.raises(UsageError, match="no pass lower-to-npu runs"):
        compile_source(NET, backend="roofline", quantize="int8", pipeline="autodiff")
    with pytest.raises(UsageError, match="say the same"):
        compile_source(NET, quantize="int8", pipeline=f"{LOWERED},quantize{{to=int8}},schedule")


def test_fast_gives_more_bits_as_layers_and_steps_go_on() -> None:
    x = np.random.default_rng(0).normal(size=(4, 32))
    module = read(NET, f"{LOWERED},quantize{{to=fast steps=4}}")
    found: list[dict[Operation, int]] = []
    values: dict[str, Array] = {"x": x, "y": np.arange(4)}
    for _ in range(4):
        run = execute(module, values)
        (chosen,) = run.mantissas
        assert chosen.keys() == set(conversions(module))
        found.append(chosen)
        values |= run.updated
    high = [sum(bits == 4 for bits in one.values()) for one in found]
    assert high == sorted(high)
    assert high[0] < high[-1]
    assert all(set(one.values()) <= {2, 4} for one in found)


def test_check_says_that_it_changes_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "samples:mlp", "-D", "batch=4", "-D", "hidden=16", "--quantize", "bfp-low"]) == 0
    out = capsys.readouterr().out
    assert "other numbers, by up to" in out
    assert out.rstrip().endswith("computes the same after each but quantize, which is to change numbers")
