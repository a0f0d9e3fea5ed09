"""
Why a collective of a step takes its time: its chunks, their orders, and when each level of the network works.

    explained = explain_collective(open_source("net.dsl"), get_backend("cycle"), {"devices": 64, …}, "fc1", "dw")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.interconnect.chunks.cost import (
    ChunkedCost,
    baseline_chunks,
    chunk_events,
    chunked_cost,
    chunks_by,
)
from npuc.compiler.analysis.interconnect.chunks.events import Latency
from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES
from npuc.compiler.analysis.interconnect.collectives import Collective, collective_of
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import DEFAULT_CHUNKS, CompileKeywords, Say
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.costing.whole import whole_step_for
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.unread import unread_warnings
from npuc.compiler.layers.base import elements
from npuc.compiler.report.explained import (
    CollectiveLevel,
    CollectiveOrder,
    CollectivePolicy,
    CollectiveStage,
    ExplainedCollective,
    OtherCollective,
)
from npuc.dialects.distributed import Chunks, DistOp, Route, bucket_of, buckets_of, chunks_of, levels_of, mesh_of
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware.network import latency_of, network_of

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.frontends.source import Source
    from npuc.hardware import Hardware


@dataclass(frozen=True)
class _Placed:
    """A collective on a network: its operation, of a bucket the last one, and what its cost depends on."""

    op: DistOp
    sums: Sequence[DistOp]
    kind: Collective
    size: int
    placement: MeshPlacement
    latency: Latency

    @property
    def name(self) -> str:
        """The layer, or the bucket as reports name it."""
        number = bucket_of(self.op)
        return layer_of(self.op) if number is None else f"bucket {number}"

    @property
    def elements(self) -> int:
        """The elements of the operands of a device."""
        return sum(elements(op.x) for op in self.sums)

    @property
    def chunks(self) -> Chunks:
        """Its chunks; one by the baseline where it moves whole."""
        found = chunks_of(self.op)
        return baseline_chunks(self.kind, levels_of(self.op), 1) if found is None else found

    def cost(self, chunks: Chunks | None = None) -> ChunkedCost:
        """What it takes, by default in its own chunks."""
        own = self.chunks if chunks is None else chunks
        return chunked_cost(self.kind, self.size, self.placement, levels_of(self.op), own, self.latency)

    @property
    def short(self) -> OtherCollective:
        """What identifies it."""
        return OtherCollective(
            layer=layer_of(self.op),
            of=role_of(self.op).value,
            op=self.op.name,
            operand_bytes=self.size,
            seconds=float(self.cost().seconds),
        )


def explain_collective(
    source: Source,
    model: Backend,
    keywords: CompileKeywords,
    name: str,
    phase: str | None,
    say: Say,
    watchers: tuple[Watcher, ...] = (),
) -> ExplainedCollective:
    """
    The collective of a layer's name or glob that takes longest, of a phase where one is given. `say` gets warnings.

    Raises `UsageError` where the step has none, or the machine no network.
    """
    warnings = list[str]()
    module, machine = lowered_module(source, model, keywords, say, warnings, watchers=watchers)
    step = whole_step_for(module, model, machine)
    if not any(isinstance(op, DistOp) and collective_of(op) is not None for op in step.walk()):
        hint = "--devices 16 --parallel dp"
        raise UsageError(f"--collective {name}: no collective moves anything between devices", hint=hint)
    if machine.get("network.levels") is None:
        raise UsageError(
            f"--collective {name} needs network.levels, which {machine.name} does not say", hint="--hw hypar16"
        )
    every = [one for func in step.ops if isinstance(func, FuncOp) for one in _placed(func, machine, model.name)]
    named = [one for one in every if fnmatchcase(one.name, name)]
    found = [one for one in named if phase in (None, role_of(one.op).value)]
    if not found:
        raise _none_found(name, phase, every, named)
    for warning in (*warnings, *unread_warnings(options_of(keywords).overrides, [(model, machine)])):
        say(f"warning: {warning}")
    chosen = max(found, key=lambda one: one.cost().seconds)
    others = [one.short for one in named if one is not chosen]
    return _explained(chosen, source.shown, machine.name, others)


def _none_found(name: str, phase: str | None, every: list[_Placed], named: list[_Placed]) -> UsageError:
    """The error where no collective has a name and a phase."""
    if named:
        known = ", ".join(dict.fromkeys(role_of(one.op).value for one in named))
        return UsageError(f"--collective {name} --phase {phase}: no such collective", hint=f"it has some of {known}")
    layers = list(dict.fromkeys(one.name for one in every))
    return UsageError(f"--collective {name}: there is no such collective", hint=did_you_mean(name, layers))


def _placed(func: FuncOp, machine: Hardware, backend: str) -> list[_Placed]:
    """The collectives of a function, in program order."""
    mesh = mesh_of(func)
    if mesh is None:
        return []
    placement, latency = network_of(machine, backend=backend).place(mesh.sizes), latency_of(machine)
    width = machine.get("memory.element_bytes", int)
    closing = {members[-1]: members for members in buckets_of(func).values()}
    found: list[_Placed] = []
    for op in func.walk():
        kind = collective_of(op) if isinstance(op, DistOp) else None
        if isinstance(op, DistOp) and kind is not None:
            sums = closing.get(op, (op,) if bucket_of(op) is None else ())
            size = sum(size_bytes(one.x.type, elements(one.x), width) for one in sums)
            found += [_Placed(op, sums, kind, size, placement, latency)] if sums else []
    return found


def _explained(one: _Placed, source: str, hardware: str, others: list[OtherCollective]) -> ExplainedCollective:
    chunks, cost = one.chunks, one.cost()
    over = levels_of(one.op)
    return ExplainedCollective(
        source=source,
        hardware=hardware,
        devices=one.placement.devices,
        layer=one.name,
        of=role_of(one.op).value,
        op=one.op.name,
        operand_bytes=one.size,
        over=_names(over),
        latency=one.latency,
        chunks=len(chunks.routes),
        queue=chunks.queue,
        seconds=float(cost.seconds),
        bound_seconds=float(cost.bound_s),
        utilisation=_utilisation(one, cost),
        orders=[
            _order(one.placement, route, len(list(own)), returns=one.op.COMES_BACK)
            for route, own in groupby(chunks.routes)
        ],
        levels=_levels(one, cost),
        stages=_stages(one),
        policies=_policies(one),
        others=others,
    )


def _order(placement: MeshPlacement, route: Route, count: int, *, returns: bool) -> CollectiveOrder:
    """So many chunks of a route."""
    there = [placement.group_of(run).number for run in placement.runs(route.there)]
    back = [placement.group_of(run).number for run in placement.runs(reversed(route.back))]
    return CollectiveOrder(chunks=count, levels=there, back=back[::-1] if returns else [], mesh=_names(route.there))


def _names(levels: tuple[int, ...]) -> list[str]:
    """Levels of the mesh as reports name them."""
    return [f"H{level + 1}" for level in levels]


def _utilisation(one: _Placed, cost: ChunkedCost) -> float:
    """What a device sends over what it could send over all levels that the collective uses, in its time."""
    numbers = {stage.level for stage in cost.stages}
    rate = sum((one.placement.network.levels[number].bytes_per_s for number in numbers), Fraction(0))
    return float(cost.sent / (rate * cost.seconds)) if cost.seconds else 0.0


def _levels(one: _Placed, cost: ChunkedCost) -> list[CollectiveLevel]:
    busy: dict[int, Fraction] = {}
    for use in cost.uses:
        busy[use.level] = busy.get(use.level, Fraction(0)) + use.end_s - use.begin_s
    sent = cost.sent_by_level()
    levels = one.placement.network.levels
    return [
        CollectiveLevel(
            level=number,
            kind=levels[number].kind,
            size=levels[number].size,
            sizes=list(levels[number].dimensions),
            gb_per_s=float(levels[number].bytes_per_s / 10**9),
            sent_bytes=float(sent[number]),
            busy_seconds=float(busy[number]),
            use=float(busy[number] / cost.seconds),
        )
        for number in sorted(busy)
    ]


def _stages(one: _Placed) -> list[CollectiveStage]:
    """The stages in the order in which they begin."""
    events = chunk_events(one.kind, one.size, one.placement, one.chunks, one.latency)
    unit = events.timeline.unit_s
    parts = {"all_gather": "gather", "all_to_all": "exchange"}
    return [
        CollectiveStage(
            chunk=span.chunk,
            level=events.groups[span.level].number,
            part="gather" if span.number >= len(events.orders[span.chunk].scatter) else parts.get(one.kind, "reduce"),
            begin=float(span.begin * unit),
            end=float(span.free * unit),
            done=float(span.done * unit),
        )
        for span in events.timeline.spans
    ]


def _policies(one: _Placed) -> list[CollectivePolicy]:
    """What other orders take: whole, and in as many chunks as the collective has, or in those of Themis's authors."""
    count = len(one.chunks.routes)
    if count == 1:
        count = min(DEFAULT_CHUNKS["themis-scf"], one.elements)
    over = levels_of(one.op)
    found = [CollectivePolicy(policy="whole", chunks=1, seconds=_seconds(one, baseline_chunks(one.kind, over, 1)))]
    for policy in POLICIES:
        chunks = chunks_by(policy, one.kind, one.size, one.placement, over, count, one.latency).chunks
        found.append(CollectivePolicy(policy=policy, chunks=count, seconds=_seconds(one, chunks)))
    return found


def _seconds(one: _Placed, chunks: Chunks) -> float:
    return float(one.cost(chunks).seconds)
