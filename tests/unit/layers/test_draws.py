"""Random numbers by place are those of numpy's generator, whatever part is drawn."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from npuc.compiler.core.verify import the_function
from npuc.compiler.interpreter.execute import call
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers.draws import LONG_RUN, draws_at, philox
from npuc.frontends.mlir import make_context


def stream(key: tuple[int, int], start: int, count: int) -> list[float]:
    """Numbers of numpy's stream from a place on that is a multiple of four."""
    bits = np.random.Philox(key=np.array(key, np.uint64))
    bits.advance(start // 4)
    return np.random.Generator(bits).random(count).tolist()


@settings(max_examples=80)
@given(
    of=st.lists(st.integers(1, 9), max_size=3),
    last=st.sampled_from([1, 3, 4, 7, LONG_RUN, LONG_RUN + 5]),
    data=st.data(),
    key=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
)
def test_a_part_has_its_part_of_the_numbers(
    of: list[int], last: int, data: st.DataObject, key: tuple[int, int]
) -> None:
    shape = (*of, last)
    index = tuple(
        np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))), np.int64) for size in shape[:-1]
    )
    index += (np.arange(last) if data.draw(st.booleans()) else np.arange(0, last, 2),)
    whole = np.random.Generator(np.random.Philox(key=np.array(key, np.uint64))).random(shape)
    assert np.array_equal(draws_at(key, shape, index), whole[np.ix_(*index)])


def test_a_number() -> None:
    assert draws_at((1, 2), (), ()).tolist() == stream((1, 2), 0, 1)[0]


@pytest.mark.parametrize("width", [4, LONG_RUN])
def test_parts_of_tensors_that_no_machine_holds(width: int) -> None:
    shape = (2**20, 2**16, width)
    place = (2**20 - 3, 2**15 + 1)
    start = (place[0] * shape[1] + place[1]) * width
    index = (np.array(place[:1]), np.array(place[1:]), np.arange(width))
    assert prod(shape) > 2**37
    assert draws_at((7, 5), shape, index).reshape(-1).tolist() == stream((7, 5), start, width)


def test_the_blocks_are_those_of_the_published_generator() -> None:
    """The known answer of Random123 for the counter 0 under the key 0 (`kat_vectors`, philox4x64 10 rounds)."""
    words = philox(np.zeros(1, np.uint64), (0, 0)).reshape(-1).tolist()
    assert [hex(word) for word in words] == [
        "0x16554d9eca36314c",
        "0xdb20fe9d672d0fdc",
        "0xd7e772cee186176b",
        "0x7e68b68aec7ba23b",
    ]


WORDS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]))
"""Seeds and steps: integers of 64 bits, some of which no float is."""


@settings(max_examples=60)
@given(shape=st.lists(st.integers(1, 7), max_size=3), seed=WORDS, step=WORDS)
def test_random_bits_are_those_of_numpys_philox(shape: list[int], seed: int, step: int) -> None:
    type = "tensor<" + "x".join([*map(str, shape), "i64"]) + ">"
    module = Parser(
        make_context(),
        f"func.func @draw(%a: tensor<i64>, %b: tensor<i64>) -> {type} {{\n"
        f"  %r = train.random_bits %a, %b : (tensor<i64>, tensor<i64>) -> {type}\n"
        f"  func.return %r : {type}\n}}\n",
    ).parse_module()
    (found,) = call(module, the_function(module), [np.array(seed), np.array(step)], Numbers())
    key = np.array([seed, step], np.int64).view(np.uint64)
    words = np.random.Philox(key=key).random_raw(prod(shape)).reshape(shape)
    assert np.asarray(found).dtype == np.int64
    assert np.array_equal(found, (words >> np.uint64(11)).astype(np.int64))
    # what dropout compares is 2^53 times the number that the generator draws
    drawn = np.random.Generator(np.random.Philox(key=key)).random(shape)
    assert np.array_equal(np.asarray(found) * 2.0**-53, drawn)
