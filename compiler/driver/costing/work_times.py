"""
The time of a step's work on one of many devices, for plans that minimise time.

Where a backend costs each operation by itself, one program has one of each kind of work in it (`unit_times.py`). Other
backends cost whole steps: in the first every group has the first of its partition types, in the next the second, and so
on; a few programs cover all groups under all of their types. The layers of these programs are named by group numbers,
so that each row of the report belongs to one group. Both give the same seconds where a backend costs each operation by
itself, and the second is an estimate where it keeps tensors on the chip between operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.cost.step_time import TIMES, Times, key_of, times_attr
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.search.objectives import fastest, is_solved_exactly, sequences_for_time
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import tell
from npuc.compiler.driver.costing.needed_units import Seconds, needed_seconds
from npuc.compiler.driver.costing.unit_times import CountedUnits, Rows, UnitTimes
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.passes import run_pipeline, write_pipeline
from npuc.compiler.driver.precision import AS_WRITTEN
from npuc.compiler.driver.session import Session
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.autodiff.undo import undo_autodiff
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.compiler.transforms.parallelize.unit_program import name_of_unit
from npuc.dialects.copies import copied
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.signature import arguments_of, is_differentiated, training_functions
from npuc.frontends.mlir import make_context
from npuc.hardware import Hardware
from npuc.hardware.network import network_of

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from npuc.compiler.report import Report

CAPACITY = "dram.capacity_mib"
AUTODIFF = "autodiff"
# Interleaved work is paired within a layer, and in programs of whole steps all steps in time of a weight are one layer:
# there the two differ a little, and neither is what the program of the plan takes.
BY_UNITS = {AUTODIFF, "lower-to-npu", "schedule", "interleave", "rearrange"}
LOWER = "lower-to-npu"
Scorer = Callable[[ModuleOp, Session], "Report"]
"""Lowers a program in place with the options of a session, and costs it."""


def stamp_times(module: ModuleOp, session: Session, passes: Sequence[ModulePass], scorer: Scorer) -> None:
    """
    Write what work and messages take into the functions of `module`, if one of the passes will plan for time.

    Raises `UsageError` where the machine has no network or the backend has no times.
    """
    found = [(n, p) for n, p in enumerate(passes) if isinstance(p, ParallelizePass) and p.objective == "time"]
    if not found:
        return
    place, plan = found[0]
    mapping = session.options.mapping
    if mapping is not None and is_mapping_file(mapping):
        raise UsageError(
            f"--mapping {mapping} maps layers by name, and planning for time renames them",
            hint="name a dataflow (npuc list mappings), or plan for bytes: --plan-objective bytes",
        )
    measure = Measure(session, plan, passes[place + 1 :], scorer)
    before = copied(module)
    run_pipeline(before, passes[:place], make_context(), session.sources, told_of=())
    for number, func in enumerate(training_functions(module)):
        func.attributes[TIMES] = times_attr(measure.times(before, number))


def _name_by_groups(func: FuncOp, graph: PlanGraph) -> None:
    """Name the layer of each operation by the number of its layer group."""
    both = zip(graph.program.tasks, graph.group_of, strict=True)
    ops = [op for op in func.body.block.ops if not isinstance(op, ReturnOp)]
    for op, group in zip(ops, [group for task, group in both if not task.reshard_point], strict=True):
        op.attributes["layer"] = StringAttr("" if group is None else str(group))


def bounded_passes(passes: Sequence[ModulePass]) -> int | None:
    """
    How many passes lower a program to where bounds of its work hold whatever the others make of it: these give
    contractions schedules, or let the gradients of one product run together. None where others do more.
    """
    names = [step.name for step in passes]
    if LOWER not in names or names[-1] != "schedule":
        return None
    bounded = names.index(LOWER) + 1
    merge = [step for step in passes[bounded:] if isinstance(step, InterleavePass)]
    known = set(names[bounded:]) <= {"interleave", "rearrange", "schedule"}
    return bounded if known and all(step.what == "gradients" for step in merge) else None


def is_mixed(func: FuncOp) -> bool:
    """Whether values are cast, so that gradients of parameters may have other types than what reads them."""
    return any(isinstance(op, CastOp) for op in func.walk())


def seconds_of_rows(report: Report) -> Rows:
    """The seconds of each row by its layer; what a backend does not model counts for nothing, as in its totals."""
    found: dict[str, list[float]] = {}
    for row in report.ops:
        found.setdefault(row.name, []).append(row.repeat * (row.seconds or 0.0))
    return found


class Measure:
    """Costs the work of plans on a backend, by units (`by_units`) or in programs of whole steps."""

    def __init__(self, session: Session, plan: ParallelizePass, after: Sequence[ModulePass], scorer: Scorer):
        self.model = session.model
        self.network = network_of(session.machine, backend=session.model.name)
        # programs that are only costed may be larger than a device
        values = session.machine.values
        values = {key: value for key, value in values.items() if key != CAPACITY}
        self.machine = Hardware(values, session.machine.reads)
        self.plan, self.scorer = plan, scorer
        self.session = session.costing(write_pipeline(after), self.machine, precision=AS_WRITTEN)
        self.derives = any(step.name == AUTODIFF for step in after)
        self.by_units = session.model.costs_alone(self.machine) and {step.name for step in after} <= BY_UNITS
        bounded = bounded_passes(after)
        self.lowering, scheduling = after[:bounded], after[bounded or 0 :]
        self.scheduling = session.costing(write_pipeline(scheduling), self.machine, precision=AS_WRITTEN)
        self.together = any(isinstance(step, InterleavePass) for step in scheduling)
        # What a plan keeps within a device's memory is not the shortest step of all.
        self.only_needed = bounded is not None and plan.memory_mib is None

    def times(self, module: ModuleOp, number: int) -> Times:
        """What the work of one of a module's functions takes."""
        base = copied(module)
        func = list(training_functions(base))[number]
        for other in list(training_functions(base)):
            if other is not func:
                other.detach()
        whole = is_differentiated(func)
        if whole:
            undo_autodiff(func, self.plan.name)
        mesh = Mesh(self.plan.sizes)
        graph, edges = self.plan.graph_to_plan(func)
        labels = sequences_for_time(graph, self.plan.rule, len(mesh.sizes))
        wanted = [list({key_of(sequence): sequence for sequence in own}.values()) for own in labels]
        if self.by_units and not is_mixed(func):
            found = UnitTimes(func, graph, edges, mesh, trains=whole or self.derives)
            if self.only_needed and is_solved_exactly(labels, physical_terms(edges)):
                return self._needed(found, found.counted(wanted), graph, edges)
            return self._of(*found.seconds(wanted, self._rows))
        _name_by_groups(func, graph)
        placements = {number: placement.group for number, placement in edges.placements.items()}
        owners = {argument.name: placements.get(argument.index) for argument in arguments_of(func)}
        rounds = max(map(len, wanted), default=0)
        work: list[dict[str, float]] = [{} for _ in graph.groups]
        rest = 0.0
        for turn in range(rounds):
            tell(f"planning for time: {self.model.name} scores the work of plan {turn + 1:,} of {rounds:,}")
            sequences: list[TypeSequence] = [own[min(turn, len(own) - 1)] for own in wanted]
            step = copied(base)
            (own_func,) = training_functions(step)
            partition_spmd(own_func, graph, edges, sequences, mesh)
            if whole:
                differentiate(own_func)
            seconds = self._seconds(step, owners)
            rest = fsum(seconds.get(None, ()))
            for group, sequence in enumerate(sequences):
                work[group][key_of(sequence)] = fsum(seconds.get(group, ()))
        return self._of(tuple(work), rest)

    def _needed(self, units: UnitTimes, counted: CountedUnits, graph: PlanGraph, edges: PlanEdges) -> Times:
        """The seconds of units as far as the shortest step depends on them."""
        program = units.program.module
        run_pipeline(program, self.lowering, make_context(), self.session.sources, told_of=())
        least = self.model.least_seconds(program, self.machine, together=self.together)
        if not least:
            return self._of(*counted.seconds(self._rows(program, self.scheduling)))
        functions = {func.sym_name.data: func for func in program.ops if isinstance(func, FuncOp)}

        def costed(some: Collection[int]) -> Rows:
            own = [copied(functions[name]) for name in map(name_of_unit, some)]
            return seconds_of_rows(self.scorer(ModuleOp(own, dict(program.attributes)), self.scheduling))

        def shortest(seconds: Seconds) -> Sequence[TypeSequence]:
            return fastest(graph, edges, self.plan.rule, self.plan.sizes, self._of(*seconds)).sequences

        return self._of(*needed_seconds(counted, least, costed, shortest))

    def _of(self, work: tuple[dict[str, float], ...], rest: float) -> Times:
        return Times(self.network.levels, self.machine.get("memory.element_bytes", int), work, rest)

    def _rows(self, module: ModuleOp, session: Session | None = None) -> Rows:
        """The seconds of each row of a program's work by its layer."""
        report = self.scorer(module, session or self.session)
        if all(row.seconds is None for row in report.ops):
            raise UsageError(f"--plan-objective time: the backend '{self.model.name}' models no time for this program")
        return seconds_of_rows(report)

    def _seconds(self, module: ModuleOp, owners: Mapping[str, int | None]) -> dict[int | None, list[float]]:
        """Seconds of a program's work by layer group; those of an update are its parameter's."""
        found: dict[int | None, list[float]] = {}
        for name, seconds in self._rows(module).items():
            group = int(name) if name.isdecimal() else owners.get(name)
            found.setdefault(group, []).extend(seconds)
        return found
