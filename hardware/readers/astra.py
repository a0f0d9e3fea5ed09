"""
Network files of ASTRA-sim as levels of a network, in each of its forms.

    topology: [ Ring, Switch ]      # version 2, YAML or JSON: the innermost dimension first
    npus_count: [ 8, 4 ]
    bandwidth: [ 100.0, 50.0 ]      # GB/s of a link in each direction, GB of 2^30 bytes
    latency: [ 500.0, 850.0 ]       # ns of a link

    { "topology-name": "Hierarchical", "topologies-per-dim": ["Ring", "Switch"], "units-count": [8, 4],
      "links-count": [2, 1], "link-bandwidth": [100, 50], "link-latency": [500, 850], … }    # version 1, JSON

What a level of ours has is of a device over all its links, of a message through a whole switch, and in GB of 10^9
bytes:

    Ring             two links                    latency of a link
    FullyConnected   size - 1 links               latency of a link
    Switch           one link                     two links of latency, before and behind the switch

A ring of two, or a full connection of two, is one link in version 2: a pair. In version 1 a bandwidth is that of all
links of `links-count`, in GB of 10^9 bytes, and a message also waits for two NICs and for the switch. Sources: the
parser and the topologies of astra-sim/astra-network-analytical, both versions; Won et al., "ASTRA-sim2.0", ISPASS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import NoReturn

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Scalar
from npuc.compiler.core.numbers import DIGITS as MOST_DIGITS
from npuc.compiler.core.numbers import as_written
from npuc.hardware.readers.flat_yaml import Item, Items, read_items

SUFFIXES = (".yml", ".yaml", ".json")
GIB_PER_GB = Fraction(1 << 30, 10**9)
"""GB of ASTRA-sim 2 in GB of 10^9 bytes."""
MAX_DIMENSIONS = 64
RING, FULL, SWITCH = "Ring", "FullyConnected", "Switch"
KINDS = {RING: "ring", FULL: "fc", SWITCH: "switch"}
DIGITS = 12
"""Of numbers that are converted, so that one that was written comes back as it was."""

_SECOND = ("topology", "npus_count", "bandwidth", "latency")
_FIRST = ("topologies-per-dim", "units-count", "links-count", "link-bandwidth", "link-latency")
_FIRST_WAITS = ("nic-latency", "router-latency")
_FIRST_OTHER = ("topology-name", "dimensions-count", "dimension-type", "hbm-latency", "hbm-bandwidth", "hbm-scale")
_FIRST_KEYS = (*_FIRST, *_FIRST_WAITS, *_FIRST_OTHER)


def read_astra_network(text: str, name: str) -> list[dict[str, Scalar]]:
    """
    The levels that the text of a network file describes, outermost first, as entries of `network.levels`.

    Raises `UsageError` with the place for whatever is not such a file, and for what levels cannot say.
    """
    file = _File(name, text, read_items(text, name))
    levels = _second_version(file) if file.items.keys().isdisjoint(_FIRST_KEYS) else _first_version(file)
    return levels[::-1]


def rounded(value: Fraction) -> float:
    """A converted number, to twelve digits; infinite beyond what a float holds."""
    try:
        return float(f"{float(value):.{DIGITS}g}")
    except OverflowError:
        return inf


def shortest(value: Fraction, factor: Fraction) -> float:
    """The inverse of a conversion by a factor: with as few digits as are read again as this value, of twelve digits."""
    tried = (float(f"{float(value / factor):.{digits}g}") for digits in range(1, 18))
    return next((one for one in tried if rounded(as_written(one) * factor) == rounded(value)), float(value / factor))


@frozen
class _File:
    """The lists of a file by key."""

    name: str
    text: str
    items: Mapping[str, Items]

    def wrong(self, message: str, item: Item | Items, hint: str | None = None) -> NoReturn:
        """Raise the error of something at a place of the file."""
        line = self.text.split("\n")[item.line - 1]
        raise UsageError(message, location=Location(self.name, item.line, item.col), hint=hint, source_line=line)

    def check_keys(self, known: Sequence[str], needed: Sequence[str]) -> None:
        """Raise for a key that no such file has, and for one that is missing."""
        for key, items in self.items.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"known: {', '.join(known)}"
                self.wrong(f"unknown key '{key}' of an ASTRA-sim network file", items, hint)
        for key in needed:
            if key not in self.items:
                raise UsageError(f"{self.name}: an ASTRA-sim network file has '{key}', which is missing")

    def listed(self, key: str, count: int | None = None) -> Sequence[Item]:
        """The entries of a list, one for each of `count` dimensions."""
        items = self.items[key]
        if items.scalar:
            self.wrong(f"{key}: found '{items.entries[0].text}', expected a list with an entry a dimension", items)
        if count is not None and len(items.entries) != count:
            self.wrong(f"{key}: found {len(items.entries)} entries, expected {count}, one a dimension", items)
        return items.entries

    def numbers(self, key: str, count: int, *, zero: bool) -> list[Fraction]:
        """Numbers above 0, or from 0 on."""
        found: list[Fraction] = []
        for item in self.listed(key, count):
            value = item.real
            if value is None or value < 0 or (value == 0 and not zero):
                self.wrong(
                    f"{key}: found '{item.text}', expected a finite number {'from' if zero else 'above'} 0", item
                )
            found.append(as_written(value))
        return found

    def integers(self, key: str, count: int, least: int) -> list[int]:
        """Integers from `least` on."""
        found: list[int] = []
        for item in self.listed(key, count):
            if item.integer is None or item.integer < least:
                digits = f" of at most {MOST_DIGITS} digits" if item.is_long else ""
                self.wrong(f"{key}: found '{item.text}', expected an integer from {least}{digits}", item)
            found.append(item.integer)
        return found

    def topologies(self, key: str) -> list[str]:
        """The topology of each dimension."""
        items = self.listed(key)
        if not 0 < len(items) <= MAX_DIMENSIONS:
            self.wrong(f"{key}: found {len(items)} dimensions, expected 1 to {MAX_DIMENSIONS}", self.items[key])
        for item in items:
            if item.text not in KINDS:
                hint = did_you_mean(item.text, tuple(KINDS))
                self.wrong(f"{key}: found '{item.text}', expected {', '.join(KINDS)}", item, hint)
        return [item.text for item in items]


def _second_version(file: _File) -> list[dict[str, Scalar]]:
    """The levels of a file of version 2, innermost first."""
    file.check_keys(_SECOND, _SECOND)
    topologies = file.topologies("topology")
    count = len(topologies)
    sizes = file.integers("npus_count", count, 2)
    rates = file.numbers("bandwidth", count, zero=False)
    waits = file.numbers("latency", count, zero=True)
    return [
        _level(kind, size, rate * GIB_PER_GB * links_of(kind, size), wait * links_in_message(kind))
        for kind, size, rate, wait in zip(topologies, sizes, rates, waits, strict=True)
    ]


def links_of(topology: str, size: int) -> int:
    """The links of a device along a dimension of version 2."""
    if topology == SWITCH or size == 2:
        return 1
    return 2 if topology == RING else size - 1


def links_in_message(topology: str) -> int:
    """The links that a message to the nearest device crosses."""
    return 2 if topology == SWITCH else 1


def _level(topology: str, size: int, gb_per_s: Fraction, latency_ns: Fraction) -> dict[str, Scalar]:
    kind = "pair" if size == 2 and topology != SWITCH else KINDS[topology]
    return {"kind": kind, "size": size, "gb_per_s": rounded(gb_per_s), "latency_ns": rounded(latency_ns)}


def _first_version(file: _File) -> list[dict[str, Scalar]]:
    """The levels of a file of version 1, innermost first."""
    file.check_keys(_FIRST_KEYS, _FIRST)
    _check_first(file)
    topologies = file.topologies("topologies-per-dim")
    count = len(topologies)
    sizes = file.integers("units-count", count, 2)
    links = file.integers("links-count", count, 1)
    rates = file.numbers("link-bandwidth", count, zero=False)
    waits = [file.numbers(key, count, zero=True) if key in file.items else [Fraction(0)] * count for key in _WAITS]
    levels: list[dict[str, Scalar]] = []
    for number, (topology, size) in enumerate(zip(topologies, sizes, strict=True)):
        _check_links(file, topology, size, file.listed("links-count")[number])
        link, nic, router = (latencies[number] for latencies in waits)
        wait = link * links_in_message(topology) + 2 * nic + (router if topology == SWITCH else 0)
        # a ring of two has two links here, which a pair has as one
        levels.append(_level(topology, size, rates[number] * links[number], wait))
    return levels


_WAITS = ("link-latency", *_FIRST_WAITS)


def _check_first(file: _File) -> None:
    """Raise for another topology, another number of dimensions, and memories that slow messages down."""
    name, counted = file.items.get("topology-name"), file.items.get("dimensions-count")
    if name is not None and [item.text for item in name.entries] != ["Hierarchical"]:
        file.wrong("topology-name: expected 'Hierarchical'", name)
    if counted is not None:
        dimensions = len(file.listed("topologies-per-dim"))
        if [item.integer for item in counted.entries] != [dimensions]:
            file.wrong(f"dimensions-count: expected {dimensions}, as topologies-per-dim has", counted)
    for item in file.items["hbm-scale"].entries if "hbm-scale" in file.items else ():
        if item.real != 0:
            file.wrong(f"hbm-scale: found '{item.text}', expected 0: levels have no memories", item)


def _check_links(file: _File, topology: str, size: int, item: Item) -> None:
    """Raise for links that a topology would leave idle."""
    multiple = {RING: 2, FULL: size - 1, SWITCH: 1}[topology]
    if item.integer is not None and item.integer % multiple:
        expected = "an even number" if topology == RING else f"a multiple of {size - 1}"
        file.wrong(f"links-count: found {item.text}, expected {expected} of a {topology} of {size}", item)
