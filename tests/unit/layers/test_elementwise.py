"""`elementwise`: an element of a result needs the same element of each operand of its shape, and no other."""

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f64

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.train.base import TrainOp

SHAPE = (3, 4)
UNARY = ("relu", "gelu", "sigmoid", "tanh", "silu", "softplus", "exp", "abs", "sin", "hard_swish", "leaky_relu")
BINARY = ("add", "sub", "mul", "div", "max", "min", "pow")


def build(kind: str, *shapes: tuple[int, ...], **options: float | bool) -> TrainOp:
    cls = operation_of_kind(kind)
    assert cls is not None
    values = test.TestOp(result_types=[TensorType(f64, shape) for shape in shapes]).results
    return cls(*values, results=None, **options)


def depends(op: TrainOp, *shapes: tuple[int, ...]) -> bool:
    """Whether any element of an operand of the results' shape has an effect on another element."""
    layer = get_layer(op)
    r = np.random.default_rng(1)
    arrays = [r.uniform(0.5, 1.5, shape) for shape in shapes]
    before = layer.evaluate(op, *arrays)
    for number, array in enumerate(arrays):
        if array.shape != SHAPE:
            continue
        changed = array.copy()
        changed[1, 2] += 0.25
        after = layer.evaluate(op, *arrays[:number], changed, *arrays[number + 1 :])
        others = np.ones(SHAPE, bool)
        others[1, 2] = False
        if any(not np.array_equal(a[others], b[others]) for a, b in zip(before, after, strict=True)):
            return True
    return False


@pytest.mark.parametrize("kind", [*UNARY, *BINARY, "relu_grad", "gelu_grad"])
def test_functions(kind: str) -> None:
    shapes = (SHAPE,) * (1 if kind in UNARY else 2)
    op = build(kind, *shapes)
    assert get_layer(op).elementwise
    assert not depends(op, *shapes)


def test_what_reads_a_row_or_all_is_not() -> None:
    op = build("softmax", SHAPE)
    assert not get_layer(op).elementwise
    assert depends(op, SHAPE)


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_updates(name: str) -> None:
    rule = OPTIMIZERS[name]
    options = {key: 0.1 if value is None else value for key, value in rule.defaults.items()}
    if "keep" in options:
        options["keep"] = 0.5  # so that an element which grows takes the place of another
    states = [SHAPE] * len(rule.states_for(options)) + [()] * rule.counts_steps(options)
    shapes = (SHAPE, SHAPE, *states)
    op = build(rule.op.name.removeprefix("train."), *shapes, **rule.for_update(options))
    whole = name in ("lamb", "dropback")
    assert get_layer(op).elementwise != whole
    assert depends(op, *shapes) == whole
