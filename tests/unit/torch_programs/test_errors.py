"""What is wrong with an exported program or with what is asked of it gets one clear message."""

import io
import json
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from npuc.compiler import compile_file, compile_source, describe_source
from npuc.compiler.core.errors import NpucError, SourceError, UsageError
from npuc.frontends.base import Request
from npuc.frontends.source import text_source
from npuc.frontends.torch import from_module
from npuc.frontends.torch.memory.views import is_view

DATA = Path(__file__).parents[2] / "oracle" / "data" / "torch"
CNN = DATA / "cnn.pt2"


def _changed(path: Path, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A file whose JSON is another."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json") or "/models/" in name:
                program = json.loads(content)
                change(program)
                content = json.dumps(program).encode()
            new.writestr(name, content)
    return out.getvalue()


def _read(data: bytes, **request: Any) -> object:
    source = text_source(data, "pt2", "model.pt2")
    return source.frontend.read(source, Request(**request))


def _keys(node: Any) -> list[Any]:
    """The keys of an object, the places of an array; none for other values."""
    if isinstance(node, dict):
        return list(cast("dict[str, Any]", node))
    return list(range(len(cast("list[Any]", node)))) if isinstance(node, list) else []


def _nodes(program: dict[str, Any]) -> list[dict[str, Any]]:
    return program["graph_module"]["graph"]["nodes"]


def test_all_unknown_operators_are_named_with_their_nodes() -> None:
    def change(program: dict[str, Any]) -> None:
        _nodes(program)[0]["target"] = "torch.ops.aten.fold.default"
        _nodes(program)[2]["target"] = "torch.ops.mine.conv.default"
        _nodes(program)[3]["target"] = "torch.ops.mine.conv.default"

    with pytest.raises(NpucError) as caught:
        _read(_changed(CNN, change))
    text = str(caught.value)
    assert "model.pt2:1:1: error: unsupported operator aten.fold.default" in text
    assert "unsupported operator mine.conv.default (nodes 3, 4)" in text


def test_a_mistake_in_a_call_has_the_place_of_the_node() -> None:
    def change(program: dict[str, Any]) -> None:
        convolution = next(node for node in _nodes(program) if "conv2d" in node["target"])
        convolution["inputs"].append({"name": "groups", "arg": {"as_int": 2}, "kind": 1})

    with pytest.raises(SourceError, match="groups") as caught:
        _read(_changed(CNN, change))
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("model.pt2", 1)


def test_a_call_of_numbers_alone_is_no_tensor() -> None:
    def change(program: dict[str, Any]) -> None:
        power = next(node for node in _nodes(program) if node["target"].endswith("pow.Tensor_Scalar"))
        power["inputs"][0]["arg"] = {"as_int": 3}

    with pytest.raises(SourceError, match=r"'pow' is float 27.0, expected a tensor") as caught:
        _read(_changed(DATA / "recurrent.pt2", change))
    assert caught.value.location is not None


def test_another_major_version_is_refused_by_name() -> None:
    def change(program: dict[str, Any]) -> None:
        program["schema_version"] = {"major": 9, "minor": 1}

    with pytest.raises(SourceError, match=r"found schema 9\.1.*expected 8"):
        _read(_changed(CNN, change))


@pytest.mark.parametrize("size", [2**62, 2**40, -1])
def test_sizes_that_no_machine_holds_end_soon(size: int) -> None:
    def change(program: dict[str, Any]) -> None:
        values = program["graph_module"]["graph"]["tensor_values"]
        values["x"]["sizes"][0] = {"as_int": size}

    with pytest.raises(NpucError):
        describe_source(_changed(CNN, change), "pt2", inputs={})


@pytest.mark.parametrize("kept", [0, 1, 3, 30, 200, 2000, -200, -30, -1])
def test_a_truncated_file_is_a_source_error(kept: int) -> None:
    data = CNN.read_bytes()
    with pytest.raises(SourceError, match=r"model\.pt2"):
        _read(data[: len(data) + kept if kept < 0 else kept])


def test_what_is_no_archive_is_said() -> None:
    with pytest.raises(SourceError, match="archive"):
        _read(b"network n() { }" * 100)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/b.txt", b"hello")
    with pytest.raises(SourceError, match="found no exported program"):
        _read(out.getvalue())


def test_changed_bytes_are_errors_with_a_name() -> None:
    rng, data = random.Random(5), (DATA / "writes.pt2").read_bytes()
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        try:
            _read(bytes(changed), losses=("mse",))
        except NpucError:
            continue


def test_changed_json_is_an_error_with_a_name() -> None:
    rng = random.Random(7)
    values: list[Any] = [None, -1, 2**62, 1.5, "", "x", [], {}, [[]], {"as_int": 3}, {"as_tensor": {"name": "x"}}, True]

    def change(program: dict[str, Any]) -> None:
        node: Any = program
        while node:
            key = rng.choice(_keys(node))
            inner: Any = node[key]
            if rng.random() < 0.15 or not _keys(inner):
                node[key] = rng.choice(values)
                return
            node = inner

    for name in ("writes", "decoder", "cnn"):
        for _ in range(60):
            try:
                _read(_changed(DATA / f"{name}.pt2", change), losses=("mse",))
            except NpucError:
                continue


@pytest.mark.parametrize(
    ("shape", "strides", "other", "view"),
    [
        ((2, 3), (3, 1), (6,), True),
        ((2, 3), (1, 2), (6,), False),
        ((2, 3), (1, 2), (2, 3), True),
        ((4, 3), (3, 1), (2, 6), True),
        ((4, 1, 1, 4), (4, 1, 16, 1), (1, 1, 16), True),
        ((2, 2, 2), (8, 2, 1), (2, 4), True),
        ((2, 2, 2), (8, 2, 1), (4, 2), False),
        ((2, 3), (3, 1), (5,), False),
    ],
)
def test_which_shapes_are_views(
    shape: tuple[int, ...], strides: tuple[int, ...], other: tuple[int, ...], *, view: bool
) -> None:
    assert is_view(shape, strides, other) is view


def test_a_claim_of_the_file_that_its_calls_contradict_is_an_error() -> None:
    def change(program: dict[str, Any]) -> None:
        program["graph_module"]["graph"]["tensor_values"]["p_fc_weight"]["sizes"] = []

    with pytest.raises(SourceError, match="contradict the types in the file"):
        _read(_changed(CNN, change))


# what is asked of a graph


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "cros_entropy"}, "--loss cros_entropy: found no loss and no output"),
        ({"loss": "cross_entropy(axs=1)"}, "has no argument 'axs'"),
        ({"loss": "output:out"}, "--result out: the graph has no such output"),
        ({"loss": "output"}, "expected a scalar"),
        ({"loss": "mse) optimizer sgd(lr=1"}, "--loss: found"),
        ({"loss": ["mse", "mse"], "optimizer": "sgd()"}, "--optimizer sgd(): sgd needs the argument 'lr'"),
        ({"optimizer": "sdg(lr=0.1)"}, "unknown optimizer 'sdg'"),
        ({"freeze": "backbone.*"}, "--freeze backbone.*: no parameter has such a name"),
        ({"result": "logits"}, "--result logits: the graph has no such output"),
        ({"defines": {"batch": 3}}, "unknown network parameter 'batch'"),
        ({"loss": "mse", "inference": True}, "--loss does not apply with --inference"),
    ],
)
def test_wrong_requests(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_file(str(CNN), backend="roofline", **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("option", ["loss", "optimizer", "freeze", "result"])
def test_a_source_that_has_a_step_takes_no_other(option: str) -> None:
    options: Any = {option: "mse"}
    with pytest.raises(UsageError, match=f"--{option} does not apply"):
        compile_source("network n() { input x: f32[1]\n loss mse(x, x) }", backend="roofline", **options)


def test_a_module_needs_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="from_module needs PyTorch, which is not installed") as error:
        from_module(object(), ())
    assert error.value.hint == 'pip install "npuc[torch]"'
