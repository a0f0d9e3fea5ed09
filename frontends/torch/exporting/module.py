"""
A PyTorch module at hand as a source: exported as a graph without values, which are read when a run asks for them.

    source = from_module(model, (example,))
    report = compile_file(source, backend="roofline", optimizer="adamw(lr=1e-3)")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.foreign import Foreign, summary
from npuc.frontends.base import Source
from npuc.frontends.torch.exporting.content import content_of
from npuc.frontends.torch.exporting.decompose import decompose
from npuc.frontends.torch.frontend import FRONTEND


def from_module(
    module: object,
    example_inputs: Sequence[object],
    *,
    kwargs: Mapping[str, object] | None = None,
    dynamic_shapes: object = None,
    name: str | None = None,
) -> Source:
    """
    A `torch.nn.Module` as a source, which is taken wherever a path is: `compile_file(from_module(model, (x,)))`.

    The module is exported by `torch.export` in the mode that it is in, for the shapes and types of `example_inputs`
    and `kwargs`; their values do not matter. Nothing is computed and no weight is copied: a module made under `with
    torch.device("meta")` takes no memory. Operators without a counterpart here are decomposed by PyTorch. A run starts
    with the values that the module's parameters have then; those without values are drawn from the seed.

    `dynamic_shapes` leaves sizes free, as `torch.export.export` takes it; `-D`'s `defines` give them values. `name` is
    what reports and places call the module, by default its class.

    Raises `TypeError` for an argument of a wrong type, `UsageError` without PyTorch and for a module that it cannot
    export.
    """
    torch = _torch()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module: expected a torch.nn.Module, got {_kind(module)}")
    if not isinstance(cast(object, example_inputs), tuple | list):
        raise TypeError(f"example_inputs: expected a tuple of the arguments, got {_kind(example_inputs)}")
    named = dict[str, object](argument("kwargs", kwargs, Mapping[str, Any] | None) or {})
    name = cast(str, argument("name", name, str | None)) or type(module).__name__
    given = _on_device(torch, module, (tuple(example_inputs), named))
    hint = "torch.export.export(…) shows the reason in full"
    with Foreign(lambda e: UsageError(f"PyTorch cannot export {name}: {summary(e)}", hint=hint)):
        program = torch.export.export(module, given[0], given[1], dynamic_shapes=dynamic_shapes)
        decompose(torch, program)
        content, values = content_of(torch, program)
    return Source(content, FRONTEND, name, name, values)


def _torch() -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UsageError(
            "from_module needs PyTorch, which is not installed", hint='pip install "npuc[torch]"'
        ) from None


def _kind(value: object) -> str:
    return "None" if value is None else f"the {type(value).__name__} {value}"[:80]


def _on_device(torch: Any, module: Any, given: Any) -> Any:
    """The example arguments on the device of a module whose tensors are all on one: only their types are used."""
    devices = {one.device for one in (*module.parameters(), *module.buffers())}
    if len(devices) != 1:
        return given
    (device,) = devices

    def moved(tensor: Any) -> Any:
        return tensor.to(device)

    return import_module("torch.utils._pytree").tree_map_only(torch.Tensor, moved, given)
