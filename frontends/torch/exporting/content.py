"""An exported program as the bytes of a `.pt2` file without values, and readers of the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from npuc.frontends.base import Array


@dataclass(frozen=True)
class TensorReader:
    """Reads the values that a tensor has when it is called; bfloat16 as float32, which numpy has not."""

    tensor: Any

    def __call__(self) -> Array:
        tensor = self.tensor.detach().to("cpu")
        return np.asarray(tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor)


def content_of(torch: Any, program: Any) -> tuple[bytes, Mapping[str, Callable[[], Array]]]:
    """An exported program, which is changed, as bytes without values, and readers of the values by name."""
    values: dict[str, Callable[[], Array]] = {}
    hollow: dict[int, Any] = {}
    for tensors in (program.state_dict, program.constants):
        for name, tensor in list(tensors.items()):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta":
                values[name] = TensorReader(tensor)
                tensors[name] = hollow.setdefault(id(tensor), _hollow(torch, tensor))
    program.example_inputs = None
    _simplify(program)
    file = BytesIO()
    torch.export.save(program, file)
    return file.getvalue(), values


def _hollow(torch: Any, tensor: Any) -> Any:
    """A tensor of the same type without values; a parameter stays one."""
    empty = tensor.detach().to("meta")
    return torch.nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else empty


def _simplify(program: Any) -> None:
    """
    Describe inputs and outputs by dictionaries, lists and tuples alone.

    PyTorch writes no other classes unless somebody has registered a name for them. What outputs are called stays.
    """
    tree = import_module("torch.utils._pytree")
    for call in program.module_call_graph:
        signature = call.signature
        if signature is not None:
            for name in ("in_spec", "out_spec"):
                spec = getattr(signature, name)
                built: object = tree.tree_unflatten(range(spec.num_leaves), spec)
                setattr(signature, name, tree.tree_structure(_plain(built)))


def _plain(value: object) -> object:
    """A structure with dictionaries in place of named tuples, mappings and data classes."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple | list):
        items = [_plain(one) for one in cast("Sequence[object]", value)]
        names: Sequence[str] | None = getattr(cast(object, value), "_fields", None)
        if names is not None:
            return dict(zip(names, items, strict=True))
        return items if isinstance(value, list) else tuple(items)
    if is_dataclass(value) and not isinstance(value, type):
        given = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: _plain(one) for name, one in given.items() if one is not None}
    return value
