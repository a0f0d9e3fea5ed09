"""Constants: tensors that are known at compile time."""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, f64, i1
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, element_text, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float, integer_range


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


def _check_count(out: Tensor, values: tuple[float, ...]) -> None:
    if len(values) != prod(out.get_shape()):
        raise VerifyException(f"the result is {shape_text(out)}, found {len(values)} values")


@irdl_op_definition
class IntegersOp(TrainOp):
    """
    A tensor of given integers or booleans, in row-major order.

        %y = train.integers values [0, -2, 1] : () -> tensor<3xi32>
    """

    name = "train.integers"
    TAKES_RESULT: ClassVar[bool] = True

    values = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, values: tuple[float, ...]) -> Types:
        """A tensor of integers or booleans with as many elements as values, which are integers of its type."""
        (out,) = results
        bounds = integer_range(out.element_type)
        if bounds is None:
            raise VerifyException(f"the result has element type {out.element_type}, expected integers")
        _check_count(out, values)
        wrong = next((v for v in values if not (isinstance(v, int) and bounds[0] <= v <= bounds[1])), None)
        if wrong is not None:
            element = element_text(out.element_type)
            raise VerifyException(f"found {wrong}, expected integers from {bounds[0]} to {bounds[1]} for {element}")
        return results


@irdl_op_definition
class ListedNumbersOp(TrainOp):
    """
    A tensor of given floating-point numbers, in row-major order.

        %y = train.numbers values [0.5, -2.0, 1.0, 0.0] : () -> tensor<2x2xf32>
    """

    name = "train.numbers"
    TAKES_RESULT: ClassVar[bool] = True

    values = prop_def(DenseArrayBase.constr(f64))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, values: tuple[float, ...]) -> Types:
        """A tensor of floats with as many elements as values, which are rounded to its type."""
        (out,) = results
        check_float(out)
        _check_count(out, values)
        if not all(isinstance(v, float) for v in values):
            raise VerifyException("found integers, expected numbers with a point, as in 1.0")
        return results


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
