"""
Every key that a hardware description may have: its meaning, its values and its default.

Here are those of all machines that no schedule depends on; those that schedules depend on are fields of
`npuc.compiler.analysis.machine.table.Machine`, and a backend has its own keys beside it.

A default exists only where a key is a choice of the model; a quantity of the machine has none, as a backend that needs
it must be given it. Bounds reject values that no machine has, which nearly always come from a wrong unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from npuc.compiler.analysis.interconnect.topology import GRIDS, KINDS, PRICES, SWITCH_PRICE, Kind
from npuc.compiler.analysis.machine.table import TABLE
from npuc.compiler.analysis.mapping.constraints.rules import DIVISORS, ROWS, RULES
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import BANDWIDTH, COUNT, ENERGY, Entry, Flag, Integer, Integers, Key, Real, Rows, Text
from npuc.compiler.core.options import PRECISIONS
from npuc.hardware.level_keys import LEVELS, wrong_rows
from npuc.hardware.memories import MEMORIES
from npuc.hardware.technology import LEAST_NODE, MOST_NODE
from npuc.hardware.unit_rows import UNIT_ROWS, UNITS


def _wrong_level(row: Mapping[str, Entry]) -> str | None:
    """
    A torus or mesh has sizes, others a size; a pair is two, collectives have an algorithm for the kind of level, and
    only a switch has the price of one.
    """
    if (wrong := _wrong_size(row)) is not None:
        return wrong
    if row["kind"] == "pair" and row["size"] != 2:
        return f"size: expected 2 of a pair (several levels, or kind 'ring', 'fc' or 'switch'), got {row['size']}"
    if "algorithm" in row:
        from npuc.compiler.analysis.interconnect.algorithm import algorithm_for

        try:
            algorithm_for(cast("Kind", row["kind"]), str(row["algorithm"]))
        except UsageError as error:
            return f"algorithm: {error.message}"
    if SWITCH_PRICE in row and row["kind"] != "switch":
        return f"{SWITCH_PRICE}: expected of kind 'switch' alone, got kind '{row['kind']}'"
    return None


def _wrong_size(row: Mapping[str, Entry]) -> str | None:
    kind, own, other = row["kind"], *(("sizes", "size") if row["kind"] in GRIDS else ("size", "sizes"))
    if other in row:
        example = "sizes = [4, 4, 4]" if own == "sizes" else "size = 64"
        return f"{other}: a {kind} has {own} in its place, for example {example}"
    return None if own in row else f"missing key '{own}', which a {kind} has"


_PRICE = Real(1e6, zero=True)
MOST_DEVICES = 1 << 20
"""Of a level of the network."""

_LEVEL = Rows(
    {
        "kind": Text(KINDS),
        "size": Integer(2, MOST_DEVICES),
        "sizes": Integers(2, MOST_DEVICES, 6),
        "gb_per_s": BANDWIDTH,
        "latency_ns": Real(1e9, zero=True),
        "pj_per_byte": ENERGY,
        "algorithm": Text(),
        **dict.fromkeys(PRICES, _PRICE),
    },
    needed=("kind", "gb_per_s"),
    defaults={"latency_ns": 0.0},
    wrong=_wrong_level,
    files="the name of a network file of ASTRA-sim",
)
_GROUP = Rows({"tflops": Real(1e7), "gb_per_s": BANDWIDTH}, needed=("tflops", "gb_per_s"))

_MEMORY = Rows(
    {
        "name": Text(),
        "kib": Real(1 << 40),
        "gb_per_s": BANDWIDTH,
        "pj_per_byte": ENERGY,
        "shared": Flag(),
        "managed": Flag(),
    },
    needed=("name",),
    defaults={"shared": True},
    wrong_together=wrong_rows,
)

AREA = Real(1e6, zero=True)
"""In mm2."""
MODELS = ("npuc", "maestro", "gamma", "gamma-int8")
"""Whose formulas of energy and area hold."""

_OWN = (
    Key("name", Text(), "name of the machine in reports"),
    Key("precision", Text(PRECISIONS), "float types of its programs", "as-written"),
    Key("memory.cache_mib", Real(1 << 20), "cache capacity of the roofline backend, MiB"),
    Key(
        LEVELS,
        _MEMORY,
        "memories, nearest to the arithmetic first: those that each element has, those that elements share, DRAM; "
        "numbers of shared ones are a core's part",
    ),
    Key("dram.capacity_mib", Real(1 << 30), "DRAM capacity of a device, MiB; a step that needs more is refused"),
    Key("dram.kind", Text(tuple(MEMORIES)), "kind of memory: what its bandwidth and energy follow from"),
    Key(
        "dram.channels",
        Integer(1, 1 << 12),
        "channels, devices or stacks of that kind, of the whole chip; one where nobody says",
    ),
    Key(
        "technology.node_nm",
        Real(MOST_NODE, least=LEAST_NODE),
        "technology node, nm: energies and areas follow from it",
    ),
    Key(
        "technology.model",
        Text(MODELS),
        "whose formulas say what accesses and areas cost on processing elements with mappings",
        "npuc",
    ),
    Key(
        "energy.edge_pj_per_byte",
        ENERGY,
        "energy of the wires between SPM and the array's edges, pJ per byte",
    ),
    Key("energy.vector_pj", ENERGY, "energy of an element operation of the vector unit, pJ"),
    Key("energy.array_idle_w", Real(1e5, zero=True), "power of the arrays of all cores that do nothing, W"),
    Key("energy.vector_idle_w", Real(1e5, zero=True), "power of the vector units of all cores that do nothing, W"),
    Key("energy.spm_idle_w", Real(1e5, zero=True), "power of the scratchpads of all cores that do nothing, W"),
    Key("energy.dram_idle_w", Real(1e5, zero=True), "power of the memory that only keeps its contents, W"),
    Key("area.array_mm2", AREA, "area of the arrays of all cores, mm2"),
    Key("area.vector_mm2", AREA, "area of the vector units of all cores, mm2"),
    Key("area.spm_mm2", AREA, "area of the scratchpads of all cores, mm2"),
    Key("area.dram_mm2", AREA, "area of a memory on the chip, mm2"),
    Key("area.chip_mm2", AREA, "area of the chip, mm2; without it the sum of its parts"),
    Key(
        UNITS,
        UNIT_ROWS,
        "units of several kinds that share the DRAM: elements, KiB of buffer, and where they say it pJ of a MAC and of "
        "a byte of the buffer, W, mm2, and the formats of operands",
    ),
    Key("cost.usd_per_hour", Real(1e6, zero=True), "price of a device, USD an hour"),
    Key("compute.tflops", Real(1e7), "peak throughput, 10^12 operations per second"),
    Key("compute.ops_per_mac", Integer(1, 2), "operations counted per MAC", 2),
    Key("network.levels", _LEVEL, "levels of the interconnect, outermost first"),
    Key(
        "network.latency",
        Text(("serial", "overlap")),
        "whether a level of the interconnect waits for the messages of a chunk (serial), or sends for the next one",
        "serial",
    ),
    Key(
        "network.groups",
        _GROUP,
        "groups of heterogeneous devices, equally many in each: throughput and bandwidth of one device",
    ),
    Key(
        "flexibility.tiles",
        Text(("fixed", "hard", "soft")),
        "tiles that the shared buffer takes: those of the dataflow, what fits in equal parts (hard), or in one pool",
        "soft",
    ),
    Key(
        "flexibility.order",
        Text(("fixed", "stationary", "any")),
        "orders of loops: that of the dataflow, one that keeps each tensor, or any",
        "fixed",
    ),
    Key(
        "flexibility.parallel",
        Text(("fixed", "any")),
        "dimensions that rows and columns share: those of the dataflow, or any",
        "fixed",
    ),
    Key(
        "flexibility.shape",
        Text(("fixed", "blocks", "any")),
        "shapes of the array: that of the dataflow, multiples of blocks, or any",
        "fixed",
    ),
    Key("flexibility.block", COUNT, "rows and columns of a block"),
    Key(RULES, ROWS, "what mappings must be like, all of it: orders, spread dimensions, tiles, work"),
    Key(DIVISORS, Flag(), "tiles divide what they are cut from", False),
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
    "flexibility",
    "constraints",
    "technology",
    "energy",
    "area",
    "network",
)
"""The order in which reports write tables; those of other backends follow, in the order in which they are known."""
_FIRST = """
    name precision clock_mhz
    array.rows array.cols array.dataflow array.transpose array.overlap array.tile_m array.cores array.fill array.drain
    array.accumulator_bits array.edge_elements array.multicast array.reduction
    memory.spm_kib memory.double_buffer memory.element_bytes memory.cache_mib memory.policy
""".split()
"""The order of keys in tables of reports that exist; others follow, in the order in which they are known."""

KEYS: dict[str, Key] = {}
"""Every key by its path, in the order in which reports write them. `key_named` knows those of installed backends."""
TABLES: list[str] = []
"""The tables that keys are in."""


def add_keys(keys: Iterable[Key], whose: str) -> None:
    """Register keys. Raises `UsageError` where another key of the path is registered; `whose` is the owner."""
    for key in keys:
        if not isinstance(cast(object, key), Key):
            raise UsageError(f"{whose}: its hardware keys are npuc.hardware.Key, got {type(key).__name__}")
        if KEYS.setdefault(key.path, key) != key:
            raise UsageError(f"{whose}: the hardware key '{key.path}' is taken")
    tables = {table: place for place, table in enumerate(("", *_TABLES))}
    first = {path: place for place, path in enumerate(_FIRST)}
    ordered = sorted(KEYS, key=lambda path: (tables.get(_table(path), len(tables)), first.get(path, len(first))))
    by_path = dict(KEYS)
    KEYS.clear()
    KEYS.update((path, by_path[path]) for path in ordered)
    TABLES[:] = dict.fromkeys(table for path in KEYS if (table := _table(path)))


def _table(path: str) -> str:
    """The table of a key; empty for a key outside of tables."""
    return path.rpartition(".")[0]


def key_named(path: str) -> Key | None:
    """The key of a path, perhaps one of an installed backend; None for an unknown key."""
    if path not in KEYS:
        import_module("npuc.backends.registry").learn_outside_keys()
    return KEYS.get(path)


def add_own_keys() -> None:
    """The keys of all machines, and of npuc's backends: those have theirs in a file `keys.py`."""
    add_keys((row.key for row in TABLE), "npuc")
    add_keys(_OWN, "npuc")
    places = (Path(place) for place in import_module("npuc.backends").__path__)
    for folder in sorted(file.parent.name for place in places for file in place.glob("*/keys.py")):
        add_keys(import_module(f"npuc.backends.{folder}.keys").KEYS, f"backend '{folder}'")


add_own_keys()
