"""The hardware keys of the cycle backend: a scratchpad of dynamic cells, and SCALE-Sim as it is."""

from npuc.compiler.core.kinds import BANDWIDTH, COUNT, Flag, Key, Real, Text

RETENTION, REFRESH = "memory.retention_us", "energy.refresh_pj_per_byte"
KEYS = (
    Key(RETENTION, Real(1e9), "how long cells of the SPM keep a value, us: it is embedded DRAM, and refreshed"),
    Key(REFRESH, Real(1e6, zero=True), "energy of a refresh, pJ per byte; default: a read and a write of the SPM"),
    Key("cycle.compat", Text(("none", "scalesim3")), "reproduce SCALE-Sim 3.0.0", "none"),
    Key("scalesim.ifmap_sram_kb", COUNT, "input buffer, KiB"),
    Key("scalesim.filter_sram_kb", COUNT, "filter buffer, KiB"),
    Key("scalesim.ofmap_sram_kb", COUNT, "output buffer, KiB"),
    Key("scalesim.bandwidth_mode", Text(("CALC", "USER")), "how bandwidth is set"),
    Key("scalesim.ifmap_bw", BANDWIDTH, "input bandwidth, words per cycle (USER)"),
    Key("scalesim.filter_bw", BANDWIDTH, "filter bandwidth, words per cycle (USER)"),
    Key("scalesim.ofmap_bw", BANDWIDTH, "output bandwidth, words per cycle (USER)"),
    Key("scalesim.memory", Flag(), "whether memory columns are computed"),
    Key("scalesim.sparsity", Flag(), "whether the N:M of the topology's layers is used"),
    Key("scalesim.sparse_rep", Text(("ellpack_block", "csr", "csc")), "how sparse filters are stored"),
)
