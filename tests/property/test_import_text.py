"""A graph of random modules and its text are the same program, whatever the modules are called."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npuc.frontends.dsl.elaborate import read_dsl
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.rebatch import batch_size
from npuc.frontends.script.script import Script
from npuc.frontends.script.text import network_text
from npuc.frontends.script.text.equal import difference

WORDS = st.sampled_from(["a", "b", "layers", "x", "for", "relu", "linear", "0", "1", "2", "3", "h", "i"])
PATHS = st.lists(WORDS, min_size=1, max_size=4).map(".".join)
WIDTH = 4
"""All values are [batch, WIDTH], so that any may be an operand of any call."""


class _Graph:
    """A script that grows by calls on values that it has."""

    def __init__(self, batch: int):
        self.script = Script("net", "net.pt2", training=False)
        self.batch = batch
        self.values = [self.script.input("x", "f32", [batch, WIDTH])]

    def value(self, place: int) -> Name:
        """One of the last values."""
        return self.values[-1 - place % min(3, len(self.values))]

    def call(self, path: str, kind: int, place: int, width: int) -> None:
        """Write a call or two under a path."""
        x = self.value(place)
        match kind:
            case 0:
                self.values.append(self.script.let(path, "relu", x))
            case 1:
                h = self.script.let(f"{path}.linear", "linear", x, width)
                self.values.append(self.script.let(path, "linear", h, WIDTH))
            case 2:
                self.values.append(self.script.let(path, "add", x, self.value(place + 1)))
            case 3:
                a, b = self.script.several([path, path], "split", x, [1, WIDTH - 1], 1)
                self.values.append(self.script.let(f"{path}.concat", "concat", [b, a], 1))
            case 4:
                h = self.script.let(f"{path}.flat", "reshape", x, [self.batch * WIDTH])
                self.values.append(self.script.let(path, "reshape", h, [self.batch, WIDTH]))
            case _:
                w = self.script.let(f"{path}.shared", "param", [WIDTH, WIDTH])
                self.values.append(self.script.let(path, "linear", x, bias=False, weight=w))


CALLS = st.lists(st.tuples(PATHS, st.integers(0, 5), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=14)


def _grown(calls: list[tuple[str, int, int, int]], batch: int) -> Script:
    graph = _Graph(batch)
    for path, kind, place, width in sorted(calls, key=lambda call: call[0].split(".")[:1]):
        graph.call(path, kind, place, width)
    graph.script.add_output("out", graph.values[-1])
    return graph.script


@given(calls=CALLS)
def test_the_text_is_the_same_program(calls: list[tuple[str, int, int, int]]) -> None:
    script = _grown(calls, 2)
    free = batch_size(script, max_ops=1000)
    assert free is not None
    text = network_text(script.definition, {}, [free])
    assert format_source(text, "net.dsl") == text
    assert difference(script.finish(), read_dsl(text, "net.dsl", training=False)) is None
    other = _grown(calls, 6).finish()
    assert difference(other, read_dsl(text, "net.dsl", training=False, defines={"batch": 6})) is None


@given(
    unit=st.lists(st.tuples(PATHS, st.integers(0, 5), st.integers(0, 1), st.integers(1, 3)), min_size=2, max_size=5),
    count=st.integers(2, 5),
    stages=st.integers(1, 3),
)
def test_repeated_modules_are_the_same_program(unit: list[tuple[str, int, int, int]], count: int, stages: int) -> None:
    graph = _Graph(2)
    for stage in range(stages):
        for number in range(count):
            start = graph.values[-1]
            graph.values = [start]
            for path, kind, place, width in unit:
                graph.call(f"stage{stage}.{number}.{path}", kind, place, width + stage)
    graph.script.add_output("out", graph.values[-1])
    text = network_text(graph.script.definition, {}, [])
    assert difference(graph.script.finish(), read_dsl(text, "net.dsl", training=False)) is None
    assert len(text.splitlines()) <= len(graph.script.statements) + 60
