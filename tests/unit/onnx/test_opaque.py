"""Operators of ONNX without a meaning: refused together by default, priced with --opaque."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from npuc.compiler import compile_file, import_file, run_file
from npuc.compiler.core.errors import NpucError, SourceError, SourceErrors, UsageError
from npuc.compiler.report import OpRow, Report
from tests.onnx_files import message, model, node, tensor, value

WEIGHT = np.ones((8, 4), np.float32)
COSTS = """\
[ops."acme.Fuse"]
inputs = ["b m k", "k n"]
outputs = ["b m n"]
macs = "b*m*k*n*times"
batch = "b"
"""


def graph_of(
    nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], infos: Sequence[bytes]
) -> bytes:
    """A graph with the types of values between nodes."""
    return message(
        *((1, one) for one in nodes),
        (2, "g"),
        (5, tensor("w", WEIGHT)),
        *((11, one) for one in inputs),
        *((12, one) for one in outputs),
        *((13, one) for one in infos),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Fuse", ["r", "w", ""], ["f", "unused"], domain="acme", times=3),
        node("Other", ["f"], ["a", "b"], domain="acme"),
        node("Add", ["a", "b"], ["y"]),
    ]
    infos = [value(name, ["N", 2, 4]) for name in ("f", "a", "b")]
    file = tmp_path / "m.onnx"
    file.write_bytes(model(graph_of(nodes, [value("x", ["N", 2, 8])], [value("y", ["N", 2, 4])], infos)))
    return file


@pytest.fixture
def costs(tmp_path: Path) -> str:
    file = tmp_path / "costs.toml"
    file.write_text(COSTS)
    return str(file)


def rows_of(report: Report) -> list[OpRow]:
    return [row for row in report.ops if row.assumed is True]


def test_by_default_all_are_named_at_once_with_the_likely_fix(path: Path) -> None:
    with pytest.raises(SourceErrors) as caught:
        compile_file(path, defines={"N": 3}, loss="mse")
    text = str(caught.value)
    assert "unsupported operator acme.Fuse" in text
    assert "unsupported operator acme.Other" in text
    assert f"{path}:2:1: error" in text
    assert f"{path}:3:1: error" in text
    assert "--opaque prices it" in text


def test_more_than_a_screen_of_them_is_named(tmp_path: Path) -> None:
    nodes = [node(f"Op{n}", ["x"], [f"y{n}"], domain="acme") for n in range(60)]
    file = tmp_path / "m.onnx"
    file.write_bytes(model(graph_of(nodes, [value("x", [2])], [value("y0", [2])], [])))
    with pytest.raises(SourceErrors) as caught:
        compile_file(file)
    assert all(f"acme.Op{n}\n" in str(caught.value) for n in range(60))


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_with_costs_its_work_is_that_of_the_formulas(path: Path, costs: str, backend: str) -> None:
    report = compile_file(path, defines={"N": 3}, loss="mse", backend=backend, opaque=True, opaque_costs=costs)
    fuse, other = (row for row in rows_of(report) if row.phase == "forward")
    assert (fuse.macs, fuse.vector_ops, fuse.native["operator"]) == (3 * 2 * 8 * 4 * 3, 0, "acme.Fuse")
    assert (other.macs, other.vector_ops) == (0, 3 * 2 * 4)
    said = "\n".join(report.warnings)
    assert "the cost of acme.Fuse (node 2) is assumed, by formulas of costs.toml" in said
    assert "acme.Other (node 3) has no formula: its MACs count as 0" in said
    assert report.totals.assumed
    assert report.totals.assumed.macs == 1


def test_its_weights_are_trained(path: Path, costs: str) -> None:
    report = compile_file(path, defines={"N": 3}, loss="mse", opaque=True, opaque_costs=costs, optimizer="sgd(lr=0.1)")
    assert "w" in {row.name for row in report.ops if row.phase == "update"}
    assert [row.macs for row in rows_of(report) if row.phase in ("dw", "dxdw")] == [2 * 3 * 2 * 8 * 4 * 3]


def test_the_text_of_an_import_is_the_same_program(path: Path, costs: str) -> None:
    text = import_file(path, defines={"N": 3}, loss="mse", opaque=True, opaque_costs=costs)
    assert 'opaque("acme.Fuse"' in text
    assert "macs=192 * batch" in text


def test_devices_split_the_batch_that_is_named(path: Path, costs: str) -> None:
    report = compile_file(path, defines={"N": 4}, loss="mse", devices=2, parallel="dp", opaque=True, opaque_costs=costs)
    assert next(row.macs for row in rows_of(report) if row.native["operator"] == "acme.Fuse") == 2 * 2 * 8 * 4 * 3


def test_a_run_refuses_and_names_them(path: Path) -> None:
    with pytest.raises(SourceError, match=r"only the cost of 'acme.Fuse', 'acme.Other' is known"):
        run_file(path, defines={"N": 3}, loss="mse", opaque=True)


def test_shapes_that_the_file_lacks_are_those_of_the_entry_or_refused(tmp_path: Path, costs: str) -> None:
    nodes = [node("Fuse", ["x", "w"], ["f"], domain="acme", times=1), node("Relu", ["f"], ["y"])]
    file = tmp_path / "bare.onnx"
    file.write_bytes(model(graph_of(nodes, [value("x", [3, 2, 8])], [value("y", [3, 2, 4])], [])))
    with pytest.raises(SourceError, match="the file does not say the shape of its output 'f'") as caught:
        compile_file(file, opaque=True)
    assert "outputs" in str(caught.value)
    report = compile_file(file, inference=True, opaque=True, opaque_costs=costs)
    assert [row.macs for row in rows_of(report)] == [192]


def test_another_batch_has_shapes_by_the_entry_alone(tmp_path: Path, costs: str) -> None:
    nodes = [node("Fuse", ["x", "w"], ["f"], domain="acme", times=1), node("Relu", ["f"], ["y"])]
    file = tmp_path / "fixed.onnx"
    infos = [value("f", [3, 2, 4])]
    file.write_bytes(model(graph_of(nodes, [value("x", [3, 2, 8])], [value("y", [3, 2, 4])], infos)))
    with pytest.raises(SourceError, match="has its shapes for the batch of the export alone"):
        compile_file(file, defines={"batch": 6}, inference=True, opaque=True)
    report = compile_file(file, defines={"batch": 6}, inference=True, opaque=True, opaque_costs=costs)
    assert [row.macs for row in rows_of(report)] == [384]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (COSTS.replace("b m k", "b m"), SourceError, "acme.Fuse: input 0 has the shape"),
        (COSTS.replace("times", "tines"), UsageError, "unknown name 'tines'"),
        (COSTS.replace("b m n", "b m k"), SourceError, "'k' is 4 here and 8 before"),
    ],
)
def test_costs_that_do_not_fit_the_model_are_refused(
    path: Path, text: str, error: type[NpucError], message: str
) -> None:
    file = path.parent / "wrong.toml"
    file.write_text(text)
    with pytest.raises(error, match=message):
        compile_file(path, defines={"N": 3}, loss="mse", opaque=True, opaque_costs=str(file))


def test_what_has_no_effect_is_said(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text('[ops."acme.Missing"]\nmacs = 3\n')
    report = compile_file(path, defines={"N": 3}, loss="mse", opaque=True, opaque_costs=str(file))
    assert any("more.toml: 'acme.Missing' has no effect" in said for said in report.warnings)
    with pytest.raises(UsageError, match="--opaque-costs does not apply without --opaque"):
        compile_file(path, defines={"N": 3}, loss="mse", opaque_costs=str(file))
    with pytest.raises(UsageError, match="--opaque does not apply: a network has no unknown operators"):
        compile_file("samples:mlp", opaque=True)


def test_a_meaning_that_is_refused_is_priced_and_the_reason_is_said(tmp_path: Path) -> None:
    nodes = [node("FusedMatMul", ["x", "g"], ["y"], domain="com.microsoft", transBatchA=1)]
    file = tmp_path / "moved.onnx"
    inputs = [value("x", [2, 3, 4]), value("g", [3, 4, 5])]
    file.write_bytes(model(graph_of(nodes, inputs, [value("y", [3, 2, 5])], [])))
    with pytest.raises(SourceError) as caught:
        compile_file(file, inference=True)
    report = compile_file(file, inference=True, opaque=True)
    assert [row.native["operator"] for row in rows_of(report)] == ["com.microsoft.FusedMatMul"]
    assert any(
        "com.microsoft.FusedMatMul is priced, since what it means is not read here: " in said
        for said in report.warnings
    )
    assert caught.value.message in "".join(report.warnings)


def test_damaged_files_are_refused_or_priced(path: Path) -> None:
    """With sizes of any kind, names that nothing reads, operators of no name."""
    rng, data = random.Random(7), path.read_bytes()
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(bytes(damaged))
        with suppress(NpucError):
            compile_file(path, defines={"N": 2}, backend="roofline", loss="mse", opaque=True)


def test_a_node_that_nothing_reads_costs_nothing(tmp_path: Path) -> None:
    nodes = [node("Fuse", ["x"], ["f"], domain="acme"), node("Relu", ["x"], ["y"])]
    file = tmp_path / "unread.onnx"
    file.write_bytes(model(graph_of(nodes, [value("x", [2, 3])], [value("y", [2, 3])], [])))
    assert not rows_of(compile_file(file, inference=True, opaque=True))
