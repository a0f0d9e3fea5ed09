"""
The `chlo` dialect: functions of elements that StableHLO has no operation for, and what JAX exports of it beside these.

Its operations stand in exported programs until a compiler decomposes them.
"""

from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, IntegerAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.base import BinaryOp, TestOp, UnaryOp
from npuc.dialects.stablehlo.rules import check_shape
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class IsInfOp(TestOp):
    """
    Whether each element is infinite.

        %y = "chlo.is_inf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "chlo.is_inf"


@irdl_op_definition
class IsNegInfOp(TestOp):
    """
    Whether each element is minus infinity.

        %y = "chlo.is_neg_inf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "chlo.is_neg_inf"


@irdl_op_definition
class IsPosInfOp(TestOp):
    """
    Whether each element is plus infinity.

        %y = "chlo.is_pos_inf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "chlo.is_pos_inf"


@irdl_op_definition
class AcosOp(UnaryOp):
    """
    The angle from 0 to pi whose cosine is the operand.

        %y = "chlo.acos"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """
    The inverse of the hyperbolic cosine, from 0.

        %y = "chlo.acosh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(UnaryOp):
    """
    The angle from -pi/2 to pi/2 whose sine is the operand.

        %y = "chlo.asin"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """
    The inverse of the hyperbolic sine.

        %y = "chlo.asinh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(UnaryOp):
    """
    The angle from -pi/2 to pi/2 whose tangent is the operand.

        %y = "chlo.atan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(UnaryOp):
    """
    The inverse of the hyperbolic tangent.

        %y = "chlo.atanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.atanh"


@irdl_op_definition
class BesselI1eOp(UnaryOp):
    """
    The modified Bessel function of order 1, times exp(-|x|).

        %y = "chlo.bessel_i1e"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.bessel_i1e"


@irdl_op_definition
class CoshOp(UnaryOp):
    """
    The hyperbolic cosine.

        %y = "chlo.cosh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.cosh"


@irdl_op_definition
class DigammaOp(UnaryOp):
    """
    The derivative of lgamma.

        %y = "chlo.digamma"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.digamma"


@irdl_op_definition
class ErfOp(UnaryOp):
    """
    The error function.

        %y = "chlo.erf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.erf"


@irdl_op_definition
class ErfInvOp(UnaryOp):
    """
    The inverse of the error function.

        %y = "chlo.erf_inv"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.erf_inv"


@irdl_op_definition
class ErfcOp(UnaryOp):
    """
    1 less the error function, exact for large operands.

        %y = "chlo.erfc"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.erfc"


@irdl_op_definition
class LgammaOp(UnaryOp):
    """
    The logarithm of the absolute value of the gamma function.

        %y = "chlo.lgamma"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.lgamma"


@irdl_op_definition
class SinhOp(UnaryOp):
    """
    The hyperbolic sine.

        %y = "chlo.sinh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.sinh"


@irdl_op_definition
class SquareOp(UnaryOp):
    """
    The operand times itself.

        %y = "chlo.square"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.square"


@irdl_op_definition
class TangentOp(UnaryOp):
    """
    The tangent of an angle in radians.

        %y = "chlo.tan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.tan"


@irdl_op_definition
class NextAfterOp(BinaryOp):
    """
    The next float after the left operand on the way to the right one.

        %y = "chlo.next_after"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "chlo.next_after"


@irdl_op_definition
class TopKOp(IRDLOperation):
    """
    The largest elements along the last axis, and where they are, the largest first.

        %values, %places = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    """

    name = "chlo.top_k"

    operand = operand_def(TensorType)
    k = prop_def(IntegerAttr[I64])
    values = result_def(TensorType)
    indices = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The last axis is at least `k` long; both results have `k` elements along it."""
        *before, last = shape_of(self.operand) or (0,)
        k = self.k.value.data
        if not 0 <= k <= last and last != DYNAMIC_INDEX:
            raise VerifyException(f"expected at most {last} elements, got k = {k}")
        check_shape(self.values, (*before, k))
        check_shape(self.indices, (*before, k))


CHLO = Dialect(
    "chlo",
    [
        IsInfOp,
        IsNegInfOp,
        IsPosInfOp,
        AcosOp,
        AcoshOp,
        AsinOp,
        AsinhOp,
        AtanOp,
        AtanhOp,
        BesselI1eOp,
        CoshOp,
        DigammaOp,
        ErfOp,
        ErfInvOp,
        ErfcOp,
        LgammaOp,
        SinhOp,
        SquareOp,
        TangentOp,
        NextAfterOp,
        TopKOp,
    ],
)
