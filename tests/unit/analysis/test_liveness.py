"""Memory of tensors by hand: a step of which every operation is counted."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npuc.compiler.analysis.memory.liveness import Memory, memory_of_module
from npuc.compiler.driver.compile import compile_source
from npuc.frontends.mlir import make_context

HEAD = """func.func @f(%x: tensor<4xf32> {train.input = "x"}, %w: tensor<4xf32> {train.param = "w"})
    -> (tensor<f32> {train.loss}, tensor<4xf32> {train.updates = 1 : i64}) {
"""
NET = "network n(batch=8) { input x: f32[batch, 4]\n labels y: i32[batch]\n loss cross_entropy(linear(x, 5), y) }"


def memory(body: str, head: str = HEAD) -> Memory:
    module: ModuleOp = Parser(make_context(), head + body + "}").parse_module()
    module.verify()
    found = memory_of_module(module)
    assert found is not None
    return found


def test_a_value_lives_from_its_operation_to_its_last_reader() -> None:
    found = memory("""
  %a = train.mul %x, %w {layer = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = train.reshape %a {layer = "v"} : (tensor<4xf32>) -> tensor<2x2xf32>
  %b = train.exp %a {layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %l = train.dot_loss %b, %x {layer = "l"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %dv = train.exp %v {layer = "b", role = "dw"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = train.reshape %dv {layer = "b", role = "dw"} : (tensor<2x2xf32>) -> tensor<4xf32>
  %n = train.sgd %w, %d lr 0.5 {layer = "w", role = "update"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %l, %n : tensor<f32>, tensor<4xf32>
""")
    # The arguments take 32 bytes; the new w is the old one; %a stays through its view, the loss to the end.
    assert found == Memory(68, 2, "l", 16, 32, (32 + 16, 32 + 32, 32 + 36, 32 + 36, 32 + 20))


def test_a_new_value_takes_its_own_bytes_where_the_old_one_is_read_afterwards() -> None:
    body = """
  %n = train.mul %x, %w {layer = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = train.reshape %w {layer = "v"} : (tensor<4xf32>) -> tensor<2x2xf32>
  %b = train.exp %v {layer = "b"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %l = train.dot_loss %b, %b {layer = "l"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<f32>
  func.return %l, %n : tensor<f32>, tensor<4xf32>
"""
    assert memory(body).live == (48, 64, 68)
    assert memory(body.replace("reshape %w", "reshape %x")).live == (32, 48, 52)


def test_masks_are_there_throughout_and_single_numbers_take_nothing() -> None:
    head = """func.func @f(%x: tensor<2x2xf32> {train.input = "x"}) -> (tensor<2x2xf32> {train.output = "y"}) {"""
    found = memory(
        """
  %m = train.causal_mask {layer = "m"} : () -> tensor<2x2xi1>
  %z = train.constant value 0.0 {layer = "z"} : () -> tensor<2x2xf32>
  %y = train.where %m, %x, %z {layer = "y"} : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
""",
        head,
    )
    assert (found.resident_bytes, found.live, found.kept_bytes) == (16 + 4, (36,), 0)


def test_the_report_says_it_for_whole_networks() -> None:
    report = compile_source(NET, overrides={"memory.element_bytes": 2})
    assert report.memory is not None
    assert report.totals["peak_bytes"] == report.memory.peak_bytes
    assert report.memory.argument_bytes == 2 * (8 * 4 + 4 * 5 + 5) + 4 * 8
    wide = compile_source(NET, overrides={"memory.element_bytes": 4})
    assert wide.memory is not None
    assert wide.memory.argument_bytes == 4 * (8 * 4 + 4 * 5 + 5 + 8)


@pytest.mark.parametrize(
    ("text", "format", "options"),
    [
        ("Layer,M,N,K\nfc1,10,20,30\n", "csv", {}),
        (NET, "dsl", {"only": "linear"}),
    ],
)
def test_it_is_unknown_for_tables_and_parts(text: str, format: str, options: dict[str, str]) -> None:
    report = compile_source(text, format=format, only=options.get("only"))
    assert report.memory is None
    assert report.totals["peak_bytes"] is None


def test_it_is_unknown_below_the_level_train() -> None:
    module = Parser(make_context(), "builtin.module {}").parse_module()
    assert memory_of_module(module) is None
    lowered = """func.func @f(%x: tensor<4xf32> {train.input = "x"}) -> (tensor<4xf32> {train.output = "y"}) {
  %y = npu.vector relu(%x) ops 4 {layer = "y"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""
    assert memory_of_module(Parser(make_context(), lowered).parse_module()) is None
