"""
Documents as JSON text: one line per entry of a list of rows, floats as `repr` writes them.

    to_json(report)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

import msgspec

from npuc.compiler.core.errors import InternalError

LINES = ("ops", "certificates", "scopes", "curve", "layers", "stages")
"""Lists that are written with one line per entry."""


def dumps(value: object) -> str:
    """A value as JSON on one line. Raises `InternalError` for NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as e:
        raise InternalError(f"a report holds a number that JSON cannot write: {e}") from e


def block(pairs: Iterable[tuple[str, str]]) -> str:
    """An object of keys and JSON texts, one line each."""
    return "{\n" + ",\n".join(f"  {dumps(key)}: {text}" for key, text in pairs) + "\n}"


def _list(items: Iterable[str]) -> str:
    text = ",\n".join(f"    {item}" for item in items)
    return f"[\n{text}\n  ]" if text else "[]"


def to_json(document: msgspec.Struct) -> str:
    """A document as JSON text that ends in a newline. Deterministic; raises `InternalError` for NaN."""
    fields = cast("dict[str, object]", msgspec.to_builtins(document))
    lines = {key: cast("list[object]", fields[key]) for key in LINES if fields.get(key) is not None}
    return block((k, _list(map(dumps, lines[k])) if k in lines else dumps(v)) for k, v in fields.items()) + "\n"
