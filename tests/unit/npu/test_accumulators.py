"""Partial sums in runs: one answer at every level, in 32 bits and in 16."""

import numpy as np
import pytest

from npuc.compiler import Run, UsageError, run_source
from npuc.compiler.interpreter.numbers import round_to_bfloat16
from npuc.compiler.layers.base import Array

TERMS, PARTS = 512, 32

PRODUCT = f"""
func.func @f(%x: tensor<4x{TERMS}xbf16> {{train.input = "x"}}, %w: tensor<{TERMS}x4xbf16> {{train.input = "w"}})
    -> (tensor<4x4xbf16> {{train.output = "y"}}) {{
  %y = npu.contract (m = 4, n = 4, k = {TERMS}) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [k : {TERMS // PARTS}, m : 2, n : 2] {{layer = "fc"}}
    : (tensor<4x{TERMS}xbf16>, tensor<{TERMS}x4xbf16>) -> tensor<4x4xbf16>
  func.return %y : tensor<4x4xbf16>
}}
"""
TRAINED = f"""
func.func @f(%x: tensor<4x{TERMS}xbf16> {{train.input = "x"}}, %w: tensor<{TERMS}x4xbf16> {{train.input = "w"}})
    -> (tensor<4x4xbf16> {{train.output = "y"}}) {{
  %y = train.matmul %x, %w {{layer = "fc"}} : (tensor<4x{TERMS}xbf16>, tensor<{TERMS}x4xbf16>) -> tensor<4x4xbf16>
  func.return %y : tensor<4x4xbf16>
}}
"""


def data() -> dict[str, Array]:
    random = np.random.default_rng(0)
    x, w = random.normal(size=(4, TERMS)), random.normal(size=(TERMS, 4))
    return {"x": round_to_bfloat16(x), "w": round_to_bfloat16(w)}


def levels(bits: int | None, dtype: str | None = None) -> list[Array]:
    """The product at the levels train, npu and tiles, in sums that leave SPM 32 times."""
    overrides = {} if bits is None else {"array.accumulator_bits": bits}

    def run(text: str, pipeline: str | None) -> Run:
        return run_source(text, "mlir", inputs=data(), pipeline=pipeline, overrides=overrides, dtype=dtype)

    return [run(*one).outputs["y"] for one in ((TRAINED, None), (PRODUCT, None), (PRODUCT, "lower-tiles"))]


def exact() -> Array:
    arrays = data()
    return arrays["x"].astype(np.float64) @ arrays["w"].astype(np.float64)


@pytest.mark.parametrize("bits", [None, 32])
def test_sums_of_32_bits_are_rounded_once(bits: int | None) -> None:
    """A spill that is rounded to bf16 would err by more than half a unit in the last place of the result."""
    unit = 2.0 ** (np.floor(np.log2(np.abs(exact()))) - 7)
    for found in levels(bits):
        assert np.all(np.abs(found - exact()) <= 0.501 * unit)


def test_sums_of_16_bits_are_rounded_at_each_addition() -> None:
    arrays = data()
    total = np.zeros((4, 4), np.float32)
    for k in range(TERMS):
        total = round_to_bfloat16(total + np.outer(arrays["x"][:, k], arrays["w"][k]))
    for found in levels(16):
        np.testing.assert_array_equal(found, total)
    assert np.abs(total - exact()).max() > 4 * np.abs(levels(32)[0] - exact()).max()


def test_a_dtype_wins() -> None:
    for bits in (16, 32):
        for found in levels(bits, "float64"):
            np.testing.assert_allclose(found, exact(), rtol=1e-12, atol=1e-12)


def test_a_spill_is_not_rounded_to_the_result() -> None:
    """256 is a bf16 and 257 is none: the sum after the first visit, to which the second adds -1."""
    x, w = np.zeros((4, TERMS)), np.ones((TERMS, 4))
    x[:, 0], x[:, 1], x[:, 16], x[:, 17] = 256, 1, 1, -2
    for pipeline in (None, "lower-tiles"):
        y = run_source(PRODUCT, "mlir", inputs={"x": x, "w": w}, pipeline=pipeline).outputs["y"]
        np.testing.assert_array_equal(y, np.full((4, 4), 256.0))


def test_a_machine_without_schedules_says_so_of_its_accumulators() -> None:
    with pytest.raises(UsageError, match="which the backend 'cycle' needs"):
        run_source(PRODUCT, "mlir", inputs=data(), hardware="a100", overrides={"array.accumulator_bits": 16})
    with pytest.raises(UsageError, match="expected 16 or 32, got the integer 8"):
        run_source(PRODUCT, "mlir", inputs=data(), overrides={"array.accumulator_bits": 8})
