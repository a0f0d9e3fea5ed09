"""Sparse element types: their text, what is refused, their bits on machines, and products of them."""

from fractions import Fraction

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, bf16, f32
from xdsl.dialects.func import Func
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.numbers import Numbers
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu import NPU, ContractOp
from npuc.dialects.npu.widths import PARTS, PLAIN, Widths, in_passes_of
from npuc.dialects.sparse import SparseType, dense_element, density_of, sparse_type
from npuc.dialects.sparse_formats import Bitmap, CompressedRows, Structured
from npuc.dialects.tensors import is_float

PRODUCT = """
func.func @f(%x: tensor<3x4x{lhs}>, %w: tensor<4x2x{rhs}>) -> tensor<3x2x{out}> {{
  %y = npu.contract (m = 3, n = 2, k = 4) ins(x = %x[m, k], w = %w[k, n]) outs(y[m, n]) do(y += x * w)
    : (tensor<3x4x{lhs}>, tensor<4x2x{rhs}>) -> tensor<3x2x{out}>
  func.return %y : tensor<3x2x{out}>
}}
"""
SPARSE = "!npu.sparse<bf16, 1/2, nm<2, 4, 0>>"


def context() -> Context:
    found = Context()
    for dialect in (Builtin, Func, NPU):
        found.load_dialect(dialect)
    return found


def product(lhs: str, rhs: str, out: str) -> ModuleOp:
    module = Parser(context(), PRODUCT.format(lhs=lhs, rhs=rhs, out=out)).parse_module()
    module.verify()
    return module


@pytest.mark.parametrize(
    "text",
    [
        "!npu.sparse<f32, 1/10, csr<512>>",
        "!npu.sparse<f32, 1/10, csc<512>>",
        "!npu.sparse<bf16, 1, bitmap>",
        "!npu.sparse<f64, 3/1000, rle<4>>",
        "!npu.sparse<f32, 1/2, nm<2, 4, 0, 1, indices>>",
        "!npu.sparse<!npu.bfp<4, 16, 3>, 1/8, blocks<3, 3>>",
    ],
)
def test_its_text_is_read_as_it_is_written(text: str) -> None:
    element = Parser(context(), text).parse_attribute()
    assert isinstance(element, SparseType)
    assert str(element) == text


def test_densities_are_brought_to_lowest_terms() -> None:
    assert Parser(context(), "!npu.sparse<f32, 2/20, bitmap>").parse_attribute() == sparse_type(
        f32, Fraction(1, 10), Bitmap()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!npu.sparse<f32, 0, bitmap>", "density of a sparse type is 0/1, expected above 0 and at most 1"),
        ("!npu.sparse<f32, 3/2, bitmap>", "density of a sparse type is 3/2, expected above 0 and at most 1"),
        ("!npu.sparse<f32, 1/4, nm<2, 4, 0>>", r"density of a sparse type is 1/4, nm<2, 4, 0> keeps 1/2"),
        ("!npu.sparse<i8, 1/4, bitmap>", r"values of a sparse type are i8, expected a float or !npu\.bfp"),
        ("!npu.sparse<!npu.sparse<f32, 1, bitmap>, 1/4, bitmap>", "values of a sparse type are !npu.sparse"),
    ],
)
def test_types_that_say_nonsense_are_refused(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        Parser(context(), text).parse_attribute()


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("1/0, bitmap", "a density is not divided by zero"),
        ("1/2, ellpack", "unknown format 'ellpack'; known: bitmap, csr<length>"),
        ("1/2, csr", "'csr' has 0 parameters; it is written csr<length>"),
        ("1/2, rle<13>", "is 1 to 12, got 13"),
        ("1/2, nm<5, 4, 0>", "keeps of a group is 1 to 4, got 5"),
    ],
)
def test_texts_of_no_format_are_refused_at_their_place(format: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        Parser(context(), f"!npu.sparse<f32, {format}>").parse_attribute()


def test_a_density_is_in_lowest_terms_however_it_is_made() -> None:
    plain = SparseType(f32, Fraction(1, 2), Bitmap())
    with pytest.raises(VerifyException, match="not in lowest terms, expected 1/2"):
        SparseType.new([f32, *(type(plain.kept)(number) for number in (2, 4)), plain.format_name])


def test_bits_are_those_of_values_and_metadata_on_each_machine() -> None:
    sparse = SparseType(f32, Fraction(1, 10), CompressedRows(512))
    for widths, bits in ((PLAIN, 32), (Widths(element_bytes=2), 16)):
        exact = Fraction(bits + 9, 10) + Fraction(32, 512)
        assert 0 <= widths.element_bits(sparse) - exact < Fraction(1, PARTS)
        assert (widths.element_bits(sparse) * PARTS).denominator == 1
    blocks = SparseType(BlockFloatType(4, 16, 3), Fraction(1, 2), Structured(2, 4))
    assert PLAIN.element_bits(blocks) == Fraction(83, 32) + Fraction(3, 4)


def test_what_is_dense_says_so() -> None:
    assert dense_element(bf16) == bf16
    assert density_of(bf16) == 1
    assert density_of(sparse_type(bf16, Fraction(1, 3), Bitmap())) == Fraction(1, 3)


@pytest.mark.parametrize("double", [False, True])
def test_products_of_sparse_operands_are_those_of_their_values(double: bool) -> None:
    module = product("f32", SPARSE, "f32")
    numbers = Numbers(double=double)
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(NpuFunctions(numbers))
    held = np.float64 if double else np.float32
    x, w = np.arange(12, dtype=held).reshape(3, 4), np.array([[0, 1], [2, 0], [0, 3], [4, 0]], held)
    (y,) = interpreter.call_op("f", (x, w))
    assert np.array_equal(y, x @ w)
    assert y.dtype == held


def test_values_are_held_as_those_of_their_type() -> None:
    sparse = sparse_type(bf16, Fraction(1, 2), Bitmap())
    for numbers in (Numbers(), Numbers(double=True)):
        value = np.array([1.00390625001, 0.0])
        assert np.array_equal(numbers.hold(value, sparse), numbers.hold(value, bf16))


def test_a_multiplier_takes_the_bits_of_a_value() -> None:
    (op,) = (op for op in product(SPARSE, "f32", "f32").walk() if isinstance(op, ContractOp))
    assert is_float(op.operands[0])
    assert in_passes_of(op.nest_attr.data, op, 8).statements[0].passes == 1 * 3


def test_sums_are_dense() -> None:
    with pytest.raises(VerifyException, match=r"y is a sum in !npu.sparse.*, as sums are dense"):
        product("f32", "f32", SPARSE)
    with pytest.raises(VerifyException, match="y is a sum of bf16 in i32, expected a type of floats"):
        product(SPARSE, "i8", "i32")
