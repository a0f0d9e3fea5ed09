"""
Explains a plan of unequal shares for a network on heterogeneous devices.

    report = explain_heterogeneous(open_source("samples:vgg_a"), {"devices": 4, "parallel": "accpar"}, hardware)

The search is `compiler/analysis/sharding/heterogeneous/plan_search.py`; this module adds the program and names.
"""

from __future__ import annotations

from npuc.compiler.analysis.sharding.heterogeneous.fleet import fleet_of
from npuc.compiler.analysis.sharding.heterogeneous.plan_search import plan_heterogeneous
from npuc.compiler.analysis.sharding.heterogeneous.workload import workload_of_network
from npuc.compiler.analysis.sharding.search.planning import unique_names
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.kinds import real
from npuc.compiler.core.options import CompileKeywords, Options
from npuc.compiler.distributed.heterogeneous import OPS_PER_MAC, check_heterogeneous, heterogeneous_plan
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.passes import run_pipeline
from npuc.compiler.driver.precision import precision_passes
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.score import network_name, version
from npuc.compiler.explain.plan import Choose, forward_function
from npuc.compiler.report.heterogeneous import DeviceGroup, HeterogeneousReport
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source
from npuc.hardware import Hardware
from npuc.hardware.network import groups_of


def explain_heterogeneous(
    source: Source, keywords: CompileKeywords, machine: Hardware, choose: Choose | None = None
) -> HeterogeneousReport:
    """
    The plan of a network for `devices` in the groups of a machine: all layers, or that one. Raises `NpucError`s.

    Elements have the bytes of their types, or as many as the machine says of floats (`memory.element_bytes`), and a
    multiply-accumulate as many operations (`compute.ops_per_mac`).
    """
    with without_cycle_collection():
        return _explain_heterogeneous(source, options_of(keywords), machine, choose)


def _explain_heterogeneous(
    source: Source, options: Options, machine: Hardware, choose: Choose | None
) -> HeterogeneousReport:
    if (mesh := options.mesh) is not None:
        raise UsageError(
            f"--mesh {mesh}: found network.groups, expected --devices N: pairs of different devices have two sides",
            hint="leave out --mesh, or network.groups",
        )
    check_heterogeneous(options.strategy, options.convention)
    rows = machine.require("network.groups", backend="explain")
    assert isinstance(rows, list), "network.groups is read as a list"
    fleet = fleet_of(groups_of(rows), options.devices)
    sources = texts_of(source)
    module = read_program(source, options, sources)
    types = precision_passes(module, [], machine.get("precision", str), options.precision, [])
    run_pipeline(module, types, make_context(), sources, told_of=())
    graph, edges = plan_graph_for(forward_function(module, sources))
    step = workload_of_network(
        graph,
        edges,
        machine.get("memory.element_bytes", int),
        machine.get("compute.ops_per_mac", int) or OPS_PER_MAC,
    )
    names = unique_names([group.name for group in graph.groups])
    weighted = [number for number, group in enumerate(graph.groups) if group.kind is not None]
    shown = weighted if choose is None else [choose(names)]
    found = plan_heterogeneous(step, fleet)
    return HeterogeneousReport(
        npuc=version(),
        source=source.shown,
        network=network_name(module),
        defines=dict(options.defines),
        groups=[
            DeviceGroup(devices=fleet.each, tflops=real(row["tflops"]), gb_per_s=real(row["gb_per_s"])) for row in rows
        ],
        layers=[names[number] for number in shown],
        parallel=heterogeneous_plan(step, names, fleet, found.best),
        equal_seconds=found.equal.step_seconds,
        data_parallel_seconds=found.data_parallel.step_seconds,
    )
