"""Messages between two devices: a node of who sends, and one of who receives."""

from typing import cast

from npuc.compiler.driver.compile import compile_program
from npuc.frontends.source import text_source
from tests.chakra_replay import replay
from tests.chakra_traces import RECEIVE, SEND
from tests.unit.emit.traces.programs import emitted, traces_of

MESSAGES = """
func.func @f(%x: tensor<4x8xf32> {train.input = "x"}, %w: tensor<8x8xf32> {train.input = "w"})
    -> (tensor<4x8xf32> {train.output = "y", dist.sharding = #dist.sharding<[[], []] partial [0, 1]>})
    attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %0 = train.matmul %x, %w {layer = "a"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dist.send_receive %0 source [0, 1] target [1, 2] over [1] {layer = "m"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = train.matmul %1, %w {layer = "b"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
"""


def test_messages_have_two_ends() -> None:
    result = compile_program(text_source(MESSAGES, "mlir", "f.mlir"), ["cycle"], {"inference": True})
    traces, _ = traces_of(result)
    most = max(len(trace.nodes) for trace in traces)
    assert min(len(trace.nodes) for trace in traces) < most
    assert emitted(result).note.startswith(f"writing 6 traces of up to {most} nodes, ")
    assert replay(traces, {}, []) > 0
    ends: dict[int, set[tuple[int, ...]]] = {SEND: set(), RECEIVE: set()}
    for device, trace in enumerate(traces):
        for node in trace.nodes:
            if node.type in ends:
                facts = tuple(
                    cast(int, node.attributes[key]) for key in ("comm_src", "comm_dst", "comm_tag", "comm_size")
                )
                assert facts[0 if node.type == SEND else 1] == device
                ends[node.type].add(facts)
        by_name = {node.name: node for node in trace.nodes}
        received = [node.id for node in trace.nodes if node.type == RECEIVE]
        assert list(by_name["b forward"].data_deps) == received
        assert all(node.data_deps == (by_name["a forward"].id,) for node in trace.nodes if node.type in ends)
    pairs = {(first + part, first + part + 1, 1, 64) for first in (0, 3) for part in (0, 1)}
    # floats of two bytes on igo-large
    assert ends == {SEND: pairs, RECEIVE: pairs}
