"""
For every option of every verb a command on which it shows: `test_every_option` runs it with the option and without.

A new option fails there until it has a case here, or stands in `EXEMPT` with the reason.
"""

from typing import NamedTuple

from tests.unit.cli.option_files import GRAPH

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
    "training --dataset",
    *(
        f"{verb} --result"
        for verb in (
            "compile",
            "explain",
            "run",
            "check",
            "import",
            "reuse",
            "sweep",
            "map",
            "design",
            "network",
            "training",
            "opt",
        )
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

_CLUSTER = "--devices 4 --parallel dp --hw hypar16"

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
    "--tables": Case("--tables rows", "--devices 4"),
    "--collectives": Case("--collectives themis-scf", _CLUSTER),
    "--chunks": Case("--chunks 4", _CLUSTER),
    "--bucket-mib": Case("--bucket-mib 1", _CLUSTER),
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

SPLIT = "--hw cluster.toml --total-gb-per-s 30"
_DEEP = {
    "compile": "compile deep.dsl",
    "explain": "explain deep.dsl #3",
    "run": "run deep.dsl --inputs in.npz --statistics",
    "check": "check deep.dsl",
    "sweep": "sweep deep.dsl --csv s.csv --vary batch=4,8",
    "map": "map deep.dsl --hw nvdla --budget 4",
    "design": f"design deep.dsl {DESIGN}",
    "training": "training deep.dsl --phases phases.toml",
    "flexibility": "flexibility deep.dsl --hw nvdla --budget 4",
}
"""Commands on a network of which something can be run again."""
SEARCHED_STUDY = "study digamma --preset inference --network net.dsl --evaluations 20"
_SHARED_STEP = "--devices 4 --statistics"
_WORDS = {
    "compile": "compile words.dsl",
    "explain": "explain words.dsl",
    "check": "check words.dsl --statistics",
    "run": "run words.dsl --inputs words.npz --statistics",
    "sweep": "sweep words.dsl --csv s.csv --vary batch=4,8",
    "map": "map words.dsl --hw nvdla --budget 4 --statistics",
    "design": f"design words.dsl {DESIGN} --statistics",
    "flexibility": "flexibility words.dsl --hw nvdla --budget 4 --statistics",
    "network": f"network words.dsl {SPLIT}",
    "training": "training words.dsl --phases phases.toml",
}
"""Commands on a network with a table."""

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
    "network": f"network net.dsl {SPLIT} --devices 4",
    "training": "training net.dsl --phases phases.toml",
    "study": "study crosscheck --preset os --network net.dsl",
    "machine": "machine gemmini",
    "list": "list passes",
    "new": "new pass own-pass",
    "opt": "opt net.dsl",
}

OWN = {
    "network --hw": Case("--hw hypar16", "", "network net.dsl --devices 4 --total-gb-per-s 30"),
    "network --devices": Case("--devices 4", "", f"network net.dsl {SPLIT}"),
    "network --mesh": Case("--mesh 2x2", "", f"network net.dsl {SPLIT}"),
    "network --total-gb-per-s": Case(
        "--total-gb-per-s 40", "", "network net.dsl --devices 4 --hw cluster.toml --budget-usd 9000"
    ),
    "network --budget-usd": Case("--budget-usd 1000"),
    "network --constraint": Case("--constraint b1>=10"),
    "network --objective": Case("--objective time-cost"),
    "network --stages": Case("--stages pipelined"),
    "network --overlap": Case("--overlap gradients"),
    "network --shapes": Case("--shapes"),
    "network --output": Case("-o r.toml"),
    "network --inference": Case("--inference", "--parallel mp"),
    "network --parallel": Case("--parallel mp"),
    "network --zero": Case("--zero"),
    "network --convention": Case("--convention physical"),
    "network --plan-objective": Case("--plan-objective memory", "--parallel joint"),
    "network --exact-plan": Case("--exact-plan", "--parallel joint"),
    "network --quiet": Case("-q", "--set maestro.num_pes=2"),
    **{f"{verb} --recompute": Case("--recompute full", command=command) for verb, command in _DEEP.items()},
    **{f"{verb} --tables": Case("--tables rows", "--devices 4", command) for verb, command in _WORDS.items()},
    "run --debug-only": Case("--debug-only lower-to-npu,lower-vector", "-O 0"),
    "run --devices": Case("--devices 4", "--statistics"),
    "run --parallel": Case("--parallel mp", _SHARED_STEP),
    "run --convention": Case("--convention physical", _SHARED_STEP),
    "run --plan-objective": Case("--plan-objective memory", f"{_SHARED_STEP} --parallel joint"),
    "run --exact-plan": Case("--exact-plan", f"{_SHARED_STEP} --parallel joint"),
    "run --zero": Case("--zero", _SHARED_STEP),
    "run --collectives": Case("--collectives themis-scf", f"{_CLUSTER} --statistics"),
    "run --chunks": Case("--chunks 4", f"{_CLUSTER} --statistics"),
    "run --bucket-mib": Case("--bucket-mib 1", f"{_CLUSTER} --statistics"),
    "opt --collectives": Case("--collectives themis-scf", f"-O0 {_CLUSTER}"),
    "opt --chunks": Case("--chunks 4", f"-O0 {_CLUSTER}"),
    "opt --bucket-mib": Case("--bucket-mib 1", f"-O0 {_CLUSTER}"),
    "explain --collective": Case("--collective logits", f"{_CLUSTER} -b cycle", "explain net.dsl"),
    "explain --collectives": Case("--collectives themis-scf", f"{_CLUSTER} -b cycle", "explain net.dsl"),
    "explain --chunks": Case("--chunks 4", f"{_CLUSTER} -b cycle", "explain net.dsl"),
    "explain --bucket-mib": Case("--bucket-mib 1", f"{_CLUSTER} -b cycle", "explain net.dsl"),
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
    "design --constraints": Case("--constraints nvdla"),
    "design --class": Case("--class 0000,1111"),
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
    "compile --emit": Case("--emit chakra", "-o r", "compile net.dsl --devices 2"),
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
    "training --precision": Case("--precision f32", command="training net.dsl --phases phases.toml --hw tpu-v4"),
    "training --tolerance": Case("--tolerance 0.9", "--set memory.spm_kib=0.25"),
    "training --bucket-mib": Case(
        "--bucket-mib 1", f"{_CLUSTER} --set network.levels=[{{kind='ring',size=4,gb_per_s=50,latency_ns=1000}}]"
    ),
    "training --quiet": Case("-q", "--set maestro.num_pes=2"),
    "training --run": Case("--run"),
    "training --until": Case("--until loss<9", "--run --seeds 1"),
    "training --seeds": Case("--seeds 2", "--run"),
    "training --seed": Case("--seed 1", "--run --seeds 1"),
    "training --dataset": Case("--dataset digits", "--run"),
    "training --phases": Case("--phases low.toml"),
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
    "flexibility --constraints": Case("--constraints nvdla"),
    "flexibility --samples": Case("--samples 50", "--set flexibility.tiles=hard"),
    "flexibility --rows": Case("--rows all", command="flexibility many.dsl --hw nvdla --budget 1"),
    "study --preset": Case("--preset ws", command="study crosscheck --network net.dsl"),
    "study --network": Case("--network net.dsl", "--preset os -D hidden=16", "study crosscheck"),
    "study --hw": Case("--hw igo-small", command="study hypar --network net.dsl"),
    "study --area-mm2": Case("--area-mm2 0.01", "", SEARCHED_STUDY),
    "study --evaluations": Case(
        "--evaluations 21", "", "study digamma --preset inference --network net.dsl --area-mm2 0.1"
    ),
    "study --total-gb-per-s": Case("--total-gb-per-s 50", "--preset programs --network net.dsl", "study libra"),
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
    "training": f"training {GRAPH} --phases phases.toml",
    "network": f"network {GRAPH} {SPLIT} --mesh 2 --parallel joint --json r.json",
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
