"""Collectives of a trace: their bytes, the dimensions or devices that take part, and their chunks."""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

import pytest

from npuc.compiler.driver.compile import Compilation
from tests.chakra_traces import ALL_GATHER, ALL_REDUCE, COLLECTIVE, COMPUTE, REDUCE_SCATTER, Node
from tests.unit.emit.traces.programs import compiled, emitted, exchange_rows, traces_of


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
        for node, row in zip(collectives, exchange_rows(result), strict=True):
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


def _partners(device: int, mesh: list[int], over: list[int]) -> list[int]:
    """The devices that differ in their digits at some levels only."""

    def digits(number: int) -> list[int]:
        return [number >> (len(mesh) - 1 - level) & 1 for level in range(len(mesh))]

    rest = [level for level in range(len(mesh)) if level not in over]
    return [
        other for other in range(1 << len(mesh)) if all(digits(other)[level] == digits(device)[level] for level in rest)
    ]


def test_chunks_are_said() -> None:
    (trace, *_), _ = traces_of(compiled("chunks"))
    large = [node for node in trace.nodes if cast(int, node.attributes.get("comm_size", 0)) > 1000]
    assert large
    assert all(node.attributes["chunks"] == 4 for node in large)
    found = emitted(compiled("chunks"), "astra-network")
    assert json.loads(cast("Mapping[str, str]", found.content)["system.json"])["preferred-dataset-splits"] == 4
    assert any(warning.startswith("chunks have orders of their own") for warning in found.warnings)
    overlap = "network.latency is overlap: ASTRA-sim has one chunk at a time in a dimension"
    assert not any(warning.startswith(overlap) for warning in found.warnings)
    beside = emitted(compiled("chunks that overlap"), "astra-network")
    assert any(warning.startswith(overlap) for warning in beside.warnings)
    whole = emitted(compiled("two levels"), "astra-network")
    assert json.loads(cast("Mapping[str, str]", whole.content)["system.json"])["preferred-dataset-splits"] == 1
    assert not any("chunks" in warning for warning in whole.warnings)
