"""
Plans within the memory of a device: the values that a step keeps, and the search for a plan whose step fits.

The search knows what is kept between the passes (`analysis/sharding/cost/device_memory.py`), not the peak of a step. So
the step of each plan found is derived and its peak measured; if it is too high, the search is repeated with a limit
lowered by the excess.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import is_view, memory_of_tensors, tensors_of
from npuc.compiler.analysis.sharding.cost.device_memory import DeviceMemory
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.search.planning import Goal, Planned, plan_network
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import Convention, Strategy
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.copies import copied
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import has_loss

TRIES = 6
"""So many plans are measured at most."""


@dataclass(frozen=True)
class Request:
    """What a plan is wanted for."""

    graph: PlanGraph
    edges: PlanEdges
    strategy: Strategy
    convention: Convention
    sizes: tuple[int, ...]
    goal: Goal = field(default_factory=Goal)

    def solve(self) -> Planned:
        """The plan. Raises `CapacityError` where parameters alone take more than the room."""
        return plan_network(self.graph, self.edges, self.strategy, self.convention, self.sizes, self.goal)

    def within(self, room: DeviceMemory) -> Planned:
        """The plan for so much room."""
        return replace(self, goal=replace(self.goal, room=room)).solve()


def plan_within_memory(func: FuncOp, plan: Request, room: DeviceMemory) -> Planned:
    """A plan whose step fits the room; of those tried the one that takes least, if none fits."""
    best, peak = _plan_within_memory(func, plan, room)
    if peak > room.limit and plan.goal.rule(plan.strategy, plan.convention).has_outputs:
        # a layer that is split along its output reads its input whole, at a peak that what is kept does not show
        with suppress(CapacityError):
            other, least = _plan_within_memory(func, replace(plan, goal=replace(plan.goal, outputs=False)), room)
            best, peak = (other, least) if least < peak else (best, peak)
    if peak > room.limit and plan.goal.objective == "bytes":
        keeping = replace(plan, goal=replace(plan.goal, objective="memory", room=room)).solve()
        if peak_of(func, plan, keeping, room) < peak:
            best = replace(keeping, objective="bytes", cost=None, cost_bound=None)
    return best


def _plan_within_memory(func: FuncOp, plan: Request, room: DeviceMemory) -> tuple[Planned, int]:
    """The plan of the least peak of those tried until one fits, and its peak in bytes."""
    best = plan.within(room)
    least = peak_of(func, plan, best, room)
    limit = room.limit - max(0, least - room.limit)
    for _ in range(TRIES - 1):
        if least <= room.limit or limit <= 0:
            break
        try:
            found = plan.within(replace(room, limit=limit))
        except CapacityError:
            break
        peak = peak_of(func, plan, found, room)
        if peak < least:
            best, least = found, peak
        limit -= max(1, peak - room.limit)
    return best, least


def peak_of(func: FuncOp, plan: Request, planned: Planned, room: DeviceMemory) -> int:
    """The most bytes that the step of a plan takes on a device."""
    step = copied(func)
    partition_spmd(step, plan.graph, plan.edges, planned.sequences, Mesh(plan.sizes))
    _derive(step)
    return memory_of_tensors(tensors_of(step, room.float_bytes)).peak_bytes


def _derive(step: FuncOp) -> None:
    """The whole step of a forward function with a loss; without one it is all there is."""
    if has_loss(step):
        differentiate(step)


def room_of(func: FuncOp, limit: int, width: int | None) -> DeviceMemory:
    """
    The memory of a device, and what of a forward function the backward pass will read; floats of `width` bytes (None:
    those of their types).
    """
    step = copied(func)
    count = sum(1 for _ in func.body.block.ops) - 1
    _derive(step)
    numbers: dict[SSAValue, int] = {value: number for number, value in enumerate(func.body.block.args)}
    tensors = tensors_of(step, width)
    backward = zip(tensors.ops[tensors.boundary :], tensors.slots[tensors.boundary :], strict=True)
    reads: dict[bool, set[int]] = {True: set(), False: set()}
    for op, (read, _) in backward:
        reads[role_of(op) is Role.DW and is_matrix(op)].update(read)
    kept: dict[bool, set[int]] = {True: set(), False: set()}
    for op in islice(step.body.block.ops, count):
        for result in op.results:
            numbers[result] = len(numbers)
            for weights, buffers in reads.items():
                # a layer reads a view, vector work what it shows
                if tensors.buffer_of.get(result) in buffers and (weights or not is_view(op)):
                    kept[weights].add(numbers[result])
    return DeviceMemory(limit, width, states_of(func), frozenset(kept[True]), frozenset(kept[False]))


def is_matrix(op: Operation) -> bool:
    """Whether an operation is a product or a convolution."""
    return isinstance(op, TrainOp) and get_layer(op).kind is Kind.MATRIX


def states_of(func: FuncOp) -> int:
    """How many states the optimizer keeps for each parameter."""
    spec = func.attributes.get("train.optimizer")
    kind = spec.data.get("kind") if isinstance(spec, DictionaryAttr) else None
    if not isinstance(spec, DictionaryAttr) or not isinstance(kind, StringAttr) or kind.data not in OPTIMIZERS:
        return 0
    return sum(state.exists(spec.data) and not state.scalar for state in OPTIMIZERS[kind.data].states)
