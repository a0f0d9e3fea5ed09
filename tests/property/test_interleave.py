"""
Random networks whose contractions are merged: the program computes the same to the bit at every level, and splitting
what was merged gives the contractions back.
"""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.driver.check import run_results
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.interleave.best import BestWays, best_way
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.tensors import shape_of
from tests.ir_programs import lowered as lowered_text
from tests.ir_programs import printed
from tests.networks import Net, dot_loss, integer_data, integer_networks

SETTINGS = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


def attention(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    """Attention without its softmax, which does not keep integers; projections of equal or different widths."""
    inner, outer = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    q, k = (net.call("linear", x, inner, bias=data.draw(st.booleans())) for _ in range(2))
    v = net.call("linear", x, outer)
    scores = net.call("matmul", q, k, transpose_b=True)
    return net.call("matmul", scores, v)


def tied(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    """Steps over one weight, with a second one that every step reads: a recurrent layer."""
    size = shape_of(x)[-1]
    first, second = net.param(f"v{net.count}", size, 2), net.param(f"w{net.count}", 2, 2)
    h = net.call("linear", x, weight=first, bias=False)
    for _ in range(data.draw(st.integers(1, 3))):
        step = net.call("linear", h, weight=second, bias=False)
        h = net.call("add", step, net.call("linear", x, weight=first, bias=False))
    return h


def mixed(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    """Convolutions that read one image: one dilated, one strided."""
    b, length, size = shape_of(x)
    image = net.call("reshape", x, [b, 1, length, size])
    dilation, stride = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    one = net.call("conv2d", image, 2, 3, padding=dilation, dilation=dilation, stride=stride)
    two = net.call("conv2d", image, 2, 3, padding=1, stride=stride, bias=False)
    same = net.call("conv2d", image, 2, 3, padding=1, stride=stride, bias=False)
    y = net.call("add", net.call("add", one, two), same)
    _, _, high, wide = shape_of(y)
    return net.call("reshape", y, [b, 2 * high, wide])


@st.composite
def networks(draw: st.DrawFn) -> ModuleOp:
    """A random network of layers that share operands, on integers."""
    data = draw(st.data())
    net = Net()
    x = net.input("x", draw(st.integers(1, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    if draw(st.booleans()):
        x = net.call("linear", x, draw(st.integers(1, 4)))
    for layer in draw(st.lists(st.sampled_from([attention, tied, mixed]), min_size=1, max_size=2)):
        x = layer(net, x, data)
    return net.finish(dot_loss(net, x), Optimizer("sgd", {"lr": 1.0}))


def lowered(module: ModuleOp, conv: str = "native") -> None:
    stamp_default_target(module)
    for step in (AutodiffPass(), LowerToNpuPass(conv=conv)):
        step.apply(Context(), module)


def check_steps(module: ModuleOp, steps: list[ModulePass], seed: int) -> None:
    data = integer_data(module, seed, -1, 1)
    before = run_results(module, data)
    for step in steps:
        step.apply(Context(), module)
        module.verify()
        outcome = compare(before, run_results(module, data))
        assert outcome.equal, (str(step), outcome)
        assert outcome.exact


@SETTINGS
@given(
    networks(),
    st.sampled_from(["fused", "zip"]),
    st.sampled_from(["gradients", "siblings", "all"]),
    st.booleans(),
    st.integers(0, 99),
)
def test_merged_contractions_compute_the_same(
    module: ModuleOp, mode: str, what: str, scheduled: bool, seed: int
) -> None:
    lowered(module)
    fuse, schedule = InterleavePass(mode, what), SchedulePass("traffic")
    check_steps(module, [*([schedule, fuse] if scheduled else [fuse, schedule]), LowerTilesPass()], seed)


TARGET = "set-target{rows=4 cols=4 spm-bytes=%d clock-mhz=1000 gb-per-s=4 lanes=4 dataflow=%s}"


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from([3, 4]), st.booleans()), min_size=2, max_size=3),
    st.sampled_from(["os", "ws", "in-place"]),
    st.sampled_from([128, 512, 4096]),
    st.sampled_from(["sgd(lr=0.1)", "sgd(lr=0.1, momentum=0.9)"]),
    st.sampled_from(["gradients", "all"]),
)
def test_sets_that_are_equal_are_looked_at_once(
    layers: list[tuple[int, bool]], dataflow: str, spm: int, optimizer: str, what: str
) -> None:
    body = "\n  ".join(
        f"h = {'relu(linear(h, 4)) + ' if twice else ''}linear(h, {4 if twice else width})" for width, twice in layers
    )
    network = f"""network chain(batch=2) {{
  input x: f32[batch, 4]
  labels y: i32[batch]
  h = linear(x, 4)
  {body}
  loss cross_entropy(h, y)
  optimizer {optimizer}
}}
"""

    def each(self: BestWays, found: Sharing) -> object:
        return best_way(found, self.machine, self.goal)

    before = f"autodiff,lower-to-npu,{TARGET % (spm, dataflow)}"
    one, other = (lowered_text(network, before) for _ in range(2))
    step = InterleavePass("best", what)
    with patch.object(BestWays, "of", each):
        step.apply(Context(), other)
    step.apply(Context(), one)
    assert printed(one) == printed(other)


CHAIN = """network chain(batch=2) {
  input x: f32[batch, 4]
  labels y: i32[batch]
  h = x
  for i in 0..6 { h = linear(h, 4) }
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.mark.parametrize(("dataflow", "kinds"), [("os", 1), ("in-place", 2)])
def test_of_equal_sets_one_is_looked_at(dataflow: str, kinds: int) -> None:
    """In an in-place array the last layer's dX may find the tile of its forward product, others find none."""
    module = lowered_text(CHAIN, f"autodiff,lower-to-npu,{TARGET % (4096, dataflow)}")
    with patch("npuc.compiler.transforms.interleave.best.best_way", wraps=best_way) as asked:
        InterleavePass("best").apply(Context(), module)
    merged = [op for op in module.walk() if isinstance(op, ContractOp) and op.schedule_attr is not None]
    assert len(merged) > 4
    assert asked.call_count == kinds


def test_sets_are_equal_only_where_the_same_operands_are_one_value() -> None:
    net = Net()
    found, first = list[SSAValue](), net.input("x", 1, 2, 4)
    for number, same in enumerate((True, False, True, False)):
        x = net.call("relu", first)
        v, w = (net.param(f"w{number}{name}", 4, 4) for name in "vw")
        found += [net.call("linear", x, weight=one, bias=False) for one in (v, v if same else w)]
    total, *others = (net.call("relu", value) for value in found)
    for value in others:
        total = net.call("add", total, value)
    module = net.finish(dot_loss(net, total), Optimizer("sgd", {"lr": 1.0}))
    lowered(module)
    with patch("npuc.compiler.transforms.interleave.best.best_way", wraps=best_way) as asked:
        InterleavePass("best", "siblings").apply(Context(), module)
    sets: list[Sharing] = [call.args[0] for call in asked.call_args_list]
    forward = [one for one in sets if role_of(one.ops[0]) is Role.FORWARD]
    assert [len({*one.ops[0].operands, *one.ops[1].operands}) for one in forward] == [2, 3]


def split(nest: Nest) -> list[Nest]:
    """A nest of several statements as nests of one: what `interleave{mode=fused}` undoes."""
    found: list[Nest] = []
    for statement in nest.statements:
        kept = [n for n, out in enumerate(nest.outs) if out.name == statement.out]
        ins = tuple(t for t in nest.ins if t.name in (statement.lhs, statement.rhs))
        outs, starts = tuple(nest.outs[n] for n in kept), tuple(nest.starts[n] for n in kept)
        found.append(replace(nest, ins=ins, outs=outs, starts=starts, statements=(statement,)))
    return found


def sequential(module: ModuleOp) -> Counter[tuple[str, str, frozenset[str]]]:
    """The contractions of a program, those of several statements split: layer, statement, tensors."""
    return Counter(
        (layer_of(op), str(nest.statements[0]), frozenset(map(str, nest.tensors.values())))
        for op in module.walk()
        if isinstance(op, ContractOp)
        for nest in split(op.nest)
    )


@SETTINGS
@given(st.one_of(networks(), integer_networks()), st.sampled_from(["native", "im2col"]))
def test_splitting_gives_the_contractions_back(module: ModuleOp, conv: str) -> None:
    lowered(module, conv)
    before = sequential(module)
    InterleavePass().apply(Context(), module)
    assert sequential(module) == before
    left = [op for op in module.walk() if isinstance(op, ContractOp) and len(op.nest.statements) == 1]
    sides = {id(op): {out.name for out in op.nest.outs} for op in left}
    for op in left:
        # No pair is left over: nobody else reads the same dY of the layer.
        others = [o for o in left if o is not op and layer_of(o) == layer_of(op)]
        if "dY" in op.nest.tensors:
            value = op.named_operands()["dY"]
            assert not any("dY" in o.nest.tensors and o.named_operands()["dY"] is value for o in others), sides
