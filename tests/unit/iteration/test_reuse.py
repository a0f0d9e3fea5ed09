"""What reuse saves in networks of a few layers, by hand, and in ResNet-50."""

import numpy as np
import pytest

from npuc.backends.roofline.iteration.build import iteration_of
from npuc.backends.roofline.iteration.reuse import SCOPES, Reuse, reuse_of, sufficient_capacity, within_steps
from npuc.backends.roofline.iteration.steps import (
    Conventions,
    Iteration,
    IterationStep,
    IterationTensor,
    Phase,
    TensorKind,
)
from npuc.backends.roofline.iteration.trace import trace_of
from npuc.backends.roofline.reuse import reuse_report
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.reuse import ReuseReport
from npuc.dialects.train.signature import training_functions
from npuc.frontends import read_source
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware


def iteration_from(text: str, element_bytes: int | None = None) -> Iteration:
    (func,) = training_functions(read_source(text, training=True))
    return iteration_of(func, Conventions(element_bytes=element_bytes))


def report_of(sample: str, keys: dict[str, object]) -> ReuseReport:
    source = open_source(f"samples:{sample}")
    module = read_source(source.text, filename=source.filename)
    return reuse_report(module, load_hardware("rtx2080ti", keys))


def saved(reuse: Reuse) -> dict[str, tuple[int, int]]:
    """Bytes of reads and of copies by scope, where there are any."""
    every = np.ones((len(reuse.scope), 1), dtype=np.bool_)
    reads, copies = reuse.reads_saved(every)[:, 0].tolist(), reuse.copies_saved(every)[:, 0].tolist()
    return {name: (r, c) for name, r, c in zip(SCOPES, reads, copies, strict=True) if r or c}


def tensor(name: str, size: int, kind: TensorKind = "value") -> IterationTensor:
    return IterationTensor(name, size, kind, 1)


def step(name: str, reads: tuple[int, ...], writes: tuple[int, ...], phase: Phase = "forward") -> IterationStep:
    return IterationStep(name, "op", phase, reads, writes, 0, 1, 1, False)


def test_a_shortcut_is_a_block() -> None:
    """x (1) -> a (10) -> b (100) -> c = a + b: the shortcut of a is read last, so a's copy counts with it."""
    tensors = (tensor("x", 1, "input"), tensor("a", 10), tensor("b", 100), tensor("c", 1000))
    steps = (step("a", (0,), (1,)), step("b", (1,), (2,)), step("c", (1, 2), (3,)))
    reuse = reuse_of(trace_of(Iteration(tensors, steps, frozenset({3}))))
    # a is read next and, from there, in the step after; each of these intervals is of neighbours
    assert saved(reuse) == {"adjacent": (10 + 10 + 100, 10 + 100)}
    steps = (step("a", (0,), (1,)), step("b", (0,), (2,)), step("c", (1, 2), (3,)))
    reuse = reuse_of(trace_of(Iteration(tensors, steps, frozenset({3}))))
    assert saved(reuse) == {"adjacent": (1 + 100, 100), "block": (10, 10)}
    # without reuse: x twice, a and b out and in, c out
    assert reuse.without == 2 * 1 + 2 * 10 + 2 * 100 + 1000
    # c's step has a, b and c; a crosses b's step, which has x and b
    assert sufficient_capacity(reuse.intervals, reuse.scope == SCOPES.index("block")) == 1110


def test_copies_count_with_the_widest_scope() -> None:
    """A value that the next step and the backward read: the copy is the backward's; one that must stay is nobody's."""
    tensors = (tensor("x", 1, "input"), tensor("a", 10), tensor("b", 100), tensor("dw", 5, "weight_gradient"))
    steps = (
        step("a", (0,), (1,)),
        step("b", (1,), (2,)),
        step("c", (2,), ()),
        step("b", (1,), (3,), "dxdw"),
        step("u", (3,), (), "update"),
    )
    reuse = reuse_of(trace_of(Iteration(tensors, steps)))
    assert saved(reuse) == {"adjacent": (10 + 100, 100), "forward-backward": (10, 10), "update": (5, 5)}
    reuse = reuse_of(trace_of(Iteration(tensors, steps, frozenset({1, 3}))))
    assert saved(reuse) == {"adjacent": (10 + 100, 100), "forward-backward": (10, 0), "update": (5, 0)}


def test_weights_over_time() -> None:
    """Three layers of one weight of 64 bytes, the first of which has no dX and so reads it forward alone."""
    text = """
    network n(batch=2) {
      input x: f32[batch, 4]
      input y: f32[batch, 4]
      w = param([4, 4])
      h = x
      for i in 0..3 { h = linear(h, bias=false, weight=w) }
      loss mse(h, y)
      optimizer sgd(lr=0.1)
    }
    """
    found = saved(reuse_of(trace_of(iteration_from(text))))
    # the weight is read again twice forward and once backward; its gradient is written, and twice added to
    assert found["recurrent"] == ((2 + 1 + 2) * 64, 2 * 64)
    assert found["update"] == (2 * 64, 64)


@pytest.mark.parametrize(("width", "element"), [(None, 4), (2, 2)])
def test_operands_of_products_by_the_reuse_frequency(width: int | None, element: int) -> None:
    """cap(t) (B rf(t, l) - 1) over the operands of a convolution: 3 x 3, 2 channels to 5, 6 x 6, batch 2."""
    text = """
    network n(batch=2) {
      input x: f32[batch, 2, 6, 6]
      h = conv2d(x, 5, 3, padding=1, bias=false)
      g = relu(h)
      loss mse(conv2d(g, 5, 3, padding=1, bias=false), g)
    }
    """
    iteration = iteration_from(text, width)
    trace = trace_of(iteration)
    within = dict(zip([(s.name, s.phase) for s in iteration.steps], within_steps(trace).tolist(), strict=True))
    macs = 2 * 6 * 6 * 5 * 2 * 3 * 3
    caps = [2 * 2 * 6 * 6 * element, 5 * 2 * 9 * element]
    first = iteration.steps[0]
    assert first.macs == macs
    assert within[first.name, "forward"] == sum(round(cap * (element * (macs / cap) - 1)) for cap in caps)
    # the second has both gradients: of its MACs, half take dY and W, half dY and X
    second = next(s for s in reversed(iteration.steps) if s.matrix and s.phase == "forward")
    inside, weight = 5 * 2 * 6 * 6 * element, 5 * 5 * 9 * element
    assert within[second.name, "dxdw"] == 2 * 2 * second.macs * element - 2 * inside - weight
    assert all(within[s.name, s.phase] == 0 for s in iteration.steps if not s.matrix)


def test_resnet50() -> None:
    """Adjacent layers first, then what the backward reads of the forward; nothing is recurrent."""
    report = report_of("resnet50", {})
    found = {row.scope: row for row in report.scopes}
    share = {name: row.bytes / report.total.bytes for name, row in found.items()}
    assert 0.6 < share["adjacent"] < 0.7
    assert 0.15 < share["forward-backward"] < 0.25
    assert found["recurrent"].intervals == 0
    assert report.without_bytes - report.compulsory_bytes == report.total.bytes
    # the forward's MACs are 123.455 G: with both operands' gradients three times that, but for the first layer's dX
    assert 2.9 < (report.within.bytes + 8e9) / (2 * 4 * 123.455e9) < 3
    traffic = [point.traffic_bytes for point in report.curve]
    assert traffic == sorted(traffic, reverse=True)
    assert traffic[-1] == report.compulsory_bytes


def test_a_policy_that_takes_too_long() -> None:
    with pytest.raises(UsageError, match=r"roofline\.policy"):
        report_of("lenet", {"roofline.policy": "optimal"})
