"""
Plans that are made for a topology: of all plans of HyPar's two types, those whose exchanges take the least time on its
links.

HyPar counts bytes level by level, and so knows no topology. These plans are searched for all levels jointly, as by
`--parallel joint --plan-objective time`, but with work that takes no time, since HyPar's look at what moves alone, and
without cuts along a layer's output, which HyPar does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.sharding.cost.step_time import Times, key_of
from npuc.compiler.analysis.sharding.search.objectives import sequences_for_time
from npuc.compiler.analysis.sharding.search.planning import Goal, plan_network
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.precision import AS_WRITTEN, precision_passes
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.session import Session
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.train.signature import training_functions
from npuc.frontends.mlir import make_context
from npuc.frontends.source import open_source
from npuc.hardware.network import network_of
from npuc.studies.hypar.networks import HyparNetwork
from npuc.studies.hypar.platform import LEAST, Platform
from npuc.studies.hypar.settings import TREE, Topology
from npuc.studies.hypar.steps import BACKEND, AcceleratorStep, scored_step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.hardware import Hardware


def step_made_for(topology: Topology, network: HyparNetwork, devices: int, platform: Platform) -> AcceleratorStep:
    """The step of the plan that is made for a topology. Raises `NpucError`s but for a network without a program."""
    source, machine = open_source(network.source), platform.machine_of(TREE, devices)
    options = options_of({"hardware": machine.values, "precision": AS_WRITTEN, "tolerance": LEAST})
    module = read_program(source, options, texts_of(source))
    try:
        _plan(module, platform.machine_of(topology, devices), devices)
        session = Session(source, options, get_backend(BACKEND), machine, texts_of(source))
        lower_program(module, session)
    except CapacityError as e:
        return AcceleratorStep(0, {}, e.message)
    return scored_step(module, devices, platform)


def _plan(module: ModuleOp, machine: Hardware, devices: int) -> None:
    """Share a program among accelerators, in place, by the plan of the least seconds between them."""
    context = make_context()
    for step in precision_passes(module, [], machine.get("precision", str), None, []):
        step.apply(context, module)
    search = ParallelizePass("joint", devices, "physical", "time")
    levels, width = network_of(machine, backend=BACKEND).levels, machine.get("memory.element_bytes", int)
    for func in training_functions(module):
        graph, edges = search.graph_to_plan(func)
        labels = sequences_for_time(graph, search.rule, len(search.sizes))
        work = tuple({key_of(sequence): 0.0 for sequence in own} for own in labels)
        goal = Goal("time", Times(levels, width, work), outputs=False)
        planned = plan_network(graph, edges, "joint", "physical", search.sizes, goal)
        partition_spmd(func, graph, edges, planned.sequences, Mesh(search.sizes))
