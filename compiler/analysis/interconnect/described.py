"""
A network as rows of `network.levels`, and as the attribute `dist.network` of a module, which passes read.

    builtin.module attributes {dist.network = {latency = "overlap", levels = [
      {kind = "switch", size = 4 : i64, gb_per_s = 25.0 : f64, latency_ns = 1700.0 : f64}, …]}} { … }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i64
from xdsl.ir import Attribute

from npuc.compiler.analysis.interconnect.chunks.events import LATENCIES, Latency
from npuc.compiler.analysis.interconnect.topology import KINDS, PRICES, Interconnect, Kind, NetworkLevel
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Scalar
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


def level_of_row(row: Mapping[str, Scalar]) -> NetworkLevel:
    """A row of `network.levels` in bytes, seconds and USD."""
    energy, algorithm = row.get("pj_per_byte"), row.get("algorithm")
    return NetworkLevel(
        cast("Kind", row["kind"]),
        int(row["size"]),
        as_written(float(row["gb_per_s"])) * 10**9,
        as_written(float(row["latency_ns"])) / 10**9,
        None if energy is None else as_written(float(energy)),
        None if algorithm is None else str(algorithm),
        _price(row),
    )


def _price(row: Mapping[str, Scalar]) -> Fraction | None:
    """The price of a byte per second that a device sends: of links, a switch and a NIC, as far as a level has them."""
    prices = [as_written(float(row[key])) for key in PRICES if key in row]
    return sum(prices, Fraction(0)) / 10**9 if prices else None


def network_attr(
    rows: Sequence[Mapping[str, Scalar]], latency: str, element_bytes: int | None = None
) -> DictionaryAttr:
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
    if not levels or any(level.kind not in KINDS or level.size < 2 or level.bytes_per_s <= 0 for level in levels):
        raise ValueError
    own = facts.get("element_bytes")
    return NetworkFacts(Interconnect(tuple(levels)), named[facts["latency"]], None if own is None else int(_value(own)))


def _value_attr(value: Scalar) -> Attribute:
    if isinstance(value, str):
        return StringAttr(value)
    return IntegerAttr(value, i64) if isinstance(value, int) else FloatAttr(value, f64)


def _value(attr: Attribute) -> Scalar:
    if isinstance(attr, StringAttr):
        return attr.data
    return attr.value.data if isinstance(attr, IntegerAttr) else cast("FloatAttr", attr).value.data
