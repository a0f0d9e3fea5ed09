"""Losses that a model computes itself."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("SoftmaxCrossEntropyLoss")
def cross_entropy(c: OnnxContext) -> Result:
    if not _is_plain(c):
        logs = c.let("log_softmax", c.x(), 1)
        return [_composed(c, logs), logs]
    loss = _loss(c, "cross_entropy")
    return [loss, c.call("log_softmax", c.x(), 1)] if any(c.onnx.outputs[1:]) else loss


@operator("NegativeLogLikelihoodLoss")
def nll(c: OnnxContext) -> Result:
    return _loss(c, "nll_loss") if _is_plain(c) else _composed(c, c.x())


def _is_plain(c: OnnxContext) -> bool:
    """Whether the language's losses say it: without weights of the classes, as one number."""
    reduction = c.onnx.string("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise c.error(f"found reduction '{reduction}', expected mean, sum or none")
    return reduction != "none" and not c.onnx.has(2)


def _loss(c: OnnxContext, function: str) -> Call:
    x, reduction = c.x(), c.onnx.string("reduction", "mean")
    named: dict[str, int | str] = {} if reduction == "mean" else {"reduction": reduction}
    if len(c.shape(x)) > 2:
        named["axis"] = 1
    if "ignore_index" in c.onnx.attributes:
        named["ignore_index"] = c.onnx.int("ignore_index")
    return c.call(function, x, c.x(1), **named)


def _composed(c: OnnxContext, logs: Name) -> Name | Call:
    """Less the logarithm at each label, times the weight of its class; labels to ignore weigh nothing."""
    labels, element = c.x(1), c.element(logs)
    ignored = c.onnx.int("ignore_index") if "ignore_index" in c.onnx.attributes else None
    counted = None if ignored is None else c.let("not_equal", labels, ignored)
    if counted is not None:
        labels = c.let("where", counted, labels, 0)
    picked = c.let("gather", logs, c.let("unsqueeze", labels, 1), 1)
    loss: Name | Call = c.call("neg", c.let("squeeze", picked, 1))
    weights: Name | None = None
    if c.onnx.has(2):
        flat = c.let("index_select", c.x(2), c.let("reshape", labels, [-1]), 0)
        weights = c.let("reshape", flat, list(c.shape(labels)))
    if counted is not None:
        ones = c.let("cast", counted, to=element)
        weights = ones if weights is None else c.let("mul", weights, ones)
    if weights is not None:
        loss = c.call("mul", c.held(loss), weights)
    reduction = c.onnx.string("reduction", "mean")
    if reduction == "none":
        return loss
    total = c.call("sum", c.held(loss))
    if reduction == "sum":
        return total
    if weights is None:
        return c.call("mean", c.held(loss))
    return c.call("div", c.held(total), c.let("sum", weights))
