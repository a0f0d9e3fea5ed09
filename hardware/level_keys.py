"""
The key `memory.levels`, and other keys that say the same.

Three levels have a part in all models. The last one that each element has for itself is MAESTRO's L1, the first one
that elements share is the scratchpad that feeds the array (MAESTRO's L2), and the one called DRAM is the memory beside
the chip. What a level says of the latter two is what other keys say (`SAME`): a description has it in one place, or the
same in both, and a loaded one has it in both. Shared levels between the two are those in which schedules keep blocks
(`outer.py`), unless they are not `managed`, as caches that replace lines by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, cast

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Entry, Scalar, Value
from npuc.compiler.core.numbers import as_written

LEVELS, OFF_CHIP = "memory.levels", "DRAM"
NODE = "technology.node_nm"
Part = Literal["local", "scratchpad", "kept", "dram"]
"""What a level is to the models; in those that are `kept`, of which there may be several, schedules keep blocks."""
Row = Mapping[str, Scalar]


@frozen
class SameKey:
    """A key that says of a part what `field` of its level does; a level's number is `scale` times the key's."""

    part: Part
    field: str
    key: str
    scale: int = 1


SAME = (
    SameKey("scratchpad", "kib", "memory.spm_kib"),
    SameKey("scratchpad", "pj_per_byte", "energy.spm_pj_per_byte"),
    SameKey("dram", "kib", "dram.capacity_mib", 1024),
    SameKey("dram", "gb_per_s", "dram.gb_per_s"),
    SameKey("dram", "pj_per_byte", "energy.dram_pj_per_byte"),
)


@frozen
class InElements:
    """A key that says in elements what `field` of a part's level says in bytes: it can be less, but no more."""

    part: Part
    field: str
    key: str


IN_ELEMENTS = (
    InElements("local", "kib", "maestro.l1_size"),
    InElements("scratchpad", "kib", "maestro.l2_size"),
    InElements("scratchpad", "gb_per_s", "maestro.noc_bw"),
    InElements("dram", "gb_per_s", "maestro.offchip_bw"),
)


class Disagreement(Exception):
    """A key and a field of an entry of `memory.levels` that say different things."""

    def __init__(self, key: str, number: int, field: str, message: str):
        super().__init__(message)
        self.key, self.number, self.field, self.message = key, number, field, message


def wrong_rows(rows: Sequence[Mapping[str, Entry]]) -> tuple[int, str] | None:
    """The first entry of `memory.levels` that does not go with those before it, and why; None where all do."""
    names = [row["name"] for row in rows]
    for number, row in enumerate(rows):
        name = names[number]
        if name in names[:number]:
            return number, f"name: there is a level '{name}' before it"
        if not row["shared"] and (name == OFF_CHIP or any(one["shared"] for one in rows[:number])):
            return number, "shared: levels of single elements come first, those that elements share after them"
        if OFF_CHIP in names[:number]:
            return number, f"name: {OFF_CHIP} is the last level"
        if "managed" in row and number not in between(rows):
            return number, "managed: is said of levels between the scratchpad and DRAM"
    return None


def parts_of(rows: list[dict[str, Scalar]]) -> dict[Part, int]:
    """The entries that have a part in the models."""
    found: dict[Part, int] = {}
    for number, row in enumerate(rows):
        if row["name"] == OFF_CHIP:
            found["dram"] = number
        elif not row["shared"]:
            found["local"] = number
        else:
            found.setdefault("scratchpad", number)
    return found


def between(rows: Sequence[Mapping[str, Entry]]) -> list[int]:
    """The entries of levels that elements share between the scratchpad, the first of these, and DRAM."""
    return [number for number, row in enumerate(rows) if row["shared"] and row["name"] != OFF_CHIP][1:]


def outer_rows(rows: Sequence[Mapping[str, Entry]]) -> list[int]:
    """The entries of levels outside of the scratchpad in which schedules keep blocks: all but those not `managed`."""
    return [number for number in between(rows) if rows[number].get("managed", True)]


def outer_names(values: Mapping[str, Value]) -> list[str]:
    """The names of those levels, from the scratchpad outwards."""
    rows = rows_of(values)
    return [str(rows[number]["name"]) for number in outer_rows(rows)]


def rows_of(values: Mapping[str, Value]) -> list[dict[str, Scalar]]:
    """The entries of `memory.levels`; none where a machine has no such key."""
    return cast("list[dict[str, Scalar]]", values.get(LEVELS, []))


def with_keys_of_levels(values: Mapping[str, Value]) -> dict[str, Value]:
    """
    A description with the keys that its levels speak for (`SAME`).

    Raises `Disagreement` for a key and an entry that differ.
    """
    result = dict(values)
    rows = rows_of(values)
    parts = parts_of(rows)
    for same in SAME:
        own = rows[parts[same.part]].get(same.field) if same.part in parts else None
        if own is None:
            continue
        if same.key not in result:
            result[same.key] = _number(own) / same.scale
        elif _number(result[same.key]) * same.scale != _number(own):
            message = _differ(same.key, result[same.key], rows[parts[same.part]], same.field)
            raise Disagreement(same.key, parts[same.part], same.field, message)
    return result


def without_replaced(values: Mapping[str, Value], own: Mapping[str, Value]) -> dict[str, Value]:
    """
    What a description says beside overrides, which are given later: neither keys for which new levels speak, nor of its
    levels what new keys say in another way.
    """
    if LEVELS in own:
        return {key: value for key, value in values.items() if key not in own}
    rows = [dict(row) for row in rows_of(values)]
    parts = parts_of(rows)
    merged = {**values, **own}
    for same in SAME:
        if same.part in parts and (same.key in own or same.key not in values):
            rows[parts[same.part]].pop(same.field, None)
    for row in rows if NODE in own else []:
        if row["name"] != OFF_CHIP:
            row.pop("pj_per_byte", None)
    for key in IN_ELEMENTS:
        number = parts.get(key.part)
        # what a key in elements says of a scratchpad or of DRAM is of the backend maestro alone: others read the level
        if number is None or key.key not in own or any((key.part, key.field) == (o.part, o.field) for o in SAME):
            continue
        rows[number].pop(key.field, None)
        size = in_units(key, merged)
        if size is not None:
            rows[number][key.field] = float(size)
    return {**values, **({LEVELS: cast("Value", [_in_order(row) for row in rows])} if rows else {})}


def check_elements(values: Mapping[str, Value]) -> None:
    """Raise `Disagreement` where a key in elements says more than its level holds or moves."""
    rows = rows_of(values)
    parts = parts_of(rows)
    for key in IN_ELEMENTS:
        number = parts.get(key.part)
        if number is None or key.key not in values or key.field not in rows[number]:
            continue
        size = in_units(key, values)
        if size is not None and size > as_written(_number(rows[number][key.field])) * (1 + Fraction(1, 10**6)):
            message = _differ(key.key, values[key.key], rows[number], key.field)
            raise Disagreement(key.key, number, key.field, f"{message}: {float(size):,g} are more")


def in_units(key: InElements, values: Mapping[str, Value]) -> Fraction | None:
    """What a key in elements says in the units of its level, a core's part; None where these are not known."""
    count, size, clock = (values.get(path) for path in (key.key, "memory.element_bytes", "clock_mhz"))
    if not isinstance(count, int) or not isinstance(size, int):
        return None
    cores = values.get("array.cores")
    parts = cores if isinstance(cores, int) and key.part != "local" else 1
    if key.field == "kib":
        return Fraction(count * size, 1024 * parts)
    return Fraction(count * size, 1000 * parts) * as_written(_number(clock)) if clock is not None else None


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _differ(key: str, value: object, row: Row, field: str) -> str:
    return f"{key} = {value} contradicts {LEVELS}, where {row['name']} has {field} = {row[field]}"


def _in_order(row: Row) -> dict[str, Scalar]:
    order = ("name", "kib", "gb_per_s", "pj_per_byte", "shared", "managed")
    return {field: row[field] for field in order if field in row}
