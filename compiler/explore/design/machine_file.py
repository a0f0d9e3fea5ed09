"""A found machine as a hardware description: the given one with its size, buffers and area."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from npuc.compiler.core.kinds import Value
from npuc.compiler.explore.design.combine import Design
from npuc.hardware import Hardware, load_hardware

DROPPED = ("maestro.l2_size", "maestro.num_pes", "array.rows", "array.cols", "array.cores", "area.chip_mm2")
"""Keys of the given machine that say what the design says otherwise."""


def designed(machine: Hardware, design: Design) -> Hardware:
    """
    The machine of a design: its elements, also as an array of the clusters' rows and columns, and its buffers.

    Bandwidth, clock, energies and all else are those of the given machine; the bandwidth of all its cores is one
    core's. Raises `UsageError` where the two do not go together.
    """
    size, cores = design.size, machine.get("array.cores", int) or 1
    values: dict[str, object] = {key: value for key, value in machine.values.items() if key not in DROPPED}
    values["name"] = f"{machine.name}-design"
    rate = machine.get("dram.gb_per_s", float)
    if rate is not None and machine.written("dram.gb_per_s"):
        values["dram.gb_per_s"] = rate * cores
    if len(size.fanouts) == 2 and machine.written("array.dataflow"):
        values["array.rows"], values["array.cols"] = size.fanouts
    values["maestro.num_pes"] = size.elements
    values["maestro.l1_size"] = size.l1
    values["memory.spm_kib"] = float(Fraction(size.l2, 1024))
    values["area.chip_mm2"] = design.area_mm2
    return load_hardware(values)


def machine_text(machine: Hardware, remark: str) -> str:
    """A description as TOML, with a remark in its first lines."""
    plain = {key: value for key, value in machine.values.items() if "." not in key}
    tables: dict[str, dict[str, Value]] = {}
    for key, value in machine.values.items():
        table, dot, leaf = key.partition(".")
        if dot:
            tables.setdefault(table, {})[leaf] = value
    lines = [f"# {line}" for line in remark.splitlines()] + [""] + _entries(plain)
    for table, values in tables.items():
        rows = {key: value for key, value in values.items() if isinstance(value, list)}
        lines += ["", f"[{table}]", *_entries({key: value for key, value in values.items() if key not in rows})]
        for key, many in rows.items():
            for row in many:
                lines += ["", f"[[{table}.{key}]]", *_entries(row)]
    return "\n".join(lines) + "\n"


def _entries(values: Mapping[str, Value]) -> list[str]:
    return [f"{key} = {_literal(value)}" for key, value in values.items()]


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
