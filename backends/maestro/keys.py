"""The hardware keys of the maestro backend: processing elements, their buffers and network."""

from npuc.compiler.core.kinds import COUNT, Integer, Key, Text

_UP_TO_UNLIMITED = Integer(1, (1 << 31) - 1)

KEYS = (
    Key("maestro.num_pes", COUNT, "processing elements"),
    Key("maestro.noc_bw", _UP_TO_UNLIMITED, "network bandwidth, elements per cycle"),
    Key("maestro.noc_hop_latency", Integer(0, 1 << 20), "network latency, cycles"),
    Key(
        "maestro.offchip_bw",
        _UP_TO_UNLIMITED,
        "off-chip bandwidth, elements per cycle; default: dram.gb_per_s",
    ),
    Key("maestro.l1_size", _UP_TO_UNLIMITED, "buffer of a processing element, elements: it holds two tiles"),
    Key(
        "maestro.l2_size",
        _UP_TO_UNLIMITED,
        "shared buffer, elements: it holds two tiles; without it that of memory.spm_kib",
    ),
    Key("maestro.num_simd_lanes", COUNT, "MACs per cycle of one element"),
    Key("maestro.mode", Text(("parity", "exact")), "reproduce MAESTRO, or its model without its quirks"),
    Key("maestro.mapping", Text(), "dataflow taken when none is named"),
)
