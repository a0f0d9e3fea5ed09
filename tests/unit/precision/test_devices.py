"""Mixed precision over devices: what a plan says in bytes is what the program moves, and what it does not go with."""

import pytest

from npuc.compiler import compile_source
from npuc.compiler.errors import NpucError
from npuc.compiler.report import Report

NET = """network net(batch=8) {
  input x: f32[batch, 32]
  labels y: i32[batch]
  h = relu(linear(x, 64))
  h = relu(linear(h, 64)) + h
  loss cross_entropy(linear(h, 16), y)
  optimizer adamw(lr=0.01)
}"""
HARDWARE = {"network.levels": [{"kind": "pair", "size": 2, "gb_per_s": 0.2}] * 2}


def shared(parallel: str, precision: str, *, zero: bool = False) -> Report:
    return compile_source(
        NET, devices=4, parallel=parallel, convention="physical", precision=precision, overrides=HARDWARE, zero=zero
    )


@pytest.mark.parametrize("precision", ["f32", "bf16", "mixed"])
@pytest.mark.parametrize("parallel", ["dp", "mp", "joint", "accpar-joint"])
def test_bytes_of_a_plan_are_those_that_its_program_moves(parallel: str, precision: str) -> None:
    report = shared(parallel, precision)
    read = [report.native[f"{which}_read_bytes"] for which in ("gradient", "other")]
    assert report.parallel is not None
    assert report.parallel.total.bytes == 4 * sum(size for size in read if isinstance(size, int | float))


def test_gradients_of_all_parameters_are_summed_in_their_type() -> None:
    parameters = 32 * 64 + 64 + 64 * 64 + 64 + 64 * 16 + 16
    assert shared("dp", "mixed").native["gradient_operand_bytes"] == 4 * parameters
    assert shared("dp", "bf16").native["gradient_operand_bytes"] == 2 * parameters


def test_parameters_in_parts_do_not_go_with_casts() -> None:
    with pytest.raises(NpucError, match="casts read the parameters of mixed precision; use precision bf16, f16 or f32"):
        shared("dp", "mixed", zero=True)
    assert shared("dp", "bf16", zero=True).totals.peak_bytes


def test_memory_of_mixed_precision_is_sixteen_bytes_a_parameter_and_the_cast_weights() -> None:
    report = compile_source(NET, precision="mixed", defines={"batch": 1})
    parameters = 32 * 64 + 64 + 64 * 64 + 64 + 64 * 16 + 16
    memory = report.totals.memory
    assert report.memory is not None
    assert (memory["weights"], report.memory.gradient_bytes) == (4 * parameters, 4 * parameters)
    assert memory["optimizer"] == 8 * parameters + 8
    assert sum(size or 0 for size in memory.values()) == report.totals.peak_bytes
