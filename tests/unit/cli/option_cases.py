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
    "--cache-dir": "where results are kept, which are the same ones",
    "--no-cache": "results that are not kept, and are the same ones",
    "cache --clear": "what a store has, of which the tests of stores look",
    "--jobs": "the number of processes that compute the same rows",
    "--dask": "where the same rows are computed",
    "run -O": "passes keep what a program computes",
    "run --before": "passes keep what a program computes",
    "run --after": "passes keep what a program computes",
    "run --tolerance": "passes keep what a program computes",
    "run --level": "each level computes the same",
    "run --objective": "passes keep what a program computes",
    "study --quiet": "progress, which is for terminals, and warnings, of which the small studies have none",
    "reproduce --quiet": "progress, which is for terminals, and warnings, of which the small studies have none",
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
    "check --with",
    "run --dataset",
    "training --dataset",
    *(
        f"{verb} --result"
        for verb in (
            "compile",
            "diff",
            "explain",
            "run",
            "check",
            "import",
            "reuse",
            "sweep",
            "optimize",
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

CLUSTER = "--devices 4 --parallel dp --hw hypar16"

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
    "--collectives": Case("--collectives themis-scf", CLUSTER),
    "--chunks": Case("--chunks 4", CLUSTER),
    "--bucket-mib": Case("--bucket-mib 1", CLUSTER),
    "--recompute": Case("--recompute full"),
    "--quantize": Case("--quantize int8"),
    "--density": Case("--density weights=0.5"),
    "--fuse-layers": Case("--fuse-layers dp"),
    "--method": Case("--method gp"),
    "--json": Case("--json r.json"),
    "--csv": Case("--csv r.csv"),
    "--plot": Case("--plot r.svg"),
    "--plot-as": Case("--plot-as column", "--plot r.svg"),
    "--table": Case("--table r.tex"),
    "--html": Case("--html r.html"),
    "--output": Case("-o r.mlir"),
    "--quiet": Case("-q"),
    "--backend": Case("-b roofline"),
    "--verbose": Case("-v"),
    "--seed": Case("--seed 1"),
}
"""Cases of options that several verbs take, by the option as it is written first."""

SPLIT = "--hw cluster.toml --total-gb-per-s 30"
DEEP = {
    "compile": "compile deep.dsl",
    "diff": "diff deep.dsl net.dsl",
    "explain": "explain deep.dsl #3",
    "run": "run deep.dsl --inputs in.npz --statistics",
    "check": "check deep.dsl",
    "sweep": "sweep deep.dsl --csv s.csv --vary batch=4,8",
    "optimize": "optimize deep.dsl --csv s.csv --vary batch=4,8 --goals time,memory",
    "map": "map deep.dsl --hw nvdla --budget 4",
    "design": f"design deep.dsl {DESIGN}",
    "training": "training deep.dsl --phases phases.toml",
    "flexibility": "flexibility deep.dsl --hw nvdla --budget 4",
}
"""Commands on a network of which something can be run again."""
SEARCHED_STUDY = "study digamma --preset inference --network net.dsl --evaluations 20"
SHARED_STEP = "--devices 4 --statistics"
WORDS = {
    "compile": "compile words.dsl",
    "diff": "diff words.dsl net.dsl",
    "explain": "explain words.dsl",
    "check": "check words.dsl --statistics",
    "run": "run words.dsl --inputs words.npz --statistics",
    "sweep": "sweep words.dsl --csv s.csv --vary batch=4,8",
    "optimize": "optimize words.dsl --csv s.csv --vary batch=4,8 --goals time,memory",
    "map": "map words.dsl --hw nvdla --budget 4 --statistics",
    "design": f"design words.dsl {DESIGN} --statistics",
    "flexibility": "flexibility words.dsl --hw nvdla --budget 4 --statistics",
    "network": f"network words.dsl {SPLIT}",
    "training": "training words.dsl --phases phases.toml",
}
"""Commands on a network with a table."""

BASE = {
    "compile": "compile net.dsl",
    "diff": "diff net.dsl more.dsl",
    "explain": "explain net.dsl h.linear",
    "run": "run net.dsl --inputs in.npz",
    "check": "check net.dsl",
    "cache": "cache",
    "import": f"import {GRAPH}",
    "fmt": "fmt wide.dsl",
    "lint": "lint odd.dsl",
    "reuse": "reuse net.dsl",
    "sweep": "sweep net.dsl --csv s.csv --vary batch=4,8",
    "optimize": "optimize net.dsl --csv s.csv --vary batch=4,8 --goals time,memory",
    "plot": "plot sweep.json",
    "map": "map net.dsl --hw nvdla --budget 4",
    "design": f"design net.dsl {DESIGN}",
    "flexibility": "flexibility net.dsl --hw nvdla --budget 4",
    "network": f"network net.dsl {SPLIT} --devices 4",
    "training": "training net.dsl --phases phases.toml",
    "study": "study crosscheck --preset os --network net.dsl",
    "reproduce": "reproduce themis made",
    "machine": "machine gemmini",
    "list": "list passes",
    "new": "new pass own-pass",
    "opt": "opt net.dsl",
}
