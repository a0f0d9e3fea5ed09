"""Small networks whose axes divide among up to eight devices, and random plans for them."""

from fractions import Fraction
from math import prod

from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.search.least_movement import elements_of
from npuc.compiler.analysis.sharding.search.planning import bytes_of
from npuc.compiler.core.builder import Optimizer
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.compiler.transforms.parallelize.place_rows import PlaceRows
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.compiler.transforms.set_precision import SetPrecisionPass
from npuc.dialects.distributed import DistOp
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.tensors import shape_of
from tests.networks import Net, dot_loss

OPTIMIZERS = (
    Optimizer("sgd", {"lr": 1.0}),
    Optimizer("sgd", {"lr": 1.0, "momentum": 0.5}),
    Optimizer("adamw", {"lr": 0.5, "weight_decay": 0.25}),
    Optimizer("lamb", {"lr": 0.5}),
)
MESHES = ((2,), (2, 2), (2, 2, 2), (4, 2), (8,))
ATTENTION = """
network attention(batch=8) {
  input x: f32[batch, 4, 16]
  labels y: i32[batch, 4]
  n = layer_norm(x)
  q = linear(n, 16)
  k = linear(n, 16, bias=false)
  v = linear(n, 16)
  qh = transpose(reshape(q, [batch, 4, 8, 2]), [0, 2, 1, 3])
  kh = transpose(reshape(k, [batch, 4, 8, 2]), [0, 2, 1, 3])
  vh = transpose(reshape(v, [batch, 4, 8, 2]), [0, 2, 1, 3])
  a = matmul(dropout(softmax(matmul(qh, kh, transpose_b=true)), 0.5), vh)
  o = linear(reshape(transpose(a, [0, 2, 1, 3]), [batch, 4, 16]), 16)
  r = layer_norm(o + x)
  f = linear(gelu(linear(r, 32)), 16)
  logits = linear(f + r, 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
TABLES = """
network tables(batch=8) {
  input x: f32[batch, 8]
  input i: i32[3, batch]
  input bags: i32[batch, 4]
  input y: f32[batch, 8]
  a, b, c = unbind(i)
  shared = param([8, 16])
  first = embedding(a, weight=shared)
  second = embedding(b, weight=shared)
  third = relu(embedding(c, 24, 8, padding_idx=3))
  bag = embedding_bag(bags, 16, 8, mode=sum)
  features = [linear(x, 8), linear(first + second, 8), third, bag]
  top = linear(concat(features, axis=1), 8)
  loss mse(top, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
IMAGES = """
network images(batch=8) {
  input x: f32[batch, 8, 8, 8]
  labels y: i32[batch]
  c1 = relu(batch_norm(conv2d(x, 8, kernel=3, padding=1)))
  c2 = relu(conv2d(c1, 8, kernel=3, padding=1, groups=8))
  c3 = batch_norm(conv2d(c2, 8, kernel=1))
  p = max_pool(relu(c3 + c1), kernel=2)
  logits = linear(flatten(p), 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
WORDS = """
network words(batch=8) {
  input t: i32[batch, 4]
  labels y: i32[batch, 4]
  table = param([16, 8])
  e = embedding(t, weight=table)
  h = relu(linear(e, 16))
  both = concat([h, tanh(linear(e, 16))], 2)
  logits = linear(both, 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9, nesterov=true)
}
"""
PICKS = """
network picks(batch=8) {
  input x: f32[batch, 4, 8]
  input i: i32[batch, 4, 1]
  labels y: i32[batch]
  h = linear(x, 8)
  best, places = topk(h, 2, axis=1)
  ordered, _ = sort(best, axis=1)
  put = scatter(h, places, ordered + gather(x, places, 1), 1, reduce=max)
  set = slice_scatter(scatter(put, places, 0.5, 1), best, 1, step=2)
  added = scatter(set, places, ordered, 1, reduce=add)
  logits = linear(sum(gather_nd(added, i, batch=1), 1), 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01)
}
"""
BLOCK = """
network block(batch=8) {
  input t: i32[batch, 8]
  labels y: i32[batch, 8]
  table = param([16, 16])
  places = param([24, 16])
  x = embedding(t, weight=table) + slice(places, 0, 8, 16)
  a = multi_head_attention(layer_norm(x), 8, causal=true, joint=true, dropout=0.5)
  f = linear(gelu(linear(x, 32)), 16)
  r = x + dropout(a, 0.5) + f
  logits = matmul(layer_norm(r), table, transpose_b=true)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
SUMS = """
network sums(batch=8) {
  input x: f32[batch, 16]
  input t: f32[batch, 16]
  table = param([8, 16])
  shared = param([16, 16])
  u, v = split(linear(x, 32), [8, 24], axis=1)
  g, h = split(linear(x, 32), 16, axis=1)
  a = linear(g * sigmoid(h), weight=shared)
  b = linear(concat([u, v], axis=1), 16, bias=false) * 3.0
  c = matmul(a, shared, transpose_b=true)
  y = a - b + reshape(linear(b, 16), [batch, 16]) + (c + b)
  z = y + sum(table, axis=0) + sum(shared, axis=0) + matmul(y, slice(shared, 0, 0, 16))
  loss dot_loss(z, t)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
GATES = """
network gates(batch=8) {
  input x: f32[batch, 2, 8]
  input t: f32[batch, 2, 8]
  h = lstm(x, 8)
  loss dot_loss(h, t)
  optimizer sgd(lr=0.01)
}
"""


@st.composite
def whole_networks(draw: st.DrawFn) -> ModuleOp:
    """Dense layers or convolutions with joins and shared weights, whose values stay integers that float64 holds."""
    net = Net()
    image = draw(st.booleans())
    value = net.input("x", 8, 8, 4, 4) if image else net.input("x", 8, 16)
    shared = None if image else net.param("shared", 16, 16)
    earlier: list[SSAValue] = [value]
    steps = ["layer", "layer", "relu", "add", "mul", "own", "both"]
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from(steps))
        if step == "mul":
            steps.remove(step)  # squares of squares would be rounded
        same = [one for one in earlier if shape_of(one) == shape_of(value)]
        if step == "relu":
            value = net.call("relu", value)
        elif step in ("add", "mul"):
            value = net.call(step, value, draw(st.sampled_from(same)))
        elif step == "both" and not image:
            parts = [
                net.call("linear", one, 16, bias=draw(st.booleans())) for one in (value, draw(st.sampled_from(same)))
            ]
            value = net.call(draw(st.sampled_from(["add", "sub"])), *parts)
        elif image:
            groups = 8 if step == "own" else 1
            value = net.call("conv2d", value, 8, 3, padding=1, groups=groups, bias=draw(st.booleans()))
        elif step == "own" and shared is not None:
            value = net.call("linear", value, bias=False, weight=shared)
        else:
            value = net.call("linear", value, 16, bias=draw(st.booleans()))
        earlier.append(value)
    if image:
        value = net.call("max_pool", value, 2)
        value = net.call("linear", net.call("flatten", value), 8, bias=False)
    return net.finish(dot_loss(net, value), draw(st.sampled_from(OPTIMIZERS)))


@st.composite
def precisions(draw: st.DrawFn, module: ModuleOp) -> str:
    """Give a module one type for all floats, or mixed precision; say which."""
    precision = draw(st.sampled_from(("f32", "bf16", "mixed")))
    set_types(module, precision)
    return precision


def set_types(module: ModuleOp, precision: str) -> None:
    """Give a module a precision, also one whose floats are f64, which mixed precision leaves as they are."""
    for to in ("f32", precision):
        SetPrecisionPass(to).apply(Context(), module)


@st.composite
def plans(draw: st.DrawFn, graph: PlanGraph, levels: int) -> tuple[TypeSequence, ...]:
    """Any way at any level."""
    return tuple(tuple(draw(st.sampled_from(group.types)) for _ in range(levels)) for group in graph.groups)


def spread_by(
    module: ModuleOp, plan: st.DataObject, sizes: tuple[int, ...]
) -> tuple[PlanGraph, PlanEdges, tuple[TypeSequence, ...]]:
    """Rewrite a forward module for a mesh by a random plan, and derive the step."""
    func = the_function(module)
    if plan.draw(st.booleans(), label="tables by rows"):
        sweep(func.body, PlaceRows(prod(sizes)))
    graph, edges = plan_graph_for(func, plan.draw(st.sampled_from((None, prod(sizes)))))
    sequences = plan.draw(plans(graph, len(sizes)))
    partition_spmd(func, graph, edges, sequences, Mesh(sizes))
    differentiate(func)
    module.verify()
    return graph, edges, sequences


def modelled(edges: PlanEdges, sequences: tuple[TypeSequence, ...], sizes: tuple[int, ...]) -> list[object]:
    """Elements that a plan moves at each level, all devices, one direction."""
    rows = [term.amounts(sequences, sizes) for term in physical_terms(edges)]
    return [elements_of(sum(row[h] for row in rows), sizes) for h in range(len(sizes))]


def bytes_modelled(
    graph: PlanGraph, edges: PlanEdges, sequences: tuple[TypeSequence, ...], sizes: tuple[int, ...]
) -> Fraction:
    """Bytes that a plan moves, all devices, one direction, each tensor's by its type."""
    return bytes_of(graph, physical_terms(edges), sequences, sizes, None)


def bytes_moved(module: ModuleOp) -> Fraction:
    """The same of what stands in a program."""
    found = Fraction(0)
    for op in module.walk():
        if isinstance(op, DistOp):
            found += sum(exchanged(op).values()) * element_bytes(op.x.type, None)
    return found
