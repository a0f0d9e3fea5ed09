"""The files that the commands of `option_cases` name."""

from pathlib import Path

GRAPH = Path(__file__).parents[2] / "oracle" / "data" / "torch" / "writes.pt2"
"""A graph of another tool, for the options that make a training step of one."""

NETWORK = """\
network mlp(batch=4, hidden=8) {
  input  x: f32[batch, 8]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 4)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
OWN_PASS = '''
from dataclasses import dataclass

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class OwnPass(ModulePass):
    """Do nothing."""

    name = "own-pass"

    def apply(self, ctx, op):
        return None


PASSES = {"own-pass": OwnPass}
'''
CLUSTER = """\
name = "cluster"
clock_mhz = 1000
[array]
rows = 8
cols = 8
dataflow = "ws"
[memory]
spm_kib = 64
[dram]
gb_per_s = 100
[vector]
lanes = 8
[network]
levels = [
    { kind = "switch", size = 8, gb_per_s = 2, link_usd_per_gb_per_s = 8, switch_usd_per_gb_per_s = 18 },
    { kind = "ring", size = 4, gb_per_s = 8, latency_ns = 500, link_usd_per_gb_per_s = 4 },
    { kind = "fc", size = 2, gb_per_s = 20, link_usd_per_gb_per_s = 2 },
]
"""
TABLES = """\
network words(batch=4, length=2, hidden=8) {
  input  x: i32[batch, length]
  labels y: i32[batch]
  e = embedding(x, 16, 8)
  logits = linear(relu(linear(sum(e, axis=1), hidden)), 4)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
FILES = {
    "phases.toml": "samples_per_epoch = 40\n[[phases]]\nepochs = 3\n",
    "low.toml": (
        "samples_per_epoch = 40\n[[programs]]\nname = 'low'\nprecision = 'bf16'\n"
        "[[phases]]\nepochs = 3\nprogram = 'low'\n"
    ),
    "costs.toml": "[ops.'acme.fuse']\nmacs = 1000\n",
    "words.dsl": TABLES,
    "net.dsl": NETWORK,
    "forward.dsl": NETWORK.replace("  optimizer sgd(lr=0.1, momentum=0.9)\n", ""),
    "wide.dsl": NETWORK.replace("  input", "   input"),
    "odd.dsl": NETWORK.replace("  logits", "  unused = relu(h)\n  logits"),
    "deep.dsl": "block cells(x, n) {\n  for i in 0..40 { x = relu(linear(x, n)) }\n  return x\n}\n"
    + NETWORK.replace("  logits", "  h = cells(h, hidden)\n  logits"),
    "many.dsl": NETWORK.replace("  logits", "  for i in 1..20 { h = relu(linear(h, i)) }\n  logits"),
    "more.dsl": NETWORK.replace("  logits", "  for i in 1..3 { h = relu(linear(h, i)) }\n  logits"),
    "own.py": OWN_PASS,
    "cluster.toml": CLUSTER,
    "old.csv.partial": "of another sweep\n",
}
"""The files that commands name; `in.npz` holds arrays for the network."""
SWEEP = """{
  "schema": "npuc.sweep/1", "title": "net", "objective": "time", "by_mac": false,
  "keys": [{"key": "hidden", "values": [8, 16]}, {"key": "rows", "values": [1, 2]}],
  "points": [
    {"hidden": 8, "rows": 1, "seconds": 1.0, "dram_read_bytes": 1, "dram_write_bytes": 1},
    {"hidden": 8, "rows": 2, "seconds": 2.0, "dram_read_bytes": 2, "dram_write_bytes": 1},
    {"hidden": 16, "rows": 1, "seconds": 3.0, "dram_read_bytes": 3, "dram_write_bytes": 1},
    {"hidden": 16, "rows": 2, "seconds": 4.0, "dram_read_bytes": 4, "dram_write_bytes": 1}
  ]
}
"""
"""What `npuc plot` reads."""
