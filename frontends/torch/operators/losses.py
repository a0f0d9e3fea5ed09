"""Losses that a model computes itself; those of every element are spelled out."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
NONE, MEAN, SUM = range(3)


def _named(reduction: int) -> dict[str, str]:
    return {} if reduction == MEAN else {"reduction": "sum"}


def _reduced(c: Context, losses: Call, reduction: int) -> Call:
    """Losses of every element, or their mean or sum."""
    if reduction == NONE:
        return losses
    return c.call("mean" if reduction == MEAN else "sum", c.script.assign(f"{c.layer}.losses", losses))


def _pair(c: Context, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Two operands of one shape."""
    element = c.result_element()
    a, b = c.cast(x, element), c.cast(target, element)
    if c.shape(a) == c.shape(b):
        return a, b
    shape = [max(one, other) for one, other in zip(_wide(c, a, b), _wide(c, b, a), strict=True)]
    a, b = (one if list(c.shape(one)) == shape else c.let("expand", one, shape) for one in (a, b))
    return a, b


def _wide(c: Context, x: Tensor, other: Tensor) -> list[int]:
    return [1] * (len(c.shape(other)) - len(c.shape(x))) + list(c.shape(x))


@operator("aten.cross_entropy_loss")
def cross_entropy(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Call:
    axis = 0 if len(c.shape(x)) == 1 else 1
    if c.shape(x) == c.shape(target):
        return _of_probabilities(c, x, target, weight, reduction, label_smoothing, axis)
    if weight is None and reduction != NONE and axis:
        named: dict[str, int | float | str] = {**_named(reduction), "ignore_index": ignore_index}
        if label_smoothing:
            named["label_smoothing"] = label_smoothing
        if len(c.shape(x)) > 2:
            named["axis"] = 1
        return c.call("cross_entropy", x, target, **named)
    if label_smoothing:
        raise Refused("found label_smoothing beside class weights or losses of every row, which has no counterpart")
    return _picked(c, c.let("log_softmax", x, axis), target, weight, reduction, ignore_index)


def _of_probabilities(
    c: Context, x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float, axis: int
) -> Call:
    """The cross entropy of probabilities: -sum(target log_softmax(x)) over classes."""
    classes = c.shape(x)[axis]
    shares: Tensor = target
    if label_smoothing:
        shares = c.let("add", c.let("mul", target, 1 - label_smoothing), label_smoothing / classes)
    terms = c.let("mul", c.let("log_softmax", x, axis), shares)
    if weight is not None:
        terms = c.let("mul", terms, c.let("reshape", weight, [classes, *[1] * (len(c.shape(x)) - axis - 1)]))
    rows = c.call("neg", c.let("sum", terms, axis=axis))
    return _reduced(c, rows, reduction)


@operator("aten.nll_loss", "aten.nll_loss_nd", "aten.nll_loss2d")
def nll_loss(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Call:
    if weight is None and reduction != NONE and len(c.shape(x)) > 1:
        named: dict[str, int | str] = {**_named(reduction), "ignore_index": ignore_index}
        if len(c.shape(x)) > 2:
            named["axis"] = 1
        return c.call("nll_loss", x, target, **named)
    return _picked(c, x, target, weight, reduction, ignore_index)


def _picked(c: Context, x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Call:
    """The negative elements of x at the labels, times the weight of each label; 0 where the label does not count."""
    axis = 0 if len(c.shape(x)) == 1 else 1
    ignored = c.let("equal", target, ignore_index)
    label = c.let("where", ignored, 0, target)
    picked = c.let("squeeze", c.let("gather", x, c.let("unsqueeze", label, axis), axis), axis)
    share = c.let("where", ignored, c.let("full", [], 0.0, dtype=c.element(x)), _share(c, x, weight, label))
    losses = c.call("neg", c.let("mul", picked, share))
    if reduction != MEAN:
        return _reduced(c, losses, reduction)
    total = c.let("sum", c.script.assign(f"{c.layer}.losses", losses))
    return c.call("div", total, c.let("sum", share))


def _share(c: Context, x: Tensor, weight: Tensor | None, label: Tensor) -> Name:
    if weight is None:
        return c.let("full", [], 1.0, dtype=c.element(x))
    return c.let("index_select", weight, label, 0)


@operator("aten.mse_loss")
def mse_loss(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN) -> Call:
    a, b = _pair(c, x, target)
    if reduction != NONE:
        return c.call("mse", a, b, **_named(reduction))
    difference = c.let("sub", a, b)
    return c.call("mul", difference, difference)


@operator("aten.l1_loss")
def l1_loss(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN) -> Call:
    a, b = _pair(c, x, target)
    return c.call("abs", c.let("sub", a, b)) if reduction == NONE else c.call("l1_loss", a, b, **_named(reduction))


@operator("aten.smooth_l1_loss")
def smooth_l1_loss(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Call:
    if beta == 0:
        return l1_loss(c, x, target, reduction)
    a, b = _pair(c, x, target)
    if reduction != NONE:
        return c.call("smooth_l1_loss", a, b, beta, **_named(reduction))
    distance = c.let("abs", c.let("sub", a, b))
    near = c.let("mul", c.let("mul", distance, distance), 0.5 / beta)
    return c.call("where", c.let("less", distance, beta), near, c.let("sub", distance, beta / 2))


@operator("aten.huber_loss")
def huber_loss(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Call:
    a, b = _pair(c, x, target)
    if reduction != NONE:
        return c.call("huber_loss", a, b, delta, **_named(reduction))
    distance = c.let("abs", c.let("sub", a, b))
    near = c.let("mul", c.let("mul", distance, distance), 0.5)
    far = c.let("mul", c.let("sub", distance, delta / 2), delta)
    return c.call("where", c.let("less_equal", distance, delta), near, far)


@operator("aten.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    c: Context,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Call:
    if weight is None and pos_weight is None and reduction != NONE:
        return c.call("binary_cross_entropy_with_logits", x, target, **_named(reduction))
    # (1 - t) x + (1 + (w - 1) t) softplus(-x), which is the loss with positive targets weighed by w
    low = c.let("softplus", c.let("neg", x))
    if pos_weight is not None:
        low = c.let("mul", low, c.let("add", c.let("mul", c.let("sub", pos_weight, 1.0), target), 1.0))
    losses = c.call("add", c.let("mul", c.let("sub", 1.0, target), x), low)
    return _weighed(c, losses, weight, reduction)


def _weighed(c: Context, losses: Call, weight: Tensor | None, reduction: int) -> Call:
    if weight is not None:
        losses = c.call("mul", c.script.assign(f"{c.layer}.plain", losses), weight)
    return _reduced(c, losses, reduction)


@operator("aten.binary_cross_entropy")
def binary_cross_entropy(
    c: Context, x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Call:
    if weight is None and reduction != NONE:
        return c.call("binary_cross_entropy", x, target, **_named(reduction))
    high, low = (c.let("clip", c.let("log", one), low=-100.0, high=None) for one in (x, c.let("sub", 1.0, x)))
    terms = c.let("add", c.let("mul", target, high), c.let("mul", c.let("sub", 1.0, target), low))
    return _weighed(c, c.call("neg", terms), weight, reduction)


@operator("aten.kl_div")
def kl_div(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN, log_target: bool = False) -> Call:
    a, b = _pair(c, x, target)
    if reduction != NONE:
        return c.call("kl_div", a, b, **_named(reduction), **({"log_target": True} if log_target else {}))
    if log_target:
        return c.call("mul", c.let("exp", b), c.let("sub", b, a))
    positive = c.let("greater", b, 0.0)
    logarithm = c.let("log", c.let("where", positive, b, 1.0))
    return c.call("mul", b, c.let("sub", logarithm, a))


@operator("aten.soft_margin_loss")
def soft_margin_loss(c: Context, x: Tensor, target: Tensor, reduction: int = MEAN) -> Call:
    a, b = _pair(c, x, target)
    return _reduced(c, c.call("softplus", c.let("neg", c.let("mul", a, b))), reduction)


@operator("aten.margin_ranking_loss")
def margin_ranking_loss(
    c: Context, input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Call:
    one, other, sign = (c.cast(value, c.result_element()) for value in (input1, input2, target))
    signed = c.let("mul", c.let("neg", sign), c.let("sub", one, other))
    return _reduced(c, c.call("clip", c.let("add", signed, margin), low=0.0, high=None), reduction)


@operator("aten.hinge_embedding_loss")
def hinge_embedding_loss(c: Context, x: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN) -> Call:
    far = c.let("clip", c.let("sub", margin, x), low=0.0, high=None)
    zero = c.let("full", [], 0.0, dtype=c.element(far))
    unlike = c.let("where", c.let("equal", target, 1), zero, far)
    alike = c.let("where", c.let("equal", target, -1), zero, c.cast(x, c.element(far)))
    return _reduced(c, c.call("add", unlike, alike), reduction)


@operator("aten.poisson_nll_loss")
def poisson_nll_loss(
    c: Context, input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Call:
    if full:
        raise Refused("found the Stirling approximation (full=True), which has no counterpart")
    if log_input:
        losses = c.call("sub", c.let("exp", input), c.let("mul", target, input))
    else:
        losses = c.call("sub", input, c.let("mul", target, c.let("log", c.let("add", input, eps))))
    return _reduced(c, losses, reduction)
