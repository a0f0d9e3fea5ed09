"""
Group and instance normalisation: y = gamma (x - mean) / sqrt(var + eps) + beta, statistics of groups of channels.

The derivatives are those of layer normalisation, with a group of channels of an image in place of a row. Work: 4
vector operations per element forward, 4 for dx and 4 for the parameters; two passes over a group as there over a row.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    Bias,
    OptValue,
    Value,
    channels_of,
    check_not_negative,
    rank_at_least,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Reread, elements
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.norm import NormLayer, norm_vjp, optional_scale, twice_backward, twice_forward
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.group_norm import GroupNormDwOp, GroupNormDxOp, GroupNormOp


def _grouped(x: Array, statistic: tuple[int, ...]) -> Array:
    """x as [batch, groups, channels of a group, positions]."""
    batch, groups = statistic
    return x.reshape(batch, groups, x.shape[1] // groups, -1)


def _by_channel(values: Array, groups: int) -> Array:
    """One value a channel, shaped to broadcast against the grouped x."""
    return values.reshape(1, groups, -1, 1)


class GroupNormLayer(NormLayer[GroupNormOp]):
    """Statistics of each group of channels of each image."""

    op = GroupNormOp

    def evaluate(self, op: GroupNormOp, *arrays: Array) -> tuple[Array, ...]:
        x, *affine = arrays
        groups = int(op.groups.value.data)
        grouped = _grouped(x, shape_of(op.mean))
        mean, var = grouped.mean(axis=(2, 3)), grouped.var(axis=(2, 3))
        y = (grouped - mean[..., None, None]) / ((var + op.eps.value.data) ** 0.5)[..., None, None]
        if affine:
            y = y * _by_channel(affine[0], groups)
        if len(affine) == 2:
            y = y + _by_channel(affine[1], groups)
        return y.reshape(x.shape), mean, var

    def vjp(
        self, op: GroupNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        return norm_vjp(op, grads, needs, emit, GroupNormDxOp, GroupNormDwOp)

    def reread_of(self, op: GroupNormOp) -> Reread | None:
        return twice_forward(op, elements(op.mean))

    def cuts(self, op: GroupNormOp) -> Sequence[Cut]:
        images, groups = row_cuts(op, 1), int(op.groups.value.data)
        channels = Cut((1, *(0,) * len(op.affine)), (1, 1, 1), ("groups",))
        return [*images, channels] if groups > 1 else images


class GroupNormDxLayer(NormLayer[GroupNormDxOp]):
    """The gradient of the input."""

    op = GroupNormDxOp

    def reread_of(self, op: GroupNormDxOp) -> Reread | None:
        return twice_backward(op, elements(op.mean))

    def evaluate(self, op: GroupNormDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, *gamma, mean, var = arrays
        deviation = ((var + op.eps.value.data) ** 0.5)[..., None, None]
        z = (_grouped(x, mean.shape) - mean[..., None, None]) / deviation
        g = _grouped(dy, mean.shape)
        if gamma:
            g = g * _by_channel(gamma[0], mean.shape[1])
        means = g.mean(axis=(2, 3), keepdims=True) + z * (g * z).mean(axis=(2, 3), keepdims=True)
        return (((g - means) / deviation).reshape(x.shape),)


class GroupNormDwLayer(NormLayer[GroupNormDwOp]):
    """The gradients of scale and shift."""

    op = GroupNormDwOp

    def evaluate(self, op: GroupNormDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, mean, var = arrays
        deviation = ((var + op.eps.value.data) ** 0.5)[..., None, None]
        z = (_grouped(x, mean.shape) - mean[..., None, None]) / deviation
        g = _grouped(dy, mean.shape)
        sums = ((g * z).sum(axis=(0, 3)), g.sum(axis=(0, 3)))
        return tuple(total.reshape(shape_of(out)) for total, out in zip(sums, op.results, strict=False))


def group_norm(
    b: GraphBuilder,
    x: Value,
    groups: int,
    eps: float = 1e-5,
    affine: bool = True,
    weight: OptValue = None,
    bias: Bias = True,
) -> SSAValue:
    """
    Normalise each group of neighbouring channels of each image of x [batch, channels, …], then scale and shift.

    The scale and shift have one value a channel; `affine=false` leaves them out, `bias=false` the shift; `weight=` and
    `bias=` share those made by `param`.
    """
    channels = channels_of("x", x)
    if groups < 1 or channels % groups:
        raise ArgumentError("groups", f"found {groups}, expected a divisor of the {channels} channels")
    check_not_negative("eps", eps)
    params = optional_scale(b, channels, x, affine=affine, weight=weight, bias=bias)
    return b.emit(GroupNormOp(x, *params, groups=groups, eps=float(eps))).y


def instance_norm(b: GraphBuilder, x: Value, eps: float = 1e-5, affine: bool = False) -> SSAValue:
    """Normalise each channel of each image of x [batch, channels, length, …]; with `affine` then scale and shift."""
    shape = rank_at_least("x", x, 3, "[batch, channels, length, …]")
    if prod(shape[2:]) == 1:
        raise ArgumentError("x", "found one position a channel, expected more than one to normalise")
    return group_norm(b, x, shape[1], eps, affine)


LAYERS = (GroupNormLayer(), GroupNormDxLayer(), GroupNormDwLayer())
FUNCTIONS = (group_norm, instance_norm)
