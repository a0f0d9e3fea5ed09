"""The same network with another batch: only where it is clear which of its sizes are the batch."""

from collections.abc import Callable

import pytest

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.rebatch import batch_size
from npuc.frontends.script.script import Script

BATCH = 4
CLEAR: dict[str, Callable[[Script, Name], Name]] = {
    "a layer": lambda s, x: s.let("y", "relu", x),
    "a part of each sample": lambda s, x: s.let("y", "slice", x, 1, 0, 2),
    "the first sample": lambda s, x: s.let("z", "add", x, s.let("y", "slice", x, 0, 0, 1)),
    "the order of features": lambda s, x: s.let("y", "index_select", x, [2, 1, 0], 1),
    "ones for each sample": lambda s, x: s.let("z", "mul", x, s.let("y", "full", [BATCH, 1], 1.0)),
}
UNCLEAR: dict[str, Callable[[Script, Name], Name]] = {
    "all samples but the first": lambda s, x: s.let("y", "slice", x, 0, 1, BATCH),
    "half of the samples": lambda s, x: s.let("y", "slice", x, 0, 0, BATCH // 2),
    "the order of samples": lambda s, x: s.let("y", "index_select", x, [3, 2, 1, 0], 0),
    "samples written to": lambda s, x: s.let("y", "slice_scatter", x, s.let("z", "zeros", [3, 3]), 0, 1, BATCH),
    "numbers of the samples": lambda s, x: s.let("z", "mul", x, s.let("y", "tensor", [0.0, 1.0, 2.0, 3.0], [BATCH, 1])),
}


def _sized(make: Callable[[Script, Name], Name]) -> bool:
    """Whether the network has the batch as a parameter, and takes others."""
    script = Script("n", "n.pt2", training=False)
    script.add_output("out", make(script, script.input("x", "f32", [BATCH, 3])))
    size = batch_size(script, max_ops=1000)
    assert size is not None
    assert size.value == BATCH
    return all(size.at(value) is not None for value in size.others)


@pytest.mark.parametrize("name", CLEAR)
def test_what_follows_from_the_inputs_grows_with_them(name: str) -> None:
    assert _sized(CLEAR[name])


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_listed_for_the_samples_at_hand_keeps_the_batch(name: str) -> None:
    assert not _sized(UNCLEAR[name])
