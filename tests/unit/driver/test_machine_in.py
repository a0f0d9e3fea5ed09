"""The machine that a module names is the one that it was compiled for, as far as schedules depend on it."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.registry import get_backend
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.machine import machine_in, stamp_target
from npuc.compiler.driver.watch.cost_trace import report_of
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware, machine_target

TABLE = "M,N,K\n64,32,48\n"


@pytest.mark.parametrize("preset", ["igo-small", "tpu-v1", "eyeriss", "nvdla", "scalesim"])
def test_facts_are_read_back(preset: str) -> None:
    machine, module = load_hardware(preset), ModuleOp([])
    stamp_target(module, machine, "cycle")
    found = machine_in(module)
    assert found is not None
    assert machine_target(found, backend="cycle") == machine_target(machine, backend="cycle")


def test_a_module_without_a_target_names_none() -> None:
    assert machine_in(ModuleOp([])) is None


def test_the_program_costs_the_same_there() -> None:
    done = compile_program(text_source(TABLE, "csv", "t.csv"), ["cycle"], {"hardware": "igo-small"})
    machine = machine_in(done.modules[0])
    assert machine is not None
    report = report_of(done.modules[0], get_backend("cycle"), machine)
    assert report is not None
    assert report.totals == done.reports[0].totals
