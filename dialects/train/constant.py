"""Constants: tensors that are known at compile time."""

from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode


@irdl_op_definition
class ArangeOp(TrainOp):
    """
    start + i step.

        %y = train.arange : () -> tensor<4xi64>
    """

    name = "train.arange"
    TAKES_RESULT: ClassVar[bool] = True

    start = prop_def(FloatAttr, default_value=encode(0.0))
    step = prop_def(FloatAttr, default_value=encode(1.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, start: float = 0.0, step: float = 1.0) -> Types:
        """A vector of any type."""
        (out,) = results
        if len(out.get_shape()) != 1:
            raise VerifyException(f"the result is {shape_text(out)}, expected a vector")
        return (out,)


@irdl_op_definition
class IntegersOp(TrainOp):
    """
    A vector of integers.

        %y = train.integers values [0, -2, 1] : () -> tensor<3xi32>
    """

    name = "train.integers"
    TAKES_RESULT: ClassVar[bool] = True

    values = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, values: tuple[int, ...]) -> Types:
        """A vector of integers, as many as values."""
        (out,) = results
        element = out.element_type
        if not isinstance(element, IntegerType):
            raise VerifyException(f"the result has element type {element}, expected integers")
        return (tensor_of(cast(Attribute, element), [len(values)]),)


@irdl_op_definition
class CausalMaskOp(TrainOp):
    """
    True at [i, j] where j <= i + offset.

        %y = train.causal_mask : () -> tensor<4x4xi1>
    """

    name = "train.causal_mask"
    TAKES_RESULT: ClassVar[bool] = True

    offset = prop_def(IntegerAttr, default_value=encode(0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, offset: int = 0) -> Types:
        """A matrix of booleans."""
        (out,) = results
        if len(out.get_shape()) != 2:
            raise VerifyException(f"the result is {shape_text(out)}, expected a matrix")
        return (tensor_of(i1, out.get_shape()),)
