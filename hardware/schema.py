"""
Every key a hardware description may have: what it means, what it may be, and its default.

Here are those of all machines; a backend has its own keys beside it.

A default exists only where a key is a choice of the model; a quantity of the machine has none, since a backend that
needs it must be told. Bounds refuse what no machine has, which is nearly always a wrong unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from npuc.compiler.analysis.interconnect.algorithm import algorithm_for
from npuc.compiler.analysis.interconnect.topology import KINDS, Kind
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import PRECISIONS
from npuc.hardware.kinds import BANDWIDTH, COUNT, Flag, Integer, Key, Limit, OneOf, Real, Rows, Scalar, Text

_ENERGY = Real(1e6, zero=True)


def _wrong_level(row: Mapping[str, Scalar]) -> str | None:
    """A pair is two, and collectives have an algorithm for the kind of level."""
    if row["kind"] == "pair" and row["size"] != 2:
        return f"size: expected 2 of a pair (several levels, or kind 'ring', 'fc' or 'switch'), got {row['size']}"
    if "algorithm" in row:
        try:
            algorithm_for(cast("Kind", row["kind"]), str(row["algorithm"]))
        except UsageError as error:
            return f"algorithm: {error.message}"
    return None


_LEVEL = Rows(
    {
        "kind": Text(KINDS),
        "size": Integer(2, 1 << 20),
        "gb_per_s": BANDWIDTH,
        "latency_ns": Real(1e9, zero=True),
        "pj_per_byte": _ENERGY,
        "algorithm": Text(),
    },
    needed=("kind", "size", "gb_per_s"),
    defaults={"latency_ns": 0.0},
    wrong=_wrong_level,
)
_GROUP = Rows({"tflops": Real(1e7), "gb_per_s": BANDWIDTH}, needed=("tflops", "gb_per_s"))

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
    Key("dram.gb_per_s", BANDWIDTH, "DRAM bandwidth of one core, 10^9 bytes a second"),
    Key("dram.capacity_mib", Real(1 << 30), "memory of a device, MiB; a step that takes more is refused"),
    Key("vector.lanes", COUNT, "element operations a cycle"),
    Key("compute.tflops", Real(1e7), "peak throughput, 10^12 operations a second"),
    Key("compute.ops_per_mac", Integer(1, 2), "operations that one MAC counts as", 2),
    Key("energy.mac_pj", _ENERGY, "energy of a MAC, pJ"),
    Key("energy.spm_pj_per_byte", _ENERGY, "energy of an SPM access, pJ a byte"),
    Key("energy.dram_pj_per_byte", _ENERGY, "energy of a DRAM access, pJ a byte"),
    Key("network.levels", _LEVEL, "levels of the network between devices, outermost first"),
    Key("network.groups", _GROUP, "groups of unlike devices, as many in each; throughput and bandwidth of one device"),
)

_TABLES = (
    "array",
    "memory",
    "dram",
    "vector",
    "compute",
    "roofline",
    "cycle",
    "scalesim",
    "maestro",
    "energy",
    "network",
)
"""The order in which reports write tables; those of other backends follow, in the order in which they are known."""

KEYS: dict[str, Key] = {}
"""Every key by its path, in the order in which reports write them. `key_named` knows those of installed backends."""
TABLES: list[str] = []
"""The tables that keys are in."""


def add_keys(keys: Iterable[Key], whose: str) -> None:
    """Let keys be known. Raises `UsageError` for one that is there already and is another; `whose` names who has it."""
    for key in keys:
        if not isinstance(cast(object, key), Key):
            raise UsageError(f"{whose}: its hardware keys are npuc.hardware.Key, got {type(key).__name__}")
        if KEYS.setdefault(key.path, key) != key:
            raise UsageError(f"{whose}: the hardware key '{key.path}' is taken")
    places = {table: place for place, table in enumerate(("", *_TABLES))}
    ordered = sorted(KEYS.items(), key=lambda item: places.get(_table(item[0]), len(places)))
    KEYS.clear()
    KEYS.update(ordered)
    TABLES[:] = dict.fromkeys(table for path in KEYS if (table := _table(path)))


def _table(path: str) -> str:
    """The table of a key; empty for one in none."""
    return path.rpartition(".")[0]


def key_named(path: str) -> Key | None:
    """The key of a path; one that nobody here knows may be one of an installed backend. None where there is none."""
    if path not in KEYS:
        import_module("npuc.backends.registry").learn_outside_keys()
    return KEYS.get(path)


def add_own_keys() -> None:
    """The keys of all machines, and of npuc's backends: those have theirs in a file `keys.py`."""
    add_keys(_ALL, "npuc")
    places = (Path(place) for place in import_module("npuc.backends").__path__)
    for folder in sorted(file.parent.name for place in places for file in place.glob("*/keys.py")):
        add_keys(import_module(f"npuc.backends.{folder}.keys").KEYS, f"backend '{folder}'")


add_own_keys()
