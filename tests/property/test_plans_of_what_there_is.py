"""
Plans of steps in which some gradients do not exist: frozen layers, branches that no loss sees, forward passes.

What a plan's terms say is what its program exchanges, in elements and in bytes, and the program is right.
"""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.search.least_movement import elements_of
from npuc.compiler.analysis.sharding.search.planning import bytes_of
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import random_data
from npuc.compiler.driver.devices import without_loss
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.distributed import DistOp, Mesh
from npuc.dialects.train.signature import ArgumentKind, arguments_of, has_loss
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source
from tests.sharded_networks import (
    ATTENTION,
    BLOCK,
    GATES,
    IMAGES,
    MESHES,
    SUMS,
    WORDS,
    plans,
    precisions,
    whole_networks,
)

SIDES = """
network sides(batch=8) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  a = linear(x, 16)
  b = relu(linear(a, 16))
  watched = linear(b, 8)
  guide = linear(detach(b), 16)
  c = linear(dropout(a + guide, 0.4), 16)
  output watched
  loss cross_entropy(linear(c + detach(a), 8), y)
  optimizer sgd(lr=0.01)
}
"""
SHARED = """
network shared(batch=8) {
  input t: i32[batch, 8]
  labels y: i32[batch, 8]
  table = param([16, 16])
  places = param([24, 16])
  guide = matmul(embedding(t, weight=detach(table)), table, transpose_b=true)
  x = embedding(t, weight=table) + slice(places, 0, 8, 16) + detach(slice(places, 0, 0, 8))
  q, k = split(dropout(linear(layer_norm(x), 32), 0.4), 16, axis=2)
  r = x + dropout(linear(q * sigmoid(k), 16), 0.5) * detach(linear(x, 16)) + detach(linear(q, 16))
  logits = matmul(layer_norm(r), table, transpose_b=true)
  output guide
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
"""
NARROW = """
network narrow(batch=8) {
  input x: bf16[batch, 16]
  input t: f32[batch, 8]
  h = relu(linear(x, 16))
  g = cast(linear(h, 8, bias=false), to="f32")
  loss mse(linear(g, 8), t)
  optimizer sgd(lr=0.01)
}
"""
FORMS = """
network forms(batch=8) {
  input x: f32[batch, 16]
  input n: bf16[batch, 16]
  input t: f32[batch, 16]
  turned = param([16, 16])
  folded = param([4, 64])
  scaled = param([16, 16])
  both = param([16, 16])
  bias = param([1, 16])
  other = param([16])
  h = relu(matmul(x, transpose(turned, [1, 0])))
  h = matmul(h, reshape(folded, [16, 16])) + reshape(bias, [16])
  u = cast(matmul(cast(h, to="bf16"), cast(scaled * 0.5, to="bf16")), to="f32")
  v = linear(cast(linear(n, 16), to="f32"), 16) + (cast(cast(other, to="bf16"), to="f32") + exp(other))
  w = matmul(u, both) + cast(matmul(cast(v, to="bf16"), cast(both, to="bf16")), to="f32")
  loss mse(w + sum(softmax(turned), axis=0), t)
  optimizer adamw(lr=0.01)
}
"""


def freeze(module: ModuleOp, plan: st.DataObject) -> None:
    """Keep some of the parameters as they are."""
    func = the_function(module)
    params = [a.index for a in arguments_of(func) if a.kind is ArgumentKind.PARAM]
    chosen = plan.draw(st.sets(st.sampled_from(params)) if params else st.just(set[int]()))
    assert func.arg_attrs is not None
    func.arg_attrs = ArrayAttr(
        DictionaryAttr({**attrs.data, **({"train.frozen": UnitAttr()} if n in chosen else {})})
        for n, attrs in enumerate(func.arg_attrs.data)
    )


def values(run: Run) -> dict[str, Array]:
    found = {f"out/{name}": value for name, value in run.outputs.items()}
    found |= {f"grad/{name}": value for name, value in run.gradients.items()}
    found |= {f"new/{name}": value for name, value in run.updated.items()}
    return found | ({} if run.loss is None else {"loss": np.asarray(run.loss)})


def check_plan(module: ModuleOp, sizes: tuple[int, ...], plan: st.DataObject, seed: int) -> None:
    """Freeze, forget the loss or not, share by any plan: results of one device, movement as the terms say."""
    freeze(module, plan)
    if plan.draw(st.booleans(), label="forward"):
        without_loss(module)
    if plan.draw(st.booleans(), label="other types"):
        plan.draw(precisions(module))
    one, func = module.clone(), the_function(module)
    network, edges = plan_graph_for(func, plan.draw(st.sampled_from((None, prod(sizes)))))
    sequences: tuple[TypeSequence, ...] = plan.draw(plans(network, len(sizes)))
    partition_spmd(func, network, edges, sequences, Mesh(sizes))
    for program in (one, module):
        if has_loss(the_function(program)):
            AutodiffPass().apply(make_context(), program)
    module.verify()
    terms = physical_terms(edges)
    rows = [term.amounts(sequences, sizes) for term in terms]
    modelled = [elements_of(sum(row[h] for row in rows), sizes) for h in range(len(sizes))]
    moved, size = [Fraction(0)] * len(sizes), Fraction(0)
    for op in module.walk():
        for level, elements in exchanged(op).items() if isinstance(op, DistOp) else ():
            moved[level] += elements
            size += elements * element_bytes(op.operands[0].type, None)
    assert moved == modelled
    assert size == bytes_of(network, terms, sequences, sizes, None)
    data = random_data(one, seed)
    outcome = compare(values(execute(one, data, double=True)), values(execute(module, data, double=True)))
    assert outcome.equal, outcome


@settings(max_examples=40)
@given(module=whole_networks(), sizes=st.sampled_from(MESHES), plan=st.data(), seed=st.integers(0, 99))
def test_layers_that_are_frozen(module: ModuleOp, sizes: tuple[int, ...], plan: st.DataObject, seed: int) -> None:
    check_plan(module, sizes, plan, seed)


@pytest.mark.parametrize(
    "text",
    [SIDES, SHARED, NARROW, FORMS, ATTENTION, IMAGES, WORDS, BLOCK, SUMS, GATES],
    ids=["sides", "shared", "narrow", "forms", "attention", "images", "words", "block", "sums", "gates"],
)
@settings(max_examples=15)
@given(sizes=st.sampled_from(MESHES), plan=st.data(), seed=st.integers(0, 99))
def test_branches_without_a_loss(text: str, sizes: tuple[int, ...], plan: st.DataObject, seed: int) -> None:
    source = text_source(text, "dsl", "net.dsl")
    module = read_program(source, Options(), SourceTexts({source.filename: source.text}), [])
    check_plan(module, sizes, plan, seed)
