"""Which operations are alike, and that nothing is taken for granted of those that are not."""

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Region, SSAValue

from npuc.compiler.core.errors import SourceErrors
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp, YieldOp
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from npuc.dialects.provenance import Role, role_attr
from npuc.dialects.structural import structural_key
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.arithmetic import AddOp, AffineOp
from npuc.dialects.train.base import encode
from npuc.frontends import read_source

SQUARE = tensor_of(f32, [4, 4])
X, Y = AnyOp(result_types=[SQUARE, SQUARE]).results
(COLUMN,) = AnyOp(result_types=[tensor_of(f32, [4, 1])]).results
WRONG = """
func.func @n(%x: tensor<4xf32>) {
  %y = "train.add"(%x, %x) {layer = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  %z = "train.add"(%x, %x) {layer = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  func.return
}
"""


def test_operations_of_one_class_with_the_same_types_and_properties_are_alike() -> None:
    assert structural_key(AddOp(X, Y)) == structural_key(AddOp(Y, X)) == structural_key(AddOp(X, X)) is not None
    assert structural_key(AffineOp(X, scale=2.0)) == structural_key(AffineOp(Y, scale=2.0))


def test_operations_that_differ_are_not() -> None:
    late = AddOp(X, Y)
    late.attributes["role"] = role_attr(Role.DX)
    ops = [
        AddOp(X, Y),
        late,
        AddOp(X, COLUMN),
        AffineOp(X),
        AffineOp(X, scale=2.0),
        AffineOp(X, scale=2.0, offset=2.0),
        AffineOp(X, offset=2.0),
        VectorOp("relu", [X], [SQUARE], ops=16),
    ]
    assert len({structural_key(op) for op in ops}) == len(ops)


def test_operations_that_must_be_looked_at_have_no_likeness() -> None:
    assert structural_key(AnyOp(result_types=[SQUARE])) is None
    assert structural_key(VectorOp("relu", [X], [SQUARE], ops=16, fused=True)) is None


def in_turn(*values: SSAValue, spm: int | None = None) -> InterleaveOp:
    """Two products in turn, of the first and the second two values."""
    shapes = (("X", "mk"), ("W", "kn"), ("Y", "mn"))
    tensors = tuple(Tensor(name, (4, 4), tuple(Axis(((dim, 1),)) for dim in dims)) for name, dims in shapes)
    nest = Nest((("m", 4), ("n", 4), ("k", 4)), tensors[:2], tensors[2:], (None,), (Statement("Y", "X", "W"),))
    ops = [ContractOp(values[at : at + 2], nest, f32) for at in (0, 2)]
    return InterleaveOp(Region(Block([*ops, YieldOp([op.results[0] for op in ops])])), spm)


def test_what_is_inside_an_operation_counts() -> None:
    ops = [in_turn(X, Y, X, Y), in_turn(X, Y, Y, X), in_turn(X, X, X, X), in_turn(X, Y, X, Y, spm=90)]
    assert len({structural_key(op) for op in ops}) == len(ops)
    assert structural_key(ops[0]) == structural_key(in_turn(Y, X, Y, X)) is not None
    short = in_turn(X, Y, X, Y)
    short.contracts[0].schedule = Schedule((Loop("m", 2),))
    assert structural_key(short) != structural_key(ops[0])


def test_equal_types_that_are_not_shared_make_operations_unlike() -> None:
    (other,) = AnyOp(result_types=[TensorType(f32, [4, 4])]).results
    assert structural_key(AffineOp(other)) != structural_key(AffineOp(X))


def test_every_wrong_operation_is_reported() -> None:
    with pytest.raises(SourceErrors) as caught:
        verify_module(read_source(WRONG, format="mlir"), SourceTexts())
    assert len(caught.value.errors) == 2


def test_parameters_that_are_equal_in_python_only_have_attributes_of_their_own() -> None:
    values = [True, 1, 1.0, 0, 0.0, -0.0, (0,), (1, 0), "1"]
    texts = [str(encode(value)) for value in values]
    assert len(set(texts)) == len(texts)
    assert encode(-0.0) is encode(-0.0)
