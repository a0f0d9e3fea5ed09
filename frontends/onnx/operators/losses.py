"""Losses that a model computes itself."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import Context
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("SoftmaxCrossEntropyLoss")
def cross_entropy(c: Context) -> Result:
    loss = _loss(c, "cross_entropy")
    if any(c.onnx.outputs[1:]):
        return [loss, c.call("log_softmax", c.x(), 1)]
    return loss


@operator("NegativeLogLikelihoodLoss")
def nll(c: Context) -> Result:
    return _loss(c, "nll_loss")


def _loss(c: Context, function: str) -> Name | Call:
    if c.onnx.has(2):
        raise c.error("weighs the classes, which has no counterpart")
    reduction = c.onnx.string("reduction", "mean")
    if reduction not in ("mean", "sum"):
        raise c.error(f"found reduction '{reduction}', expected mean or sum")
    x = c.x()
    named: dict[str, int | str] = {} if reduction == "mean" else {"reduction": reduction}
    if len(c.shape(x)) > 2:
        named["axis"] = 1
    if "ignore_index" in c.onnx.attributes:
        named["ignore_index"] = c.onnx.int("ignore_index")
    return c.call(function, x, c.x(1), **named)
