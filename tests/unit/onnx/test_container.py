"""ONNX files as data: messages, tensors of all types, content in other files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES
from npuc.frontends.onnx.container.load import load_model, parse_model
from npuc.frontends.onnx.container.model import OnnxModel
from npuc.frontends.onnx.container.tensors import OnnxTensor
from tests.onnx_files import field, function, graph, message, model, node, tensor, value


def read(data: bytes) -> OnnxModel:
    return parse_model(data, "m.onnx")


def weight(*fields: tuple[int, int | float | str | bytes]) -> OnnxTensor:
    """The only tensor of a model, of some fields."""
    found = read(model(field(5, message((8, "w"), *fields)))).graph.initializers["w"]
    assert isinstance(found, OnnxTensor)
    return found


def test_a_model_is_read_as_it_is_written() -> None:
    body = graph([node("Neg", ["x"], ["z"])], [], ["z"])
    nodes = [
        node("Conv", ["x", "w"], ["y"], pads=[0, -1, 0, 1], auto_pad="NOTSET", alpha=0.5, group=2),
        node("If", ["c", ""], ["a", ""], domain="ai.onnx", then_branch=body),
    ]
    functions = [function("f", ["p"], ["q"], [node("Abs", ["p"], ["q"])], opset=20)]
    inputs = [value("x", [1, "N", -1], 10), value("w", [2])]
    data = model(graph(nodes, inputs, ["y"], {"w": np.ones(2, np.float32)}), 17, functions)
    found = read(data + field(2, "tool") + field(3, "1.2") + field(99, b"unknown"))
    assert (found.opsets, found.ir_version, found.producer) == ({"": 17}, 9, "tool 1.2")
    conv, branch = found.graph.nodes
    assert (conv.number, conv.op, conv.inputs, conv.outputs) == (1, "Conv", ("x", "w"), ("y",))
    assert {n: a.value for n, a in conv.attributes.items()} == {
        "pads": (0, -1, 0, 1),
        "auto_pad": b"NOTSET",
        "alpha": 0.5,
        "group": 2,
    }
    assert (branch.domain, branch.inputs, branch.outputs) == ("", ("c", ""), ("a", ""))
    assert [n.op for g in branch.graphs() for n in g.nodes] == ["Neg"]
    assert [i.name for i in found.graph.free_inputs] == ["x"]
    assert found.graph.inputs[0].type is not None
    assert found.graph.inputs[0].type.sizes == (1, "N", "")
    assert found.graph.inputs[0].type.element is ELEMENT_TYPES[10]
    assert found.functions["own", "f", ""].opsets == {"": 20}


def test_lists_of_numbers_are_read_packed_and_single() -> None:
    numbers = [0, 1, 127, 128, -1, 1 << 62, -(1 << 63)]
    packed = message((1, "a"), (20, 7), (8, b"".join(field(0, n)[1:] for n in numbers)))
    single = message((1, "b"), (20, 7), *((8, n) for n in numbers))
    read_node = read(model(graph([message((4, "A"), (5, packed), (5, single))]))).graph.nodes[0]
    assert [a.value for a in read_node.attributes.values()] == [tuple(numbers)] * 2


@pytest.mark.parametrize("code", [code for code, kind in ELEMENT_TYPES.items() if kind.is_plain and code != 8])
def test_raw_content_is_a_view_of_the_file(code: int) -> None:
    kind = ELEMENT_TYPES[code]
    array = np.arange(6).reshape(2, 3).astype(kind.held)
    found = weight((1, 2), (1, 3), (2, code), (9, array.tobytes())).numpy()
    assert found.dtype == kind.held
    assert np.array_equal(found, array)
    assert not found.flags.owndata


@pytest.mark.parametrize(
    ("name", "codes", "expected"),
    [
        ("bfloat16", b"\x80\x3f\x40\xc0", [1.0, -3.0]),
        ("float8e4m3fn", b"\x38\x08\x01\x7e\xff", [1.0, 2**-6, 2**-9, 448.0, np.nan]),
        ("float8e4m3fnuz", b"\x40\x7f\x80", [1.0, 240.0, np.nan]),
        ("float8e5m2", b"\x3c\x7b\x7c\xfd", [1.0, 57344.0, np.inf, np.nan]),
        ("float8e5m2fnuz", b"\x40\x7f\x80", [1.0, 57344.0, np.nan]),
        ("float8e8m0", b"\x7f\x80\xff", [1.0, 2.0, np.nan]),
        ("float4e2m1", b"\x72\x0f", [1.0, 6.0, -6.0]),
        ("float6e2m3", b"\x08\xf0\x03", [1.0, 0.0, -7.5]),
        ("int4", b"\x8f\x07", [-1, -8, 7]),
        ("uint4", b"\x8f\x07", [15, 8, 7]),
        ("int2", b"\x1b", [-1, -2, 1, 0]),
        ("uint2", b"\x1b", [3, 2, 1, 0]),
    ],
)
def test_short_types_have_the_values_of_their_bits(name: str, codes: bytes, expected: list[float]) -> None:
    code = next(code for code, kind in ELEMENT_TYPES.items() if kind.name == name)
    found = weight((1, len(expected)), (2, code), (9, codes)).numpy()
    np.testing.assert_array_equal(found.astype(np.float64), expected)


@pytest.mark.parametrize(
    ("code", "number", "content", "expected"),
    [
        (1, 4, np.array([1.5, -2], "<f4").tobytes(), [1.5, -2]),
        (11, 10, np.array([1.5, -2], "<f8").tobytes(), [1.5, -2]),
        (14, 4, np.array([1, 2, 3, 4], "<f4").tobytes(), [1 + 2j, 3 + 4j]),
        (7, 7, b"\x05" + b"\xff" * 9 + b"\x01", [5, -1]),
        (3, 5, b"\x05" + b"\xff" * 9 + b"\x01", [5, -1]),
        (9, 5, b"\x00\x01", [False, True]),
        (13, 11, b"\x05" + b"\xff" * 9 + b"\x01", [5, 2**64 - 1]),
        (10, 5, b"\x80\x78\x80\x80\x03", [1.0, -2.0]),
        (22, 5, b"\x7f", [-1, 7]),
    ],
)
def test_content_in_fields_of_numbers(code: int, number: int, content: bytes, expected: list[complex]) -> None:
    found = weight((1, 2), (2, code), (number, content)).numpy()
    assert found.dtype == ELEMENT_TYPES[code].held
    assert found.tolist() == expected


def test_strings() -> None:
    assert weight((1, 2), (2, 8), (6, "a"), (6, "ö")).numpy().tolist() == ["a", "ö"]


def test_many_packed_numbers_are_read_piece_by_piece() -> None:
    numbers = np.arange(400_000)
    content = b"".join(bytes([n & 127 | 128, n >> 7 & 127 | 128, n >> 14]) for n in range(len(numbers)))
    assert np.array_equal(weight((1, len(numbers)), (2, 7), (7, content)).numpy(), numbers)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"<html>", "wire type 4"),
        (message((1, 9)), "found no graph"),
        (model(graph([]))[:-2], "ends"),
        (model(b"\x0b\x0c"), "wire type 3"),
        (model(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "ends at byte"),
        (model(b"\x08" + b"\xff" * 11), "more than 10 bytes"),
        (model(b"\x00\x00"), "number 0"),
        (model(b"\x08\x01"), "'node' has wire type 0, expected 2"),
        (model(graph([message((1, "x"))])), "node 1 names no operator"),
        (model(graph([message((1, b"\xff"), (4, "A"))])), "'input' is not UTF-8"),
        (model(graph([message((4, "A"), (5, message((1, "a"), (20, 40))))])), "type 40"),
        (model(graph([message((4, "A"), *[(5, message((1, "a"), (20, 2)))] * 2)])), "twice"),
        (model(graph([]), 6), "opset 6, expected 7 to 28"),
        (model(graph([]), 29), "opset 29, expected 7 to 28"),
        (model(graph([])) + field(7, graph([])), "2 times 'graph'"),
        (model(field(5, tensor("w", np.ones(2))) * 2), "'w' is there twice"),
        (model(field(5, message((8, "w"), (2, 99)))), "element type 99"),
        (model(field(5, message((8, "w"), (2, 1), (1, -1)))), "sizes from 0"),
        (model(field(5, message((8, "w"), (2, 1), *[(1, 1)] * 40))), "40 axes"),
        (model(field(5, message((8, "w"), (2, 1), (1, 1 << 62), (9, b"1234")))), "has 4 bytes, expected 184"),
        (model(field(5, message((8, "w"), (2, 7), (1, 1 << 62), (7, b"1234")))), "4 bytes of others"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(data: bytes, expected: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(data)
    assert "m.onnx: " in str(caught.value)
    assert expected in str(caught.value)


def test_nesting_is_bounded() -> None:
    inner = b""
    for _ in range(40):
        inner = graph([node("If", ["c"], ["y"], then_branch=inner)])
    with pytest.raises(SourceError, match="nested deeper than 64"):
        read(model(inner))


def test_fields_are_counted() -> None:
    with pytest.raises(SourceError, match="more than 2000000 fields"):
        read(model(b"\x2a\x00" * 2_000_001))
    with pytest.raises(SourceError, match="more than 250000 nodes"):
        read(model(b"\x0a\x00" * 250_001))


def external(location: str, *more: tuple[str, str], size: int = 2) -> bytes:
    entries = [(13, message((1, key), (2, text))) for key, text in (("location", location), *more)]
    return model(field(5, message((8, "w"), (1, size), (2, 1), (14, 1), *entries)))


def from_folder(folder: Path, data: bytes) -> OnnxTensor:
    (folder / "m.onnx").write_bytes(data)
    found = load_model(folder / "m.onnx").graph.initializers["w"]
    assert isinstance(found, OnnxTensor)
    return found


def test_content_in_a_file_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(b"1234" + np.array([1.5, 2.5], "<f4").tobytes())
    found = from_folder(tmp_path, external("data/w.bin", ("offset", "4"), ("length", "8")))
    assert found.has_data
    assert found.numpy().tolist() == [1.5, 2.5]


def test_content_that_is_missing_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    found = from_folder(tmp_path, external("w.bin", size=1 << 40))
    assert (found.shape, found.has_data) == ((1 << 40,), False)
    with pytest.raises(SourceError, match=r"'w' its external file 'w.bin' cannot be read"):
        found.numpy()


@pytest.mark.parametrize(
    "place", ["/etc/passwd", "../w.bin", "a/../../w.bin", "", "C:\\w.bin", "..\\w.bin", "link", "."]
)
def test_content_outside_of_the_folder_is_refused(place: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "w.bin").write_bytes(b"12345678")
    os.symlink(tmp_path / "w.bin", inside / "link")
    with pytest.raises(SourceError, match=r"tensor 'w' lies in"):
        from_folder(inside, external(place))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ((("offset", "4"),), "lies at bytes 4 to 12 of 'w.bin', which has 8"),
        ((("offset", str((1 << 63) - 1)),), "which has 8"),
        ((("length", "4"),), "has 4 external bytes, expected 8"),
        ((("offset", "-4"),), "external offset '-4', expected a number"),
    ],
)
def test_content_beyond_its_file_is_refused(more: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"12345678")
    with pytest.raises(SourceError, match=expected):
        from_folder(tmp_path, external("w.bin", *more))


def test_a_model_from_bytes_has_no_files_beside_it() -> None:
    with pytest.raises(SourceError, match="was not read from a file"):
        read(external("w.bin"))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_model(tmp_path / "none.onnx")
