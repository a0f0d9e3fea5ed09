"""
Every key a hardware description may have: what it means, what it may be, and its default.

A default exists only where a key is a choice of the model; a quantity of the machine has none, since a backend that
needs it must be told. Bounds refuse what no machine has, which is nearly always a wrong unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuc.compiler.analysis.interconnect.topology import KINDS
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.core.options import PRECISIONS
from npuc.hardware.kinds import Flag, Integer, Limit, OneOf, Real, Rows, Scalar, Text


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
