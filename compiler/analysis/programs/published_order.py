"""
The published rule for the order of a fused nest of dX and dW: Algorithm 1 of Kim, Na, Lee, Lee and Huh, MICRO 2023.

With Y(M, N) = X(M, K) W(K, N), it looks at the shape only:

    max(M, N, K) / min(M, N, K) < 4     both products in turn, no common order
    K > N and K > M                     dW-major: dW finished tile by tile
    otherwise                           dX-major: dX finished tile by tile

The paper shows the two orders in a figure. As full loop nests dX-major is `m, k, n`, dW-major `n, k, m`, outermost
first.
"""

from typing import Literal

from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.dialects.npu.nest import Nest

PublishedChoice = Literal["in turn", "dX-major", "dW-major"]
NEARLY_CUBIC = 4
"""Below this ratio of the largest to the smallest size the products only run round-robin."""


def published_choice(m: int, n: int, k: int) -> PublishedChoice:
    """What the rule takes for the gradients of a product of these sizes."""
    if max(m, n, k) < NEARLY_CUBIC * min(m, n, k):
        return "in turn"
    return "dW-major" if k > n and k > m else "dX-major"


def published_order(nest: Nest) -> tuple[str, ...] | None:
    """
    The order of a fused nest's dimensions by the rule, outermost first; None: the products run round-robin.

    M, N and K of a convolution are its positions, outputs and window x inputs. Groups come first, as each is a product
    of its own.
    """
    _, m, n, k = forward_view(nest).sizes(nest.sizes)
    choice = published_choice(m, n, k)
    return None if choice == "in turn" else major_orders(nest)[choice]


def major_orders(nest: Nest) -> dict[PublishedChoice, tuple[str, ...]]:
    """The two orders of a fused nest's dimensions between which the rule chooses."""
    view = forward_view(nest)
    return {
        "dX-major": (*view.batch, *view.m, *view.k, *view.n),
        "dW-major": (*view.batch, *view.n, *view.k, *view.m),
    }
