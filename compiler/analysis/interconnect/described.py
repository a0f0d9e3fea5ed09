"""
A network as rows of `network.levels`, and as the attribute `dist.network` of a module, which passes read.

    builtin.module attributes {dist.network = {latency = "overlap", levels = [
      {kind = "switch", size = 4 : i64, gb_per_s = 25.0 : f64, latency_ns = 1700.0 : f64}, …]}} { … }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i64
from xdsl.ir import Attribute

from npuc.compiler.analysis.interconnect.chunks.events import LATENCIES, Latency
from npuc.compiler.analysis.interconnect.topology import GRIDS, KINDS, PRICES, Interconnect, Kind, NetworkLevel
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Entry, real
from npuc.compiler.core.numbers import as_written
from npuc.compiler.core.verify import location_of

NETWORK = "dist.network"
"""The attribute of a module that holds the network between its devices."""


@dataclass(frozen=True)
class NetworkFacts:
    """What collectives depend on: the network, what latencies hold up, the bytes of floats (None: of their types)."""

    network: Interconnect
    latency: Latency
    element_bytes: int | None = None


def level_of_row(row: Mapping[str, Entry]) -> NetworkLevel:
    """A row of `network.levels` in bytes, seconds and USD."""
    sizes = tuple(cast("list[int]", row.get("sizes", [])))
    algorithm = row.get("algorithm")
    return NetworkLevel(
        cast("Kind", row["kind"]),
        prod(sizes) if sizes else int(_number(row["size"])),
        _number(row["gb_per_s"]) * 10**9,
        _number(row["latency_ns"]) / 10**9,
        _number(row["pj_per_byte"]) if "pj_per_byte" in row else None,
        None if algorithm is None else str(algorithm),
        _price(row),
        sizes,
    )


def _price(row: Mapping[str, Entry]) -> Fraction | None:
    """The price of a byte per second that a device sends: of links, a switch and a NIC, as far as a level has them."""
    prices = [_number(row[key]) for key in PRICES if key in row]
    return sum(prices, Fraction(0)) / 10**9 if prices else None


def _number(value: Entry) -> Fraction:
    return as_written(real(value))


def network_attr(rows: Sequence[Mapping[str, Entry]], latency: str, element_bytes: int | None = None) -> DictionaryAttr:
    """The attribute of a network; `rows` are those of `network.levels`."""
    levels = ArrayAttr(DictionaryAttr({key: _value_attr(value) for key, value in row.items()}) for row in rows)
    facts: dict[str, Attribute] = {"latency": StringAttr(latency), "levels": levels}
    if element_bytes is not None:
        facts["element_bytes"] = IntegerAttr(element_bytes, i64)
    return DictionaryAttr(facts)


def network_facts(module: ModuleOp) -> NetworkFacts | None:
    """The network that a module was compiled for; None where it does not say. Raises `UsageError` for a wrong one."""
    attr = module.attributes.get(NETWORK)
    if attr is None:
        return None
    try:
        return _facts_in(attr)
    except (KeyError, ValueError, AttributeError, TypeError):
        raise UsageError(
            f"{NETWORK} is {attr}, expected a dictionary of latency and levels",
            location=location_of(module),
            hint="npuc compile writes it; levels have kind, size, gb_per_s and latency_ns",
        ) from None


def _facts_in(attr: Attribute) -> NetworkFacts:
    """The facts of an attribute. Raises what reading a wrong one raises."""
    facts = cast("DictionaryAttr", attr).data
    rows = cast("ArrayAttr[DictionaryAttr]", facts["levels"])
    levels = [level_of_row({key: _value(one) for key, one in row.data.items()}) for row in rows]
    named: dict[Attribute, Latency] = {StringAttr(known): known for known in LATENCIES}
    if not levels or not all(map(_is_level, levels)):
        raise ValueError
    own = facts.get("element_bytes")
    return NetworkFacts(
        Interconnect(tuple(levels)), named[facts["latency"]], None if own is None else int(_number(_value(own)))
    )


def _is_level(level: NetworkLevel) -> bool:
    own = min(level.dimensions) >= 2 and bool(level.sizes) == (level.kind in GRIDS)
    return level.kind in KINDS and own and level.bytes_per_s > 0


def _value_attr(value: Entry) -> Attribute:
    if isinstance(value, list):
        return ArrayAttr(IntegerAttr(one, i64) for one in value)
    if isinstance(value, str):
        return StringAttr(value)
    return IntegerAttr(value, i64) if isinstance(value, int) else FloatAttr(value, f64)


def _value(attr: Attribute) -> Entry:
    if isinstance(attr, ArrayAttr):
        return [one.value.data for one in cast("ArrayAttr[IntegerAttr]", attr)]
    if isinstance(attr, StringAttr):
        return attr.data
    return attr.value.data if isinstance(attr, IntegerAttr) else cast("FloatAttr", attr).value.data
