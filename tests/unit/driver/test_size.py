"""
What compiling a large network takes, in counts: operations grow as the network, work on those that are alike does not.
"""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.irdl import OpDef

from npuc.backends.cycle import backend
from npuc.compiler import compile_source
from npuc.compiler.analysis.programs.cheapest import best_program
from npuc.compiler.analysis.programs.interleave_search import best_round_robin
from npuc.compiler.analysis.schedule.core_search import core_search, least_on_core, near_on_core
from npuc.compiler.analysis.schedule.search import searched_schedule
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.transforms.lower_to_npu.patterns import LowerVector
from npuc.frontends.source import text_source

RECURRENT = """
network recurrent(steps=8) {
  input  x: f32[4, steps, 6]
  labels y: i32[4]
  w = param([6, 5])
  u = param([5, 5])
  h = linear(mean(x, 1), weight=w, bias=false)
  for item in unbind(x, 1) { h = tanh(linear(item, weight=w, bias=false) + linear(h, weight=u, bias=false)) }
  loss cross_entropy(linear(h, 3), y)
  optimizer adam()
}
"""
RESIDUAL = """
network residual(steps=8) {
  input  x: f32[2, 4, 6, 6]
  labels y: i32[2]
  for i in 0..steps { x = x + relu(batch_norm(conv2d(x, 4, kernel=3, padding=1, bias=false))) }
  loss cross_entropy(linear(global_avg_pool(x), 3), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
DEEP = """
network deep(steps=8) {
  input  x: f32[2, 4]
  labels y: i32[2]
  h = linear(x, 4)
  for i in 0..steps { h = relu(h) }
  loss cross_entropy(h, y)
}
"""
NETWORKS = pytest.mark.parametrize("text", [RECURRENT, RESIDUAL], ids=["recurrent", "residual"])


def program(text: str, steps: int, level: str) -> ModuleOp:
    return lowered_source(text_source(text, "dsl", "f"), run_options({"defines": {"steps": steps}, "level": level}))


def operations(text: str, steps: int, level: str) -> int:
    return sum(1 for _ in program(text, steps, level).walk())


class Calls:
    """Counts the calls of functions while networks are compiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._monkeypatch = monkeypatch
        self.count = 0

    def of(self, owner: object, name: str) -> None:
        original: Callable[..., object] = getattr(owner, name)

        def counted(*arguments: object, **named: object) -> object:
            self.count += 1
            return original(*arguments, **named)

        self._monkeypatch.setattr(owner, name, counted)

    def when_compiling(self, text: str, steps: int, pipeline: str | None) -> int:
        self.count = 0
        compile_source(text, defines={"steps": steps}, pipeline=pipeline)
        return self.count


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


@settings(max_examples=10)
@given(st.sampled_from([RECURRENT, RESIDUAL]), st.sampled_from(["train", "npu"]), st.integers(3, 12), st.integers(1, 9))
def test_operations_grow_by_the_same_number_with_each_step(text: str, level: str, steps: int, more: int) -> None:
    small, next_one = operations(text, steps, level), operations(text, steps + 1, level)
    assert operations(text, steps + more, level) == small + more * (next_one - small)
    assert 0 < next_one - small < 40


@NETWORKS
@pytest.mark.parametrize(("level", "most"), [(0, 12), (3, 31)])
def test_searches_do_not_grow(text: str, level: int, most: int) -> None:
    searches: list[int] = []
    for steps in (4, 9):
        for known in (searched_schedule, core_search, least_on_core, near_on_core, best_round_robin, best_program):
            known.cache_clear()
        compile_source(text, defines={"steps": steps}, opt_level=level)
        searches.append(least_on_core.cache_info().misses)
    assert searches[0] == searches[1]
    assert 3 <= searches[0] <= most


@NETWORKS
def test_a_search_is_remembered_from_one_compilation_to_the_next(text: str) -> None:
    compile_source(text, defines={"steps": 4})
    before = least_on_core.cache_info().misses
    compile_source(text, defines={"steps": 20})
    assert least_on_core.cache_info().misses == before


@NETWORKS
@pytest.mark.parametrize(
    ("owner", "name", "pipeline"),
    [
        (OpDef, "verify", None),
        (LowerVector, "match_and_rewrite", None),
        (backend, "contract_row", None),
        (backend, "interleave_row", "autodiff,lower-to-npu,interleave{mode=zip},schedule"),
        (backend, "stream_row", None),
    ],
    ids=["verify", "work", "contractions", "in turn", "streams"],
)
def test_work_on_operations_that_are_alike_does_not_grow(
    text: str, owner: object, name: str, pipeline: str | None, calls: Calls
) -> None:
    calls.of(owner, name)
    few, many = (calls.when_compiling(text, steps, pipeline) for steps in (6, 30))
    assert few > 0
    # What grows: the operations that gather or spread over the steps, whose types differ.
    assert many <= few + 2


def test_long_chains_need_no_recursion() -> None:
    report = compile_source(DEEP, defines={"steps": 1500}, opt_level=0)
    assert sum(row.phase == "forward" and row.native.get("work") == "relu" for row in report.ops) == 1500


def test_rows_of_operations_that_are_alike_keep_their_own_names_and_places() -> None:
    report = compile_source(DEEP.replace("loss", "h = relu(h)\n loss"), defines={"steps": 3}, opt_level=0)
    rows = [row for row in report.ops if row.native.get("work") == "relu"]
    assert [row.name for row in rows] == ["0.h", "1.h", "2.h", "h_2"]
    assert [row.loc for row in rows] == [f"<string>:{at}" for at in ("6:27", "6:27", "6:27", "7:7")]
    assert [row.index for row in report.ops] == list(range(len(report.ops)))


def test_an_operand_given_twice_is_read_once_whatever_came_before() -> None:
    text = """network n() { input x: f32[2, 4]; input y: f32[2, 4]; p = x * y; q = x * x; r = y * x; s = y * y
        output all = p + q + r + s }"""
    report = compile_source(text, inference=True, opt_level=0)
    read = {row.name: row.dram_read_bytes for row in report.ops}
    whole = read["p"]
    assert whole is not None
    assert [read[name] for name in "pqrs"] == [whole, whole // 2, whole, whole // 2]
