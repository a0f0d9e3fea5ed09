"""
For every option of every verb a command on which it shows: `test_every_option` runs it with the option and without.

A new option fails there until it has a case here, or stands in `EXEMPT` with the reason.
"""

from pathlib import Path
from typing import NamedTuple

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
FILES = {
    "net.dsl": NETWORK,
    "forward.dsl": NETWORK.replace("  optimizer sgd(lr=0.1, momentum=0.9)\n", ""),
    "wide.dsl": NETWORK.replace("  input", "   input"),
    "odd.dsl": NETWORK.replace("  logits", "  unused = relu(h)\n  logits"),
    "deep.dsl": "block cells(x, n) {\n  for i in 0..40 { x = relu(linear(x, n)) }\n  return x\n}\n"
    + NETWORK.replace("  logits", "  h = cells(h, hidden)\n  logits"),
    "many.dsl": NETWORK.replace("  logits", "  for i in 1..20 { h = relu(linear(h, i)) }\n  logits"),
    "own.py": OWN_PASS,
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
LARGER = "--budget 40 -D batch=60 -D hidden=48 --json r.json"
SCALESIM = "-b cycle --hw scalesim --set cycle.compat=scalesim3 --set scalesim.memory=true"

EXEMPT = {
    "--debug": "the traceback of an error, of which a run that succeeds has none",
    "--verify-each": "an error for a pass that leaves wrong IR, of which npuc has none",
    "--jobs": "the number of processes that compute the same rows",
    "run -O": "passes keep what a program computes",
    "run --before": "passes keep what a program computes",
    "run --after": "passes keep what a program computes",
    "run --tolerance": "passes keep what a program computes",
    "run --level": "each level computes the same",
    "run --objective": "passes keep what a program computes",
    "study --quiet": "progress, which is for terminals, and warnings, of which the small studies have none",
    "study --rewrite": "of the study igo, which takes minutes: tests/unit/study has it",
    "study --load": "of the study igo, which takes minutes: tests/unit/study has it",
    "check --loss": "another program, whose passes agree, too",
    "check --optimizer": "another program, whose passes agree, too",
    "plot --view": "of reports, which tests/unit/cli/test_plot.py draws",
    "explain --optimizer": "updates, which are no products that anything is said of",
    "design --optimizer": "updates, which are no products that are mapped",
    "map --optimizer": "updates, which are no products that are mapped",
    "flexibility --optimizer": "updates, which are no products that are mapped",
    "check --seed": "other random data, on which passes agree too, and which nobody prints",
}
"""Options that change nothing by their meaning: of all verbs, or of one."""


REFUSES = (
    "check --limit",
    "run --dataset",
    *(
        f"{verb} --result"
        for verb in ("compile", "explain", "run", "check", "import", "reuse", "sweep", "map", "design", "opt")
    ),
    "flexibility --result",
)
"""Options that are there to refuse."""


class Case(NamedTuple):
    """What is given, beside what: the first command has `beside` alone, the second one both, after the verb's."""

    given: str
    beside: str = ""
    command: str | None = None
    """The command in place of that in `BASE`."""


DESIGN = "--area-mm2 0.1 --set technology.node_nm=28 --budget 400"

SHARED = {
    "-D": Case("-D hidden=16"),
    "--inference": Case("--inference"),
    "--only": Case("--only h.linear"),
    "--max-ops": Case("--max-ops 1"),
    "--hw": Case("--hw igo-small"),
    "--set": Case("--set array.rows=4"),
    "--precision": Case("--precision f16"),
    "--mapping": Case("--mapping rs", "-b maestro"),
    "-O": Case("-O 0"),
    "--objective": Case("--objective energy"),
    "--tolerance": Case("--tolerance 0.25"),
    "--pipeline": Case("-p autodiff,lower-to-npu,schedule"),
    "--load": Case("--load own.py", "-p own-pass,autodiff,lower-to-npu,schedule"),
    "--before": Case('--before schedule=tile{steps="m:1"}'),
    "--after": Case("--after schedule=fuse-vector"),
    "--print-after": Case("--print-after all"),
    "--print-changed": Case("--print-changed diff"),
    "--time-passes": Case("--time-passes"),
    "--statistics": Case("--statistics"),
    "--statistics-json": Case("--statistics-json r.json"),
    "--debug-only": Case("--debug-only lower-to-npu,lower-vector"),
    "--devices": Case("--devices 4"),
    "--mesh": Case("--mesh 2x2x2", ""),
    "--parallel": Case("--parallel mp", "--devices 4"),
    "--convention": Case("--convention physical", "--devices 4"),
    "--plan-objective": Case("--plan-objective memory", "--devices 4 --parallel joint"),
    "--exact-plan": Case("--exact-plan", "--devices 4 --parallel joint"),
    "--zero": Case("--zero", "--devices 4"),
    "--recompute": Case("--recompute full"),
    "--json": Case("--json r.json"),
    "--csv": Case("--csv r.csv"),
    "--plot": Case("--plot r.svg"),
    "--output": Case("-o r.mlir"),
    "--quiet": Case("-q"),
    "--backend": Case("-b roofline"),
    "--verbose": Case("-v"),
    "--seed": Case("--seed 1"),
}
"""Cases of options that several verbs take, by the option as it is written first."""

_DEEP = {
    "compile": "compile deep.dsl",
    "explain": "explain deep.dsl #3",
    "run": "run deep.dsl --inputs in.npz --statistics",
    "check": "check deep.dsl",
    "sweep": "sweep deep.dsl --csv s.csv --vary batch=4,8",
    "map": "map deep.dsl --hw nvdla --budget 4",
    "design": f"design deep.dsl {DESIGN}",
    "flexibility": "flexibility deep.dsl --hw nvdla --budget 4",
}
"""Commands on a network of which something can be run again."""
SEARCHED_STUDY = "study digamma --preset inference --network net.dsl --evaluations 20"
_SHARED_STEP = "--devices 4 --statistics"

BASE = {
    "compile": "compile net.dsl",
    "explain": "explain net.dsl h.linear",
    "run": "run net.dsl --inputs in.npz",
    "check": "check net.dsl",
    "import": f"import {GRAPH}",
    "fmt": "fmt wide.dsl",
    "lint": "lint odd.dsl",
    "reuse": "reuse net.dsl",
    "sweep": "sweep net.dsl --csv s.csv --vary batch=4,8",
    "plot": "plot sweep.json",
    "map": "map net.dsl --hw nvdla --budget 4",
    "design": f"design net.dsl {DESIGN}",
    "flexibility": "flexibility net.dsl --hw nvdla --budget 4",
    "study": "study crosscheck --preset os --network net.dsl",
    "machine": "machine gemmini",
    "list": "list passes",
    "new": "new pass own-pass",
    "opt": "opt net.dsl",
}

OWN = {
    **{f"{verb} --recompute": Case("--recompute full", command=command) for verb, command in _DEEP.items()},
    "run --debug-only": Case("--debug-only lower-to-npu,lower-vector", "-O 0"),
    "run --devices": Case("--devices 4", "--statistics"),
    "run --parallel": Case("--parallel mp", _SHARED_STEP),
    "run --convention": Case("--convention physical", _SHARED_STEP),
    "run --plan-objective": Case("--plan-objective memory", f"{_SHARED_STEP} --parallel joint"),
    "run --exact-plan": Case("--exact-plan", f"{_SHARED_STEP} --parallel joint"),
    "run --zero": Case("--zero", _SHARED_STEP),
    "map --before": Case("--before lower-to-npu=cse", "--statistics"),
    "map --after": Case("--after lower-to-npu=cse", "--statistics"),
    "map --zero": Case("--zero", _SHARED_STEP),
    "design --before": Case("--before lower-to-npu=cse", "--statistics"),
    "design --after": Case("--after lower-to-npu=cse", "--statistics"),
    "design --zero": Case("--zero", _SHARED_STEP),
    "design --pipeline": Case("-p lower-to-npu"),
    "design --mapping": Case("--mapping rs"),
    "design --hw": Case("--hw edge"),
    "design --set": Case("--set maestro.noc_bw=16"),
    "design --output": Case("-o r.toml"),
    "design --mapped": Case("--mapped r.mlir"),
    "design --area-mm2": Case(
        "--area-mm2 0.05", "", "design net.dsl --set technology.node_nm=28 --budget 400 --power-w 1"
    ),
    "design --power-w": Case("--power-w 0.01"),
    "design --goals": Case("--goals time,area"),
    "design --budget": Case("--budget 2000", "", "design net.dsl --area-mm2 0.1 --set technology.node_nm=28"),
    "design --seed": Case("--seed 1"),
    "design --resume": Case("--resume r.costs"),
    "design --levels": Case("--levels 1"),
    "design --tiles": Case("--tiles any"),
    "opt --recompute": Case("--recompute full", "-O0", "opt deep.dsl"),
    "opt --objective": Case("--objective energy", "-O3"),
    "opt --tolerance": Case("--tolerance 0.9", "-O3 --set memory.spm_kib=0.25"),
    "opt --load": Case("--load own.py", "-p cse,own-pass"),
    "opt --before": Case("--before schedule=cse", "-O1"),
    "opt --after": Case("--after schedule=fuse-vector", "-O1"),
    "opt --set": Case("--set array.rows=4", "-O1"),
    "opt --hw": Case("--hw igo-small", "-O1"),
    "opt --print-after": Case("--print-after all", "-O0"),
    "opt --print-changed": Case("--print-changed diff", "-O0"),
    "opt --time-passes": Case("--time-passes", "-O0"),
    "opt --statistics": Case("--statistics", "-O0"),
    "opt --statistics-json": Case("--statistics-json r.json", "-O0 -o r.mlir"),
    "opt --debug-only": Case("--debug-only lower-to-npu,lower-vector", "-O0"),
    "opt --quiet": Case("-q", "--precision f16"),
    "opt -O": Case("-O 1"),
    "opt --pipeline": Case("-p autodiff"),
    "compile --tolerance": Case("--tolerance 0.25", "--json r.json"),
    "compile --check": Case("--check"),
    "compile --objective": Case("--objective energy", "-v"),
    "compile --csv-format": Case("--csv-format scalesim", f"{SCALESIM} --csv r"),
    "compile --emit": Case("--emit trace", "-o r.json"),
    "compile --depth": Case("--depth 1", "--emit svg -o r.svg"),
    "compile --view": Case("--view roofline", "--plot r.svg"),
    "compile --rows": Case("--rows all", command="compile deep.dsl"),
    "compile --verbose": Case("-v"),
    "explain --only": Case("--only logits", command="explain net.dsl #0"),
    "explain --precision": Case("--precision f32"),
    "explain -O": Case("-O 0", command="explain net.dsl logits"),
    "explain --pipeline": Case("-p lower-to-npu,schedule"),
    "explain --objective": Case("--objective energy", "--set memory.spm_kib=0.25"),
    "explain --tolerance": Case("--tolerance 0.9", "--set memory.spm_kib=0.25"),
    "explain --zero": Case("--zero", "--devices 4 --parallel joint --plan-objective memory"),
    "explain --backend": Case("-b maestro"),
    "explain --phase": Case("--phase dw"),
    "explain --plot": Case("--plot r.svg"),
    "explain --view": Case("--view array", "--plot r.svg"),
    "explain --svg": Case("--svg r.svg"),
    "explain --rows": Case("--rows all", "--devices 4", "explain deep.dsl"),
    "explain --json": Case("--json r.json", "--devices 4"),
    "run --set": Case("--set array.accumulator_bits=16", "--precision f16 --outputs o.npz"),
    "explain --op": Case("--op npu.contract", command="explain"),
    "explain --pass": Case("--pass interleave", command="explain"),
    "explain --pattern": Case("--pattern fuse", command="explain"),
    "explain --layer": Case("--layer conv2d", command="explain"),
    "explain --key": Case("--key memory.spm_kib", command="explain"),
    "explain --report": Case("--report ops.limit", command="explain"),
    "explain --top": Case("--top 1", command="explain net.dsl"),
    "explain --changes": Case("--changes 0", command="explain net.dsl"),
    "explain --term": Case("--term util", command="explain"),
    "run --dtype": Case("--dtype float64", "--outputs o.npz"),
    "run --pipeline": Case("-p lower-to-npu", "--outputs o.npz"),
    "run --inputs": Case("--inputs in.npz", command="run net.dsl"),
    "run --outputs": Case("--outputs o.npz"),
    "run --steps": Case("--steps 2"),
    "run --dataset": Case("--dataset digits", command="run net.dsl"),
    "run --plot": Case("--plot r.svg", "--steps 2"),
    "run --seed": Case("--seed 1", command="run net.dsl"),
    "run --level": Case("--level tiles"),
    "run --quiet": Case("-q", "--set maestro.num_pes=2"),
    "check -D": Case("-D hidden=0"),
    "check --set": Case("--set memory.spm_kib=0.001"),
    "check --limit": Case("--limit 1"),
    "check --quiet": Case("-q", "--set maestro.num_pes=2"),
    "fmt --check": Case("--check"),
    "fmt --diff": Case("--diff"),
    "lint -D": Case("-D batch=0"),
    "lint --select": Case("--select no-gradient"),
    "lint --ignore": Case("--ignore unused-value"),
    "reuse --plot": Case("--plot r.svg"),
    "reuse --set": Case("--set memory.cache_mib=0.01"),
    "reuse --hw": Case("--hw rx6900xt"),
    "sweep --csv": Case("--csv s.csv", command="sweep net.dsl --vary batch=4,8"),
    "sweep --objective": Case("--objective energy"),
    "sweep --tolerance": Case("--tolerance 0.9", "--set memory.spm_kib=0.25"),
    "sweep --json": Case("--json r.json"),
    "sweep --x": Case("--x hidden", "--vary hidden=8,16 --plot r.svg"),
    "sweep --y": Case("--y traffic", "--plot r.svg"),
    "sweep --color": Case("--color hidden", "--vary array.rows=8,16 --vary hidden=8,16 --plot r.svg"),
    "plot --output": Case("-o r.svg --x hidden"),
    "plot --x": Case("--x rows", "-o r.svg"),
    "plot --y": Case("--y traffic", "-o r.svg"),
    "plot --color": Case("--color hidden --x rows", "-o r.svg"),
    "sweep --vary": Case("--vary hidden=8,16"),
    "sweep --restart": Case("--restart", "--csv old.csv", "sweep net.dsl --vary batch=4,8"),
    "sweep --rows": Case("--rows all", "-b roofline --vary memory.cache_mib=1:40:1"),
    "map --hw": Case("--hw maestro-example", command="map net.dsl --budget 4"),
    "map --set": Case("--set maestro.num_pes=16"),
    "map --mapping": Case("--mapping rs"),
    "map --budget": Case("--budget 8", command="map net.dsl --hw nvdla"),
    "map --mapper": Case("--mapper exhaustive", "--levels 1 --budget 4000 --only logits", "map net.dsl --hw nvdla"),
    "map --levels": Case("--levels 1", LARGER, "map net.dsl --hw nvdla"),
    "map --spread": Case("--spread 2", LARGER, "map net.dsl --hw nvdla"),
    "map --tiles": Case("--tiles any", LARGER, "map net.dsl --hw nvdla"),
    "map --mode": Case("--mode parity"),
    "map --seed": Case("--seed 1", LARGER, "map net.dsl --hw nvdla"),
    "map --pipeline": Case("-p lower-to-npu"),
    "map --rows": Case("--rows all", command="map many.dsl --hw nvdla --budget 1"),
    "map --constraints": Case("--constraints nvdla", command="map net.dsl --hw nvdla --budget 40"),
    "map --output": Case("-o r.mlir"),
    "map --resume": Case("--resume r.costs"),
    "flexibility --hw": Case("--hw maestro-example", command="flexibility net.dsl --budget 4"),
    "flexibility --set": Case("--set flexibility.order=any"),
    "flexibility --mapping": Case("--mapping rs"),
    "flexibility --pipeline": Case("-p lower-to-npu"),
    "flexibility --before": Case("--before lower-to-npu=cse", "--statistics"),
    "flexibility --after": Case("--after lower-to-npu=cse", "--statistics"),
    "flexibility --zero": Case("--zero", _SHARED_STEP),
    "flexibility --budget": Case("--budget 8", command="flexibility net.dsl --hw nvdla"),
    "flexibility --seed": Case("--seed 1", LARGER, "flexibility net.dsl --hw nvdla"),
    "flexibility --samples": Case("--samples 50", "--set flexibility.tiles=hard"),
    "flexibility --rows": Case("--rows all", command="flexibility many.dsl --hw nvdla --budget 1"),
    "study --preset": Case("--preset ws", command="study crosscheck --network net.dsl"),
    "study --network": Case("--network net.dsl", "--preset os -D hidden=16", "study crosscheck"),
    "study --hw": Case("--hw igo-small", command="study hypar --network net.dsl"),
    "study --area-mm2": Case("--area-mm2 0.01", "", SEARCHED_STUDY),
    "study --evaluations": Case(
        "--evaluations 21", "", "study digamma --preset inference --network net.dsl --area-mm2 0.1"
    ),
    "study --resume": Case("--resume r.costs", command=SEARCHED_STUDY),
    "study --plot": Case("--plot r.svg", command="study hypar --network net.dsl"),
    "study --figure": Case("--figure 5.1", "--plot r.svg --figure 5.2", "study thesis --network net.dsl"),
    "new --output": Case("-o made"),
    "new --quiet": Case("-q"),
    "compile --quiet": Case("-q", "--set maestro.num_pes=2"),
    "explain --quiet": Case("-q", "--set maestro.num_pes=2"),
    "reuse --quiet": Case("-q", "--set maestro.num_pes=2"),
    "sweep --quiet": Case("-q", "--set maestro.num_pes=2"),
    "list --load": Case("--load own.py"),
    "list --json": Case("--json -"),
}
"""Cases of one verb, which come before those of all."""

MEANINGLESS = {
    "compile net.dsl -p autodiff,lower-to-npu,schedule --objective energy": "--objective energy",
    "compile net.dsl -p autodiff,lower-to-npu,schedule --tolerance 0.1": "--tolerance 0.1",
    "compile net.dsl -b roofline --objective energy": "--objective does not apply",
    "compile net.dsl -b roofline --tolerance 0.1": "--tolerance does not apply",
    "compile net.dsl -b cycle --mapping rs": "--mapping does not apply",
    "compile net.dsl -p autodiff,lower-to-npu -O 1": "-O1 does not apply with -p",
    "compile net.dsl --load own.py": "--load needs -p",
    "compile net.dsl --before schedule=cse -p autodiff": "--before schedule=cse does not apply with -p",
    "compile net.dsl --before schedule": "expected PASS=PASSES",
    "compile net.dsl --after lower-tiles=cse": "found the anchor 'lower-tiles'",
    "compile net.dsl -b roofline --after schedule=cse": "no pass of -O3 runs here",
    "run net.dsl --inputs in.npz --before schedule=cse": "found the anchor 'schedule'",
    "run net.dsl --plot r.svg": "--plot draws the loss over steps, and there is one",
    "run net.dsl --mapping rs": "--mapping rs changes costs, and nothing that is computed",
    "run net.dsl -b cycle --mapping rs": "--mapping does not apply",
    "run net.dsl --json - --statistics-json -": "only one of --json",
    "explain net.dsl --devices 4 --before schedule=cse": "--before does not apply with --devices",
    "compile net.dsl --debug-only tile": "the pass 'tile' does not run",
    "compile net.dsl --debug-only lower-to-npu,relu": "has no pattern 'relu'",
    "compile net.dsl --json - --statistics-json -": "only one of --json",
    "compile net.dsl --parallel dp": "--devices",
    "compile net.dsl --convention physical": "--devices",
    "compile net.dsl --plan-objective time": "--devices",
    "compile net.dsl --exact-plan": "--devices",
    "compile net.dsl --zero": "--devices",
    "compile net.dsl --devices 4 -p parallelize,autodiff": "--devices and the pass parallelize of -p say the same",
    "check net.dsl --recompute full -p autodiff,recompute": "--recompute and the pass recompute of -p say the same",
    "run net.dsl --devices 2 --zero=1 -p autodiff,shard-updates": "--zero and the pass shard-updates of -p",
    "compile net.dsl --inference --recompute full": "--recompute full does not apply with --inference",
    "compile net.dsl -b roofline --recompute full": "--recompute does not apply",
    "compile net.dsl -b roofline --devices 2 --zero=2": "--zero=1 and =2 does not apply",
    "compile net.dsl --recompute half": "--recompute half: expected none, full, every=K",
    "compile net.dsl --devices 2 --zero 4": "unknown stage of ZeRO 4",
    "compile net.dsl --devices 2 --parallel joint --plan-objective memory --zero=1": "stages 0 and 3",
    "run net.dsl --inputs in.npz --devices 2 --plan-objective time": "--plan-objective time needs a backend",
    "check net.dsl --devices 2 --parallel joint --plan-objective time": "--plan-objective time needs a backend",
    "run net.dsl --inputs in.npz --objective energy": "--objective energy does not apply: nothing is scheduled",
    "run net.dsl --inputs in.npz --print-after schedule": "--print-after schedule: the pipeline autodiff has no such",
    "check net.dsl --print-after tile": "has no such pass",
    "check net.dsl -p autodiff --objective energy": "the passes of -p have their own",
    "map net.dsl --hw nvdla --budget 4 --csv - --statistics-json -": "only one of --json, --csv, -o and",
    "explain net.dsl --devices 4 --recompute full": "--recompute does not apply with --devices",
    "explain net.dsl --devices 4 --print-after all": "--print-after does not apply with --devices",
    "opt net.dsl --objective energy -p autodiff": "--objective energy needs -O",
    "opt net.dsl --before schedule=cse": "--before and --after need -O",
    "opt net.dsl -O1 -p autodiff": "-O1 does not apply with -p",
    "opt net.dsl -p autodiff --statistics-json -": "only one of -o and --statistics-json",
    "opt net.dsl -O1 --print-between-passes": "--print-between-passes needs two passes",
    "opt net.dsl --zero": "--zero needs --devices N",
    "sweep net.dsl --vary recompute=none,half": "--vary recompute: --recompute half: expected none",
    "sweep net.dsl --vary devices=1,2 --vary zero=0,5": "found 5, expected 0 to 3",
    "compile net.dsl --csv-format scalesim": "needs --csv",
    "compile net.dsl --rows all --json -": "--rows all is about the table",
    "compile net.dsl --rows cores --csv -": "--rows cores is about the table",
    "compile net.dsl --rows folded -o -": "--rows folded is about the table",
    "compile net.dsl --emit mlir": "--emit mlir needs -o FILE",
    "compile net.dsl --depth 2": "--depth is about a graph",
    "compile net.dsl --emit svg --depth 0": "--depth 0: expected auto, ops, layers or a number from 1",
    "sweep net.dsl --vary batch=4,8 --rows all --csv -": "--rows all is about the table",
    "map net.dsl --hw nvdla --budget 4 --rows all --json -": "--rows all is about the table",
    "explain net.dsl --devices 4 --rows all --json -": "--rows all is about the table",
    "explain net.dsl --devices 4 -O 1": "-O does not apply with --devices",
    "explain net.dsl --devices 4 --objective energy": "--objective does not apply with --devices",
    "explain net.dsl --devices 4 --tolerance 0.1": "--tolerance does not apply with --devices",
    "explain net.dsl --devices 4 --only logits": "--only does not apply with --devices",
    "explain net.dsl --devices 4 --phase dw": "--phase does not apply with --devices",
    "explain net.dsl --devices 4 --svg r.svg": "--svg does not apply with --devices",
    "explain net.dsl --devices 4 --plot r.svg": "--plot does not apply with --devices",
    "explain net.dsl --devices 4 --mapping rs": "--mapping does not apply with --devices",
    "explain net.dsl --devices 4 --zero": "--zero changes no movement",
    "explain net.dsl logits --jobs 2": "--jobs is about the layers of a network",
    "explain net.dsl --devices 4 -j 2": "--jobs applies only",
    "explain net.dsl logits --top 2": "--top is about the layers of a network",
    "explain net.dsl --phase dw": "--phase is about one layer",
    "explain net.dsl --devices 4 --top 2": "--top applies only",
    "explain net.dsl logits --rows all": "--rows applies only to a plan",
    "explain net.dsl --op npu.contract": "SOURCE does not apply with --op",
    "explain --op npu.contract --pass tile": "--op and --pass exclude each other",
    "explain net.dsl --layer conv2d": "SOURCE does not apply with --layer",
    "explain --key clock_mhz --report ops.limit": "--key and --report exclude each other",
    "explain --pass tile --pattern tile": "--pass and --pattern exclude each other",
    "explain --pass tile --devices 4": "--devices does not apply with --pass",
    "explain --op npu.load --training": "does not apply with --op",
    "explain --op npu.load --load own.py": "--load does not apply with --op",
    "run net.dsl --inputs in.npz -p autodiff -O 1": "-O1 does not apply with -p",
    "run net.dsl --inputs in.npz --load own.py": "--load needs -p",
    "run net.dsl --inputs in.npz --tolerance 0.1": "nothing is scheduled",
    "run net.dsl --inputs in.npz --level train --tolerance 0.1": "nothing is scheduled",
    "check net.dsl -p autodiff -O 1": "-O1 does not apply with -p",
    "check net.dsl -p autodiff --tolerance 0.1": "the passes of -p have their own",
    "check net.dsl --load own.py": "--load needs -p",
    "sweep net.dsl --vary tolerance=0,0.1 -b roofline": "--tolerance does not apply",
    "sweep net.dsl --vary mapping=rs,kcp_ws -b cycle": "--mapping does not apply",
    "sweep net.dsl --vary pipeline=-O0,-O3": "unknown pass '-O0'",
    "sweep net.dsl --vary pipeline=-O0 -O 1": "pipelines replace the passes of -O1",
    "sweep net.dsl --vary batch=4,8 --restart": "--restart needs a file",
    "sweep net.dsl --vary devices=1,2 --load own.py": "--load needs -p",
    "map net.dsl --mode exact --set maestro.mode=parity": "--mode and --set maestro.mode",
    "map net.dsl --load own.py": "--load needs -p",
    "study thesis --figure 5.1": "--figure chooses what --plot draws",
    "study thesis --network gnmt --set roofline.compat=none": "the study sets this key for gnmt",
    "study igo --figure 5.1": "--figure is an option of",
    "study thesis --rewrite own=autodiff": "--rewrite is an option of",
    "study crosscheck --preset os --network net.dsl --set array.dataflow=ws": "the study varies this key itself",
    "study crosscheck --set array.rows=8 --set array.rows=16": "--set array.rows is given twice",
    "opt net.dsl --load own.py": "--load needs -p",
    "opt net.dsl --time-passes": "--time-passes needs -p",
    "opt net.dsl -p autodiff --print-between-passes": "--print-between-passes needs two passes",
    "opt net.dsl --verify-diagnostics --disable-verify": "--verify-diagnostics does not apply with --disable-verify",
    "opt net.dsl --no-implicit-module": "--no-implicit-module is for IR",
    "opt net.dsl -t riscv-asm --print-debuginfo": "--print-debuginfo does not apply with -t riscv-asm",
    "list hardware --load own.py": "--load does not apply",
}
"""Commands with an option that means nothing there, and what the error says."""

WARNED = {
    "compile net.dsl -b roofline -O 1": "-O1: its passes are left out",
    "compile net.dsl -b maestro -O 1": "-O1: its passes are left out",
    "sweep net.dsl --vary batch=4,8 -b roofline -O 1": "-O1: its passes are left out",
    "compile net.dsl --rows cores": "--rows cores has no effect",
    "compile net.dsl -b roofline --set array.rows=8": "array.rows has no effect",
    "compile net.dsl -b roofline -b maestro --set array.rows=8": "array.rows has no effect",
    "compile net.dsl --set network.levels=[{kind='ring',size=4,gb_per_s=8.0}]": "network.levels has no effect",
    "explain net.dsl logits --set maestro.num_pes=8": "maestro.num_pes has no effect",
    "run net.dsl --inputs in.npz --set array.rows=8": "array.rows has no effect",
    "run net.dsl --inputs in.npz --level npu --set maestro.num_pes=8": "maestro.num_pes has no effect",
    "check net.dsl --set maestro.num_pes=8": "maestro.num_pes has no effect",
    "reuse net.dsl --set array.rows=8": "array.rows has no effect",
    "map net.dsl --hw nvdla --budget 4 --set array.rows=8": "array.rows has no effect",
    "study crosscheck --preset os --network net.dsl --set maestro.num_pes=8": "maestro.num_pes has no effect",
    "opt net.dsl -p lower-to-npu,lower-to-npu": "pass 'lower-to-npu' has nothing to do: the program is lowered already",
    "run net.dsl --inputs in.npz -p lower-to-npu,interleave{what=siblings}": "no such contractions share an operand",
    "check net.dsl -p lower-to-npu,schedule,schedule": "pass 'schedule' has nothing to do",
    "sweep net.dsl --vary batch=4,8 -p lower-to-npu,schedule,schedule": "pass 'schedule' has nothing to do",
    "study thesis --network net.dsl --set array.rows=8": "array.rows has no effect",
    "sweep net.dsl --vary array.rows=8,16 -b roofline": "array.rows has no effect",
    "sweep net.dsl --vary batch=4,8 -b roofline --set roofline.bound=true": "roofline.bound has no effect",
    "sweep net.dsl --vary devices=1,2 -b roofline --set roofline.bound=true": "roofline.bound has no effect",
}
"""Commands with a key or an option that nothing reads there, and what the warning says."""

ON_GRAPHS = {
    "--loss": "--loss cross_entropy(label_smoothing=0.5)",
    "--optimizer": "--optimizer adam",
    "--freeze": "--freeze *.weight",
    "--result": "--result none",
}
"""The options that make a training step of a graph; that of results refuses a name that the graph has not."""
OF_GRAPHS = {
    "compile": f"compile {GRAPH} --json r.json",
    "explain": f"explain {GRAPH} tied",
    "run": f"run {GRAPH} --inputs graph.npz --outputs o.npz",
    "check": f"check {GRAPH}",
    "import": f"import {GRAPH}",
    "reuse": f"reuse {GRAPH}",
    "sweep": f"sweep {GRAPH} -b roofline --csv s.csv --vary x.0=4,8",
    "design": f"design {GRAPH} {DESIGN}",
    "map": f"map {GRAPH} --hw nvdla --budget 4",
    "flexibility": f"flexibility {GRAPH} --hw nvdla --budget 4",
    "opt": f"opt {GRAPH} -p autodiff",
}
OWN["import -D"] = Case("-D x.0=8")
OWN["import --output"] = Case("-o r.dsl")
OWN["explain --loss"] = Case("--loss mse", command=f"explain {GRAPH} mse")
CASES_OF_GRAPHS = {
    f"{verb} {option}": Case(given, command=command)
    for verb, command in OF_GRAPHS.items()
    for option, given in ON_GRAPHS.items()
    if f"{verb} {option}" not in OWN
}
OWN.update(CASES_OF_GRAPHS)
