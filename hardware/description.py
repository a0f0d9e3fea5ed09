"""A described machine: values by dotted key, keys that a backend requires, and the facts that passes need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar, overload

from npuc.compiler.analysis.machine.table import facts_of
from npuc.compiler.core.errors import UsageError, either
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Scalar, Value
from npuc.compiler.report import HardwareDict
from npuc.hardware.derive import Derived, rule_value
from npuc.hardware.level_keys import LEVELS
from npuc.hardware.outer import READ, outer_facts
from npuc.hardware.schema import KEYS
from npuc.hardware.suggest import fitting
from npuc.hardware.unit_rows import UNITS

if TYPE_CHECKING:
    from npuc.compiler.core.display.shown import Shown

T = TypeVar("T", bool, int, float, str)


@frozen
class Hardware:
    """
    Values by dotted key, in the order of the schema, as they were written.

    Made by `load_hardware`, which checks them. A number of kind real is always a float. `reads` are the keys that
    somebody has asked for so far, `derived` those that were needed, are not written and follow from what is written.
    """

    values: Mapping[str, Value]
    reads: set[str] = field(default_factory=set[str], compare=False, repr=False)
    derived: dict[str, Derived] = field(default_factory=dict[str, Derived], compare=False, repr=False)

    def shown(self) -> Shown:
        """What is shown of it: the keys that are written."""
        from npuc.compiler.core.display.shown import Shown, table_of, value_text

        rows = [(key, value_text(value)) for key, value in self.values.items()]
        return Shown("Hardware", self.name, f"{len(rows):,} keys", table=table_of(("key", "value"), rows, "keys"))

    def __repr__(self) -> str:
        from npuc.compiler.core.display.words import one_line

        return one_line(self.shown())

    def __str__(self) -> str:
        from npuc.compiler.core.display.words import lines

        return lines(self.shown())

    def _repr_html_(self) -> str:
        """The description in a notebook."""
        from npuc.compiler.core.display.fragment import fragment

        return fragment(self.shown())

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
    def known(self, key: str) -> Value | None: ...
    @overload
    def known(self, key: str, kind: type[T]) -> T | None: ...
    def known(self, key: str, kind: type[T] | None = None) -> Value | T | None:
        """As `get`; where the description does not have the key, what follows for it from keys that it has."""
        value = self.get(key) if kind is None else self.get(key, kind)
        if value is not None:
            return value
        if key not in self.derived:
            found = rule_value(key, self.get)
            if found is None:
                return None
            self.derived[key] = found
        value = self.derived[key].value
        assert kind is None or isinstance(value, kind), f"{key} is read as {kind}"
        return value

    @overload
    def require(self, key: str, *, backend: str) -> Value: ...
    @overload
    def require(self, key: str, kind: type[T], *, backend: str) -> T: ...
    def require(self, key: str, kind: type[T] | None = None, *, backend: str) -> Value | T:
        """
        The value of a key that `backend` needs: written, a default, or what follows from other keys.

        Raises `UsageError` that names both when there is none.
        """
        value = self.known(key) if kind is None else self.known(key, kind)
        if value is None:
            raise self._lacks([key], backend)
        return value

    def require_all(self, keys: Sequence[str], *, backend: str) -> None:
        """Raise one `UsageError` for all of `keys` that there is no value for, with values that fit the others."""
        missing = [key for key in dict.fromkeys(keys) if self.known(key) is None]
        if missing:
            raise self._lacks(missing, backend)

    def _lacks(self, missing: Sequence[str], backend: str) -> UsageError:
        """The error of keys that a backend needs and that there is no value for."""
        shown = [f"{key} ({KEYS[key].meaning})" for key in missing]
        what = shown[0] if len(shown) == 1 else f"{'; '.join(shown[:-1])}; nor {shown[-1]}"
        given = fitting(missing, self.values)
        settings = " ".join(f"--set {key}={value}" for key, value in given.items())
        rest = [key for key in missing if key not in given]
        verb = "follows" if len(rest) == 1 else "follow"
        hint = f"add {'it' if len(missing) == 1 else 'them'} to the file, or for example {settings}"
        whose = f"the backend '{backend}' needs" if backend != UNITS else "its units need"
        return UsageError(
            f"hardware '{self.name}' has no {what}, which {whose}",
            hint=hint + (f"; {either(rest, 'and')} then {verb}" if rest else ""),
        )

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
        The resolved description, nested, for a report: written values, those that followed from them and were needed,
        and defaults of the tables that occur.
        """
        values = {**self.values, **{path: found.value for path, found in self.derived.items()}}
        present = {path.partition(".")[0] for path in values}
        result: HardwareDict = {}
        for path, key in KEYS.items():
            table, dot, leaf = path.partition(".")
            value = values.get(path, key.default if table in present else None)
            if value is None:
                continue
            if not dot:
                result[path] = [{**row} for row in value] if isinstance(value, list) else value
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
    facts, levels = facts_of(hardware, backend), outer_facts(hardware.values, hardware)
    if levels:
        hardware.reads.update((LEVELS, READ))
    return {"name": hardware.name, **facts, **levels}


def mapping_target(hardware: Hardware, *, mapped: bool = False) -> dict[str, Scalar]:
    """
    The facts of a machine that mappings depend on; none where it has no processing elements.

    For a backend that follows mappings (`mapped`) elements of the array are such elements where no others are written.
    """
    count = hardware.known("maestro.num_pes", int) if mapped else hardware.get("maestro.num_pes", int)
    taken = hardware.get("array.mantissa_bits", int)
    passes = {} if taken is None else {"mantissa_bits": taken}
    return {} if count is None else {"num_pes": count, **passes}
