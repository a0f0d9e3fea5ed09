"""Damaged ONNX files end in an error with a message, never in another exception."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from npuc.compiler import compile_source
from npuc.compiler.core.errors import NpucError, SourceError
from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import FLOAT
from npuc.frontends.onnx.container.load import parse_model
from npuc.frontends.onnx.container.tensors import OnnxTensor
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.values import Constant, OnnxValue
from npuc.frontends.onnx.walk import Walk
from tests.onnx_files import function, graph, model, node, value


class _Shaped:
    shape = (2, 3)
    type = FLOAT


class _Emitter:
    def parameter(self, name: str, tensor: OnnxTensor) -> None:
        return None

    def emit(self, call: OnnxCall) -> Sequence[OnnxValue]:
        return [_Shaped()]


@cache
def whole() -> bytes:
    """A file with something of everything."""
    body = graph(
        [node("Add", ["a", "i"], ["b"]), node("Less", ["b", "k"], ["go"])],
        [value("i"), value("c"), value("a")],
        ["go", "b", "i"],
    )
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "o", "e"], ["s1"]),
        node("ReduceProd", ["s"], ["p"], keepdims=0),
        node("Loop", ["k", "t", "z"], ["l", "m"], body=body),
        node("Range", ["z", "k", "one"], ["r"]),
        node("Concat", ["r", "s1"], ["q"], axis=0),
        node("Expand", ["one", "q"], ["big"]),
        node("SplitToSequence", ["q"], ["seq"], axis=0),
        node("SequenceAt", ["seq", "one"], ["at"]),
        node("f", ["q"], ["w"], "own"),
        node("Where", ["t", "w", "q"], ["v"]),
        node("Reshape", ["x", "v"], ["y"]),
    ]
    numbers = {
        **{name: np.array(number) for name, number in (("k", 3), ("z", 0), ("one", 1))},
        **{name: np.array([number]) for name, number in (("o", 0), ("e", 2))},
        "t": np.array(True),
    }
    functions = [function("f", ["a"], ["b"], [node("Cast", ["a"], ["c"], to=1), node("Cast", ["c"], ["b"], to=7)])]
    return model(graph(nodes, [value("x", [2, 3])], ["y", "m", "at"], numbers), functions=functions)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with some bytes changed, cut out, repeated or cut off."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, kind = rng.randrange(len(changed)), rng.randrange(5)
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del changed[at : at + rng.randint(1, 20)]
        elif kind == 3:
            changed[at:at] = changed[at : at + rng.randint(1, 40)]
        else:
            changed[at : at + 1] = rng.choice([b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff", b"\x80", b"\x00"])
        if not changed:
            return b""
    return bytes(changed) if rng.random() < 0.9 else bytes(changed[: rng.randrange(len(changed))])


def survives(seeds: range) -> tuple[int, list[str]]:
    """How many damaged files are read, and the messages of those that are refused."""
    good, refused = 0, list[str]()
    for seed in seeds:
        data = damaged(whole(), random.Random(seed))
        try:
            found = Walk(parse_model(data, "m.onnx"), _Emitter(), Limits(nodes=2000)).run({"x": _Shaped()})
            for each in found.values():
                assert not isinstance(each, Constant) or each.array is not None
            good += 1
        except NpucError as error:
            refused.append(error.render())
    return good, refused


def test_damaged_files_are_read_or_refused() -> None:
    good, refused = survives(range(1500))
    assert good > 20
    assert len(refused) > 200
    assert [text for text in refused if "m.onnx" not in text] == []


def test_an_average_of_more_windows_than_can_be_counted_is_refused() -> None:
    pooling = node("AveragePool", ["x"], ["y"], kernel_shape=[5, 5], pads=[2, (1 << 63) - 1, 2, 2])
    data = model(graph([pooling], [value("x", [1, 1, 5, 5])], ["y"]))
    with pytest.raises(SourceError, match="too many to count"):
        compile_source(data, "onnx", "m.onnx", inference=True)


@pytest.mark.long
def test_very_many_damaged_files_are_read_or_refused() -> None:
    survives(range(100_000))
