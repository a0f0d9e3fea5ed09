"""Names of layers and parameters: where a node stands in the modules that it was exported from."""

from __future__ import annotations

import re

from npuc.frontends.onnx.calls import OnnxCall

_FOREIGN = re.compile(r"[^A-Za-z0-9_.]+")
_SCOPES = "pkg.torch.onnx.name_scopes"
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def plain(name: str) -> str:
    """A name of letters, digits, underscores and dots between them."""
    parts = [_FOREIGN.sub("_", part).strip("_") for part in name.replace("/", ".").replace("::", ".").split(".")]
    return ".".join(part for part in parts if part) or "value"


def layer_of(call: OnnxCall) -> str:
    """The name of the layer that a node makes: the path of its module, and the operator."""
    word = _SNAKE.sub("_", call.op).lower()
    path = module_of(call)
    return f"{path}.{word}" if path else word


def module_of(call: OnnxCall) -> str:
    """The path of the module that a node is of, as exporters tell it; "" where they do not."""
    scopes = call.node.metadata.entries().get(_SCOPES, "")
    if scopes:
        found = re.findall(r"'([^']*)'", scopes)
        return plain(found[-2]) if len(found) > 1 and found[-2] else ""
    if not call.node.name.startswith("/"):
        return ""
    path: list[str] = []
    for part in call.node.name.strip("/").split("/")[:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path[-1] = part
        else:
            path.append(part)
    return plain("/".join(path)) if path else ""
