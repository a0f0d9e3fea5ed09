"""Elements put at places of a tensor."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.values import Constant

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _way(c: OnnxContext) -> dict[str, str]:
    """How what is put is combined with what is there, as a named argument."""
    reduction = c.onnx.string("reduction", "none")
    if reduction not in ("none", "add", "mul", "max", "min"):
        raise c.error(f"found reduction '{reduction}', expected none, add, mul, max or min")
    return {} if reduction == "none" else {"reduce": reduction}


def may_be_negative(c: OnnxContext, index: int) -> bool:
    """Whether an operand of places may have some that count from the end; those of a constant are known."""
    value = c.onnx.input(index)
    return not isinstance(value, Constant) or bool((value.array < 0).any())


@operator("ScatterElements")
def scatter_elements(c: OnnxContext) -> Result:
    x = c.x(0)
    named: dict[str, str | bool] = {**_way(c), **({"negative": True} if may_be_negative(c, 1) else {})}
    return c.call("scatter", x, c.x(1), c.x(2), c.axis_of(x), **named)


@operator("ScatterND")
def scatter_nd(c: OnnxContext) -> Result:
    return c.call("scatter_nd", c.x(0), c.x(1), c.x(2), **_way(c))


@operator("TensorScatter")
def write_cache(c: OnnxContext) -> Result:
    """New steps of each sample of a batch, put where the sample's steps so far end."""
    past, new = c.x(0), c.x(1)
    axis, mode = c.axis_of(past, -2), c.onnx.string("mode", "linear")
    if axis == 0 or mode not in ("linear", "circular"):
        raise c.error(f"found axis {axis} and mode '{mode}', expected a later axis, linear or circular")
    c.check_rank(1, len(c.shape(past)))
    length, steps = c.shape(past)[axis], c.shape(new)[axis]
    if not c.onnx.has(2):
        return c.call("slice_scatter", past, new, axis, 0, steps)
    batch = c.shape(past)[0]
    counted = c.let("arange", steps, dtype=c.element(c.x(2)))
    places: Name | Call = c.call("add", c.let("reshape", c.x(2), [batch, 1]), counted)
    if mode == "circular":
        places = c.call("remainder", c.held(places), length)
    ones = [1] * (len(c.shape(new)) - 1)
    ones[axis - 1] = steps
    wide = c.let("expand", c.let("reshape", c.held(places), [batch, *ones]), list(c.shape(new)))
    return c.call("scatter", past, wide, new, axis)


@operator("MaxUnpool")
def max_unpool(c: OnnxContext) -> Result:
    """Each element at the place that it was taken from, as the largest of its window; zeros elsewhere."""
    x = c.x(0)
    shape = c.shape(x)
    kernel = c.onnx.ints("kernel_shape") or ()
    strides = c.onnx.ints("strides") or (1,) * len(kernel)
    pads = c.onnx.ints("pads") or (0,) * (2 * len(kernel))
    if not len(kernel) == len(strides) == len(shape) - 2 or len(pads) != 2 * len(kernel):
        raise c.error("its window does not fit its input")
    inferred = [
        (size - 1) * strides[axis] - pads[axis] - pads[axis + len(kernel)] + kernel[axis]
        for axis, size in enumerate(shape[2:])
    ]
    whole = [*shape[:2], *inferred]
    wanted = list(c.onnx.ints_at(2) or whole)
    count = [_product(shape), _product(whole)]
    if len(wanted) != len(shape) or any(size < 1 for size in (*inferred, *wanted)):
        raise c.error(f"makes a tensor of shape {wanted}")
    empty = c.let("zeros", [_product(wanted)], dtype=c.element(x))
    index = c.let("reshape", c.x(1), [count[0]])
    if wanted != whole:
        index = _moved(c, index, whole, wanted)
    put = c.let("scatter", empty, index, c.let("reshape", x, [count[0]]), 0)
    return c.call("reshape", put, wanted)


def _product(sizes: list[int] | tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _moved(c: OnnxContext, index: Name, source: list[int], target: list[int]) -> Name:
    """Places in row-major order of one shape as those of another."""
    at: Name | None = None
    rest, behind = index, 1
    for size, wanted in zip(reversed(source), reversed(target), strict=True):
        along = c.let("mul", c.let("remainder", rest, size), behind)
        at = along if at is None else c.let("add", at, along)
        rest, behind = c.let("div", rest, size), behind * wanted
    assert at is not None
    return at
