"""Layers on vectors, and those that compute alike on every element."""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)


@section("connected", "conn")
def connected(c: DarknetLayer) -> DarknetValue:
    """A product with a weight, batch normalisation or a bias, an activation (connected_layer.c)."""
    own, x = c.section, c.vectors()
    outputs, normalised = own.integer("output", 1, 1), own.flag("batch_normalize")
    call = c.call("linear", x, outputs, **({"bias": False} if normalised else {}))
    if normalised:
        if len(c.shape(x)) > 2:
            raise own.wrong("batch_normalize", "of the steps of a sequence has no counterpart in the language")
        call = c.call("batch_norm", c.script.assign(f"{c.layer}.linear", call))
    return DarknetValue(c.activate(call, "logistic"))


@section("dropout")
def dropout(c: DarknetLayer) -> DarknetValue:
    c.section.refuse("dropblock", "dropblock_size_rel", "dropblock_size_abs")
    rate = c.section.real("probability", 0.5)
    if not 0 <= rate < 1:
        raise c.section.wrong("probability", f"found {rate}, expected from 0 to below 1")
    return DarknetValue(c.result("dropout", c.x, rate))


@section("softmax", "soft")
def softmax(c: DarknetLayer) -> DarknetValue:
    """The softmax of each group of features; of images, of the channels at each place where it is `spatial`."""
    own = c.section
    own.refuse("tree")
    own.read.add("noloss")
    groups, temperature = own.integer("groups", 1, 1), own.real("temperature", 1.0)
    if temperature == 0:
        raise own.wrong("temperature", "found 0, expected another number")
    if own.flag("spatial"):
        x = c.image()
        return DarknetValue(c.result("softmax", x if temperature == 1 else c.let("div", x, temperature), 1))
    x = c.vectors()
    *batch, features = c.shape(x)
    if features % groups:
        raise own.wrong("groups", f"found {groups} for {features} features, expected a divisor")
    logits = x if temperature == 1 else c.let("div", x, temperature)
    if groups == 1:
        return DarknetValue(c.result("softmax", logits), logits=logits)
    apart = c.let("reshape", logits, [*batch, groups, features // groups])
    return DarknetValue(c.result("reshape", c.let("softmax", apart), [*batch, features]))


@section("normalization", "lrn")
def normalization(c: DarknetLayer) -> DarknetValue:
    """x over (kappa + alpha s)^beta, s the sum of squares of `size` channels (normalization_layer.c)."""
    own = c.section
    size = own.integer("size", 5, 1, 1 << 16)
    alpha, beta, kappa = own.real("alpha", 0.0001), own.real("beta", 0.75), own.real("kappa", 1.0)
    return DarknetValue(c.result("local_response_norm", c.image(), size, alpha=alpha * size, beta=beta, k=kappa))


@section("l2norm")
def l2norm(c: DarknetLayer) -> DarknetValue:
    """The channels at each place over their Euclidean length."""
    x = c.image()
    return DarknetValue(c.result("div", x, c.let("vector_norm", x, axis=1, keepdim=True)))


@section("logistic")
def logistic(c: DarknetLayer) -> DarknetValue:
    return DarknetValue(c.result("sigmoid", c.x))


@section("empty", "silence")
def empty(c: DarknetLayer) -> DarknetValue:
    return DarknetValue(c.x)
