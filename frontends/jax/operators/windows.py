"""Windows: pooling, its gradient, sums along an axis."""

from __future__ import annotations

from math import prod

from npuc.frontends.jax.context import HloContext, Meaning, brief, registry
from npuc.frontends.jax.operators.reductions import combiner
from npuc.frontends.jax.views import TensorView, Value
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


class _Pool:
    """The window of a pooling layer: the axes that it moves over, put last."""

    def __init__(self, c: HloContext, x: TensorView):
        ints, rank = c.ints, len(x.shape)
        ones = [1] * rank
        self.window, strides = ints.get("window_dimensions", ones), ints.get("window_strides", ones)
        dense = c.flat.op.dense.get("padding")
        edges = [0] * (2 * rank) if dense is None else [int(one) for one in dense.array().ravel()]
        if any(size != 1 for size in ints.get("base_dilations", ones)):
            raise Refused("found windows over a spread operand")
        dilations = ints.get("window_dilations", ones)
        moving = [
            axis
            for axis in range(rank)
            if self.window[axis] != 1 or strides[axis] != 1 or edges[2 * axis : 2 * axis + 2] != [0, 0]
        ]
        if len(moving) > 2 or rank < 3 or rank > 4:
            raise Refused(f"found windows over {len(moving)} axes of {rank}, expected two of images")
        still = [axis for axis in range(rank) if axis not in moving]
        while len(moving) < 2 and rank == 4:
            moving.insert(0, still.pop())
        self.order = [*still, *sorted(moving)]
        self.kernel = [self.window[axis] for axis in sorted(moving)]
        self.stride = [strides[axis] for axis in sorted(moving)]
        self.dilation = [dilations[axis] for axis in sorted(moving)]
        self.padding = [edges[2 * axis + side] for axis in sorted(moving) for side in (0, 1)]
        if rank == 3 and len(moving) != 1:
            raise Refused("found windows over two axes of three, expected images with a batch and channels")

    def result(self, c: HloContext, value: object) -> TensorView:
        """A result with the axes where they were."""
        from npuc.frontends.dsl.syntax import Call, Name

        assert isinstance(value, Call | Name)
        axes = tuple(self.order.index(axis) for axis in range(len(self.order)))
        return TensorView(c.named(value), axes, c.type.shape, c.type.element)


@operator("reduce_window")
def reduce_window(c: HloContext) -> Value:
    kind = combiner(c.flat.op)
    if len(c.flat.operands) != 2 or kind not in ("maximum", "add"):
        raise Refused("found windows reduced by another function than maximum and sum")
    x = c.view(0)
    if kind == "add" and (axis := _running(c, x)) is not None:
        return c.result(c.call("cumsum", c.views.plain(c, x), axis))
    pool = _Pool(c, x)
    operand = c.views.plain(
        c, TensorView(x.name, tuple(x.axes[a] for a in pool.order), tuple(x.shape[a] for a in pool.order), x.element)
    )
    suffix = "1d" if len(x.shape) == 3 else ""
    strides = {} if pool.stride == pool.kernel else {"stride": pool.stride}
    named = brief(kernel=pool.kernel, **strides, padding=pool.padding)
    if kind == "maximum":
        spread = brief(dilation=pool.dilation)
        return pool.result(c, c.call(f"max_pool{suffix}", operand, **named, **spread))
    if any(size != 1 for size in pool.dilation):
        raise Refused("found sums over spread windows")
    mean = c.let(f"avg_pool{suffix}", operand, **named)
    return pool.result(c, c.call("mul", mean, float(prod(pool.kernel))))


def _running(c: HloContext, x: TensorView) -> int | None:
    """The axis of sums from its start to each element; None for other windows."""
    wide = [axis for axis, size in enumerate(c.ints["window_dimensions"]) if size != 1]
    dense = c.flat.op.dense.get("padding")
    if len(wide) != 1 or dense is None or any(size != 1 for size in c.ints.get("window_strides", [])):
        return None
    edges = dense.array().reshape(-1, 2).tolist()
    expected = [[x.shape[axis] - 1, 0] if axis == wide[0] else [0, 0] for axis in range(len(x.shape))]
    return wide[0] if edges == expected and c.ints["window_dimensions"][wide[0]] == x.shape[wide[0]] else None


@operator("select_and_scatter")
def select_and_scatter(c: HloContext) -> Value:
    from npuc.dialects.train.pool import MaxPoolGradOp

    first = c.flat.op.regions[0].ops[0]
    if combiner(c.flat.op, 1) != "add" or combiner(c.flat.op) != "compare" or not c.is_step:
        raise Refused("found the gradient of windows in a forward function")
    if first.texts.get("comparison_direction") != "GE" or len(c.type.shape) != 4:
        raise Refused("found the gradient of other windows than those of max pooling over images")
    x, dy = c.view(0), c.view(1)
    pool = _Pool(c, x)
    given, source = (
        c.views.plain(
            c,
            TensorView(
                one.name, tuple(one.axes[a] for a in pool.order), tuple(one.shape[a] for a in pool.order), one.element
            ),
        )
        for one in (x, dy)
    )
    operands = c.tensor(source), c.tensor(given)
    kernel, stride, padding = tuple(pool.kernel), tuple(pool.stride), tuple(pool.padding)
    return pool.result(
        c, c.built(lambda b: b.emit(MaxPoolGradOp(*operands, kernel=kernel, stride=stride, padding=padding)).dx)
    )
