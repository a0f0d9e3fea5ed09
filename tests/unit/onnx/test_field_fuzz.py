"""ONNX files with other fields than they had are read or refused; `test_fuzz` damages bytes."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler.core.errors import InternalError, NpucError
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import verify_module
from npuc.compiler.driver.read import read_program, texts_of
from npuc.frontends.source import text_source
from tests.onnx_files import graph, model, node, value, varint

Field: TypeAlias = list["int | bytes | list[Field]"]
"""A number, a wire type, and a value: an integer, bytes, or the fields of a message."""
NUMBERS = (0, 1, 2, 3, 5, 7, 11, 16, -1, -2, 100, 1 << 31, 1 << 40, 1 << 63, (1 << 63) - 1)
BYTES = (b"", b"x", b"y", b"h", b"axis", b"pads", b"\xff", b"9" * 30, b"\0\0\xc0\x7f", b"\0\0\x80\x7f")
OPERATORS = (
    b"Add MatMul Gemm Conv Reshape Transpose Concat Split Slice Gather Softmax ReduceSum MaxPool AveragePool Cast "
    b"Expand Where Unsqueeze Squeeze Flatten Resize Pad Clip Loop If Scan Einsum LayerNormalization TopK ScatterND "
    b"Shape LSTM GRU ConstantOfShape Range Tile OneHot DepthToSpace Identity Dropout Pow QuantizeLinear ConvTranspose"
).split()


@cache
def files() -> tuple[bytes, ...]:
    """A convolution and an attention."""
    rng = np.random.default_rng(0)

    def reals(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)

    images = [
        node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
        node("BatchNormalization", ["c", "b", "b", "b", "b"], ["d"], epsilon=1e-5),
        node("Relu", ["d"], ["e"]),
        node("MaxPool", ["e"], ["f"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["f"], ["g"]),
        node("Flatten", ["g"], ["h"], axis=1),
        node("Gemm", ["h", "v", "b"], ["y"], transB=1),
    ]
    tokens = [
        node("Gather", ["e", "x"], ["a"], axis=0),
        node("MatMul", ["a", "q"], ["m"]),
        node("Add", ["m", "o"], ["b"]),
        node("Reshape", ["b", "s"], ["c"]),
        node("Transpose", ["c"], ["d"], perm=[0, 2, 1, 3]),
        node("Softmax", ["d"], ["p"], axis=-1),
        node("ReduceMean", ["p", "i"], ["r"], keepdims=0),
        node("LayerNormalization", ["r", "g", "g"], ["n"], axis=-1),
        node("Split", ["n"], ["u", "z"], axis=2, num_outputs=2),
        node("Einsum", ["u", "z"], ["y"], equation="bij,bij->bi"),
    ]
    image = {"w": reals(4, 3, 3, 3), "b": reals(4), "v": reals(4, 4)}
    token = {"e": reals(10, 8), "q": reals(8, 8), "o": reals(8), "g": reals(4)}
    sizes = {"s": np.array([2, 4, 2, 4]), "i": np.array([1])}
    return (
        model(graph(images, [value("x", [2, 3, 8, 8])], ["y"], image)),
        model(graph(tokens, [value("x", [2, 4], 7)], ["y"], token | sizes)),
    )


def fields_of(data: bytes, depth: int = 0) -> list[Field]:
    """The fields of a message; bytes that are no message stay bytes. Raises `ValueError` and `IndexError`."""
    found: list[Field] = []
    at = 0

    def number() -> int:
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at, result, shift = at + 1, result | (byte & 127) << shift, shift + 7
            if byte < 128:
                return result

    while at < len(data):
        key = number()
        inner: int | bytes | list[Field]
        if key & 7 == 0:
            inner = number()
        else:
            length = {1: 8, 2: -1, 5: 4}[key & 7] if key & 7 in (1, 2, 5) else 1 << 40
            length = number() if length < 0 else length
            inner, at = data[at : at + length], at + length
            if at > len(data):
                raise ValueError("a field ends after the message")
            if key & 7 == 2 and len(inner) > 1 and depth < 6:
                try:
                    inner = fields_of(inner, depth + 1)
                except (ValueError, IndexError):
                    pass
        found.append([key >> 3, key & 7, inner])
    return found


def written(fields: list[Field]) -> bytes:
    """The message of some fields."""
    out = bytearray()
    for number, wire, inner in fields:
        assert isinstance(number, int)
        assert isinstance(wire, int)
        out += varint(number << 3 | wire)
        if isinstance(inner, int):
            out += varint(inner)
        else:
            data = written(inner) if isinstance(inner, list) else inner
            out += (varint(len(data)) if wire == 2 else b"") + data
    return bytes(out)


def places(fields: list[Field]) -> list[tuple[list[Field], int]]:
    """Where the fields of a message stand, those of inner messages after them."""
    found = [(fields, place) for place in range(len(fields))]
    for field in fields:
        inner = field[2]
        if isinstance(inner, list):
            found += places(inner)
    return found


def changed(data: bytes, rng: random.Random) -> bytes:
    """A file in which one to three fields are missing, there twice, elsewhere or others."""
    fields = fields_of(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        around, place = rng.choice(places(fields))
        field = around[place]
        inner = field[2]
        match rng.randrange(5):
            case 0:
                del around[place]
            case 1:
                around.insert(rng.randrange(len(around) + 1), [*field])
            case 2:
                field[0] = rng.randint(1, 24)
            case _ if isinstance(inner, int):
                field[2] = rng.choice((*NUMBERS, inner + 1))
            case _:
                other, at = rng.choice(places(fields))
                moved = other[at][2]
                taken = moved if isinstance(moved, bytes) and field[1] == 2 else rng.choice((*BYTES, *OPERATORS))
                field[2] = taken[:4].ljust(4, b"\0") if field[1] == 5 else taken
    return written(fields)


def read(data: bytes, options: Options) -> bool:
    """Whether a file is read, with the values of its parameters; errors that are no answers come out."""
    source = text_source(data, "onnx", "m.onnx")
    values: dict[str, Callable[[], npt.NDArray[Any]]] = {}
    try:
        module = read_program(source, options, texts_of(source), values=values)
        verify_module(module, texts_of(source))
        for made in values.values():
            made()
    except InternalError:
        raise
    except NpucError as error:
        return not error.render()
    return True


def good_of(seeds: range) -> int:
    """How many changed files are read."""
    good = 0
    for seed in seeds:
        rng = random.Random(seed)
        training = Options(loss=("cross_entropy",), optimizer="sgd(lr=0.1)", max_ops=2000)
        options = rng.choice((Options(inference=True, max_ops=2000), training))
        good += read(changed(rng.choice(files()), rng), options)
    return good


def test_the_files_that_are_changed_are_right() -> None:
    for data in files():
        assert written(fields_of(data)) == data
        assert read(data, Options(inference=True))


def test_changed_fields_are_read_or_refused() -> None:
    assert 10 < good_of(range(300)) < 290


@pytest.mark.long
def test_very_many_changed_fields_are_read_or_refused() -> None:
    good_of(range(100_000))
