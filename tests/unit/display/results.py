"""A result of each kind, as small as can be, and how it is compared with its CSV."""

from collections.abc import Callable
from io import StringIO
from typing import Any

from npuc.compiler import (
    check_source,
    compile_source,
    diff_reports,
    flexibility_source,
    optimize_source,
    plan_parallel,
    run_source,
    sweep_source,
    training_file,
)
from npuc.compiler.explore.design import result as design
from npuc.compiler.explore.mapping import result as mapping
from npuc.compiler.explore.network import result as network
from npuc.compiler.explore.training import result as training
from npuc.compiler.report import Comparison
from npuc.compiler.report.difference.as_csv import difference_csv
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware
from npuc.studies.base import Outcome
from tests.unit.mapping.test_verdict import result_of

NET = """network n(batch=2) {
  input x: f32[batch, 3]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 4), y)
  optimizer sgd(lr=0.1)
}
"""
LAYERS = [{"name": "a", "kind": "fc", "input": 8, "weight": 8, "output": 8}]
VARY: dict[str, Any] = {"memory.spm_kib": [16, 64, 1024], "batch": [2, 4]}


class Study(Outcome):
    """Results of a study."""

    def json(self) -> str:
        return "{}"

    def csv(self) -> str:
        return "network,gain\na,1.5\nb,2\n"

    def show(self, console: object) -> None:
        raise AssertionError("a notebook has no console")


def designs() -> design.DesignResult:
    """Two designs."""
    settings = design.DesignSettings(("time",), "eyeriss", 1.0, None, 10, 0, 2, "divisors")
    made = [
        design.DesignedMachine((4, pes), 64, 4096, 0.5, 1000, 2.5, seconds, None, 0.5, 0.1, (), "1110")
        for pes, seconds in ((8, 1e-3), (16, None))
    ]
    given = design.GivenMachine("nvdla", 32, None, 2000, 5.0)
    return design.DesignResult("n", "n.dsl", settings, given, 10, 10.0, ((1, 2.0),), tuple(made))


def networks() -> network.NetworkResult:
    """Two splits of a network of two levels."""
    settings = network.NetworkSettings(100.0, None, "time", (), "serial", "none")
    levels = tuple(network.LevelChoice(kind, 4, (4,), 1e6, None) for kind in ("ring", "switch"))
    splits = tuple(network.SplitChoice(name, (60.0, 40.0), 1e-3, None, True) for name in ("given", "best"))
    return network.NetworkResult("n", "n.dsl", "hw", (4, 4), settings, True, 1.0, 1.0, levels, splits, 0.0, "lp")


MADE: dict[str, Callable[[], Any]] = {
    "Report": lambda: compile_source(NET, backend="cycle"),
    "roofline": lambda: compile_source(NET, backend="roofline"),
    "Comparison": lambda: Comparison(reports=compile_source(NET, backend=["cycle", "roofline"])),
    "OpRow": lambda: compile_source(NET, backend="cycle").ops[0],
    "Totals": lambda: compile_source(NET, backend="cycle").totals,
    "Parallel": lambda: plan_parallel(LAYERS, 4),
    "SweepPoints": lambda: sweep_source(NET, vary=VARY, backend="cycle"),
    "SweepResult": lambda: sweep_source(NET, vary=VARY, backend="cycle").collect(),
    "SweepPoint": lambda: next(sweep_source(NET, vary=VARY, backend="cycle")),
    "OptimizeResult": lambda: optimize_source(NET, vary=VARY, backend="cycle", goals=("time", "energy")),
    "OptimizedPoint": lambda: optimize_source(NET, vary=VARY, backend="cycle", goals=("time",)).front[0],
    "Flexibility": lambda: flexibility_source(NET, budget=2),
    "TrainingResult": lambda: training_file("samples:mlp", ["large-batch"]),
    "Run": lambda: run_source(NET, steps=3),
    "PassChecks": lambda: check_source(NET),
    "PassCheck": lambda: check_source(NET)[0],
    "SearchResult": lambda: result_of((300.0, 1000.0, True, True)),
    "DesignResult": designs,
    "NetworkResult": networks,
    "Outcome": Study,
    "Difference": lambda: diff_reports(*(compile_source(NET, backend=name) for name in ("cycle", "roofline"))),
    "Source": lambda: text_source(NET, "dsl", "net.dsl"),
    "Hardware": lambda: load_hardware("igo-large"),
}
CSV: dict[str, Callable[[Any], str]] = {
    "Difference": difference_csv,
    "Report": lambda result: result.to_csv(),
    "roofline": lambda result: result.to_csv(),
    "SweepResult": lambda result: result.to_csv(),
    "OptimizeResult": lambda result: result.to_csv(),
    "Flexibility": lambda result: result.to_csv(),
    "TrainingResult": training.to_csv,
    "SearchResult": mapping.to_csv,
    "DesignResult": design.to_csv,
    "NetworkResult": network.to_csv,
    "Outcome": lambda result: result.csv(),
}
"""Kinds of results with a table, and its CSV."""


def as_read(frame: Any) -> Any:
    """A table with the types that a reader of CSV gives: whole numbers with gaps are floats, truths objects."""
    found = frame.copy()
    for name in found.columns:
        kind = str(found[name].dtype)
        if kind == "Int64":
            found[name] = found[name].astype("float64")
        elif kind == "boolean":
            found[name] = found[name].astype("object").where(found[name].notna(), float("nan"))
    return found


def read(pandas: Any, text: str) -> Any:
    return pandas.read_csv(StringIO(text))
