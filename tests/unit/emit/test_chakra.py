"""Execution traces: what others read in them is the program, its costs and its devices."""

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npuc.backends.communication import FREE
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import Compilation, compile_program
from npuc.compiler.emit.base import Compiled, Emitted, get_emitter
from npuc.compiler.emit.traces.devices import Traces
from npuc.compiler.report import OpRow
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ContractOp, InterleaveOp, MoveOp, VectorOp
from npuc.frontends.source import open_source, text_source
from tests.chakra_replay import replay
from tests.chakra_traces import (
    ALL_GATHER,
    ALL_REDUCE,
    COLLECTIVE,
    COMPUTE,
    RECEIVE,
    REDUCE_SCATTER,
    SEND,
    Node,
    Trace,
    read_trace,
)

TORUS: dict[str, object] = {
    "network.levels": [
        {"kind": "switch", "size": 4, "gb_per_s": 25.0, "latency_ns": 1700.0},
        {"kind": "ring", "size": 8, "gb_per_s": 200.0, "latency_ns": 500.0},
    ]
}
AT_ONCE: dict[str, object] = {
    "network.levels": [
        {"kind": "switch", "size": 4, "gb_per_s": 0.25},
        {"kind": "ring", "size": 8, "gb_per_s": 0.2},
    ]
}
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "one device": ("samples:mlp", {}),
    "a tree": ("samples:lenet_c", {"hardware": "hypar16", "devices": 16, "parallel": "joint"}),
    "two levels": ("samples:mlp", {"devices": 32, "mesh": "4x8", "overrides": TORUS, "parallel": "dp"}),
    "parts of a ring": ("samples:lenet_c", {"devices": 8, "overrides": TORUS, "parallel": "joint"}),
    "no network": ("samples:lenet_c", {"devices": 4, "parallel": "joint"}),
    "chunks": (
        "samples:mlp",
        {
            **{"devices": 32, "mesh": "4x8", "overrides": AT_ONCE, "parallel": "dp"},
            **{"collectives": "themis-scf", "chunks": 4},
        },
    ),
    "stored in parts": ("samples:mlp", {"devices": 32, "mesh": "4x8", "overrides": TORUS, "parallel": "dp", "zero": 3}),
}


@cache
def compiled(name: str) -> Compilation:
    source, options = PROGRAMS[name]
    return compile_program(open_source(source), ["cycle"], cast(Any, {"opt_level": 0, **options}))


def emitted(result: Compilation, emitter: str = "chakra") -> Emitted:
    found = get_emitter(emitter).emit(Compiled(result.modules[0], result.machines[0], result.reports[0]))
    assert isinstance(found.content, Mapping)
    return found


def traces_of(result: Compilation) -> tuple[list[Trace], dict[str, list[int]]]:
    """The traces by device, and the communicator groups."""
    files = {**cast("Mapping[str, bytes]", emitted(result).content)}
    groups = json.loads(files.pop("comm_group.json", b"{}"))
    network = result.reports[0].network
    assert list(files) == [f"{network}.{device}.et" for device in range(len(files))]
    return [read_trace(data) for data in files.values()], groups


@pytest.fixture(params=PROGRAMS)
def result(request: pytest.FixtureRequest) -> Compilation:
    return compiled(request.param)


def test_work_is_that_of_the_report(result: Compilation) -> None:
    report = result.reports[0]
    rows = [row for row in report.ops if row.phase != "comm"]
    for trace in traces_of(result)[0]:
        work = [node for node in trace.nodes if node.type == COMPUTE]
        assert sorted(node.name for node in work) == sorted(f"{row.name or row.op} {row.phase}" for row in rows)
        seconds = math.fsum(cast(float, node.attributes["seconds"]) for node in work)
        assert seconds == pytest.approx(math.fsum(row.repeat * (row.seconds or 0) for row in rows), rel=1e-12)
        assert abs(sum(node.duration_micros for node in work) - seconds * 1e6) <= 1
        assert sum(cast(int, n.attributes["num_ops"]) for n in work) == sum(
            row.repeat * (2 * (row.macs or 0) + (row.vector_ops or 0)) for row in rows
        )
        moved = sum(cast(int, node.attributes["tensor_size"]) for node in work)
        assert moved == (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
        assert all(node.attributes["is_cpu_op"] is False for node in trace.nodes)


def test_nodes_follow_each_other(result: Compilation) -> None:
    for trace in traces_of(result)[0]:
        ids = [node.id for node in trace.nodes]
        assert ids == sorted(set(ids))
        for node in trace.nodes:
            assert set(node.data_deps) <= set(ids)
            assert all(before < node.id for before in node.data_deps), "no cycles"
        for one, other in pairwise(trace.nodes):
            assert other.start_micros == one.start_micros + one.duration_micros


def test_dependencies_are_those_of_the_program(result: Compilation) -> None:
    tasks = [op for op in _operations(result) if _is_task(op)]
    number = {op: n for n, op in enumerate(tasks)}
    below = [_reached(op, number) for op in tasks]
    for trace in traces_of(result)[0][:2]:
        position = {node.id: n for n, node in enumerate(trace.nodes)}
        assert len(position) == len(tasks)
        found: list[set[int]] = [set() for _ in tasks]
        for n, node in reversed(list(enumerate(trace.nodes))):
            for before in node.data_deps:
                found[position[before]] |= {n} | found[n]
        assert found == below


def _operations(result: Compilation) -> list[Operation]:
    (func,) = (op for op in result.modules[0].ops if isinstance(op, FuncOp))
    return list(func.body.block.ops)


def _is_task(op: Operation) -> bool:
    return isinstance(op, ContractOp | InterleaveOp | VectorOp | MoveOp | DistOp) and not isinstance(op, FREE)


def _reached(op: Operation, number: dict[Operation, int]) -> set[int]:
    """The tasks that a task's results reach, by uses."""
    seen: set[Operation] = set()
    waiting = [op]
    while waiting:
        for result in waiting.pop().results:
            for use in result.uses:
                user = use.operation
                while user not in seen and user.parent_op() is not None and not isinstance(user.parent_op(), FuncOp):
                    user = cast(Operation, user.parent_op())
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
    return {number[user] for user in seen if user in number}


def test_collectives_move_what_the_report_says(result: Compilation) -> None:
    report = result.reports[0]
    rows = [row for row in report.ops if row.phase == "comm"]
    for trace in traces_of(result)[0]:
        moved = [node for node in trace.nodes if node.type != COMPUTE]
        assert len(moved) == len(rows)
        for node, row in zip(moved, rows, strict=True):
            assert node.type == COLLECTIVE
            assert node.name == f"{row.name} {row.op.rpartition('.')[2]}"
            assert node.attributes["comm_size"] == row.native["operand_bytes"]
            assert node.attributes.get("seconds") == row.seconds
        total = sum(node.duration_micros for node in moved)
        assert abs(total - math.fsum(row.seconds or 0 for row in rows) * 1e6) <= 1


@pytest.mark.parametrize("name", ["a tree", "two levels", "chunks", "stored in parts"])
def test_bytes_of_each_dimension_are_those_of_the_stages(name: str) -> None:
    result = compiled(name)
    levels = cast("list[dict[str, Any]]", result.machines[0].get("network.levels"))
    sizes = [int(level["size"]) for level in levels][::-1]
    rows = [row for row in result.reports[0].ops if row.phase == "comm"]
    (trace, *_), groups = traces_of(result)
    assert not groups, "whole levels need no groups"
    assert rows
    kinds: set[int] = set()
    for node, row in zip((n for n in trace.nodes if n.type == COLLECTIVE), rows, strict=True):
        sent = _sent(node, sizes)
        kinds.add(cast(int, node.attributes["comm_type"]))
        assert sum(sent.values()) == pytest.approx(row.native["sent_bytes"], rel=1e-12)
        assert {len(sizes) - 1 - dimension for dimension in sent} == set(cast("list[int]", row.native["stage_levels"]))
    assert kinds >= ({ALL_GATHER, REDUCE_SCATTER} if name == "stored in parts" else {ALL_REDUCE})


def _sent(node: Node, sizes: list[int]) -> dict[int, float]:
    """The bytes that a device sends along each dimension, as ASTRA-sim runs a collective: from the innermost out."""
    involved, data = cast("list[bool]", node.attributes["involved_dim"]), float(cast(int, node.attributes["comm_size"]))
    assert len(involved) == len(sizes)
    dimensions = [d for d, used in enumerate(involved) if used]
    match node.attributes["comm_type"]:
        case 2:
            found: dict[int, float] = {}
            for d in reversed(dimensions):
                found[d] = data * (sizes[d] - 1)
                data *= sizes[d]
            return found
        case 6:
            return {d: data * (sizes[d] - 1) / sizes[d] for d in dimensions}
        case kind:
            assert kind in (ALL_REDUCE, REDUCE_SCATTER)
            times, found = 2 if kind == ALL_REDUCE else 1, {}
            for d in dimensions:
                found[d] = times * data * (sizes[d] - 1) / sizes[d]
                data /= sizes[d]
            return found


@pytest.mark.parametrize("name", ["parts of a ring", "no network"])
def test_parts_of_a_level_have_communicator_groups(name: str) -> None:
    result = compiled(name)
    traces, groups = traces_of(result)
    assert groups
    assert list(groups) == [str(n + 1) for n in range(len(groups))]
    assert all(len(ranks) > 1 and ranks == sorted(set(ranks)) for ranks in groups.values())
    named: dict[str, set[int]] = {}
    for device, trace in enumerate(traces):
        collectives = [node for node in trace.nodes if node.type == COLLECTIVE]
        for node, row in zip(collectives, _exchanges(result), strict=True):
            group = node.attributes.get("pg_name")
            mesh = [2] * (len(traces).bit_length() - 1)
            over = [int(level.removeprefix("H")) - 1 for level in str(row.native["levels"]).split(", ")]
            if group is None:
                assert over == list(range(len(mesh)))
                continue
            assert "involved_dim" not in node.attributes
            named.setdefault(str(group), set()).add(device)
            assert groups[str(group)] == _partners(device, mesh, over)
    assert {group: sorted(devices) for group, devices in named.items()} == groups


def _exchanges(result: Compilation) -> list[OpRow]:
    return [row for row in result.reports[0].ops if row.phase == "comm"]


def _partners(device: int, mesh: list[int], over: list[int]) -> list[int]:
    """The devices that differ in their digits at some levels only."""

    def digits(number: int) -> list[int]:
        return [number >> (len(mesh) - 1 - level) & 1 for level in range(len(mesh))]

    rest = [level for level in range(len(mesh)) if level not in over]
    return [
        other for other in range(1 << len(mesh)) if all(digits(other)[level] == digits(device)[level] for level in rest)
    ]


def test_a_simulator_runs_all_devices_to_their_end(result: Compilation) -> None:
    report = result.reports[0]
    traces, groups = traces_of(result)
    rows = result.machines[0].get("network.levels")
    sizes = [int(cast("dict[str, Any]", row)["size"]) for row in rows][::-1] if isinstance(rows, list) else []
    used = sizes[: 1 if len(traces) == 8 else len(sizes)]
    work = math.fsum(row.repeat * (row.seconds or 0) for row in report.ops if row.phase != "comm")
    moved = math.fsum(row.seconds or 0 for row in _exchanges(result))
    seconds = replay(traces, groups, used)
    assert max(work, moved) * (1 - 1e-9) <= seconds <= (work + moved) * (1 + 1e-9)
    if moved and len(traces) == 32:
        assert seconds < (work + moved) * (1 - 1e-9), "gradients are summed beside other work"


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


def test_chunks_are_said() -> None:
    (trace, *_), _ = traces_of(compiled("chunks"))
    large = [node for node in trace.nodes if cast(int, node.attributes.get("comm_size", 0)) > 1000]
    assert large
    assert all(node.attributes["chunks"] == 4 for node in large)
    found = emitted(compiled("chunks"), "astra-network")
    assert json.loads(cast("Mapping[str, str]", found.content)["system.json"])["preferred-dataset-splits"] == 4
    assert any(warning.startswith("chunks have orders of their own") for warning in found.warnings)
    whole = emitted(compiled("two levels"), "astra-network")
    assert json.loads(cast("Mapping[str, str]", whole.content)["system.json"])["preferred-dataset-splits"] == 1
    assert not any("chunks" in warning for warning in whole.warnings)


def test_equal_devices_share_their_bytes() -> None:
    files = cast("Mapping[str, bytes]", emitted(compiled("two levels")).content)
    assert len({id(data) for data in files.values()}) == 1
    other = emitted(compiled("parts of a ring"))
    assert other.note.startswith("writing 8 traces of ")
    assert isinstance(other.content, Traces)
    assert other.content.size == sum(map(len, other.content.values()))


def test_the_metadata_says_what_made_it() -> None:
    (trace,), _ = traces_of(compiled("one device"))
    assert trace.version == "0.0.4"
    report = compiled("one device").reports[0]
    assert trace.about == {"generator": f"npuc {report.npuc}", "network": "mlp", "hardware": "igo-large"}


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("maestro", {}, "the backend 'maestro' has no time for "),
        ("roofline", {}, "the report of the backend 'roofline' has not one row for each operation"),
    ],
)
def test_costs_that_are_no_operations_are_refused(backend: str, options: dict[str, Any], message: str) -> None:
    result = compile_program(open_source("samples:mlp"), [backend], cast(Any, options))
    with pytest.raises(UsageError, match=message):
        emitted(result)


def test_the_library_of_protocol_buffers_reads_the_same() -> None:
    pytest.importorskip("google.protobuf")
    messages = cast(Any, library_messages())
    for name in ("parts of a ring", "two levels"):
        data = next(iter(cast("Mapping[str, bytes]", emitted(compiled(name)).content).values()))
        own, at = read_trace(data), 0
        found: list[Any] = []
        while at < len(data):
            size = shift = 0
            while True:
                size, shift, at = size | (data[at] & 0x7F) << shift, shift + 7, at + 1
                if data[at - 1] < 0x80:
                    break
            found.append(messages["GlobalMetadata" if not found else "Node"].FromString(data[at : at + size]))
            assert found[-1].SerializeToString(deterministic=True) == data[at : at + size]
            at += size
        assert found[0].version == own.version
        for node, theirs in zip(own.nodes, found[1:], strict=True):
            assert (node.id, node.name, node.type) == (theirs.id, theirs.name, theirs.type)
            assert node.data_deps == tuple(theirs.data_deps)
            assert (node.start_micros, node.duration_micros) == (theirs.start_time_micros, theirs.duration_micros)
            values = {one.name: getattr(one, one.WhichOneof("value")) for one in theirs.attr}
            assert {
                key: [*value.values] if key == "involved_dim" else value for key, value in values.items()
            } == node.attributes


def library_messages() -> dict[str, object]:
    """The messages of the schema that traces use, as classes of the library."""
    descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et", syntax="proto3")
    u64, i32, i64, real, truth, text, message = 4, 5, 3, 1, 8, 9, 11
    layouts: dict[str, list[tuple[str, int, int, bool]]] = {
        "BoolList": [("values", 1, truth, True)],
        "AttributeProto": [
            ("name", 1, text, False),
            *(("double_val", 3, real, False), ("int32_val", 7, i32, False), ("int64_val", 9, i64, False)),
            *(("uint64_val", 13, u64, False), ("bool_val", 27, truth, False), ("bool_list", 28, message, False)),
            ("string_val", 29, text, False),
        ],
        "GlobalMetadata": [("version", 1, text, False), ("attr", 2, message, True)],
        "Node": [
            *(("id", 1, u64, False), ("name", 2, text, False), ("type", 3, i32, False), ("ctrl_deps", 4, u64, True)),
            *(("data_deps", 5, u64, True), ("start_time_micros", 6, u64, False), ("duration_micros", 7, u64, False)),
            ("attr", 10, message, True),
        ],
    }
    for name, fields in layouts.items():
        layout = file.message_type.add(name=name)
        if name == "AttributeProto":
            layout.oneof_decl.add(name="value")
        for field, number, kind, repeated in fields:
            added = layout.field.add(name=field, number=number, type=kind, label=3 if repeated else 1)
            if kind == message:
                added.type_name = ".et.AttributeProto" if field == "attr" else ".et.BoolList"
            if name == "AttributeProto" and field != "name":
                added.oneof_index = 0
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    pool.Add(file)
    made = import_module("google.protobuf.message_factory").GetMessageClass
    return {name: made(pool.FindMessageTypeByName(f"et.{name}")) for name in layouts}
