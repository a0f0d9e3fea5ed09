"""A described machine: values by dotted key, what a backend must find there, and what passes are told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, overload

from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import HardwareDict
from npuc.hardware.kinds import Scalar, Value
from npuc.hardware.schema import KEYS

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True)
class Hardware:
    """
    Values by dotted key, in the order of the schema, as they were written.

    Made by `load_hardware`, which checks them. A number of kind real is always a float.
    """

    values: Mapping[str, Value]

    @property
    def name(self) -> str:
        """What the machine calls itself; `custom` when it has no name."""
        return str(self.values.get("name", "custom"))

    def written(self, key: str) -> bool:
        """Whether the description itself has the key (and not only a default)."""
        return key in self.values

    @overload
    def get(self, key: str) -> Value | None: ...
    @overload
    def get(self, key: str, kind: type[T]) -> T | None: ...
    def get(self, key: str, kind: type[T] | None = None) -> Value | T | None:
        """The value of a key, else its default, else None; with `kind` (bool, int, float, str) it is of that type."""
        value = self.values.get(key, KEYS[key].default)
        if value is None or kind is None:
            return value
        assert isinstance(value, kind), f"{key} is read as {kind.__name__}"
        return value

    @overload
    def require(self, key: str, *, backend: str) -> Value: ...
    @overload
    def require(self, key: str, kind: type[T], *, backend: str) -> T: ...
    def require(self, key: str, kind: type[T] | None = None, *, backend: str) -> Value | T:
        """The value of a key that `backend` needs. Raises `UsageError` that names both when it is missing."""
        value = self.get(key) if kind is None else self.get(key, kind)
        if value is None:
            raise UsageError(
                f"hardware '{self.name}' has no {key} ({KEYS[key].meaning}), which the backend '{backend}' needs",
                hint=f"add it to the file, or give it with --set {key}=VALUE",
            )
        return value

    def summary(self) -> str:
        """The machine in a line: what it computes with, its memory, its bandwidth."""
        rows, cols = self.get("array.rows", int), self.get("array.cols", int)
        count = self.get("maestro.num_pes", int)
        alone = f"{count:,} elements" if count else ""
        parts = [f"{rows} x {cols} {self.get('array.dataflow', str)}" if rows and cols else alone]
        for key, unit in (
            ("clock_mhz", "MHz"),
            ("compute.tflops", "TFLOPS"),
            ("memory.spm_kib", "KiB SPM"),
            ("memory.cache_mib", "MiB cache"),
            ("dram.gb_per_s", "GB/s"),
        ):
            value = self.get(key, float)
            parts.append(f"{value:,g} {unit}" if value is not None else "")
        return ", ".join(part for part in parts if part)

    def as_dict(self) -> HardwareDict:
        """
        The resolved description, nested, for a report: what was written, and the defaults of the tables that occur.
        """
        present = {path.partition(".")[0] for path in self.values}
        result: HardwareDict = {}
        for path, key in KEYS.items():
            table, dot, leaf = path.partition(".")
            value = self.values.get(path, key.default if table in present else None)
            if value is None:
                continue
            if not dot:
                result[path] = value if not isinstance(value, list) else None
                continue
            inner = result.setdefault(table, {})
            assert isinstance(inner, dict)
            inner[leaf] = [dict(row) for row in value] if isinstance(value, list) else value
        return result


def machine_target(hardware: Hardware, *, backend: str = "cycle") -> dict[str, Scalar]:
    """
    The facts of a machine that schedules depend on, flat: what the driver writes into a module's `npu.target`.

    Keys are those of the schema with their last part as the name; `spm_bytes` is what a schedule may use (half of the
    SPM with double buffering). Energies and `element_bytes` are absent when the hardware has none. Raises
    `UsageError` for a missing key.
    """
    spm = hardware.require("memory.spm_kib", float, backend=backend) * 1024
    double = hardware.require("memory.double_buffer", bool, backend=backend)
    usable = int(spm / 2 if double else spm)
    if usable < 1:
        raise UsageError(f"memory.spm_kib leaves no byte of SPM to backend '{backend}'", hint="--set memory.spm_kib=64")
    target: dict[str, Scalar] = {
        "name": hardware.name,
        "rows": hardware.require("array.rows", int, backend=backend),
        "cols": hardware.require("array.cols", int, backend=backend),
        "dataflow": hardware.require("array.dataflow", str, backend=backend),
        "fill": hardware.require("array.fill", str, backend=backend),
        "drain": hardware.require("array.drain", str, backend=backend),
        "spm_bytes": usable,
        "double_buffer": double,
        "clock_mhz": hardware.require("clock_mhz", float, backend=backend),
        "gb_per_s": hardware.require("dram.gb_per_s", float, backend=backend),
        "lanes": hardware.require("vector.lanes", int, backend=backend),
    }
    optional = ("memory.element_bytes", "energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte")
    for key in optional:
        value = hardware.get(key)
        if isinstance(value, int | float):
            target[key.partition(".")[2]] = value
    for key in ("array.transpose", "array.overlap"):
        if hardware.written(key):
            target[key.partition(".")[2]] = hardware.require(key, str, backend=backend)
    if hardware.require("array.cores", int, backend=backend) > 1:
        target["cores"] = hardware.require("array.cores", int, backend=backend)
        target["multicast"] = hardware.require("array.multicast", bool, backend=backend)
        target["reduction"] = hardware.require("array.reduction", str, backend=backend)
    if hardware.written("array.overlap"):
        target["tile_m"] = hardware.require("array.tile_m", int, backend=backend)
    if hardware.written("array.accumulator_bits"):
        target["accumulator_bits"] = hardware.require("array.accumulator_bits", int, backend=backend)
    if hardware.written("array.edge_elements"):
        edge = hardware.get("array.edge_elements")
        assert isinstance(edge, int | str), "it is read as a number or 'unlimited'"
        target["edge_elements"] = edge
    if hardware.written("memory.policy"):
        target["policy"] = hardware.require("memory.policy", str, backend=backend)
    return target


def mapping_target(hardware: Hardware) -> dict[str, Scalar]:
    """The facts of a machine that mappings depend on; none where it has no processing elements."""
    count = hardware.get("maestro.num_pes", int)
    return {} if count is None else {"num_pes": count}
