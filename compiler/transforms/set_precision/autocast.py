"""
The float type in which an operation computes under mixed precision, as in
`torch.autocast("cuda", dtype=torch.bfloat16)`.

Source: the lists of PyTorch 2.13, `ATen/autocast_mode.h` (AT_FORALL_LOWER_PRECISION_FP, AT_FORALL_FP32,
AT_FORALL_FP32_SET_OPT_DTYPE) and its page "Automatic Mixed Precision package"; `docs/precision.md` has them as a table,
with what differs.
"""

from collections.abc import Mapping
from enum import Enum, auto

from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.arithmetic import AddOp, ConstantOp, DivOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.group_norm import GroupNormOp
from npuc.dialects.train.shape import ExpandOp, ReshapeOp


class Policy(Enum):
    """In which type an operation runs."""

    LOW = auto()
    """bf16: its float operands are cast to it."""
    WIDE = auto()
    """f32: its float operands are cast to it."""
    WIDEST = auto()
    """The widest type of its float operands, to which the others are cast."""
    INPUT = auto()
    """The type of its first operand; parameters and statistics beside it keep theirs."""
    RETURNED = auto()
    """f32, its result cast back to the type of its first operand."""
    AS_WRITTEN = auto()
    """Whatever types it says."""


_LOW = ("matmul", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu")
_WIDE = (
    *("tan", "asin", "acos", "sinh", "cosh", "log1p", "expm1", "log2", "log10"),
    *(
        "exp",
        "log",
        "rsqrt",
        "pow",
        "power",
        "softplus",
        "prod",
        "cumsum",
        "cumprod",
        "reduce",
        "softmax",
        "vector_norm",
    ),
    *("layer_norm", "rms_norm", "group_norm", "local_response_norm", "log_softmax", "resize"),
    *("upsample_nearest", "upsample_bilinear"),
    *("cross_entropy", "nll_loss", "mse", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "dot_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
_INPUT = ("batch_norm", "normalize", "channel_mean", "channel_var")
POLICIES: Mapping[str, Policy] = {
    **{f"train.{name}": Policy.LOW for name in _LOW},
    **{f"train.{name}": Policy.WIDE for name in _WIDE},
    **{f"train.{name}": Policy.INPUT for name in _INPUT},
    "train.roi_align": Policy.RETURNED,
    "train.cast": Policy.AS_WRITTEN,
    "train.ema": Policy.AS_WRITTEN,
}
"""The policy of an operation by its name; `WIDEST` for all others."""


def policies(ops: list[TrainOp]) -> dict[Operation, Policy]:
    """
    The policy of each forward operation, in their order.

    An addition of a bias to a product belongs to the product, as in `torch.nn.functional.linear`: it is one of the
    product's layer, or one of a vector of parameters, as recurrent cells have it.
    """
    found: dict[Operation, Policy] = {op: _own(op) for op in ops}
    low: set[SSAValue] = set()
    means = _means(ops)
    for op in ops:
        if op in means:
            found[op] = Policy.WIDEST
        if found[op] is Policy.LOW:
            low.update(op.results)
        elif isinstance(op, AddOp):
            _add(op, found, low)
    return found


def _own(op: TrainOp) -> Policy:
    if isinstance(op, DivOp) and isinstance(op.lhs.owner, ConstantOp) and not shape_of(op.lhs):
        return Policy.WIDE  # a number over a tensor is a reciprocal
    if isinstance(op, GroupNormOp) and not op.affine and op.groups.value.data == shape_of(op.x)[1]:
        return Policy.INPUT  # instance normalisation, which PyTorch computes as batch normalisation
    return POLICIES.get(op.name, Policy.WIDEST)


def _means(ops: list[TrainOp]) -> set[Operation]:
    """The sums that are part of a mean: an operation of the same layer scales them, and nothing else uses them."""
    found: set[Operation] = set()
    for op in ops:
        if op.name == "train.affine":
            total = op.operands[0]
            while isinstance(total.owner, ReshapeOp):
                total = total.owner.operands[0]
            owner = total.owner
            if isinstance(owner, TrainOp) and owner.name == "train.reduce" and layer_of(owner) == layer_of(op):
                found.add(owner)
    return found


def _add(op: AddOp, found: dict[Operation, Policy], low: set[SSAValue]) -> None:
    """Note the bias of a product."""
    if op.lhs in low and op.rhs in low:
        low.add(op.out)
    for product, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        chain = _of_parameters(added) if product in low else None
        if chain is None:
            continue
        owner = product.owner
        if (isinstance(owner, Operation) and layer_of(owner) == layer_of(op)) or _is_vector(added):
            found |= dict.fromkeys((op, *chain), Policy.LOW)
            low.add(op.out)


def _of_parameters(value: SSAValue) -> list[Operation] | None:
    """The views and sums that make a value of arguments of the function alone; None if it is made otherwise."""
    owner = value.owner
    if isinstance(value, BlockArgument):
        return []
    if not isinstance(owner, AddOp | ReshapeOp | ExpandOp):
        return None
    chain: list[Operation] = [owner]
    for operand in owner.operands:
        inner = _of_parameters(operand)
        if inner is None:
            return None
        chain += inner
    return chain


def _is_vector(value: SSAValue) -> bool:
    """Whether a tensor has one axis, beside axes of size 1."""
    return bool(shape_of(value)) and sum(size > 1 for size in shape_of(value)) <= 1
