"""Small networks in mixed precision as PyTorch computed them: `tests/oracle/data/pytorch_mixed/<name>.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from npuc.compiler.layers.base import Array

FOLDER = Path(__file__).parent / "oracle" / "data" / "pytorch_mixed"


@dataclass(frozen=True)
class Reference:
    """A network's text, its inputs and parameters by name, and what PyTorch computed; types by PyTorch's names."""

    source: str
    values: dict[str, Array]
    loss: float
    outputs: dict[str, Array]
    types: dict[str, str]
    gradients: dict[str, Array]


def references() -> dict[str, Reference]:
    """All networks by name."""
    found: dict[str, Reference] = {}
    for path in sorted(FOLDER.glob("*.json")):
        data = json.loads(path.read_text())
        arrays = {
            part: {n: _array(one) for n, one in data[part].items()} for part in ("values", "outputs", "gradients")
        }
        types = {n: one["dtype"] for n, one in data["outputs"].items()}
        found[path.stem] = Reference(
            data["source"], arrays["values"], data["loss"], arrays["outputs"], types, arrays["gradients"]
        )
    return found


def _array(plain: dict[str, Any]) -> Array:
    return np.array(plain["values"]).reshape(plain["shape"])
