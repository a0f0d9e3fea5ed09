"""What a file repeats for equal modules is read once, and no more of it is made than a right program needs."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from npuc.compiler.core.options import Options
from npuc.compiler.driver.read import read_program, texts_of
from npuc.frontends.dsl.binding import Signature
from npuc.frontends.source import open_source
from npuc.frontends.torch import arguments_json, read

DECODER = Path(__file__).parents[2] / "oracle" / "data" / "torch" / "decoder.pt2"


def _read(path: str | Path) -> None:
    source = open_source(path)
    read_program(source, Options(), texts_of(source))


def _graph() -> dict[str, Any]:
    with zipfile.ZipFile(DECODER) as archive:
        (name,) = (one for one in archive.namelist() if "/models/" in one)
        return json.loads(archive.read(name))["graph_module"]["graph"]


def _count(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: object, name: str) -> None:
    """Count the calls of a function, of a decoder by the type that it decodes to."""
    function: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **named: Any) -> Any:
        counts[getattr(named.get("type"), "__name__", name)] += 1
        return function(*arguments, **named)

    monkeypatch.setattr(owner, name, call)


def test_equal_types_arguments_and_traces_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    for owner, name in ((msgspec.json, "decode"), (arguments_json, "line_of"), (arguments_json, "modules_of")):
        _count(monkeypatch, counts, owner, name)
    _read(DECODER)
    graph = _graph()
    nodes, types = graph["nodes"], list(graph["tensor_values"].values())
    arguments = [one["arg"] for node in nodes for one in node["inputs"]]
    arguments += [one for node in nodes for one in node["outputs"]] + graph["inputs"] + graph["outputs"]
    for name, texts in (
        ("TensorJson", types),
        ("ArgumentJson", arguments),
        ("line_of", [node["metadata"]["stack_trace"] for node in nodes if "stack_trace" in node["metadata"]]),
        (
            "modules_of",
            [node["metadata"]["nn_module_stack"] for node in nodes if "nn_module_stack" in node["metadata"]],
        ),
    ):
        distinct = {json.dumps(text) for text in texts}
        assert 0 < counts[name] <= len(distinct) < len(texts), name


def test_free_sizes_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    _count(monkeypatch, counts, read, "FreeSizes")
    _read(DECODER)
    assert counts == {"FreeSizes": 1}


@pytest.mark.parametrize("source", [DECODER, "samples:gpt2", "samples:resnet50"], ids=["pt2", "gpt2", "resnet50"])
def test_signatures_are_spelt_for_errors_only(source: str | Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spelt: list[Signature] = []
    monkeypatch.setattr(Signature, "text", property(spelt.append))
    _read(source)
    assert not spelt
