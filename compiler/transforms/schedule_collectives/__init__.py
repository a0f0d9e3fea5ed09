"""
The pass `schedule-collectives`: collectives in chunks, each of which crosses the network's levels in its own order.

    %w = dist.all_reduce %g over [0, 1]   ->   %w = dist.all_reduce %g over [0, 1] {dist.chunks =
                                                  #dist.chunks<scf 1 x [1, 0], 3 x [0, 1]>}

While one chunk is at one level of the network, others are at others, so that no level waits. The policy `baseline` has
one order for all chunks, from the innermost level outwards and back; Themis (Rashidi et al., ISCA 2022) sends each
chunk first where there is least to do, and of those that wait the first one (`themis-fifo`) or the smallest one
(`themis-scf`); `exact` searches the best schedule of a few chunks by branch and bound.

The network is the module's `dist.network`, which the driver writes. A collective that is no faster in chunks stays as
it is. Without a network nothing is compared, and only the baseline has orders. The pass comes after autodiff; of a step
whose backward pass a backend derives by itself, the function's `dist.collectives` keeps the options for what devices
exchange in it.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from npuc.compiler.analysis.interconnect.chunks.cost import MOST_EXACT
from npuc.compiler.analysis.interconnect.described import network_facts
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CHUNK_POLICIES, DEFAULT_CHUNKS, ChunkPolicy
from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import location_of, refused
from npuc.compiler.transforms.schedule_collectives.chooser import Chooser
from npuc.compiler.transforms.unused import remark_idle
from npuc.dialects.distributed.chunks import MAX_CHUNKS
from npuc.dialects.distributed.mesh import mesh_of
from npuc.dialects.train.signature import has_loss, is_differentiated

OPTIONS = "dist.collectives"
"""The attribute of a forward function that holds the options for the collectives of its backward pass."""


def schedule_derived(module: ModuleOp) -> None:
    """
    Give the collectives of steps that were derived after the pass ran the chunks that it would give them.

    Raises `UsageError` for options that are none of the pass.
    """
    for func in (op for op in module.ops if isinstance(op, FuncOp)):
        options, mesh = func.attributes.get(OPTIONS), mesh_of(func)
        if options is not None and mesh is not None:
            step = _pass_of(options, func)
            Chooser(step.known_policy, step.count).choose(func, mesh, network_facts(module))


def _pass_of(options: Attribute, func: FuncOp) -> "ScheduleCollectivesPass":
    """The pass whose options an attribute of a function holds. Raises `UsageError` for a wrong one."""
    try:
        written = cast("DictionaryAttr", options).data
        policy, chunks = cast("StringAttr", written["policy"]), cast("IntegerAttr", written["chunks"])
        return ScheduleCollectivesPass(policy.data, chunks.value.data)
    except (KeyError, ValueError, AttributeError, TypeError):
        raise UsageError(
            f"{OPTIONS} is {options}, expected a dictionary of policy and chunks",
            location=location_of(func),
            hint="the pass schedule-collectives writes it",
        ) from None


@dataclass(frozen=True)
class ScheduleCollectivesPass(ModulePass):
    """Cut collectives into chunks where that makes them faster, and order their ways through the network."""

    name = "schedule-collectives"
    EXAMPLE: ClassVar = "parallelize{strategy=dp devices=4},autodiff,schedule-collectives{chunks=2}"

    policy: str = CHUNK_POLICIES[0]
    """baseline, themis-fifo, themis-scf or exact."""
    chunks: int | None = None
    """The chunks of each collective, up to one an element; by default 64 of Themis's policies, 4 of exact, else 1."""

    def __post_init__(self) -> None:
        if self.policy not in CHUNK_POLICIES:
            raise ValueError(f"policy is '{self.policy}', expected {', '.join(CHUNK_POLICIES)}")
        most = MOST_EXACT if self.policy == "exact" else MAX_CHUNKS
        if not 1 <= self.count <= most:
            raise ValueError(f"chunks is {self.count:,}, expected 1 to {most:,} with policy={self.policy}")

    @property
    def known_policy(self) -> ChunkPolicy:
        """The policy, as one of those that there are."""
        return next(known for known in CHUNK_POLICIES if known == self.policy)

    @property
    def count(self) -> int:
        """The most chunks of a collective."""
        return DEFAULT_CHUNKS[self.known_policy] if self.chunks is None else self.chunks

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts = network_facts(op)
        found = [(func, mesh) for func in op.ops if isinstance(func, FuncOp) and (mesh := mesh_of(func)) is not None]
        if not found:
            remark_idle(self, "the program is of one device: it comes after parallelize")
            return
        chooser = Chooser(self.known_policy, self.count)
        for func, mesh in found:
            if facts is None and self.policy != CHUNK_POLICIES[0]:
                raise refused(func, "the module does not say its network (network.levels, dist.network)", self.name)
            chooser.choose(func, mesh, facts)
            if has_loss(func) and not is_differentiated(func):
                func.attributes[OPTIONS] = DictionaryAttr(
                    {"policy": StringAttr(self.policy), "chunks": IntegerAttr(self.count, i64)}
                )
        if not chooser.chosen:
            remark_idle(self, chooser.why_none)
        if chooser.proved:
            best, all_of_them = sum(chooser.proved), len(chooser.proved)
            remark(f"pass '{self}': {best:,} of {all_of_them:,} schedules are proved to be the best there is")
