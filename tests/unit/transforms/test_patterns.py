"""The page of each pattern: its rewrite is run, does nothing a second time, and patterns compose to passes."""

from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from npuc.compiler import patterns
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.driver.passes import available_passes, read_pipeline
from npuc.compiler.reference.docstrings import documentation
from npuc.compiler.reference.example import example_module
from npuc.compiler.reference.passes import MACHINE, pattern_named, pattern_page
from npuc.compiler.transforms import get_all_patterns
from npuc.compiler.transforms.named_pattern import NamedPattern, apply_pattern
from npuc.dialects.npu import InterleaveOp
from npuc.dialects.npu.nest import Loop, Schedule
from npuc.frontends.mlir import make_context

PASSES = (
    "tile",
    "keep",
    "rearrange",
    "partition",
    "schedule",
    "interleave",
    "group-weights",
    "map",
    "contraction-form",
)
OWN = [pattern for step in PASSES for pattern in get_all_patterns()[step]]
NAMES: dict[str, Any] = {"Loop": Loop, "Schedule": Schedule, **{n: getattr(patterns, n) for n in patterns.__all__}}


def example_of(pattern: type[NamedPattern]) -> tuple[ModuleOp, NamedPattern, list[str]]:
    """The program that the example of a pattern starts from, the pattern as it is made there, and what it gives."""
    text = documentation(pattern).example
    assert text is not None
    before, made, after = ("", "", "")
    for line in text.splitlines():
        if line.startswith("--> "):
            made = line.removeprefix("--> ")
        elif made:
            after += line + "\n"
        else:
            before += line + "\n"
    module = example_module(before, make_context())
    right = example_module(after, make_context())
    if pattern.name == "stream-innermost":
        for one in (module, right):
            run(one, MACHINE)
    return module, eval(made, NAMES), body_of(right)


def body_of(module: ModuleOp) -> list[str]:
    """The operations of the one function, without its return."""
    (func,) = (op for op in module.walk() if isinstance(op, FuncOp))
    return [str(op) for op in func.body.block.ops][:-1]


def run(module: ModuleOp, pipeline: str) -> None:
    for step in read_pipeline(pipeline, available_passes()):
        step.apply(Context(), module)


def greedy(module: ModuleOp, *used: NamedPattern) -> bool:
    return PatternRewriteWalker(GreedyRewritePatternApplier(list(used), dce_enabled=False)).rewrite_module(module)


@pytest.mark.parametrize("pattern", OWN, ids=lambda pattern: pattern.name)
def test_the_example_of_a_pattern_is_what_it_does(pattern: type[NamedPattern]) -> None:
    module, made, right = example_of(pattern)
    assert type(made) is pattern
    assert greedy(module, made)
    module.verify()
    assert body_of(module) == right
    assert not greedy(module, made)


def test_all_patterns_are_in_one_place() -> None:
    every = {pattern.__name__: pattern for own in get_all_patterns().values() for pattern in own}
    assert {name: getattr(patterns, name, None) for name in every} == every
    assert set(dir(patterns)) == set(patterns.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Tiles'"):
        _ = getattr(patterns, "Tiles")


@pytest.mark.parametrize("pattern", OWN, ids=lambda pattern: pattern.name)
def test_arguments_are_explained(pattern: type[NamedPattern]) -> None:
    page = pattern_page(*pattern_named(pattern.__name__))
    assert [one.name for one in page.arguments if not one.meaning] == []
    assert page == pattern_page(*pattern_named(pattern.name))


TEXT = """
%y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
  {layer = "a"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
%z = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W)
  {layer = "b"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
"""


def test_patterns_in_one_walk_are_passes_in_a_row() -> None:
    one, other = (example_module(TEXT, make_context()) for _ in range(2))
    run(one, f'{MACHINE},tile{{steps="m:2,n:2"}},rearrange{{order=n,m}},keep{{tensors="W:1"}}')
    run(other, MACHINE)
    tile, order, keep = patterns.Tile({"m": 2, "n": 2}), patterns.PermuteLoops(("n", "m")), {"W": 1}
    assert greedy(other, tile, order, patterns.SetKeepDepths(keep))
    assert str(one) == str(other)
    assert "loops [n : 2, m : 2] keep(W = 1) spm 16384 bytes" in str(other)


def test_only_leaves_other_layers() -> None:
    module = example_module(TEXT, make_context())
    assert greedy(module, patterns.Tile({"m": 2}, only="b"))
    assert ["loops [m : 2]" in line for line in body_of(module)] == [False, True]


def test_contractions_in_turn_are_changed_at_once() -> None:
    """Their blocks must fit together: one with other steps does not, beside the other whole."""
    module = example_module(TEXT, make_context())
    run(module, f"{MACHINE.replace('16384', '400')},interleave{{mode=zip what=siblings}}")
    (op,) = (op for op in module.walk() if isinstance(op, InterleaveOp))
    with pytest.raises(CapacityError, match="take 560 bytes of SPM"):
        apply_pattern(patterns.Tile({"m": 2, "n": 2}, only="a"), op)
    assert apply_pattern(patterns.Tile({"m": 2, "n": 2}), op)
    module.verify()
    assert op.spm == 400


PRODUCTS = """\
%y = npu.contract (a = 4, c = 5, e = 6, n = 3) ins(X = %x[a, e, c], W = %w[e, n]) outs(Y[a, c, n])
  do(Y += X * W) {layer = "a"} : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
%z = npu.contract (a = 4, c = 5, e = 6, n = 3) ins(X = %x[a, e, c], W = %v[e, n]) outs(Y[a, c, n])
  do(Y += X * W) {layer = "b"} : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
"""


@pytest.mark.parametrize(
    ("pipeline", "changes"),
    [
        (MACHINE, True),
        (f"{MACHINE},schedule", False),
        (f"{MACHINE},interleave{{mode=zip what=siblings}}", False),
        ("map{mapping=kcp_ws num-pes=4}", False),
    ],
)
def test_what_is_of_one_form_of_a_contraction_settles_it(pipeline: str, changes: bool) -> None:
    module = example_module(PRODUCTS, make_context())
    run(module, pipeline)
    assert greedy(module, patterns.ContractByGemm()) == changes
    module.verify()
    assert any("npu.move transpose" in line for line in body_of(module)) == changes


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (patterns.Tile({"m": 7}), "the step of m in Y of 'a' is 7, expected 1 to 6"),
        (patterns.SetKeepDepths({"X": 1}), "Y of 'a' has no loops to keep a tensor over"),
        (patterns.SetSchedule(lambda op: Schedule((Loop("q", 2),))), "Y of 'a': unknown dimension 'q' in loops"),
    ],
)
def test_an_error_in_a_walk_is_that_of_the_pattern(made: NamedPattern, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        greedy(example_module(TEXT, make_context()), made)


def test_cuts_do_not_chase_each_other() -> None:
    """Each of several cuts would be in front: those that are there stay, however the loops are ordered."""
    module = example_module(TEXT, make_context())
    cuts = patterns.CutOverTime("k", 2), patterns.CutOverTime("m", 3)
    assert greedy(module, patterns.Tile({"m": 2, "k": 4}), patterns.PermuteLoops(("k", "m")), *cuts)
    module.verify()
    assert str(module).count("loops [k : 4, m : 2]") == 2


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "Tile",
            {"steps": "m:8"},
            "steps: expected a mapping with strings as keys",
        ),
        ("Tile", {"steps": {"m": 2.5}}, "steps: expected a mapping with strings as keys"),
        ("PermuteLoops", {"order": "k,m"}, "order: expected a sequence of strings, got the str 'k,m'"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        getattr(patterns, name)(**arguments)
