"""The reader of ONNX files beside the onnx package, where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.frontends.onnx.container.load import load_model
from npuc.frontends.onnx.container.tensors import OnnxTensor

onnx = pytest.importorskip("onnx")
LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_models_are_read_as_onnx_reads_them(path: Path) -> None:
    found, wanted = load_model(path).graph, onnx.load(path).graph
    assert [(n.op, n.name, n.inputs, n.outputs) for n in found.nodes] == [
        (n.op_type, n.name, tuple(n.input), tuple(n.output)) for n in wanted.node
    ]
    for node, other in zip(found.nodes, wanted.node, strict=True):
        values: dict[str, Any] = {a.name: onnx.helper.get_attribute_value(a) for a in other.attribute if a.type != 4}
        plain = {n: a.value for n, a in node.attributes.items() if a.kind != "tensor"}
        listed = {n for n, a in node.attributes.items() if a.kind in ("ints", "floats")}
        assert plain == {n: tuple(v) if n in listed else v for n, v in values.items()}
    for tensor in wanted.initializer:
        own = found.initializers[tensor.name]
        assert isinstance(own, OnnxTensor)
        np.testing.assert_array_equal(own.numpy(), onnx.numpy_helper.to_array(tensor))
