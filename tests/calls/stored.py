"""Calls with values and what PyTorch computed of them, as JSON: `tests/oracle/data/pytorch/layers/<family>.json`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from npuc.compiler.layers.base import Array
from tests.calls import Call

FOLDER = Path(__file__).parents[1] / "oracle" / "data" / "pytorch" / "layers"


@dataclass(frozen=True)
class Stored:
    """One judged call: its values by argument of its network, PyTorch's results and gradients."""

    name: str
    call: Call
    values: dict[str, Array]
    outputs: list[Array]
    gradients: dict[str, Array]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "call": {f.name: getattr(self.call, f.name) for f in fields(Call)},
            "values": {name: _plain(array) for name, array in self.values.items()},
            "outputs": [_plain(array) for array in self.outputs],
            "gradients": {name: _plain(array) for name, array in self.gradients.items()},
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Stored:
        """The inverse of `to_json`."""
        call: dict[str, Any] = data["call"]
        return Stored(
            data["name"],
            Call(
                call["function"],
                {name: _shapes(shape) for name, shape in call["tensors"].items()},
                call["arguments"],
                {name: _indices(index) for name, index in call["indices"].items()},
                {name: tuple(shape) for name, shape in call["masks"].items()},
                {name: (low, high) for name, (low, high) in call["ranges"].items()},
            ),
            {name: _array(plain) for name, plain in data["values"].items()},
            [_array(plain) for plain in data["outputs"]],
            {name: _array(plain) for name, plain in data["gradients"].items()},
        )


def _shapes(shape: list[Any]) -> Any:
    return [tuple(one) for one in shape] if shape and isinstance(shape[0], list) else tuple(shape)


def _indices(index: list[Any]) -> Any:
    """A pair of a shape and a number, or a list of them."""
    if isinstance(index[-1], list):
        return [_indices(one) for one in index]
    shape, limit = index
    return tuple(shape), limit


def _plain(array: Array) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.reshape(-1).tolist()}


def _array(plain: dict[str, Any]) -> Array:
    return np.array(plain["values"], dtype=plain["dtype"]).reshape(plain["shape"])
