"""
Units of a machine as the attribute `npu.units` of a module, which passes read.

    builtin.module attributes {npu.units = {name = "pair", hertz = 1.0e9 : f64, bytes_per_second = 1.0e11 : f64,
      dram_pj_per_byte = 40.0 : f64, priced = true, units = [{name = "array", kind = "dense", pes = 256 : i64, …}, …]}}

The driver writes it of a machine with units, and the pass `assign-units` of those that its option names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from npuc.compiler.analysis.hetero.classes import CLASSES, KINDS, FormatPair
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.numbers import integer_of
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu.units import UNITS
from npuc.dialects.npu.widths import TARGET

EXAMPLE = 'units="array dense 256 128; rows row-wise 256 128"'


def stamp_units(module: ModuleOp, machine: UnitMachine) -> None:
    """Write the units of a machine into a module."""
    facts = {
        "name": machine.name,
        "hertz": machine.hertz,
        "bytes_per_second": machine.bytes_per_second,
        "dram_pj_per_byte": machine.dram_pj_per_byte,
        "priced": machine.priced,
    }
    rows = ArrayAttr(_attr_of(_row(unit)) for unit in machine.units)
    module.attributes[UNITS] = DictionaryAttr({**_attr_of(facts).data, "units": rows})


def _row(unit: SparseUnit) -> dict[str, bool | float | str]:
    row: dict[str, bool | float | str] = {
        "name": unit.name,
        "kind": unit.kind,
        "pes": unit.pes,
        "buffer_bytes": unit.buffer_bytes,
        "mac_pj": unit.mac_pj,
        "buffer_pj_per_byte": unit.buffer_pj_per_byte,
        "idle_w": unit.idle_w,
    }
    return row if unit.only is None else {**row, "a_format": unit.only[0], "b_format": unit.only[1]}


def _attr_of(values: Mapping[str, bool | float | str]) -> DictionaryAttr:
    def attr(value: bool | float | str) -> Attribute:
        match value:
            case bool():
                return IntegerAttr(int(value), i1)
            case int():
                return IntegerAttr(value, i64)
            case float():
                return FloatAttr(value, f64)
            case _:
                return StringAttr(value)

    return DictionaryAttr({key: attr(value) for key, value in values.items()})


def units_of(module: ModuleOp) -> UnitMachine | None:
    """The units that a module was compiled for; None where it does not say. Raises `UsageError` for wrong ones."""
    attr = module.attributes.get(UNITS)
    if attr is None:
        return None
    try:
        facts = cast("DictionaryAttr", attr).data
        rows = cast("ArrayAttr[DictionaryAttr]", facts["units"])
        own = _values({key: value for key, value in facts.items() if key != "units"})
        own["priced"] = bool(own["priced"])
        found = UnitMachine(units=tuple(_unit(_values(row.data)) for row in rows), **own)
    except (KeyError, AttributeError, TypeError, ValueError):
        raise UsageError(
            f"{UNITS} is {attr}, expected a dictionary of a machine and its units",
            location=location_of(module),
            hint="npuc compile --hw aespa writes it",
        ) from None
    if not found.units:
        raise UsageError(
            f"{UNITS} has no unit", location=location_of(module), hint="npuc compile --hw aespa writes some"
        )
    return found


def _values(row: Mapping[str, Attribute]) -> dict[str, Any]:
    """The values of a dictionary's attributes. Raises `TypeError` for others than numbers and texts."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        match value:
            case IntegerAttr() | FloatAttr():
                found[key] = value.value.data
            case StringAttr():
                found[key] = value.data
            case _:
                raise TypeError(key)
    return found


def _unit(row: dict[str, Any]) -> SparseUnit:
    """A unit of its values. Raises what reading a wrong one raises."""
    only = (row.pop("a_format"), row.pop("b_format")) if "a_format" in row else None
    if row["kind"] not in KINDS or row["pes"] < 1 or (only is not None and only not in CLASSES[row["kind"]].takes):
        raise ValueError
    return SparseUnit(**row, only=cast("FormatPair | None", only))


def units_in_text(text: str) -> tuple[SparseUnit, ...]:
    """
    Units by their texts, `NAME KIND ELEMENTS KIB` each, separated by semicolons, without prices.

    Raises a ValueError that says what is wrong with one of them.
    """
    units: list[SparseUnit] = []
    for part in text.split(";"):
        words = part.split()
        if len(words) != 4:
            raise ValueError(f"units: '{part.strip()}': expected a name, a kind, elements and KiB, as in {EXAMPLE}")
        name, kind, pes, kib = words[0], words[1], integer_of(words[2]), integer_of(words[3])
        if kind not in KINDS:
            raise ValueError(f"units: '{name}' has the kind '{kind}': {did_you_mean(kind, KINDS)}")
        if pes is None or kib is None or pes < 1 or kib < 1:
            raise ValueError(
                f"units: '{name}' has {words[2]} elements and {words[3]} KiB, expected whole numbers above 0"
            )
        if any(unit.name == name for unit in units):
            raise ValueError(f"units: '{name}' is named twice")
        units.append(SparseUnit(name, kind, pes, kib * 1024, 0.0, 0.0))
    return tuple(units)


def machine_with(module: ModuleOp, units: tuple[SparseUnit, ...]) -> UnitMachine:
    """
    The machine that a module was compiled for (`npu.target`) with these units, at its clock and bandwidth.

    Energies are those of its MAC, scratchpad and DRAM, where it says all. Raises `UsageError` for a module that says no
    clock or bandwidth.
    """
    attr = module.attributes.get(TARGET)
    facts = _values(attr.data) if isinstance(attr, DictionaryAttr) else {}
    if "clock_mhz" not in facts or "gb_per_s" not in facts:
        raise UsageError(
            f"the module does not say the clock and bandwidth of its units: {TARGET} has no clock_mhz and gb_per_s",
            location=location_of(module),
            hint="npuc opt --hw igo-small, or the pass set-target",
        )
    prices = [facts.get(key) for key in ("mac_pj", "spm_pj_per_byte", "dram_pj_per_byte")]
    mac, buffer, dram = (0.0 if one is None else float(one) for one in prices)
    return UnitMachine(
        name=str(facts.get("name", "custom")),
        units=tuple(replace(unit, mac_pj=mac, buffer_pj_per_byte=buffer) for unit in units),
        hertz=1e6 * facts["clock_mhz"],
        bytes_per_second=1e9 * facts["gb_per_s"],
        dram_pj_per_byte=dram,
        priced=None not in prices,
    )
