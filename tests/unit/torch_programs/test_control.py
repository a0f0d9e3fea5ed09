"""Graphs that operators take, in files that are written here: blocks, and those whose memory is shared."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import SourceError

Json = dict[str, Any]


def _tensor(name: str) -> Json:
    return {"as_tensor": {"name": name}}


def _type(*sizes: int) -> Json:
    sizes_json = [{"as_int": size} for size in sizes]
    strides = [{"as_int": int(np.prod(sizes[axis + 1 :]))} for axis in range(len(sizes))]
    return {
        "dtype": 7,
        "sizes": sizes_json,
        "strides": strides,
        "storage_offset": {"as_int": 0},
        "requires_grad": False,
    }


def _graph(nodes: Sequence[Json], inputs: Sequence[str], outputs: Sequence[str], names: Sequence[str]) -> Json:
    return {
        "inputs": [_tensor(name) for name in inputs],
        "outputs": [_tensor(name) for name in outputs],
        "nodes": list(nodes),
        "tensor_values": {name: _type(2, 3) for name in names},
    }


def _node(target: str, inputs: Sequence[Json], *outputs: str) -> Json:
    given = [{"name": one.pop("argument", ""), "arg": one, "kind": 1} for one in map(dict, inputs)]
    return {"target": f"torch.ops.{target}", "inputs": given, "outputs": [_tensor(name) for name in outputs]}


def _aten(operator: str, output: str, **arguments: Any) -> Json:
    given = [
        {"argument": name, **(_tensor(value) if isinstance(value, str) else {"as_float": value})}
        for name, value in arguments.items()
    ]
    return _node(f"aten.{operator}", given, output)


def _file(nodes: Sequence[Json], output: str, names: Sequence[str]) -> bytes:
    graph = _graph(nodes, ["x"], [output], ["x", *names])
    signature = {
        "input_specs": [{"user_input": {"arg": _tensor("x")}}],
        "output_specs": [{"user_output": {"arg": _tensor(output)}}],
    }
    program: Json = {
        "graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
        "schema_version": {"major": 8, "minor": 20},
        "torch_version": "2.13.0",
        "verifiers": ["TRAINING"],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("m/models/model.json", json.dumps(program))
    return out.getvalue()


def _call(
    name: str, inner: Json, *, before: Sequence[Json] = (), after: Sequence[Json] = (), output: str = "y"
) -> Json:
    return _node(f"higher_order.{name}", [*before, {"as_graph": {"name": "g", "graph": inner}}, *after], output)


DOUBLED = _graph([_aten("mul.Tensor", "a", self="v", other=2.0)], ["v"], ["a"], ["v", "a"])
X = np.arange(6.0).reshape(2, 3)
ARGUMENTS: Mapping[str, tuple[Sequence[Json], Sequence[Json]]] = {
    "tag_activation_checkpoint": ([], [_tensor("x")]),
    "wrap": ([], [_tensor("x")]),
    "invoke_subgraph": ([], [{"as_string": "g_0"}, _tensor("x")]),
    "hints_wrapper": ([], [{"as_tensors": [{"name": "x"}]}, {"as_string_to_argument": {}}]),
    "strict_mode": ([], [{"as_tensors": [{"name": "x"}]}]),
    "wrap_with_set_grad_enabled": ([{"as_bool": True}], [_tensor("x")]),
}


def _run(data: bytes) -> Any:
    return run_source(data, "pt2", inputs={"x": X}, inference=True).outputs["output"]


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_a_block_is_what_its_graph_is(name: str) -> None:
    before, after = ARGUMENTS[name]
    np.testing.assert_array_equal(_run(_file([_call(name, DOUBLED, before=before, after=after)], "y", ["y"])), 2 * X)


def test_a_block_that_writes_to_its_operand_changes_it() -> None:
    inner = _graph([_aten("mul_.Tensor", "a", self="v", other=2.0)], ["v"], ["a"], ["v", "a"])
    copied = _aten("clone.default", "c", self="x")
    nodes = [copied, _call("wrap", inner, after=[_tensor("c")]), _aten("add.Tensor", "z", self="c", other="y")]
    np.testing.assert_array_equal(_run(_file(nodes, "z", ["c", "y", "z"])), 4 * X)
    only = [copied, _call("wrap", inner, after=[_tensor("c")]), _aten("add.Tensor", "z", self="c", other=1.0)]
    np.testing.assert_array_equal(_run(_file(only, "z", ["c", "y", "z"])), 2 * X + 1)


def test_a_result_that_shares_memory_which_is_written_is_refused() -> None:
    inner = _graph([_aten("alias.default", "a", self="v")], ["v"], ["a"], ["v", "a"])
    copied = _aten("clone.default", "c", self="x")
    write = _aten("mul_.Tensor", "w", self="c", other=2.0)
    data = _file([copied, _call("wrap", inner, after=[_tensor("c")]), write], "y", ["c", "y", "w"])
    with pytest.raises(SourceError, match=r":2:1: error: higher_order.wrap: found a result that shares memory"):
        _run(data)


def test_a_branch_that_writes_to_its_operand_is_refused() -> None:
    inner = _graph([_aten("mul_.Tensor", "a", self="v", other=2.0)], ["v"], ["a"], ["v", "a"])
    given = [
        {"as_bool": True},
        {"as_graph": {"name": "g", "graph": inner}},
        {"as_graph": {"name": "h", "graph": DOUBLED}},
    ]
    call = _node("higher_order.cond", [*given, {"as_tensors": [{"name": "x"}]}], "y")
    with pytest.raises(SourceError, match="found a branch or loop that writes in place"):
        _run(_file([call], "y", ["y"]))


def test_a_loop_without_end_is_refused() -> None:
    always = _graph([_aten("ge.Tensor", "b", self="i", other="i")], ["i", "v"], ["b"], ["i", "v", "b"])
    always["tensor_values"]["b"]["dtype"] = 12
    body = _graph([_aten("mul.Tensor", "a", self="v", other=1.0)], ["i", "v"], ["i", "a"], ["i", "v", "a"])
    graphs = [{"as_graph": {"name": "g", "graph": always}}, {"as_graph": {"name": "h", "graph": body}}]
    ones = _aten("ones_like.default", "o", self="x")
    call = _node("higher_order.while_loop", [*graphs, {"as_tensors": [{"name": "o"}, {"name": "x"}]}], "p", "y")
    with pytest.raises(SourceError, match=r"more than|too many"):
        compile_source(_file([ones, call], "y", ["o", "p", "y"]), "pt2", backend="roofline", max_ops=2000)


def test_a_loop_without_end_that_writes_nothing_is_refused() -> None:
    again = _graph([], ["i", "v"], ["i"], ["i", "v"])
    same = _graph([], ["i", "v"], ["i", "v"], ["i", "v"])
    graphs = [{"as_graph": {"name": "g", "graph": again}}, {"as_graph": {"name": "h", "graph": same}}]
    ones = _aten("ones_like.default", "o", self="x")
    call = _node("higher_order.while_loop", [*graphs, {"as_tensors": [{"name": "o"}, {"name": "x"}]}], "p", "y")
    with pytest.raises(SourceError, match="found a loop of more than 10,000 iterations"):
        compile_source(_file([ones, call], "y", ["o", "p", "y"]), "pt2", backend="roofline")


def test_other_operators_of_graphs_are_refused_by_name() -> None:
    call = _call("flex_thing", DOUBLED, after=[_tensor("x")])
    with pytest.raises(SourceError, match=r"unsupported operator higher_order\.flex_thing"):
        _run(_file([call], "y", ["y"]))


def test_a_place_in_a_block_is_that_of_the_call() -> None:
    inner = _graph([_aten("fold.default", "a", self="v")], ["v"], ["a"], ["v", "a"])
    copied = _aten("clone.default", "c", self="x")
    nodes = [copied, copied | {"outputs": [_tensor("d")]}, _call("wrap", inner, after=[_tensor("c")])]
    with pytest.raises(SourceError, match=r":3:1: error: unsupported operator aten\.fold"):
        _run(_file(nodes, "y", ["c", "d", "y"]))


@pytest.mark.parametrize("name", ["wrap", "scan", "while_loop", "map_impl"])
def test_a_graph_where_a_tensor_is_expected_is_refused(name: str) -> None:
    graphs: list[Json] = [{"as_graph": {"name": f"g{number}", "graph": DOUBLED}} for number in range(3)]
    data = _file([_node(f"higher_order.{name}", [*graphs, _tensor("x")], "y")], "y", ["y"])
    with pytest.raises(SourceError, match=f"higher_order.{name}: found"):
        _run(data)


@pytest.mark.parametrize("name", ["cond", "while_loop"])
def test_a_tensor_where_a_graph_is_expected_is_refused(name: str) -> None:
    given: list[Json] = [{"as_bool": True}, _tensor("x"), _tensor("x"), {"as_tensors": [{"name": "x"}]}]
    data = _file([_node(f"higher_order.{name}", given, "y")], "y", ["y"])
    with pytest.raises(SourceError, match=f"higher_order.{name}: found no graph"):
        _run(data)
