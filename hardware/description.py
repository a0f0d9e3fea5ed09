"""A described machine: values by dotted key, keys that a backend requires, and the facts that passes need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, overload

from npuc.compiler.analysis.machine.table import facts_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Scalar, Value
from npuc.compiler.report import HardwareDict
from npuc.hardware.schema import KEYS

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True)
class Hardware:
    """
    Values by dotted key, in the order of the schema, as they were written.

    Made by `load_hardware`, which checks them. A number of kind real is always a float. `reads` are the keys that
    somebody has asked for so far.
    """

    values: Mapping[str, Value]
    reads: set[str] = field(default_factory=set[str], compare=False, repr=False)

    @property
    def name(self) -> str:
        """The machine's name; `custom` without one."""
        return str(self.values.get("name", "custom"))

    def written(self, key: str) -> bool:
        """Whether the description itself has the key (and not only a default)."""
        self.reads.add(key)
        return key in self.values

    @overload
    def get(self, key: str) -> Value | None: ...
    @overload
    def get(self, key: str, kind: type[T]) -> T | None: ...
    def get(self, key: str, kind: type[T] | None = None) -> Value | T | None:
        """The value of a key, else its default, else None; with `kind` (bool, int, float, str) it is of that type."""
        self.reads.add(key)
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
        """The machine in a line: its compute units, memory and bandwidth."""
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
        The resolved description, nested, for a report: written values, and defaults of the tables that occur.
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

    Names, and what each depends on, are in `npuc.compiler.analysis.machine.table`; `spm_bytes` is what a schedule may
    use (half of the SPM with double buffering). Raises `UsageError` for a missing key.
    """
    return {"name": hardware.name, **facts_of(hardware, backend)}


def mapping_target(hardware: Hardware) -> dict[str, Scalar]:
    """The facts of a machine that mappings depend on; none where it has no processing elements."""
    count = hardware.get("maestro.num_pes", int)
    return {} if count is None else {"num_pes": count}
