"""The chunks of each collective of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.interconnect.chunks.cost import baseline_chunks, chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost, collective_of
from npuc.compiler.analysis.interconnect.described import NetworkFacts
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.options import ChunkPolicy
from npuc.compiler.core.stages import each
from npuc.compiler.layers.base import elements
from npuc.dialects.distributed.base import DistOp, bucket_of, levels_of
from npuc.dialects.distributed.buckets import buckets_of
from npuc.dialects.distributed.chunks import CHUNKS, Chunks, ChunksAttr
from npuc.dialects.distributed.mesh import Mesh


@dataclass
class Chooser:
    """Writes chunks by a policy, up to `count`; counts how many collectives have some, and which are proved best."""

    policy: ChunkPolicy
    count: int
    chosen: int = 0
    seen: int = 0
    proved: list[bool] = field(default_factory=list[bool])

    @property
    def why_none(self) -> str:
        """Why no collective has chunks."""
        if self.count == 1:
            return "one chunk of a collective is the whole"
        return "no collective is faster in chunks" if self.seen else "there are no collectives"

    def choose(self, func: FuncOp, mesh: Mesh, facts: NetworkFacts | None) -> None:
        """Write the chunks of all collectives of a function; of those that have some, new ones."""
        buckets = buckets_of(func)
        ops = [op for op in func.body.block.ops if isinstance(op, DistOp) and op.TAKES_CHUNKS]
        for op in each("schedule-collectives", "collectives", ops):
            op.attributes.pop(CHUNKS, None)
            number = bucket_of(op)
            members = (op,) if number is None else buckets[number]
            if op is not members[-1]:
                continue
            self.seen += 1
            kind, count = collective_of(op), min(self.count, sum(elements(one.x) for one in members))
            assert kind is not None, "collectives alone take chunks"
            if facts is None:
                chunks = baseline_chunks(kind, levels_of(op), count) if count > 1 else None
            else:
                chunks = self._best(kind, members, mesh, count, facts)
            if chunks is not None:
                self.chosen += 1
                op.attributes[CHUNKS] = ChunksAttr(chunks)

    def _best(
        self, kind: Collective, members: Sequence[DistOp], mesh: Mesh, count: int, facts: NetworkFacts
    ) -> Chunks | None:
        """The chunks of a collective, a bucket's or one alone, on a network; None where it is no faster in them."""
        over, placement = levels_of(members[-1]), facts.network.place(mesh.sizes)
        size = sum(size_bytes(op.x.type, elements(op.x), facts.element_bytes) for op in members)
        found = chunks_by(self.policy, kind, size, placement, over, count, facts.latency)
        cost = chunked_cost(kind, size, placement, over, found.chunks, facts.latency)
        if cost.seconds >= collective_cost(kind, size, placement, over).seconds:
            return None
        if found.proved is not None:
            self.proved.append(found.proved)
        return found.chunks
