"""
Every key a hardware description may have: what it means, what it may be, and its default.

A default exists only where a key is a choice of the model; a quantity of the machine has none, since a backend that
needs it must be told. Bounds refuse what no machine has, which is nearly always a wrong unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import cast

from npuc.compiler.analysis.network.topology import KINDS
from npuc.compiler.analysis.overlap import OVERLAPS
from npuc.compiler.options import PRECISIONS, UNLIMITED

Scalar = bool | int | float | str
Value = Scalar | list[dict[str, Scalar]]


class WrongValue(Exception):
    """A value is not what its key takes; the text says what was found and what was expected."""


def show(value: object) -> str:
    """A value for a message, short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True)
class Integer:
    """A whole number from `least` to `most`."""

    least: int
    most: int

    def read(self, value: object) -> Scalar:
        """`value` as an int, also numpy's. Raises `WrongValue`."""
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise WrongValue(f"expected an integer from {self.least:,} to {self.most:,}, got {_found(value)}")
        if not self.least <= int(value) <= self.most:
            raise WrongValue(f"expected an integer from {self.least:,} to {self.most:,}, got {show(int(value))}")
        return int(value)


@dataclass(frozen=True)
class OneOf:
    """One of a few whole numbers."""

    choices: tuple[int, ...]

    def read(self, value: object) -> Scalar:
        """`value` as an int, also numpy's. Raises `WrongValue`."""
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) not in self.choices:
            raise WrongValue(f"expected {' or '.join(map(str, self.choices))}, got {_found(value)}")
        return int(value)


@dataclass(frozen=True)
class Limit:
    """A whole number from 1 to `most`, or "unlimited"."""

    most: int

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        wanted = f"expected an integer from 1 to {self.most:,} or '{UNLIMITED}'"
        if value == UNLIMITED:
            return UNLIMITED
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if not 1 <= int(value) <= self.most:
            raise WrongValue(f"{wanted}, got {show(int(value))}")
        return int(value)


LEAST = 1e-9
"""Smaller numbers are mistakes: no clock, bandwidth or energy is that small in the units of the file."""


@dataclass(frozen=True)
class Real:
    """A finite number above 0 (from 0 on with `zero`), at most `most`; always read as a float."""

    most: float
    zero: bool = False

    def read(self, value: object) -> Scalar:
        """`value` as a float, also an integer of numpy. Raises `WrongValue`."""
        value = int(value) if not isinstance(value, bool) and isinstance(value, Integral) else value
        wanted = f"expected a number {'from 0' if self.zero else 'above 0'} to {self.most:,.0f}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise WrongValue(f"{wanted}, got {value}")
        if not (0 <= value if self.zero else 0 < value) or value > self.most:
            raise WrongValue(f"{wanted}, got {show(value)}")
        if 0 < value < LEAST:
            raise WrongValue(f"{wanted}, at least {LEAST:g} where it is not 0, got {show(value)}")
        return float(value)


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        if not isinstance(value, bool):
            raise WrongValue(f"expected true or false, got {_found(value)}")
        return value


@dataclass(frozen=True)
class Text:
    """A string; one of `choices` when there are any."""

    choices: tuple[str, ...] = ()

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        wanted = "expected " + (" or ".join(f"'{c}'" for c in self.choices) or "a string")
        if not isinstance(value, str):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if self.choices and value not in self.choices:
            raise WrongValue(f"{wanted}, got {show(value)}")
        if not value.strip() or not value.isprintable():
            raise WrongValue(f"{wanted}, got an empty or unprintable one")
        return value


@dataclass(frozen=True)
class Rows:
    """
    A list of tables that all have the same keys; every key of `needed` must be present, others have a default or none.

    `wrong` says what is wrong with the values of an entry together, each of which is right; None where nothing is.
    """

    keys: Mapping[str, Integer | Real | Text]
    needed: tuple[str, ...]
    defaults: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    wrong: Callable[[Mapping[str, Scalar]], str | None] = lambda row: None

    def read(self, value: object) -> Value:
        """`value` with every entry read. Raises `WrongValue`."""
        if not isinstance(value, list):
            raise WrongValue(f"expected a list of tables with {', '.join(self.keys)}, got {_found(value)}")
        return [self._row(number, row) for number, row in enumerate(cast("list[object]", value))]

    def _row(self, number: int, row: object) -> dict[str, Scalar]:
        if not isinstance(row, Mapping):
            raise WrongValue(f"entry {number}: expected a table with {', '.join(self.keys)}, got {_found(row)}")
        table = cast("Mapping[object, object]", row)
        for key in table:
            if key not in self.keys:
                raise WrongValue(f"entry {number}: unknown key {show(key)}, expected {', '.join(self.keys)}")
        missing = [key for key in self.needed if key not in table]
        if missing:
            raise WrongValue(f"entry {number}: missing key '{missing[0]}'")
        result: dict[str, Scalar] = {}
        for key, kind in self.keys.items():
            if key in table:
                try:
                    result[key] = kind.read(table[key])
                except WrongValue as e:
                    raise WrongValue(f"entry {number}: {key}: {e}") from None
            elif key in self.defaults:
                result[key] = self.defaults[key]
        wrong = self.wrong(result)
        if wrong is not None:
            raise WrongValue(f"entry {number}: {wrong}")
        return result


def _found(value: object) -> str:
    """The TOML type and the value that was found."""
    match value:
        case bool():
            return show(value)
        case int():
            return f"the integer {show(value)}"
        case float():
            return f"the number {show(value)}"
        case str():
            return f"the string {show(value)}"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case _:
            return f"a {type(value).__name__}"


@dataclass(frozen=True)
class Key:
    """One key, dotted: its meaning with its unit, what it may be, and its default (None: it has none)."""

    path: str
    kind: Integer | OneOf | Real | Flag | Text | Limit | Rows
    meaning: str
    default: Scalar | None = None


_COUNT = Integer(1, 1 << 20)
_UP_TO_UNLIMITED = Integer(1, (1 << 31) - 1)
_BANDWIDTH = Real(1e7)
_ENERGY = Real(1e6, zero=True)


def _wrong_level(row: Mapping[str, Scalar]) -> str | None:
    """A pair is two."""
    if row["kind"] == "pair" and row["size"] != 2:
        return f"size: expected 2 of a pair (several levels, or kind 'ring', 'fc' or 'switch'), got {row['size']}"
    return None


_LEVEL = Rows(
    {
        "kind": Text(KINDS),
        "size": Integer(2, 1 << 20),
        "gb_per_s": _BANDWIDTH,
        "latency_ns": Real(1e9, zero=True),
        "pj_per_byte": _ENERGY,
    },
    needed=("kind", "size", "gb_per_s"),
    defaults={"latency_ns": 0.0},
    wrong=_wrong_level,
)
_GROUP = Rows({"tflops": Real(1e7), "gb_per_s": _BANDWIDTH}, needed=("tflops", "gb_per_s"))

_ALL = (
    Key("name", Text(), "what reports call the machine"),
    Key("precision", Text(PRECISIONS), "float types of the programs that run on it", "as-written"),
    Key("clock_mhz", Real(1e5), "clock of the array, MHz"),
    Key("array.rows", Integer(1, 1 << 16), "rows of processing elements"),
    Key("array.cols", Integer(1, 1 << 16), "columns of processing elements"),
    Key("array.dataflow", Text(("os", "ws", "is", "in-place")), "what stays in the elements", "os"),
    Key("array.transpose", Text(("none", "explicit")), "how an in-place array gets W for dX and X for dW", "none"),
    Key(
        "array.overlap",
        Text(OVERLAPS),
        "how instructions of a register-fed array overlap",
    ),
    Key("array.tile_m", Integer(1, 1 << 16), "rows that one instruction streams (array.overlap)", 16),
    Key("array.cores", Integer(1, 1 << 12), "arrays, each with an SPM of its own", 1),
    Key("array.fill", Text(("overlap", "per-fold")), "whether folds overlap their fill and drain", "overlap"),
    Key("array.drain", Text(("hidden", "full")), "whether outputs drain beside the next fold", "hidden"),
    Key("array.accumulator_bits", OneOf((16, 32)), "bits of a partial sum until it is finished", 32),
    Key(
        "array.edge_elements",
        Limit(1 << 20),
        "elements that a port of the array's edge takes or gives in a cycle, beside a fold (array.fill overlap)",
        1,
    ),
    Key("array.multicast", Flag(), "whether a block that several cores read is fetched once", False),
    Key("array.reduction", Text(("dram", "on-chip")), "where partial sums of several cores are added", "dram"),
    Key("memory.spm_kib", Real(1 << 30), "scratchpad of one core, KiB"),
    Key("memory.double_buffer", Flag(), "whether half of the SPM is filled while the other is used", True),
    Key("memory.element_bytes", Integer(1, 64), "bytes of every float element; without it the type's own"),
    Key("memory.cache_mib", Real(1 << 20), "cache of the roofline backend, MiB"),
    Key("memory.policy", Text(("explicit", "lru")), "how blocks stay in the SPM", "explicit"),
    Key("dram.gb_per_s", _BANDWIDTH, "DRAM bandwidth of one core, 10^9 bytes a second"),
    Key("dram.capacity_mib", Real(1 << 30), "memory of a device, MiB; a step that takes more is refused"),
    Key("vector.lanes", _COUNT, "element operations a cycle"),
    Key("compute.tflops", Real(1e7), "peak throughput, 10^12 operations a second"),
    Key("compute.ops_per_mac", Integer(1, 2), "operations that one MAC counts as", 2),
    Key("roofline.profile", Text(("default", "thesis")), "set of conventions"),
    Key("roofline.oversize", Text(("retain", "flush")), "what a tensor larger than the cache does to it"),
    Key("roofline.sgd", Flag(), "whether the update is part of the iteration"),
    Key("roofline.order", Text(("dfs", "listed")), "order of the layers"),
    Key("roofline.plan", Text(("best", "single")), "best plan of any smaller capacity, or of this one"),
    Key("roofline.overlap", Flag(), "whether a step that fits computes while it loads and writes, as one that streams"),
    Key("roofline.policy", Text(("belady", "optimal")), "replacement policy"),
    Key("roofline.compat", Text(("none", "prototype")), "reproduce the reference's oddities"),
    Key("roofline.backward", Text(("needed", "table")), "backward of a layer: what is needed, or as published"),
    Key("roofline.loss", Text(("layer", "free")), "whether a loss is a layer, or its gradient is there for nothing"),
    Key("roofline.update", Text(("end", "eager")), "when a weight is updated: at the end, or as soon as it can be"),
    Key("roofline.master_bytes", Integer(1, 64), "bytes of the optimizer's states and copy of the weights"),
    Key("roofline.bound", Flag(), "whether the report says how far traffic and time are from the least possible"),
    Key("cycle.compat", Text(("none", "scalesim3")), "reproduce SCALE-Sim 3.0.0", "none"),
    Key("scalesim.ifmap_sram_kb", _COUNT, "input buffer, KiB"),
    Key("scalesim.filter_sram_kb", _COUNT, "filter buffer, KiB"),
    Key("scalesim.ofmap_sram_kb", _COUNT, "output buffer, KiB"),
    Key("scalesim.bandwidth_mode", Text(("CALC", "USER")), "how bandwidth is set"),
    Key("scalesim.ifmap_bw", _BANDWIDTH, "input bandwidth, words a cycle (USER)"),
    Key("scalesim.filter_bw", _BANDWIDTH, "filter bandwidth, words a cycle (USER)"),
    Key("scalesim.ofmap_bw", _BANDWIDTH, "output bandwidth, words a cycle (USER)"),
    Key("scalesim.memory", Flag(), "whether memory columns are computed"),
    Key("scalesim.sparsity", Flag(), "whether the N:M of the topology's layers is used"),
    Key("scalesim.sparse_rep", Text(("ellpack_block", "csr", "csc")), "how sparse filters are stored"),
    Key("maestro.num_pes", _COUNT, "processing elements"),
    Key("maestro.noc_bw", _UP_TO_UNLIMITED, "network bandwidth, elements a cycle"),
    Key("maestro.noc_hop_latency", Integer(0, 1 << 20), "network latency, cycles"),
    Key(
        "maestro.offchip_bw", _UP_TO_UNLIMITED, "off-chip bandwidth, elements a cycle; without it that of dram.gb_per_s"
    ),
    Key("maestro.l1_size", _UP_TO_UNLIMITED, "buffer of a processing element, elements: room for two tiles"),
    Key(
        "maestro.l2_size",
        _UP_TO_UNLIMITED,
        "shared buffer, elements: room for two tiles; without it that of memory.spm_kib",
    ),
    Key("maestro.num_simd_lanes", _COUNT, "MACs a cycle of one element"),
    Key("maestro.mode", Text(("parity", "exact")), "reproduce MAESTRO, or its model without its quirks"),
    Key("maestro.mapping", Text(), "dataflow taken when none is named"),
    Key("energy.mac_pj", _ENERGY, "energy of a MAC, pJ"),
    Key("energy.spm_pj_per_byte", _ENERGY, "energy of an SPM access, pJ a byte"),
    Key("energy.dram_pj_per_byte", _ENERGY, "energy of a DRAM access, pJ a byte"),
    Key("network.levels", _LEVEL, "levels of the network between devices, outermost first"),
    Key("network.groups", _GROUP, "groups of unlike devices, as many in each; throughput and bandwidth of one device"),
)

KEYS: dict[str, Key] = {key.path: key for key in _ALL}
TABLES = tuple(dict.fromkeys(path.partition(".")[0] for path in KEYS if "." in path))
