"""A machine as a TOML file, for verbs that find one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from npuc.compiler.core.kinds import Entry, Value
from npuc.hardware.description import Hardware


def as_toml(machine: Hardware, remark: str) -> str:
    """A description as a TOML file that `load_hardware` reads again, with a remark in its first lines."""
    plain = {key: value for key, value in machine.values.items() if "." not in key}
    tables: dict[str, dict[str, Value]] = {}
    for key, value in machine.values.items():
        table, dot, leaf = key.partition(".")
        if dot:
            tables.setdefault(table, {})[leaf] = value
    said = ["".join(one if one.isprintable() else " " for one in line) for line in remark.splitlines()]
    lists = {key: rows for key, rows in plain.items() if isinstance(rows, list)}
    lines = [*(f"# {line}" for line in said), "", *_entries({k: v for k, v in plain.items() if k not in lists})]
    for table, values in tables.items():
        lines += ["", f"[{table}]"]
        lines += _entries({key: value for key, value in values.items() if not isinstance(value, list)})
        for key, rows in values.items():
            for row in rows if isinstance(rows, list) else ():
                lines += ["", f"[[{table}.{key}]]", *_entries(row)]
    for key, rows in lists.items():
        for row in rows:
            lines += ["", f"[[{key}]]", *_entries(row)]
    return "\n".join(lines) + "\n"


def _entries(values: Mapping[str, Value | Entry]) -> list[str]:
    return [f"{key} = {_literal(value)}" for key, value in values.items()]


def _literal(value: Value | Entry) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
