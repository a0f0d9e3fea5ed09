"""
A machine as each backend sees it: peak, ridge point, bandwidth, and where each number comes from.

    page = machine_page("tpu-v4", {"memory.spm_kib": 4096})
    page.backends[0].ridge_ops_per_byte
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from npuc.backends.base import Backend
from npuc.backends.registry import get_all_backends, get_backend
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import HardwareLike
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.options import options_of
from npuc.compiler.reference.keys import toml_text
from npuc.hardware import KEYS, Hardware, load_hardware, text_of_hardware
from npuc.hardware.area import MODEL, chip_area
from npuc.hardware.level_keys import LEVELS, SAME, parts_of, rows_of
from npuc.hardware.levels import MemoryLevel, levels_of
from npuc.hardware.readers.toml_remarks import head_of, remark_of, remark_of_entry, remark_of_entry_head

OVERRIDDEN, WRITTEN, DEFAULT, DERIVED = "set", "file", "default", "derived"


class BackendSees(msgspec.Struct, frozen=True, kw_only=True):
    """A machine to one backend, the whole chip; null is what it does not know, all of it where keys are missing."""

    backend: str
    """name of the cost model"""
    peak_ops_per_second: float | None = None
    """operations a second"""
    ops_per_mac: int | None = None
    """operations that a MAC counts as"""
    ridge_ops_per_byte: float | None = None
    """operations a byte from which on the peak limits"""
    bytes_per_second: float | None = None
    """bytes a second between chip and memory"""
    bytes_per_cycle: float | None = None
    """the same in a cycle"""
    macs_per_cycle: int | None = None
    """MACs in a cycle"""
    memory_bytes: int | None = None
    """bytes on the chip"""
    memory: str = ""
    """what these are"""
    missing: str | None = None
    """why nothing can be scored, with what would do"""


class KeySource(msgspec.Struct, frozen=True, kw_only=True):
    """A number of a machine and where it comes from."""

    key: str
    """the hardware key"""
    value: Any
    """its value"""
    origin: str
    """`file`, `set`, `default` or `derived`"""
    source: str
    """what the file says of it, or what it follows from"""
    backends: list[str]
    """the backends that look at it"""


class LevelSees(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a machine; null is what nothing says of it."""

    name: str
    """the level"""
    part: str | None
    """what it is to the models: `local` (in each element), `scratchpad`, `kept` (by schedules), `dram`; null: none"""
    count: int | None
    """how many the chip has"""
    bytes: int | None
    """bytes of each"""
    gb_per_s: float | None
    """GB/s that each gives to the level inside of it"""
    pj_per_byte: float | None
    """pJ of a byte that is read or written"""
    area_mm2: float | None
    """mm2 of all of them, by the technology node"""
    source: str
    """what the file says of it"""


class MachinePage(msgspec.Struct, frozen=True, kw_only=True):
    """What `npuc machine` says."""

    schema: str = "npuc.machine/1"
    """`npuc.machine/1`"""
    name: str
    """the machine's name"""
    about: str
    """what its file says of it"""
    backends: list[BackendSees]
    """the machine to each backend"""
    levels: list[LevelSees] = []
    """the memories, nearest to the arithmetic first"""
    model: str = "npuc"
    """whose formulas of energy and area hold"""
    area_mm2: dict[str, float | None] = {}
    """mm2 by part, and of the `chip`"""
    keys: list[KeySource]
    """every number with its source"""


def machine_page(
    hardware: HardwareLike, overrides: Mapping[str, object] | None = None, precision: str | None = None
) -> MachinePage:
    """
    A machine as each backend sees it, with the source of each number.

    Takes what `compile_file` takes for a machine, and raises `UsageError` as it does; a backend that lacks keys is no
    error, but says so.
    """
    hardware = argument("hardware", hardware, HardwareLike)
    machine = load_hardware(hardware, overrides, precision)
    text = text_of_hardware(hardware)
    options = options_of({"hardware": hardware, "overrides": overrides or {}, "precision": precision})
    seen: list[BackendSees] = []
    machines: dict[str, Hardware] = {}
    for name in get_all_backends():
        try:
            model = get_backend(name)
        except UsageError as error:  # one from outside that cannot be loaded
            seen.append(BackendSees(backend=name, missing=error.message))
            continue
        machines[name] = machine_for(model, options, "dsl")
        seen.append(_sees(model, machines[name]))
    own = {*_dotted(overrides or {}), *(() if precision is None else ("precision",))}
    return MachinePage(
        name=machine.name,
        about=head_of(text),
        backends=seen,
        levels=[_level(level, number, text) for number, level in enumerate(levels_of(machine))],
        model=machine.get(MODEL, str) or "npuc",
        area_mm2={**(area := chip_area(machine)).parts, "chip": area.chip},
        keys=[*_sources(machine, machines, text, own)],
    )


def _level(level: MemoryLevel, number: int, text: str) -> LevelSees:
    return LevelSees(
        name=level.name,
        part=level.part,
        count=level.count,
        bytes=None if level.kib is None else round(1024 * level.kib),
        gb_per_s=level.gb_per_s,
        pj_per_byte=level.pj_per_byte,
        area_mm2=level.area_mm2,
        source=remark_of_entry_head(text, LEVELS, number) or "",
    )


def _remark(machine: Hardware, text: str, key: str) -> str | None:
    """What a file says of a key, or of the level that says the same."""
    found = remark_of(text, key)
    same = next((one for one in SAME if one.key == key), None)
    number = None if same is None else parts_of(rows_of(machine.values)).get(same.part)
    if found or same is None or number is None:
        return found
    return remark_of_entry(text, LEVELS, number, same.field)


def _sees(model: Backend, machine: Hardware) -> BackendSees:
    try:
        model.check(machine)
        view = model.machine_view(machine)
    except UsageError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return BackendSees(backend=model.name, missing=f"{error.message}{hint}")
    if view is None:
        return BackendSees(backend=model.name)
    return BackendSees(
        backend=model.name,
        peak_ops_per_second=view.operations,
        ops_per_mac=view.ops_per_mac,
        ridge_ops_per_byte=view.ridge,
        bytes_per_second=view.bytes_per_second,
        bytes_per_cycle=view.bytes_per_cycle,
        macs_per_cycle=view.macs_per_cycle,
        memory_bytes=view.memory_bytes,
        memory=view.memory,
    )


def _sources(machine: Hardware, machines: Mapping[str, Hardware], text: str, own: set[str]) -> Iterator[KeySource]:
    """Every key that the machine has, in the order of reports: written ones, what follows, defaults that are read."""
    head = head_of(text)
    for key in KEYS:
        reading = [name for name, one in machines.items() if key in one.reads or key in one.derived]
        if key in machine.values:
            origin = OVERRIDDEN if key in own else WRITTEN
            said = (_remark(machine, text, key) or head) if origin == WRITTEN else "given beside the file"
            yield KeySource(key=key, value=machine.values[key], origin=origin, source=said, backends=reading)
            continue
        derived = next((one.derived[key] for one in machines.values() if key in one.derived), None)
        if derived is not None:
            whose = [name for name, one in machines.items() if key in one.derived]
            yield KeySource(key=key, value=derived.value, origin=DERIVED, source=derived.how, backends=whose)
        elif reading and KEYS[key].default is not None:
            yield KeySource(
                key=key, value=KEYS[key].default, origin=DEFAULT, source="a choice of the model", backends=reading
            )


def _dotted(overrides: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            yield from _dotted(cast("Mapping[str, object]", value), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def value_text(value: Any) -> str:
    """A value as a file has it, long lists short."""
    text = toml_text(value)
    return text if len(text) <= 60 else f"{len(value)} rows"
