"""The chunks of each collective of a function."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.interconnect.chunks.cost import baseline_chunks, chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost, collective_of
from npuc.compiler.analysis.interconnect.described import NetworkFacts
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.options import ChunkPolicy
from npuc.compiler.core.stages import each
from npuc.compiler.layers.base import elements
from npuc.dialects.distributed.base import DistOp, levels_of
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
        ops = [op for op in func.body.block.ops if isinstance(op, DistOp) and op.TAKES_CHUNKS]
        for op in each("schedule-collectives", "collectives", ops):
            self.seen += 1
            op.attributes.pop(CHUNKS, None)
            kind, count = collective_of(op), min(self.count, elements(op.x))
            assert kind is not None, "collectives alone take chunks"
            if facts is None:
                chunks = baseline_chunks(kind, levels_of(op), count) if count > 1 else None
            else:
                chunks = self._best(kind, op, mesh, count, facts)
            if chunks is not None:
                self.chosen += 1
                op.attributes[CHUNKS] = ChunksAttr(chunks)

    def _best(self, kind: Collective, op: DistOp, mesh: Mesh, count: int, facts: NetworkFacts) -> Chunks | None:
        """The chunks of a collective on a network; None where it is no faster in them."""
        over, placement = levels_of(op), facts.network.place(mesh.sizes)
        size = size_bytes(op.x.type, elements(op.x), facts.element_bytes)
        found = chunks_by(self.policy, kind, size, placement, over, count, facts.latency)
        cost = chunked_cost(kind, size, placement, over, found.chunks, facts.latency)
        if cost.seconds >= collective_cost(kind, size, placement, over).seconds:
            return None
        if found.proved is not None:
            self.proved.append(found.proved)
        return found.chunks
