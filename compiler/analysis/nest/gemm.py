"""The GEMM view of the forward product that a contraction is, or is a gradient of."""

from functools import lru_cache

from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Nest


@lru_cache(maxsize=4096)
def forward_view(nest: Nest) -> GemmView:
    """
    The dimensions of batch, M, N and K of the forward product Y = X W that a nest is, or is a gradient of.

    Its tensors are recognised by name: X, W, Y, with a prefix `d` for gradients. For other names the view is that of
    the first statement.
    """
    named = {name.removeprefix("d"): tensor for name, tensor in nest.tensors.items()}
    if not {"X", "W", "Y"} <= set(named):
        return gemm_view(nest, nest.statements[0])
    x, w, y = (named[name].dims for name in "XWY")
    groups: dict[str, list[str]] = {"batch": [], "m": [], "n": [], "k": []}
    for dim in nest.sizes:
        if dim in x and dim in w and dim in y:
            groups["batch"].append(dim)
        elif dim in y:
            groups["n" if dim in w else "m"].append(dim)
        else:
            groups["k"].append(dim)
    return GemmView(*(tuple(groups[g]) for g in ("batch", "m", "n", "k")))


@lru_cache(maxsize=4096)
def forward_sizes(nest: Nest) -> tuple[int, int, int, int]:
    """Batch, M, N, K of the forward product that a nest is, or is a gradient of, as `forward_view` finds them."""
    return forward_view(nest).sizes(nest.sizes)
