"""
Operators under `torch.autocast`, which choose the precision of their operands.

A file has the types of results after that choice: operands are cast where they differ from it, as PyTorch casts them.
Lists of operators: https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import FLOATS, Weight

if TYPE_CHECKING:
    from npuc.frontends.torch.context import Context

_LOWER = frozenset(
    "conv1d conv2d conv3d convolution conv_transpose1d conv_transpose2d conv_transpose3d linear matmul mm mv bmm addmm "
    "addmv addbmm baddbmm einsum chain_matmul scaled_dot_product_attention prelu lstm_cell gru_cell rnn_tanh_cell "
    "rnn_relu_cell".split()
)
"""The operators that compute in the lower precision: all their operands have one type."""
_OWN = frozenset(("to", "_to_copy", "type_as", "where", "embedding", "dropout"))
"""The operators that say the type of their result themselves."""


def autocast(c: Context, operator: str, named: Mapping[str, object]) -> dict[str, object]:
    """The arguments of an operator, its real operands cast to the type in which it computes."""
    kind = operator.split(".")[1].rstrip("_") if "." in operator else operator
    if not c.result_count or kind in _OWN or named.get("dtype") is not None:
        return dict(named)
    element = c.result_element()
    first = next((value for value in named.values() if _is_real(c, value)), None)
    if element not in FLOATS or (kind not in _LOWER and (first is None or c.element(cast(Name, first)) == element)):
        return dict(named)
    return {name: _cast(c, value, element) for name, value in named.items()}


def _is_real(c: Context, value: object) -> bool:
    return isinstance(value, Name | Weight) and c.element(value) in FLOATS


def _cast(c: Context, value: object, element: str) -> object:
    """An argument whose real tensors have an element type."""
    if isinstance(value, list):
        return [_cast(c, one, element) for one in cast("list[object]", value)]
    return c.cast(cast(Name, value), element) if _is_real(c, value) else value
