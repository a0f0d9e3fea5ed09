"""The hardware keys of the roofline: its conventions."""

from npuc.compiler.core.kinds import Flag, Integer, Key, Text

KEYS = (
    Key("roofline.profile", Text(("default", "thesis")), "set of conventions"),
    Key("roofline.oversize", Text(("retain", "flush")), "what a tensor larger than the cache does to it"),
    Key("roofline.sgd", Flag(), "whether the update is part of the iteration"),
    Key("roofline.order", Text(("dfs", "listed")), "order of the layers"),
    Key("roofline.plan", Text(("best", "single")), "best plan of any smaller capacity, or of this one"),
    Key("roofline.overlap", Flag(), "whether a step that fits computes while it loads and writes, as one that streams"),
    Key("roofline.policy", Text(("belady", "optimal", "lru")), "replacement policy"),
    Key("roofline.prefetch", Text(("latency", "next-layer", "none")), "how early what misses is loaded"),
    Key("roofline.offload", Text(("look-ahead", "when-full")), "when what leaves is copied to memory"),
    Key("roofline.compat", Text(("none", "prototype")), "reproduce the reference's oddities"),
    Key("roofline.backward", Text(("needed", "table")), "backward of a layer: what is needed, or as published"),
    Key("roofline.loss", Text(("layer", "free")), "whether a loss is a layer, or its gradient is there for nothing"),
    Key("roofline.update", Text(("end", "eager")), "when a weight is updated: at the end, or as soon as it can be"),
    Key("roofline.master_bytes", Integer(1, 64), "bytes of the optimizer's states and copy of the weights"),
    Key("roofline.bound", Flag(), "whether the report says how far traffic and time are from the least possible"),
)
