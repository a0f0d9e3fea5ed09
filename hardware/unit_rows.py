"""The key `units`: what an entry of the list may say of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from npuc.compiler.analysis.hetero.classes import CLASSES, FORMATS, KINDS, UnitKind, pairs_text
from npuc.compiler.core.kinds import COUNT, ENERGY, Entry, Real, Rows, Text

UNITS = "units"
_POWER = Real(1e5, zero=True)


def _wrong_unit(row: Mapping[str, Entry]) -> str | None:
    """A unit has a buffer, and the formats of its kind."""
    if not row.get("buffer_kib"):
        return "buffer_kib: a unit without a buffer keeps no sum and no operand: expected a number above 0"
    kind = cast("UnitKind", row["kind"])
    given = [key for key in ("a_format", "b_format") if key in row]
    if len(given) == 1:
        return f"{given[0]}: expected a_format and b_format, or neither"
    if given and (row["a_format"], row["b_format"]) not in CLASSES[kind].takes:
        pair = f"{row['a_format']} x {row['b_format']}"
        return f"a_format: a unit of kind '{kind}' takes {pairs_text(kind)}, got {pair}"
    return None


def _wrong_units(rows: list[dict[str, Entry]]) -> tuple[int, str] | None:
    """The first unit with the name of one before it."""
    names = [row["name"] for row in rows]
    for number, name in enumerate(names):
        if name in names[:number]:
            return number, f"name: there is a unit '{name}' before it"
    return None if rows else (0, "expected at least one unit")


UNIT_ROWS = Rows(
    {
        "name": Text(),
        "kind": Text(KINDS),
        "pes": COUNT,
        "buffer_kib": Real(1 << 30, zero=True),
        "mac_pj": ENERGY,
        "buffer_pj_per_byte": ENERGY,
        "idle_w": _POWER,
        "area_mm2": Real(1e6, zero=True),
        "a_format": Text(FORMATS),
        "b_format": Text(FORMATS),
    },
    needed=("name", "kind", "pes"),
    defaults={"idle_w": 0.0},
    wrong=_wrong_unit,
    wrong_together=_wrong_units,
    entry="unit",
)
