"""The matrix products and convolutions of PyTorch's own forward and backward graph, with their MACs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.nn.attention import SDPBackend, sdpa_kernel

aten: Any = torch.ops.aten
Products = Counter[tuple[str, int]]
"""How many products of so many MACs there are in the passes `forward` and `backward`."""


def _matrices(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [prod(a) * b[-1]]


_PRODUCTS: dict[Any, tuple[int, Callable[[Sequence[int], Sequence[int]], list[int]]]] = {
    aten.mm: (0, _matrices),
    aten.bmm: (0, _matrices),
    aten.addmm: (1, _matrices),
    aten.baddbmm: (1, _matrices),
    aten.mv: (0, lambda a, b: [prod(a)]),
    aten.dot: (0, lambda a, b: [prod(a)]),
    aten._grouped_mm: (0, _matrices),
}
"""Operators by the place of the first matrix among their arguments, and what the product of two shapes takes."""


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in node.meta["val"].shape)


def _macs(node: Any) -> list[int]:
    """The MACs of the products that a call computes."""
    operator = getattr(node.target, "overloadpacket", None)
    if str(operator).startswith("transformers.grouped_mm_fallback"):
        rows, weight = node.args[:2]
        return _matrices(_shape(rows), _shape(weight)) * (2 if str(operator).endswith("_backward") else 1)
    if operator in _PRODUCTS:
        place, count = _PRODUCTS[operator]
        return count(_shape(node.args[place]), _shape(node.args[place + 1]))
    if operator is aten.convolution:
        x, weight, transposed = node.args[0], node.args[1], node.args[6]
        return [_taps(x if transposed else node, weight)]
    if operator is aten.convolution_backward:
        gradient, x, weight = node.args[:3]
        transposed, wanted = node.args[7], node.args[10]
        return [_taps(x if transposed else gradient, weight)] * sum(map(bool, wanted[:2]))
    found = str(node.target)
    assert not any(part in found for part in ("attention", "lstm", "gru", "rnn", "conv", "mm", "higher_order")), found
    return []


def _taps(positions: Any, weight: Any) -> int:
    """The MACs of a convolution: each weight once at each of the positions that it is moved over."""
    batch, _, *sizes = _shape(positions)
    return batch * prod(sizes) * prod(_shape(weight))


def joint_products(model: Any, inputs: tuple[Any, ...]) -> Products:
    """The products of PyTorch's joint graph of a model; attention is two products and their derivatives."""
    exported = torch.export.export(model, inputs).module(check_guards=False)
    with ExitStack() as stack, sdpa_kernel(SDPBackend.MATH):
        graph = aot_export_joint_with_descriptors(stack, exported, inputs).graph_module.graph
    found: Products = Counter()
    behind: set[Any] = set()
    for node in graph.nodes:
        is_tangent = node.op == "placeholder" and "tangents" in node.name
        if is_tangent or any(one in behind for one in node.all_input_nodes):
            behind.add(node)
        if node.op == "call_function":
            found.update(("backward" if node in behind else "forward", macs) for macs in _macs(node))
    return found
