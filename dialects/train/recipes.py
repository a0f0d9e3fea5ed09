"""
What recipes of N:M training add to pruning: masks that fade in, and a pull of pruned weights towards zero.

Sources: masks whose dropped weights fade: Kao et al., "Training recipe for N:M structured sparsity with decaying
pruning mask", 2022 (arXiv 2209.07617); SR-STE: Zhou et al., "Learning N:M fine-grained structured sparse neural
networks from scratch", ICLR 2021 (arXiv 2102.04010).
"""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, f32, f64, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_float, check_scalar

LINEAR, EXPONENTIAL = DECAYS = ("linear", "exponential")
"""How what a mask drops fades: in so many steps, or by a rate."""


@irdl_op_definition
class MaskDecayOp(TrainOp):
    """
    The factor of what a mask drops in a step: 1 before `start`, from then on falling to 0.

    linear: 1 - (step - start) / steps, at least 0; exponential: e^(-rate (step - start)).

        %beta = train.mask_decay %step kind "linear" start 10 steps 100 : (tensor<i64>) -> tensor<f32>
    """

    name = "train.mask_decay"

    step = operand_def(TensorType)
    kind = prop_def(StringAttr, default_value=StringAttr(LINEAR))
    start = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    steps = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    rate = prop_def(FloatAttr, default_value=FloatAttr(1.0, f64))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(step: Tensor, *, kind: str = LINEAR, start: int = 0, steps: int = 1, rate: float = 1.0) -> Types:
        """A scalar of f32; a start of at least 0, steps of at least 1, a rate above 0."""
        check_scalar("step", step)
        if kind not in DECAYS:
            raise VerifyException(f"kind is '{kind}', expected {' or '.join(DECAYS)}")
        if start < 0 or steps < 1 or not rate > 0:
            raise VerifyException(
                f"start is {start}, steps {steps} and rate {rate}, expected at least 0, at least 1 and above 0"
            )
        return (tensor_of(f32, ()),)


@irdl_op_definition
class SrSteOp(TrainOp):
    """
    A gradient with the pull of SR-STE: grad + strength * w where the N:M mask of w drops it, grad elsewhere.

    The mask is that of `train.prune` with the pattern n:m: the `kept` largest of each `of` along `axis`, and `across`.

        %g = train.sr_ste %grad, %w strength 0.0002 axis 0 kept 2 of 4
            : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    """

    name = "train.sr_ste"

    grad = operand_def(TensorType)
    param = operand_def(TensorType)
    strength = prop_def(FloatAttr)
    axis = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    across = opt_prop_def(IntegerAttr)
    kept = prop_def(IntegerAttr)
    of = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        grad: Tensor,
        param: Tensor,
        *,
        strength: float,
        kept: int,
        of: int,
        axis: int = 0,
        across: int | None = None,
    ) -> Types:
        """The type of the gradient, which has the shape of the weights; a strength of at least 0, axes of w."""
        check_float(grad)
        shape = param.get_shape()
        if grad.get_shape() != shape:
            raise VerifyException(f"grad has shape {list(grad.get_shape())}, expected {list(shape)} as the weights")
        if strength < 0:
            raise VerifyException(f"strength is {strength}, expected at least 0")
        if not 1 <= kept <= of:
            raise VerifyException(f"kept is {kept} of {of}, expected 1 to {of}")
        for name, one in (("axis", axis), ("across", across)):
            if one is not None and not 0 <= one < len(shape):
                raise VerifyException(f"{name} is {one}, expected one of w, which has {len(shape)}")
        return (grad,)
