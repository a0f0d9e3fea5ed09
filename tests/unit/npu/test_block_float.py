"""Block floating point as an element type: its text, its limits, its bits, and products of it in the interpreter."""

from fractions import Fraction

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    Builtin,
    Float8E4M3FNType,
    Float8E5M2Type,
    IndexType,
    ModuleOp,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.dialects.func import Func
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.numbers import Numbers
from npuc.dialects.blockfloat import SIGNIFICANDS, BlockFloatType, mantissa_bits
from npuc.dialects.npu import NPU

PRODUCT = """
func.func @f(%x: tensor<3x4x{lhs}>, %w: tensor<4x2x{rhs}>) -> tensor<3x2x{out}> {{
  %y = npu.contract (m = 3, n = 2, k = 4) ins(x = %x[m, k], w = %w[k, n]) outs(y[m, n]) do(y += x * w)
    : (tensor<3x4x{lhs}>, tensor<4x2x{rhs}>) -> tensor<3x2x{out}>
  func.return %y : tensor<3x2x{out}>
}}
"""


def context() -> Context:
    found = Context()
    for dialect in (Builtin, Func, NPU):
        found.load_dialect(dialect)
    return found


def product(lhs: str, rhs: str, out: str) -> ModuleOp:
    module = Parser(context(), PRODUCT.format(lhs=lhs, rhs=rhs, out=out)).parse_module()
    module.verify()
    return module


def test_its_text_is_read_as_it_is_written() -> None:
    text = "!npu.bfp<4, 16, 3>"
    element = Parser(context(), text).parse_attribute()
    assert element == BlockFloatType(4, 16, 3)
    assert str(element) == text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0, 16, 3), "mantissa of a block floating-point type is 0, expected 1 to 24"),
        ((25, 16, 3), "mantissa of a block floating-point type is 25, expected 1 to 24"),
        ((4, 0, 3), "group of a block floating-point type is 0, expected 1 to 4096"),
        ((4, 4097, 3), "group of a block floating-point type is 4097, expected 1 to 4096"),
        ((4, 16, 9), "exponent of a block floating-point type is 9, expected 1 to 8"),
    ],
)
def test_parameters_beyond_its_limits_are_refused(values: tuple[int, int, int], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        BlockFloatType(*values)


def test_a_value_has_its_share_of_the_exponent() -> None:
    assert BlockFloatType(4, 16, 3).bits == Fraction(83, 16)
    assert BlockFloatType(7, 1, 8).bits == 16


@pytest.mark.parametrize(
    ("element", "bits"),
    [
        (f64, 53),
        (f32, 24),
        (f16, 11),
        (bf16, 8),
        (Float8E4M3FNType(), 4),
        (Float8E5M2Type(), 3),
        (i8, 8),
        (i32, 32),
        (IndexType(), 64),
        (BlockFloatType(2, 16, 3), 2),
    ],
)
def test_bits_that_a_multiplier_takes(element: Attribute, bits: int) -> None:
    assert mantissa_bits(element) == bits


def test_significands_agree_with_numpy() -> None:
    known = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    assert {name: np.finfo(dtype).nmant + 1 for name, dtype in known.items()} == {n: SIGNIFICANDS[n] for n in known}


@pytest.mark.parametrize("double", [False, True])
def test_products_of_blocks_are_sums_of_floats(double: bool) -> None:
    module = product("!npu.bfp<4, 16, 3>", "!npu.bfp<2, 8, 4>", "f32")
    numbers = Numbers(double=double)
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(NpuFunctions(numbers))
    held = numbers.dtype(BlockFloatType(4, 16, 3))
    assert held == (np.float64 if double else np.float32)
    x, w = np.arange(12, dtype=held).reshape(3, 4), np.arange(8, dtype=held).reshape(4, 2)
    (y,) = interpreter.call_op("f", (x, w))
    assert np.array_equal(y, x @ w)
    assert y.dtype == held


def test_other_factors_meet_blocks() -> None:
    product("!npu.bfp<4, 16, 3>", "f8E4M3FN", "bf16")


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (("f32", "f32", "!npu.bfp<4, 16, 3>"), "y is a sum in !npu.bfp<4, 16, 3>, expected a type of floats"),
        (("!npu.bfp<4, 16, 3>", "i8", "i32"), "y is a sum of !npu.bfp<4, 16, 3> in i32, expected a type of floats"),
    ],
)
def test_sums_are_not_held_in_blocks(types: tuple[str, str, str], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        product(*types)
