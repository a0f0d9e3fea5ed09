"""
Operations and the ways to share their work, as text.

    matmul 8x12 12x4 -> 8x4        0 . -> 0; . 1 -> 1; 1 0 -> sum

A case is the operand shapes, `i` before those of integers and `b` before booleans, the result shapes, and each cut: for
every tensor the axis, `.` for one that is needed whole, or how the results of parts combine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import f64, i1, i32
from xdsl.ir import Block

from npuc.compiler.layers.base import Cut
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import Param, TrainOp

_ELEMENTS = {"i": i32, "b": i1}


@dataclass(frozen=True)
class Case:
    """An operation by kind, shapes and properties, and its cuts; `share`: its values lie between 0 and 1."""

    kind: str
    shapes: str
    cuts: str
    params: Mapping[str, Param] = field(default_factory=dict[str, Param])
    share: bool = False

    def build(self) -> TrainOp:
        """The operation, its operands the arguments of a block."""
        ins, outs = ([_type(text) for text in side.split()] for side in self.shapes.split("->"))
        kind = operation_of_kind(self.kind)
        assert kind is not None, self.kind
        op = kind(*Block(arg_types=ins).args, results=outs, **self.params)
        assert list(op.result_types) == outs, op
        return op

    def __str__(self) -> str:
        return f"{self.kind} {self.shapes}"


def _type(text: str) -> Tensor:
    element, shape = _ELEMENTS.get(text[0], f64), text.lstrip("ib")
    return tensor_of(element, [] if shape == "1." else list(map(int, shape.split("x"))))


def cut_text(cut: Cut) -> str:
    """A cut as a case writes it."""
    ins, outs = (" ".join("." if a is None else str(a) for a in side) for side in (cut.operands, cut.results))
    return f"{ins} -> {outs}".strip() + "".join(f" /{name}" for name in cut.divided)


def case(kind: str, shapes: str, cuts: str, *, share: bool = False, **params: Param) -> Case:
    """A case; a scalar's shape is `1.`."""
    return Case(kind, shapes, cuts, params, share)


_TRANSCENDENTAL = (
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "log1p", "expm1", "log2", "log10"),
)
_UNARY = (
    *("relu", "clip", "hard_sigmoid", "hard_swish", "leaky_relu", "affine", "cast", "detach"),
    *("exp", "log", "sqrt", "rsqrt", "abs", "sin", "cos", "erf"),
    *("gelu", "sigmoid", "tanh", "silu", "softplus", "mish", "elu"),
    *("floor", "ceil", "round", "trunc", "sign", *_TRANSCENDENTAL),
)
_UNARY_GRADS = (
    *("relu", "clip", "hard_sigmoid", "hard_swish", "leaky_relu", "sqrt", "rsqrt", "abs", "sin", "cos", "erf"),
    *("gelu", "sigmoid", "tanh", "silu", "softplus", "mish", "elu", *_TRANSCENDENTAL),
)
_BINARY = (
    *("add", "sub", "mul", "div", "pow", "max", "min", "remainder", "fmod"),
    *("atan2", "hypot", "logaddexp", "copysign"),
)
_BINARY_GRADS = ("max", "min", "atan2", "hypot", "logaddexp", "copysign")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
_COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_ADAMS = ("adam", "adamw", "adamax", "nadam")
_TWO: Mapping[str, Param] = {"stride": (2, 2)}
_PAIRS = ("mse", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "kl_div")

ELEMENTWISE = (
    *(case(kind, "4x12 -> 4x12", "0 -> 0; 1 -> 1") for kind in _UNARY),
    case("power", "4x12 -> 4x12", "0 -> 0; 1 -> 1", exponent=2.0),
    case("power_grad", "4x12 4x12 -> 4x12", "0 0 -> 0; 1 1 -> 1", exponent=2.0),
    *(case(f"{kind}_grad", "4x12 4x12 -> 4x12", "0 0 -> 0; 1 1 -> 1") for kind in _UNARY_GRADS),
    *(case(kind, "4x1x6 8x1 -> 4x8x6", "0 . -> 0; . 0 -> 1; 2 . -> 2") for kind in _BINARY),
    *(case(kind, "4x1x6 8x1 -> b4x8x6", "0 . -> 0; . 0 -> 1; 2 . -> 2") for kind in _COMPARE),
    *(case(f"{kind}_grad", "4x8 4x1 8 -> 4x8", "0 0 . -> 0; 1 . 0 -> 1") for kind in _BINARY_GRADS),
    case("logical_and", "b4x1 b6 -> b4x6", "0 . -> 0; . 0 -> 1"),
    case("logical_or", "b4x1 b6 -> b4x6", "0 . -> 0; . 0 -> 1"),
    *(case(kind, "i4x1x6 i8x1 -> i4x8x6", "0 . -> 0; . 0 -> 1; 2 . -> 2") for kind in _BITS),
    case("bitwise_not", "i4x6 -> i4x6", "0 -> 0; 1 -> 1"),
    *(case(kind, "4x6 -> b4x6", "0 -> 0; 1 -> 1") for kind in ("isnan", "isinf", "isfinite")),
    case("logical_not", "b4x6 -> b4x6", "0 -> 0; 1 -> 1"),
    case("where", "b4x1 8 1. -> 4x8", "0 . . -> 0; . 0 . -> 1"),
    case("expand", "4x1 -> 2x4x6", ". -> 0; 0 -> 1; . -> 2"),
    case("constant", "-> 4x6", "-> 0; -> 1", value=0.5),
    case("ema", "8 8 -> 8", "0 0 -> 0"),
    case("rescale", "i8x6 1. 1. -> 8x6", "0 . . -> 0; 1 . . -> 1"),
    case("dropout", "8x6 i1. -> 8x6", "", p=0.5, seed=3),
    case("dropout", "8x6 i1. i8x1 i6 -> 8x6", "0 . 0 . -> 0; 1 . . 0 -> 1", p=0.5, seed=3, axes=(0, 1), of=(16, 6)),
    case("dropout", "8x4x6 i1. i4x1 -> 8x4x6", "1 . 0 -> 1", p=0.5, seed=3, axes=(1,), of=(8, 12, 6)),
    case("prelu", "4x8x6 8 -> 4x8x6", "0 . -> 0; 1 0 -> 1; 2 . -> 2"),
)
UPDATES = (
    case("sgd", "4x6 4x6 -> 4x6", "0 0 -> 0; 1 1 -> 1", lr=0.5),
    case("sgd", "4x6 4x6 4x6 -> 4x6 4x6", "0 0 0 -> 0 0; 1 1 1 -> 1 1", lr=0.5, momentum=0.5),
    *(case(kind, "4 4 4 4 i1. -> 4 4 4", "0 0 0 0 . -> 0 0 0", lr=0.5) for kind in _ADAMS),
    case("adadelta", "4 4 4 4 -> 4 4 4", "0 0 0 0 -> 0 0 0", lr=0.5),
    *(case(kind, "4 4 4 -> 4 4", "0 0 0 -> 0 0", lr=0.5) for kind in ("rmsprop", "adagrad", "lion")),
)
PRODUCTS = (
    case("matmul", "8x12 12x4 -> 8x4", "0 . -> 0; . 1 -> 1; 1 0 -> sum"),
    case("matmul", "12x8 4x12 -> 8x4", "1 . -> 0; . 0 -> 1; 0 1 -> sum", transpose_lhs=True, transpose_rhs=True),
    case("matmul", "4x2x8x12 2x12x6 -> 4x2x8x6", "0 . -> 0; 1 0 -> 1; 2 . -> 2; . 2 -> 3; 3 1 -> sum"),
    case(
        "matmul", "4x8x12 4x8x6 -> 12x6", "2 . -> 0; . 2 -> 1; 0 0 -> sum; 1 1 -> sum", transpose_lhs=True, names="X dY"
    ),
    case("conv1d", "4x6x9 8x6x3 -> 4x8x7", "0 . -> 0; . 0 -> 1; 1 1 -> sum"),
    case("conv2d", "4x6x8x8 12x6x3x3 -> 4x12x8x8", "0 . -> 0; . 0 -> 1; 1 1 -> sum", padding=(1, 1, 1, 1)),
    case("conv2d", "4x8x6x6 8x1x3x3 -> 4x8x4x4", "0 . -> 0; 1 0 -> 1 /groups", groups=8),
    case("conv2d", "4x8x6x6 16x2x3x3 -> 4x16x4x4", "0 . -> 0; 1 0 -> 1 /groups", groups=4),
    case("conv2d", "4x6x12x8 8x6x1x1 -> 4x8x12x8", "0 . -> 0; . 0 -> 1; 2 . -> 2; 3 . -> 3; 1 1 -> sum"),
    case("conv2d", "4x3x12x8 8x3x3x2 -> 4x8x4x4", "0 . -> 0; . 0 -> 1; 2 . -> 2; 3 . -> 3; 1 1 -> sum", stride=(3, 2)),
    case("conv2d", "4x6x4x6 8x6x4x6 -> 4x8x1x1", "0 . -> 0; . 0 -> 1; 1 1 -> sum; 2 2 -> sum; 3 3 -> sum"),
    case("conv3d", "4x6x3x4x4 8x6x3x3x3 -> 4x8x1x2x2", "0 . -> 0; . 0 -> 1; 1 1 -> sum; 2 2 -> sum"),
    case("conv2d_dx", "4x12x8x8 12x6x3x3 -> 4x6x10x10", "0 . -> 0; . 1 -> 1; 1 0 -> sum"),
    case("conv2d_dw", "4x6x8x8 4x12x6x6 -> 12x6x3x3", ". 1 -> 0; 1 . -> 1; 0 0 -> sum"),
    case("conv1d_dx", "4x8x7 8x6x3 -> 4x6x9", "0 . -> 0; . 1 -> 1; 1 0 -> sum"),
    case("conv1d_dw", "4x6x9 4x8x7 -> 8x6x3", ". 1 -> 0; 1 . -> 1; 0 0 -> sum"),
    case("conv3d_dx", "4x8x1x2x2 8x6x3x3x3 -> 4x6x3x4x4", "0 . -> 0; . 1 -> 1; . 2 -> 2; 1 0 -> sum"),
    case("conv3d_dw", "4x6x3x4x4 4x8x1x2x2 -> 8x6x3x3x3", ". 1 -> 0; 1 . -> 1; 2 . -> 2; 0 0 -> sum"),
    case("conv_transpose1d", "4x6x7 6x8x3 -> 4x8x9", "0 . -> 0; . 1 -> 1; 1 0 -> sum"),
    case("conv_transpose2d", "4x6x4x4 6x2x3x3 -> 4x4x6x6", "0 . -> 0; 1 0 -> 1 /groups", groups=2),
    case(
        "conv_transpose2d",
        "4x6x4x4 6x8x2x2 -> 4x8x8x8",
        "0 . -> 0; . 1 -> 1; 2 . -> 2; 3 . -> 3; 1 0 -> sum",
        stride=(2, 2),
    ),
    case("conv_transpose1d_dx", "4x8x9 6x8x3 -> 4x6x7", "0 . -> 0; . 0 -> 1; 1 1 -> sum"),
    case("conv_transpose1d_dw", "4x6x7 4x8x9 -> 6x8x3", "1 . -> 0; . 1 -> 1; 0 0 -> sum"),
    case("conv_transpose3d", "4x6x2x4x4 6x2x1x3x3 -> 4x4x2x6x6", "0 . -> 0; 1 0 -> 1 /groups; 2 . -> 2", groups=2),
    case("conv_transpose3d_dx", "4x8x2x6x6 6x8x2x3x3 -> 4x6x1x4x4", "0 . -> 0; . 0 -> 1; 1 1 -> sum; 2 2 -> sum"),
    case("conv_transpose3d_dw", "4x6x2x4x4 4x8x4x6x6 -> 6x8x3x3x3", "1 . -> 0; . 1 -> 1; 0 0 -> sum"),
    case("conv_transpose2d_dx", "4x8x6x6 6x8x3x3 -> 4x6x4x4", "0 . -> 0; . 0 -> 1; 1 1 -> sum"),
    case("conv_transpose2d_dw", "4x6x4x4 4x8x6x6 -> 6x8x3x3", "1 . -> 0; . 1 -> 1; 0 0 -> sum"),
)
REDUCTIONS = (
    case("reduce", "4x6x8 -> 6x1", "1 -> 0; 0 -> sum; 2 -> sum"),
    case("var", "4x6x8 -> 4x1x8", "0 -> 0; 2 -> 2", axes=(1,), correction=1.0),
    case("prod", "4x6x8 -> 1x6x1", "1 -> 1", axes=(0, 2)),
    case("cumsum", "4x6x8 -> 4x6x8", "0 -> 0; 2 -> 2", axis=-2),
    *(case(kind, "4x6x8 -> 4x6x8", "0 -> 0; 2 -> 2", axis=-2) for kind in ("cumprod", "logcumsumexp")),
    *(case(kind, "4x6x8 -> 4x6x8 i4x6x8", "0 -> 0 0; 2 -> 2 2", axis=1) for kind in ("cummax", "cummin")),
    case("cumprod_grad", "4x6x8 4x6x8 -> 4x6x8", "0 0 -> 0; 2 2 -> 2", axis=1),
    case("logcumsumexp_grad", "4x6x8 4x6x8 4x6x8 -> 4x6x8", "0 0 0 -> 0; 2 2 2 -> 2", axis=1),
    case("vector_norm", "4x6x8 -> 4x1x8", "0 -> 0; 2 -> 2", axes=(1,)),
    case("vector_norm_grad", "4x1x8 4x6x8 4x1x8 -> 4x6x8", "0 0 0 -> 0; 2 2 2 -> 2", order=3.0),
    *(case(kind, "4x6x8 -> 1x6x8", "1 -> 1; 2 -> 2", axes=(0,)) for kind in ("amax", "amin")),
    *(case(kind, "4x6x8 -> i4x6x1", "0 -> 0; 1 -> 1", axis=-1) for kind in ("argmax", "argmin")),
    *(case(kind, "4x6x8 -> 4x6x8", "0 -> 0; 1 -> 1") for kind in ("softmax", "log_softmax")),
)
LOSSES = (
    *(case(kind, "4x12 4x12 -> 1.", "0 0 -> mean; 1 1 -> mean") for kind in _PAIRS),
    *(case(kind, "4x12 4x12 -> 1.", "0 0 -> sum; 1 1 -> sum", reduction="sum") for kind in _PAIRS),
    case("kl_div", "4x12 4x12 -> 1.", "0 0 -> mean; 1 1 -> sum", reduction="batchmean"),
    case("binary_cross_entropy", "4x12 4x12 -> 1.", "0 0 -> mean; 1 1 -> mean", share=True),
    case("dot_loss", "4x12 4x12 -> 1.", "0 0 -> sum; 1 1 -> sum"),
    *(case(kind, "4x6x5 i4x6 -> 1.", "0 0 -> mean; 1 1 -> mean") for kind in ("cross_entropy", "nll_loss")),
    case("cross_entropy", "4x6x5 i4x6 -> 1.", "", ignore_index=1),
    case("cross_entropy", "4x6x5 i4x6 -> 1.", "0 0 -> sum; 1 1 -> sum", ignore_index=1, reduction="sum"),
    case("nll_loss", "4x6x5 i4x6 -> 1.", "", ignore_index=1),
)
NORMS = (
    case("batch_norm", "4x8x6 8 8 -> 4x8x6 8 8", "1 0 0 -> 1 0 0"),
    case("normalize", "4x8x6 8 8 -> 4x8x6", "0 . . -> 0; 1 0 0 -> 1; 2 . . -> 2"),
    case("channel_mean", "4x8x6 -> 8", "1 -> 0; 0 -> mean; 2 -> mean"),
    case("channel_var", "4x8x6 8 -> 8", "1 0 -> 0; 0 . -> mean; 2 . -> mean"),
    case("layer_norm", "4x6x2x8 2x8 -> 4x6x2x8 4x6 4x6", "0 . -> 0 0 0; 1 . -> 1 1 1"),
    case("rms_norm", "4x6x8 8 -> 4x6x8 4x6", "0 . -> 0 0; 1 . -> 1 1"),
    case("group_norm", "4x12x5 12 12 -> 4x12x5 4x6 4x6", "0 . . -> 0 0 0; 1 0 0 -> 1 1 1 /groups", groups=6),
    case("group_norm", "4x12x5 -> 4x12x5 4x1 4x1", "0 -> 0 0 0"),
    case("local_response_norm", "4x8x6 -> 4x8x6", "0 -> 0; 2 -> 2", size=3),
)
IMAGES = (
    case("max_pool", "4x6x8x8 -> 4x6x4x4", "0 -> 0; 1 -> 1", kernel=(2, 2), stride=(2, 2)),
    case("avg_pool", "4x6x8x8 -> 4x6x8x8", "0 -> 0; 1 -> 1", kernel=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1)),
    case("adaptive_avg_pool", "4x6x8x8 -> 4x6x3x3", "0 -> 0; 1 -> 1", size=(3, 3)),
    case("adaptive_max_pool", "4x6x8x8 -> 4x6x8x8", "0 -> 0; 1 -> 1", size=(8, 8)),
    case("adaptive_avg_pool_grad", "4x6x3x3 -> 4x6x8x8", "0 -> 0; 1 -> 1"),
    case("adaptive_max_pool_grad", "4x6x3x3 4x6x8x8 -> 4x6x8x8", "0 0 -> 0; 1 1 -> 1"),
    case("upsample_nearest", "4x6x2x2 -> 4x6x4x4", "0 -> 0; 1 -> 1", size=(4, 4)),
    case("upsample_bilinear", "4x6x2x2 -> 4x6x4x4", "0 -> 0; 1 -> 1", size=(4, 4)),
    case("resize", "4x6x2 -> 4x6x4", "0 -> 0; 1 -> 1", size=(4,), scales=(0.0,)),
    case("resize_grad", "4x6x4x3 -> 4x6x2x2", "0 -> 0; 1 -> 1", scales=(0.0, 0.0), cubic=True),
    case("grid_sample", "4x6x5x5 4x2x8x2 -> 4x6x2x8", "0 0 -> 0; 1 . -> 1; . 1 -> 2; . 2 -> 3"),
    case("grid_sample_dx", "4x6x2x8 4x2x8x2 -> 4x6x5x5", "0 0 -> 0; 1 . -> 1"),
    case("grid_sample_dgrid", "4x6x2x8 4x6x5x5 4x2x8x2 -> 4x2x8x2", "0 0 0 -> 0; 2 . 1 -> 1; 3 . 2 -> 2"),
    case(
        "opaque", "8x6 6x4 -> 8x4", "0 . -> 0 /macs /grad_macs", operator="f", macs=64, grad_macs=128, batch=(0, -1, 0)
    ),
    case("opaque", "8x6 6x4 -> 8x4", "", operator="f", macs=64),
    case("opaque", "8x6 6x4 -> 8x4", "", operator="f", macs=63, batch=(0, -1, 0)),
    case(
        "opaque_grad",
        "8x6 6x4 8x4 -> 8x6 6x4",
        "0 . 0 -> 0 sum /macs",
        operator="f",
        macs=64,
        of=(0, 1),
        batch=(0, -1, 0, 0, -1),
    ),
    case("roi_align", "2x6x4x4 8x5 -> 8x6x2x2", ". 0 -> 0; 1 . -> 1", share=True, size=(2, 2)),
)
LOOKUPS = (
    case("embedding", "i4x6 5x8 -> 4x6x8", "0 . -> 0; 1 . -> 1; . 1 -> 2"),
    case("embedding", "i4x6 10x8 i2 -> 4x6x8", "0 . . -> 0; 1 . . -> 1; . 1 . -> 2; . 0 0 -> sum", of=10),
    case(
        "embedding",
        "i4x6 20x8 i4x2 -> 4x6x8",
        "0 0 0 -> 0 /groups; 1 . . -> 1; . 1 . -> 2",
        groups=4,
    ),
    case("one_hot", "i4x6 -> 4x6x5", "0 -> 0; 1 -> 1"),
    case("index_select", "4x5x8 i6 -> 4x6x8", "0 . -> 0; . 0 -> 1; 2 . -> 2", axis=-2),
    case("sort", "4x5x8 -> 4x5x8 i4x5x8", "0 -> 0 0; 2 -> 2 2", axis=1),
    case("argsort", "4x5x8 -> i4x5x8", "0 -> 0; 1 -> 1", axis=-1),
    case("topk", "4x6x8 -> 4x3x8 i4x3x8", "0 -> 0 0; 2 -> 2 2", axis=-2, k=3),
    case("index", "4x5x8 i6x2x1 i1x2x1 -> 6x2x8", ". 0 . -> 0; . 1 1 -> 1; 2 . . -> 2", axes=(-1, -1, 2)),
    case("index", "4x5x8 i4x6 -> 4x6", "0 0 -> 0", axes=(0, -1, 1)),
    case("index_put", "4x5x8 6x4x8 i6x4x1 -> 4x5x8", "0 1 1 -> 0; 2 2 . -> 2", axes=(1, -1, 2)),
    case("index_reduce", "4x5x8 4x6x6 i4x6x6 -> 4x5x8", "0 0 0 -> 0", axes=(0, -1, 2), reduce="max"),
    case("gather", "4x5x8 i4x6x6 -> 4x6x6", "0 0 -> 0; . 1 -> 1", axis=1),
)
SHAPES = (
    case("reshape", "4x6x8 -> 24x8", "0 -> 0; 2 -> 1"),
    case("reshape", "24x8 -> 4x6x8", "0 -> 0; 1 -> 2"),
    case("reshape", "4x6x2x2 -> 4x24", "0 -> 0; 1 -> 1"),
    case("reshape", "4x24 -> 4x1x6x2x2", "0 -> 0; 1 -> 2"),
    case("reshape", "12x4 -> 8x6", "0 -> 0"),
    case("reshape", "3x4 -> 4x3", ""),
    case("transpose", "4x6x8 -> 8x4x6", "2 -> 0; 0 -> 1; 1 -> 2", axes=(2, 0, 1)),
    case("concat", "4x3x8 4x5x8 -> 4x8x8", "0 0 -> 0; 2 2 -> 2", axis=-2),
    case("split", "4x8x6 -> 4x3x6 4x5x6", "0 -> 0 0; 2 -> 2 2", sizes=(3, 5), axis=1),
    case("stack", "4x6 4x6 -> 4x2x6", "0 0 -> 0; 1 1 -> 2", axis=1),
    case("unbind", "4x2x6 -> 4x6 4x6", "0 -> 0 0; 2 -> 1 1", axis=1),
    case("slice_put", "4x8x6 4x4x6 -> 4x8x6", "0 0 -> 0; 2 2 -> 2", starts=(0, 1, 0), steps=(1, 2, 1)),
    case("slice", "4x8x6 -> 4x4x6", "0 -> 0; 2 -> 2", starts=(0, 0, 0), steps=(1, 2, 1)),
    case("pad", "4x4x6 -> 4x8x6", "0 -> 0; 2 -> 2", starts=(0, 1, 0)),
    case("border_pad", "4x4x6 -> 4x8x6", "0 -> 0; 2 -> 2", starts=(0, 2, 0), mode="reflect"),
    case("flip", "4x8x6 -> 4x8x6", "0 -> 0; 2 -> 2", axes=(1,)),
    case("roll", "4x8x6 -> 4x8x6", "0 -> 0; 2 -> 2", axes=(1,), shifts=(3,)),
    case("triangle", "4x8x6 -> 4x8x6", "0 -> 0"),
)
CASES = (*ELEMENTWISE, *UPDATES, *PRODUCTS, *REDUCTIONS, *LOSSES, *NORMS, *IMAGES, *LOOKUPS, *SHAPES)
