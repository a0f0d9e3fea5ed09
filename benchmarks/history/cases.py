"""
What is measured: commands that a user would type, each with the goal that it is held to.

A case may be of points: what a sweep of many takes more than one of a single point, by their number. Seconds are CPU
seconds with start-up on the machine of the goals (`measure.REFERENCE_YARDSTICK`).
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

Command = tuple[str, ...]

RESNET = ("samples:resnet50", "-q")
SWEEP = ("sweep", "samples:resnet50", "-q", "--csv", "points.csv", "--no-cache")


@dataclass(frozen=True)
class Case:
    """
    A command of npuc with what it is measured for. `before` are run in the same folder, not measured; from its seconds
    those of `less` are taken off, and the rest is shared by `points`. `goal` is in seconds, of a point where there are
    several. `files` are written first. With `peer` the command is one of Python with SCALE-Sim, for the same answer.
    """

    name: str
    what: str
    command: Command
    goal: float | None = None
    before: tuple[Command, ...] = ()
    less: Command | None = None
    points: int = 1
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    peer: bool = False


def _sweep(name: str, what: str, goal: float, key: str, values: list[str], *options: str) -> Case:
    """The time of a point of a sweep over one key, without what the first point takes."""

    def command(some: list[str]) -> Command:
        return (*SWEEP, *options, "--vary", f"{key}={','.join(some)}")

    return Case(name, what, command(values), goal, less=command(values[:1]), points=len(values) - 1)


@cache
def _shapes() -> str:
    """The distinct products of the networks of `npuc study igo` on each of its two NPUs, as a topology."""
    rows = csv.DictReader(files("npuc.studies.igo").joinpath("workloads.csv").read_text().splitlines())
    shapes = dict.fromkeys((row["npu"], row["M"], row["N"], row["K"]) for row in rows)
    lines = [f"{npu}{n}, {m}, {cols}, {k}," for n, (npu, m, cols, k) in enumerate(shapes)]
    return "\n".join(["Layer, M, N, K,", *lines, ""])


def _deep(depth: int) -> str:
    """A network whose step has some nine operations for each unit of depth."""
    return f"""network deep(batch=4, width=8) {{
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = x
  for i in 0..{depth} {{ h = relu(linear(h, width)) }}
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}}
"""


BOXES = """name = "boxes"
clock_mhz = 1050
array = { rows = 128, cols = 128, dataflow = "os" }
memory = { spm_kib = 8192, element_bytes = 2 }
dram = { gb_per_s = 150.0 }
vector = { lanes = 128 }
[network]
levels = [
    { kind = "pair", size = 2, gb_per_s = 10 },
    { kind = "pair", size = 2, gb_per_s = 10 },
    { kind = "pair", size = 2, gb_per_s = 100 },
    { kind = "pair", size = 2, gb_per_s = 100 },
]
"""
"""The machine of docs/parallel.md: four devices in a box, four boxes."""

PAIR = '    { kind = "pair", size = 2, gb_per_s = 10 },\n'

ALEXNET = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 227, 227, 11, 11, 3, 96, 4,
conv2, 31, 31, 5, 5, 96, 256, 1,
conv3, 15, 15, 3, 3, 256, 384, 1,
conv4, 15, 15, 3, 3, 384, 384, 1,
conv5, 15, 15, 3, 3, 384, 256, 1,
"""
SCALE_SIM = """[general]
run_name: alexnet

[architecture_presets]
ArrayHeight: 128
ArrayWidth: 128
IfmapSramSzkB: 2048
FilterSramSzkB: 2048
OfmapSramSzkB: 2048
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Dataflow: os
Bandwidth: 10
ReadRequestBuffer: 32
WriteRequestBuffer: 32

[layout]
IfmapCustomLayout: False
FilterCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 1
IfmapSRAMBankPort: 1
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 1
FilterSRAMBankPort: 1

[sparsity]
SparsitySupport: false
SparseRep: ellpack_block
OptimizedMapping: false
BlockSize: 4
RandomNumberGeneratorSeed: 40

[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""
LAYOUT = "\n".join(["Layer name, and 15 numbers,", *(f"conv{n}," + "1," * 15 for n in range(1, 6)), ""])
"""SCALE-Sim asks for a layout, too, which it does not use where `IfmapCustomLayout` is false."""
PLANNED = ("--parallel", "joint", "--plan-objective", "time", "-O0", "-q", "--no-cache")

CASES: tuple[Case, ...] = (
    Case("help", "npuc --help", ("--help",), 0.25),
    Case("tiny", "mlp, first compile", ("compile", "samples:mlp", "-q", "--no-cache")),
    Case("first", "resnet50, first compile", ("compile", *RESNET, "--no-cache"), 1.5),
    Case("second", "resnet50, the same again", ("compile", *RESNET), 0.3, before=(("compile", *RESNET),)),
    Case(
        "other-bandwidth",
        "resnet50, again with another bandwidth",
        ("compile", *RESNET, "--set", "dram.gb_per_s=300"),
        0.8,
        before=(("compile", *RESNET),),
    ),
    Case(
        "shapes",
        "231 shapes, -O3",
        ("compile", "shapes.csv", "--hw", "igo-large", "--training", "-q", "--no-cache"),
        2.0,
        files={"shapes.csv": _shapes()},
    ),
    Case(
        "gnmt",
        "gnmt planned for time on 16 devices",
        ("compile", "samples:gnmt", "-D", "batch=1024", "--hw", "boxes.toml", "--devices", "16", *PLANNED),
        15.0,
        files={"boxes.toml": BOXES},
    ),
    Case(
        "bert-devices",
        "bert_base planned for time on 64 devices",
        ("compile", "samples:bert_base", "-D", "batch=64", "--hw", "boxes.toml", "--devices", "64", *PLANNED),
        2.0,
        files={"boxes.toml": BOXES.replace("levels = [\n", "levels = [\n" + 2 * PAIR)},
    ),
    Case("cores-64", "resnet50 on 64 cores", ("compile", *RESNET, "--set", "array.cores=64", "--no-cache"), 6.0),
    Case("cores-528", "resnet50 on 528 cores", ("compile", *RESNET, "--set", "array.cores=528", "--no-cache"), 6.0),
    Case(
        "bert-roofline",
        "bert_base of 64 layers, roofline",
        ("compile", "samples:bert_base", "-D", "layers=64", "-b", "roofline", "-q", "--no-cache"),
        4.0,
    ),
    _sweep(
        "points-memory",
        "a point of memory, cycle -O3",
        0.1,
        "memory.spm_kib",
        [str(1024 * n) for n in range(4, 14)],
    ),
    _sweep(
        "points-bandwidth",
        "a point of bandwidth, cycle -O3",
        0.1,
        "dram.gb_per_s",
        [str(100 + 20 * n) for n in range(10)],
    ),
    _sweep(
        "points-array", "a point of the array's rows, cycle -O3", 0.2, "array.rows", ["32", "48", "64", "96", "128"]
    ),
    _sweep(
        "points-roofline",
        "a point of bandwidth, roofline",
        0.01,
        "dram.gb_per_s",
        [str(100 + n) for n in range(500)],
        "-b",
        "roofline",
    ),
    _sweep(
        "points-maestro",
        "a point of a given mapping, maestro",
        0.02,
        "maestro.noc_bw",
        [str(n) for n in range(16, 66)],
        "-b",
        "maestro",
    ),
    Case("igo", "npuc study igo", ("study", "igo", "-q"), 25.0),
    Case(
        "operations",
        "100,000 operations",
        ("compile", "deep.dsl", "-q", "--no-cache"),
        30.0,
        files={"deep.dsl": _deep(11_100)},
    ),
    Case(
        "alexnet",
        "AlexNet's convolutions on a SCALE-Sim machine",
        ("compile", "alexnet.csv", "--hw", "scale.cfg", "--inference", "-q", "--no-cache"),
        files={"alexnet.csv": ALEXNET, "scale.cfg": SCALE_SIM},
    ),
    Case(
        "alexnet-scale-sim",
        "the same by SCALE-Sim 3.0.0",
        ("-m", "scalesim.scale", "-t", "alexnet.csv", "-l", "layout.csv", "-c", "scale.cfg", "-p", "out"),
        files={"alexnet.csv": ALEXNET, "scale.cfg": SCALE_SIM, "layout.csv": LAYOUT},
        peer=True,
    ),
)
