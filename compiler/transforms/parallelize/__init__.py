"""
The pass `parallelize`: from the forward function of a network to the program of one of many devices.

    func.func @net(%x: tensor<8x8>, …)                      func.func @net(%x: tensor<4x8> {dist.sharding = …}, …)
      %0 = train.matmul %x, %w0 {layer = "fc1"}    ->         %1 = train.matmul %x, %0 {layer = "fc1"}
      %1 = train.matmul %0, %w1 {layer = "fc2"}               %2 = dist.all_to_all %1 split 1 concat 0 over [0]
                                                              %3 = train.matmul %2, %w1 {layer = "fc2"}
                                                              %4 = dist.all_reduce %3 over [0]

A strategy chooses for each layer and each level of a tree of devices what the two halves split: the batch (dp, type I),
the layer's input channels (mp, type II) or its output channels (type III, also mp under `physical`). Everything else
follows: which parts of each tensor a device has, and what moves where. `autodiff` derives the movement of the backward
pass (again, if it has run). What the pass chose stands on the function, as `dist.plan`.

Patterns rewrite batch normalisations, dropouts and slices first, so that the batch can be shared. What a device has of
each value follows from the whole plan: for that the function is written anew, not by patterns.
"""

from dataclasses import dataclass, replace
from math import inf, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.sharding.cost.step_time import TIMES, Times, key_of, times_from
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges, edges_of
from npuc.compiler.analysis.sharding.graph.layer_groups import (
    PlanGraph,
    plan_graph_of,
    with_tables_shared,
)
from npuc.compiler.analysis.sharding.graph.tasks import forward_program
from npuc.compiler.analysis.sharding.reference.strategies import Rule, has_cuts
from npuc.compiler.analysis.sharding.search.objectives import sequences_for_time
from npuc.compiler.analysis.sharding.search.planning import Goal, Planned, bytes_of, terms_of
from npuc.compiler.core.options import (
    CONVENTIONS,
    PLAN_OBJECTIVES,
    STRATEGIES,
    TABLE_PLACEMENTS,
    Convention,
    PlanObjective,
    Strategy,
    is_joint,
    mesh_sizes,
)
from npuc.compiler.core.units import MIB
from npuc.compiler.core.verify import refused, require_train_level
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.autodiff.undo import undo_autodiff
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.parallelize.divisible import divisible_types
from npuc.compiler.transforms.parallelize.memory_limit import Request, plan_within_memory, room_of
from npuc.compiler.transforms.parallelize.merge_slices import MergeSlices
from npuc.compiler.transforms.parallelize.place_rows import drop_whole_lists, place_rows, shareable
from npuc.compiler.transforms.parallelize.plan_attribute import plan_attr
from npuc.compiler.transforms.parallelize.split_norms import PlaceDropout, SplitBatchNorm
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.compiler.transforms.parallelize.stack_tables import place_tables
from npuc.compiler.transforms.unused import remark_unused
from npuc.dialects.copies import copied
from npuc.dialects.distributed import AllGatherOp
from npuc.dialects.distributed.base import PLAN
from npuc.dialects.distributed.mesh import Mesh, mesh_of
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, is_differentiated, training_functions


@dataclass(frozen=True)
class ParallelizePass(ModulePass):
    """
    Share the work of a network among `devices`, a power of two, or those of a `mesh` (`"4x3"`, outermost level first).

    `strategy` is dp, mp, owt, hypar, joint, accpar or accpar-joint; `convention` (table2, published, physical) is what
    it minimises. A joint strategy has other `objective`s, too: memory, and time, by what the function says of its work
    (`dist.times`). With `zero` parameters that all devices read, their gradients and optimizer states are kept in parts
    (ZeRO). With `tables=whole` each device has some of the embedding tables, with `tables=rows` all embedding tables
    are cut by rows, whatever the strategy; without it strategies that choose cut those for which less moves then under
    `physical`. With `memory_mib` a joint strategy keeps parameters, gradients, states and activations of a device
    within that. The joint strategies take only types with divisible cuts. `exact` has an integer program go on where a
    plan is not proved to be the best.
    """

    name = "parallelize"
    EXAMPLE: ClassVar = "parallelize{strategy=dp devices=2}"

    strategy: str = "hypar"
    """dp, mp, owt, hypar, joint, accpar or accpar-joint."""
    devices: int | None = None
    """How many devices, a power of two."""
    convention: str = "table2"
    """What counts as movement: table2, published or physical."""
    objective: str = "bytes"
    """What a joint strategy minimises: bytes, memory or time."""
    zero: bool = False
    """Whether parameters, gradients and states are kept in parts (ZeRO)."""
    memory_mib: int | float | None = None
    """The most memory of a device, for a joint strategy."""
    tables: str | None = None
    """How embedding tables are placed: rows, whole, or as the strategy does."""
    mesh: str | None = None
    """The devices by level, outermost first: `4x3`."""
    exact: bool = False
    """Whether an integer program goes on where a plan is not proved to be the best."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is '{self.strategy}', expected {', '.join(STRATEGIES)}")
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention is '{self.convention}', expected {', '.join(CONVENTIONS)}")
        if self.objective not in PLAN_OBJECTIVES:
            raise ValueError(f"objective is '{self.objective}', expected {', '.join(PLAN_OBJECTIVES)}")
        if self.tables not in (None, *TABLE_PLACEMENTS):
            raise ValueError(f"tables is '{self.tables}', expected {', '.join(TABLE_PLACEMENTS)}")
        if self.devices is not None and (self.devices < 2 or (self.mesh is None and self.devices & (self.devices - 1))):
            raise ValueError(f"devices is {self.devices}, expected a power of two, at least 2")
        if self.devices not in (None, prod(self.sizes)):
            raise ValueError(f"devices is {self.devices}, expected those of the mesh, {prod(self.sizes)}")
        if self.memory_mib is not None and not 0 < self.memory_mib < inf:
            raise ValueError(f"memory_mib is {self.memory_mib}, expected more than 0")
        self._check_together()

    def _check_together(self) -> None:
        """Raise `ValueError` for options that mean nothing beside the others."""
        if self.memory_mib is not None and not (is_joint(self.chosen_strategy) and self.objective != "memory"):
            which = f"strategy={self.strategy}" if self.objective != "memory" else "objective=memory"
            raise ValueError(f"memory_mib is {self.memory_mib}, which has no effect with {which}")
        if self.exact and self.rule.has_one_plan:
            raise ValueError(f"exact has no effect with strategy={self.strategy}, which has one plan")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        width = float_bytes_of(op)
        for func in training_functions(op):
            self._check(func)
            whole = is_differentiated(func)
            if whole:
                undo_autodiff(func, self.name)
            self._parallelize(func, width)
            if whole:
                differentiate(func)

    def _check(self, func: FuncOp) -> None:
        """Refuse what is lowered already, and what is a program of many devices."""
        require_train_level(func, self.name)
        mesh = mesh_of(func)
        if mesh is not None:
            found = f"found a program of {mesh.devices:,} devices, expected one of one: run it once"
            raise refused(func, found, self.name)

    def _parallelize(self, func: FuncOp, width: int | None) -> None:
        graph, edges, planned = self.plan(func, width)
        terms = terms_of(graph, edges, planned.convention)
        moved = bytes_of(graph, terms, planned.sequences, planned.sizes, width)
        partition_spmd(func, graph, edges, planned.sequences, Mesh(planned.sizes))
        drop_whole_lists(func)
        if not keeps_parts(func):
            norms = not updates_by_element(func)
            why = "the optimizer takes norms of whole parameters" if norms else "no parameter is read by all devices"
            remark_unused(self, ("zero",), why)
        func.attributes[PLAN] = plan_attr(graph, planned, moved)
        func.attributes.pop(TIMES, None)

    def plan(self, func: FuncOp, width: int | None) -> tuple[PlanGraph, PlanEdges, Planned]:
        """
        The plan for a forward function whose floats have `width` bytes (None: those of their types), and what it is a
        plan of.

        Statistics of a batch are computed in two steps from now on.
        """
        graph, edges, planned = self._planned(func, width)
        if not self._chooses_tables(func):
            return graph, edges, planned
        devices, other = prod(self.sizes), copied(func)
        place_rows(other, shareable(other, devices), devices)
        with_rows = self._planned(other, width)
        bounds = [own.bound for own in (planned, with_rows[2]) if own.bound is not None]
        if with_rows[2].total >= planned.total:
            return graph, edges, replace(planned, bound=min(bounds, default=None))
        place_rows(func, shareable(func, devices), devices)
        graph, edges, planned = with_rows
        return graph, edges, replace(planned, bound=min(bounds, default=None))

    def _chooses_tables(self, func: FuncOp) -> bool:
        """Whether tables by rows are tried, too: by a strategy with a choice, for what the program moves."""
        free = self.tables is None and not self.rule.has_one_plan and self.memory_mib is None
        charged = self.convention == "physical" and self._objective == "bytes"
        return free and charged and updates_by_element(func) and bool(shareable(func, prod(self.sizes)))

    def _planned(self, func: FuncOp, width: int | None) -> tuple[PlanGraph, PlanEdges, Planned]:
        """The plan for a function as it stands."""
        graph, edges = self.graph_to_plan(func)
        times = self._times(func, graph)
        limit = None if self.memory_mib is None else int(self.memory_mib * MIB)
        room = None if limit is None and self._objective != "memory" else room_of(func, limit or 0, width)
        goal = Goal(self._objective, times, room, self.exact)
        plan = Request(graph, edges, self.chosen_strategy, self._convention, self.sizes, goal)
        if room is None or self._objective == "memory":
            return graph, edges, plan.solve()
        return graph, edges, plan_within_memory(func, plan, room)

    def _times(self, func: FuncOp, graph: PlanGraph) -> Times | None:
        """What the function says of its work."""
        if self._objective != "time":
            return None
        try:
            times = times_from(func.attributes.get(TIMES))
        except ValueError as e:
            raise refused(func, str(e), self.name) from e
        if times is not None and len(times.work) != len(graph.groups):
            found = f"found {len(times.work):,} layer groups in {TIMES}, expected {len(graph.groups):,}"
            raise refused(func, found, self.name)
        if times is not None:
            self._check_known(func, graph, times)
        return times

    def _check_known(self, func: FuncOp, graph: PlanGraph, times: Times) -> None:
        """Raise `SourceError` if the work of a layer group is unknown under one of its types."""
        labels = sequences_for_time(graph, self.rule, len(self.sizes))
        for group, own, work in zip(graph.groups, labels, times.work, strict=True):
            unknown = sorted({key_of(sequence) for sequence in own} - set(work))
            if unknown:
                raise refused(func, f"{TIMES} has no seconds of '{group.name}' for {unknown[0]}", self.name)

    def graph_to_plan(self, func: FuncOp) -> tuple[PlanGraph, PlanEdges]:
        """
        `plan_graph_for` with the types that the strategy chooses from: a joint strategy takes only divisible ones,
        and so does each strategy that may split the channels of the input or the output.
        """
        devices = prod(self.sizes)
        if self.tables is not None:
            place_tables(func, self.tables, devices, self.name, by_element=updates_by_element(func))
        graph, edges = plan_graph_for(func, devices if self.zero else None)
        graph = graph if self.tables is None else with_tables_shared(graph)
        if is_joint(self.chosen_strategy):
            return divisible_types(func, graph, devices), edges
        cuts = has_cuts(self.strategy, self.convention)
        return divisible_types(func, graph, devices, ("II", "III")) if cuts else graph, edges

    @property
    def sizes(self) -> tuple[int, ...]:
        """The levels of the mesh: halves, where only the number of devices is said (2, if nothing is)."""
        if self.mesh is not None:
            return mesh_sizes(self.mesh)
        return (2,) * ((self.devices or 2).bit_length() - 1)

    @property
    def _objective(self) -> PlanObjective:
        return next(known for known in PLAN_OBJECTIVES if known == self.objective)

    @property
    def chosen_strategy(self) -> Strategy:
        """The strategy by its type."""
        return next(known for known in STRATEGIES if known == self.strategy)

    @property
    def rule(self) -> Rule:
        """What is searched."""
        return Goal(self._objective).rule(self.chosen_strategy, self._convention)

    @property
    def _convention(self) -> Convention:
        return next(known for known in CONVENTIONS if known == self.convention)


def keeps_parts(func: FuncOp) -> bool:
    """Whether a shared function has parameters in parts that its devices gather to read them, themselves or cast."""
    block = func.body.block
    params: set[SSAValue] = {
        block.args[argument.index] for argument in arguments_of(func) if argument.kind is ArgumentKind.PARAM
    }
    for op in block.ops:
        if isinstance(op, CastOp) and op.x in params:
            params.add(op.out)
        if isinstance(op, AllGatherOp) and op.addends is not None and op.operands[0] in params:
            return True
    return False


def float_bytes_of(module: ModuleOp) -> int | None:
    """The bytes of every float on the machine that a module is for; None: those of its type."""
    machine = machine_of(module)
    return None if machine is None else machine.element_bytes


def plan_graph_for(func: FuncOp, scatter_over: int | None = None) -> tuple[PlanGraph, PlanEdges]:
    """
    The choices that a forward function leaves. Statistics of a batch are computed in two steps from now on.

    Parameters are kept in parts of `scatter_over` devices, if that is given (`edges_of`).
    """
    sweep(func.body, SplitBatchNorm(), PlaceDropout())
    sweep(func.body, MergeSlices())
    by_element = updates_by_element(func)
    graph = plan_graph_of(forward_program(func))
    return graph, edges_of(graph, cut_parameters=by_element, scatter_over=scatter_over if by_element else None)


def updates_by_element(func: FuncOp) -> bool:
    """Whether the optimizer updates each element of a parameter for itself: not where it takes norms of them."""
    spec = func.attributes.get("train.optimizer")
    kind = spec.data.get("kind") if isinstance(spec, DictionaryAttr) else None
    rule = OPTIMIZERS.get(kind.data) if isinstance(kind, StringAttr) else None
    return rule is None or get_layer(rule.op).elementwise
