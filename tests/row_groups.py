"""Random networks of images, and their operations as one group that walks rows."""

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Region, SSAValue

from npuc.compiler.analysis.fusion.slices import Axes, sliced
from npuc.compiler.interpreter.execute import the_function
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE, Batches, resized
from npuc.dialects.npu.groups.walk import RowWalk
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.tensors import shape_of
from tests.networks import Net


def _window(data: st.DataObject, size: int, most: int = 4) -> tuple[int, int, list[int]]:
    """Kernel, stride and padding on both sides that fit an axis."""
    kernel = data.draw(st.integers(1, min(most, size)))
    return kernel, data.draw(st.integers(1, 3)), [data.draw(st.integers(0, kernel - 1)) for _ in range(2)]


def _conv(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    _, _, h, w = shape_of(x)
    kernel, stride, padding = _window(data, h)
    return net.call(
        "conv2d", x, 2, [kernel, min(2, w)], stride=[stride, 1], padding=[*padding, 1, 0], bias=data.draw(st.booleans())
    )


def _pool(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    _, _, h, w = shape_of(x)
    kernel, stride, padding = _window(data, h)
    padding = [min(one, kernel // 2) for one in padding]
    # Means of powers of two stay exact.
    function = data.draw(st.sampled_from(["max_pool", "avg_pool"] if kernel in (1, 2, 4) else ["max_pool"]))
    return net.call(function, x, [kernel, 1 if w < 2 else 2], stride=[stride, 1], padding=[*padding, 0, 0])


def _branch(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    """A sum of a value and what a convolution makes of it, with the same rows."""
    kernel = data.draw(st.sampled_from([k for k in (1, 3, 5) if k <= shape_of(x)[2] + 2]))
    other = net.call("conv2d", x, shape_of(x)[1], [kernel, 1], padding=[kernel // 2, kernel // 2, 0, 0])
    return net.call("add", *data.draw(st.permutations([x, other])))


def _relu(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("relu", x)


@st.composite
def image_networks(draw: st.DrawFn, samples: int = 1, steps: int = 4, scale: int = 1) -> ModuleOp:
    """Networks of convolutions, pooling, activations and sums, in inference; images may be so many times larger."""
    data = draw(st.data())
    net = Net(training=False)
    x = net.input("x", samples, 2, scale * draw(st.integers(4, 11)), scale * draw(st.integers(2, 3)))
    for _ in range(draw(st.integers(2, steps))):
        if shape_of(x)[2] > 1:
            x = draw(st.sampled_from([_conv, _conv, _pool, _branch, _relu]))(net, x, data)
    return net.b.finish(loss=None, outputs=[("y", x)], optimizer=None)


def grouped(module: ModuleOp, rows: int, samples: int, *, keep: bool) -> GroupOp:
    """Make all operations of a lowered program one group that walks rows of its result."""
    block = the_function(module).body.block
    ending = block.last_op
    assert isinstance(ending, ReturnOp)
    ops = [op for op in block.ops if isinstance(op, ContractOp | VectorOp | MoveOp)]
    inside = {value for op in ops for value in op.results}
    outer = list(dict.fromkeys(value for op in ops for value in op.operands if value not in inside))
    axes = {value: 0 if value is block.args[0] else WHOLE for value in outer}
    body = Block(arg_types=[resized(value.type, axes[value], samples, 1) for value in outer])
    of: dict[SSAValue, SSAValue] = dict(zip(outer, body.args, strict=True))
    for op in ops:
        own = Axes(tuple(0 if v in inside else axes[v] for v in op.operands), (0,) * len(op.results))
        new = sliced(op, [of[v] for v in op.operands], own, samples, 1)
        body.add_op(new)
        of |= dict(zip(op.results, new.results, strict=True))
    results = list(ending.operands)
    body.add_op(YieldOp([of[value] for value in results]))
    walk = RowWalk(rows, shape_of(results[0])[2], 2, keep)
    joins = [0] * len(results)
    types = [value.type for value in results]
    group = GroupOp(outer, types, Region(body), Batches(1, samples), list(axes.values()), joins, (), walk)
    block.insert_op_before(group, ending)
    for value, new in zip(results, group.results, strict=True):
        value.replace_all_uses_with(new) if value not in inside else ending.operands.__setitem__(
            list(ending.operands).index(value), new
        )
    for op in reversed(ops):
        op.detach()
        op.erase()
    return group
