"""The structure of a model's results: PyTorch writes it as JSON of nested containers (torch.utils._pytree)."""

from __future__ import annotations

from typing import Any, cast

import msgspec

MAX_DEPTH = 32
"""How deep containers may be nested."""


def paths_of(structure: str) -> list[str] | None:
    """
    The path of each leaf: keys and places joined by dots, "" for a result that is no container.

    None for a structure that cannot be read, or has containers whose places are not known.
    """
    try:
        found: Any = msgspec.json.decode(structure)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(found, list) or len(cast("list[Any]", found)) != 2:
        return None
    return _paths(cast("list[Any]", found)[1], "", 0)


def _paths(node: Any, path: str, depth: int) -> list[str] | None:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return None
    entry = cast("dict[str, Any]", node)
    children = entry.get("children_spec")
    if not isinstance(children, list):
        return None
    if entry.get("type") is None:
        return [path]
    parts = cast("list[Any]", children)
    keys = _keys(entry.get("context"), len(parts))
    found: list[str] = []
    for key, part in zip(keys, parts, strict=True):
        inner = _paths(part, f"{path}.{key}" if path else key, depth + 1)
        if inner is None:
            return None
        found += inner
    return found


def _keys(context: Any, count: int) -> list[str]:
    """The keys of a container's parts, which a dictionary's context lists; their places for others."""
    try:
        value: Any = msgspec.json.decode(context) if isinstance(context, str) else None
    except (msgspec.MsgspecError, RecursionError):
        value = None
    if isinstance(value, list) and len(cast("list[Any]", value)) == count:
        named = cast("list[Any]", value)
        if all(isinstance(key, str) for key in named):
            return [str(key) for key in named]
    return [str(number) for number in range(count)]
