"""What products share that run together, as boxes say it."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.driver.compile import compile_program
from npuc.compiler.graph import build, depth_of
from npuc.compiler.graph.sharing import sharing_line
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.frontends.source import text_source

NET = """network net(batch=8) {
  input  x: f32[batch, 24]
  labels y: i32[batch]
  h = relu(linear(x, 16, bias=false))
  g = relu(linear(h, 16, bias=false))
  logits = linear(g, 8, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""


def lowered(passes: str) -> ModuleOp:
    pipeline = f"autodiff,lower-to-npu,{passes}schedule"
    return compile_program(text_source(NET, "dsl", "net.dsl"), ["cycle"], {"pipeline": pipeline}).modules[0]


def products(module: ModuleOp) -> list[Operation]:
    return [
        op
        for op in module.walk()
        if isinstance(op, ContractOp | InterleaveOp) and not isinstance(op.parent_op(), InterleaveOp)
    ]


def told(module: ModuleOp, depth: str) -> dict[str, list[str]]:
    """Of each box what its cells say of sharing."""
    boxes = build(module, None, depth_of(depth)).boxes
    return {
        box.title: found
        for box in boxes
        if (found := [line for cell in box.cells for line in cell.lines if line.startswith("share")])
    }


@pytest.mark.parametrize(
    ("passes", "line"),
    [("interleave{mode=zip},", "share dY, tiles in turn"), ("interleave{mode=fused},", "share dY, in one nest")],
)
def test_gradients_that_run_together_share_dy(passes: str, line: str) -> None:
    module = lowered(passes)
    ops = products(module)
    # Of the first layer there is no dX.
    assert [sharing_line([op]) for op in ops].count(line) == 2
    assert sharing_line(ops) == line
    found = told(module, "layers")
    assert {name: set(lines) for name, lines in found.items()} == {"g.linear": {line}, "logits": {line}}
    assert all(set(lines) == {line} for lines in told(module, "ops").values())


def test_of_several_ways_it_is_said_how_many() -> None:
    turn, nest = products(lowered("interleave{mode=zip},")), products(lowered("interleave{mode=fused},"))
    assert sharing_line([*turn, *nest]) == "share dY, 2 tiles in turn, 2 in one nest"


def test_gradients_by_themselves_say_nothing() -> None:
    module = lowered("")
    assert sharing_line(products(module)) is None
    assert not told(module, "layers")


def test_operations_have_their_number() -> None:
    module = lowered("")
    found = [line for box in build(module, None, "ops").boxes for cell in box.cells for line in cell.lines[:1]]
    numbers = [int(line.rpartition(", number ")[2]) for line in found if ", number " in line]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 10
