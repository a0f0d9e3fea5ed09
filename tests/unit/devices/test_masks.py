"""What is known before the step, masks and tables: a device makes its part of it, with the values of one device."""

from math import prod

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import random_data
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.dialects.distributed import SliceOp
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.dropout import DropoutOp
from npuc.frontends.mlir import make_context
from npuc.frontends.source import open_source, text_source

TABLES = """
network tables(batch=8) {
  input x: f32[batch, 4, 16]
  input t: f32[batch, 4, 16]
  start = full([batch, 4, 16], 0.25)
  number = cast(reshape(arange(batch), [batch, 1, 1]), to="f32") * 0.125
  place = sin(reshape(arange(batch * 4), [batch, 4, 1]) * 0.5)
  seen = where(reshape(causal_mask(8, 16), [batch, 1, 16]), x, start)
  y = dropout(dropout(seen * number, 0.25) + place, 0.5)
  output y
  loss mse(y * param([16]), t)
  optimizer sgd(lr=0.5)
}
"""


def read(text: str, **options: int) -> ModuleOp:
    source = text_source(text, "dsl", "net.dsl") if "\n" in text else open_source(text)
    return read_program(source, Options(defines=options), SourceTexts({source.filename: source.text}), [])


def parallel(module: ModuleOp, devices: int, strategy: str = "dp") -> ModuleOp:
    new = module.clone()
    ParallelizePass(strategy=strategy, devices=devices).apply(make_context(), new)
    new.verify()
    return new


def step(module: ModuleOp) -> ModuleOp:
    AutodiffPass().apply(make_context(), module)
    return module


def sliced(module: ModuleOp) -> set[tuple[str, tuple[int, ...]]]:
    """What is sliced by the devices' places, but arguments: operation and shape."""
    found: set[tuple[str, tuple[int, ...]]] = set()
    for op in module.walk():
        if isinstance(op, SliceOp):
            maker = op.x.owner
            if isinstance(maker, Operation) and not isinstance(maker, SliceOp):
                found.add((maker.name, shape_of(op.x)))
    return found


def largest(module: ModuleOp) -> int:
    return max(prod(shape_of(result)) for op in the_function(module).body.block.ops for result in op.results)


@pytest.mark.parametrize("devices", [2, 8])
def test_the_bits_of_one_device(devices: int) -> None:
    """All work of the output is of one element, so that nothing may be rounded otherwise."""
    module = read(TABLES)
    data = random_data(module, 3)
    one, many = (execute(step(m), data, double=False, steps=2) for m in (module.clone(), parallel(module, devices)))
    assert np.array_equal(one.outputs["y"], many.outputs["y"])
    assert 0 < np.count_nonzero(one.outputs["y"]) < one.outputs["y"].size


def test_only_positions_are_sliced() -> None:
    """Positions say which part a device has, of a causal mask, too, whose rows are cut."""
    assert sliced(parallel(read(TABLES), 4)) == {
        ("train.arange", (8,)),
        ("train.arange", (32,)),
    }


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("gpt2", {"length": 16, "layers": 1}),
        ("bert_base", {"length": 12, "layers": 1}),
        ("vgg16", {"image": 32}),
        ("t5_small", {"length": 8, "layers": 1}),
    ],
)
def test_no_tensor_is_larger_than_on_one_device(name: str, sizes: dict[str, int]) -> None:
    """Eight devices with a batch of two each: no more at once than one device with a batch of two."""
    whole, part = (read(f"samples:{name}", batch=batch, **sizes) for batch in (16, 2))
    devices = parallel(whole, 8)
    assert {kind for kind, _ in sliced(devices)} == {"train.arange"}
    assert any(isinstance(op, DropoutOp) and op.places for op in devices.walk())
    assert largest(step(devices)) == largest(step(part))


STATES = """
network states(batch=8) {
  input x: f32[batch, 3, 4]
  input t: f32[batch, 3, 16]
  own = cast(reshape(arange(batch * 16), [1, batch, 16]), to="f32") * 0.01
  h = RECURRENT
  output h
  loss mse(h, t)
  optimizer sgd(lr=0.5)
}
"""


def products(module: ModuleOp) -> int:
    """The multiply-accumulates of a step."""
    return sum(get_layer(op).work(op).macs for op in module.walk() if isinstance(op, TrainOp))


@pytest.mark.parametrize(
    "recurrent",
    [
        "lstm(x, 16)",
        "rnn(x, 16, h=own)",
        "gru(x, 16, h=tanh(own) * 0.5)",
        "lstm(x, 16, h=own, c=own)",
        "lstm(x, 16, layers=2)",
    ],
)
def test_devices_multiply_the_initial_states_of_their_own_batch(recurrent: str) -> None:
    """Four devices do the products of a quarter of the batch, with the numbers of one device."""
    text = STATES.replace("RECURRENT", recurrent)
    module = read(text)
    many, quarter = step(parallel(module, 4)), step(read(text.replace("batch=8", "batch=2")))
    assert products(many) == products(quarter)
    data = random_data(module, 3)
    one, spread = (execute(m, data, double=True, steps=2) for m in (step(module.clone()), many))
    assert np.allclose(one.outputs["h"], spread.outputs["h"], rtol=1e-12, atol=1e-12)
    for name, value in one.outputs.items():
        assert np.allclose(value, spread.outputs[name], rtol=1e-10, atol=1e-10), name
