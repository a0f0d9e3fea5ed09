"""Losses that a model computes itself."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: int) -> dict[str, str]:
    if number == 0:
        raise Refused("found a loss of every element, expected a mean or sum", 'reduction="mean"')
    return {} if number == 1 else {"reduction": REDUCTIONS[number]}


@operator("aten.cross_entropy_loss")
def cross_entropy(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Call:
    if weight is not None or c.shape(x) == c.shape(target):
        raise Refused("found class weights or probabilities as targets, which have no counterpart")
    named: dict[str, int | float | str] = {**_reduction(reduction), "ignore_index": ignore_index}
    if label_smoothing:
        named["label_smoothing"] = label_smoothing
    if len(c.shape(x)) > 2:
        named["axis"] = 1
    return c.call("cross_entropy", x, target, **named)


@operator("aten.nll_loss", "aten.nll_loss_nd")
def nll_loss(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Call:
    if weight is not None:
        raise Refused("found class weights, which have no counterpart")
    named: dict[str, int | str] = {**_reduction(reduction), "ignore_index": ignore_index}
    if len(c.shape(x)) > 2:
        named["axis"] = 1
    return c.call("nll_loss", x, target, **named)


@operator("aten.mse_loss")
def mse_loss(c: Context, x: Tensor, target: Tensor, reduction: int = 1) -> Call:
    return c.call("mse", x, target, **_reduction(reduction))


@operator("aten.l1_loss")
def l1_loss(c: Context, x: Tensor, target: Tensor, reduction: int = 1) -> Call:
    return c.call("l1_loss", x, target, **_reduction(reduction))


@operator("aten.smooth_l1_loss")
def smooth_l1_loss(c: Context, x: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Call:
    return c.call("smooth_l1_loss", x, target, beta, **_reduction(reduction))


@operator("aten.huber_loss")
def huber_loss(c: Context, x: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Call:
    return c.call("huber_loss", x, target, delta, **_reduction(reduction))


@operator("aten.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Call:
    if weight is not None or pos_weight is not None:
        raise Refused("found weights of a loss, which have no counterpart")
    return c.call("binary_cross_entropy_with_logits", x, target, **_reduction(reduction))
