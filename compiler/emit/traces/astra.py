"""
Writing the network of devices as files of ASTRA-sim 2: the inverse of `npuc.hardware.readers.astra`.

    network.yml          the dimensions of the network, innermost first
    system.json          the collective algorithm of each dimension, and the chunks of collectives
    remote_memory.json   none
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from npuc.compiler.analysis.interconnect.chunks.events import Latency
from npuc.compiler.analysis.interconnect.collectives import collective_of
from npuc.compiler.analysis.interconnect.topology import Interconnect, NetworkLevel
from npuc.compiler.core.errors import UsageError
from npuc.compiler.emit.base import Emitted
from npuc.compiler.emit.traces.communicators import dimensions_of
from npuc.compiler.emit.traces.program import mesh_of_program
from npuc.dialects.distributed import DistOp, chunks_of
from npuc.dialects.distributed.chunks import Chunks
from npuc.hardware.readers.astra import FULL, GIB_PER_GB, KINDS, RING, SWITCH, links_in_message, links_of, shortest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_TOPOLOGIES = {"pair": FULL, **{kind: topology for topology, kind in KINDS.items()}}
_SCATTER = {RING: "ring", FULL: "direct", SWITCH: "halvingDoubling"}
_EXCHANGE = {RING: "ring", FULL: "direct", SWITCH: "direct"}
_SCATTERS = ("all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation")


@dataclass(frozen=True)
class _Dimension:
    """A dimension of ASTRA-sim: GB/s of a link, in GB of 2^30 bytes, and ns of a link."""

    topology: str
    size: int
    bandwidth: float
    latency: float

    @property
    def scatter(self) -> str:
        """The algorithm of reduce-scatters; halving and doubling needs a power of two."""
        return "direct" if self.topology == SWITCH and self.size & (self.size - 1) else _SCATTER[self.topology]


def network_files(network: Interconnect, module: ModuleOp, latency: Latency = "serial") -> Emitted:
    """
    The files of a network, as far as the devices of a program use it; all of it for a program on one device.

    `latency` is what a level waits for. Raises `UsageError` for a mesh and a part of a ring, which are no topologies of
    ASTRA-sim.
    """
    mesh = mesh_of_program(module)
    used = _whole(network) if mesh is None else dimensions_of(network.place(mesh.sizes))
    levels = {number: network.levels[number] for number, _ in used}
    dimensions = [_dimension(levels[number], number, along, size) for (number, along), size in used.items()]
    chunked = _chunked(module)
    return Emitted(
        {
            "network.yml": _network(dimensions),
            "system.json": json.dumps(_system(dimensions, max(_counts(chunked))), indent=2) + "\n",
            "remote_memory.json": json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}) + "\n",
        },
        (*_warnings(levels, dict(zip(used, dimensions, strict=True))), *_chunk_warnings(chunked, latency)),
    )


def _whole(network: Interconnect) -> dict[tuple[int, int], int]:
    """All dimensions of a network by level and dimension there, innermost first, with their devices."""
    found = {
        (number, along): size
        for number, level in enumerate(network.levels)
        for along, size in enumerate(level.dimensions)
    }
    return dict(reversed(found.items()))


def _dimension(level: NetworkLevel, number: int, along: int, used: int) -> _Dimension:
    """A level or a dimension of a torus, which is a ring with its part of the bandwidth; so many devices are used."""
    if level.kind == "torus":
        size, rate = level.dimensions[along], level.bytes_per_s / len(level.dimensions)
        level = NetworkLevel("ring", size, rate, level.latency_s)
    topology = _TOPOLOGIES.get(level.kind)
    if topology is None:
        raise UsageError(
            f"network.levels, level {number + 1}: ASTRA-sim has no topology for the kind '{level.kind}'",
            hint="it has rings, full connections and switches, and a torus as a ring for each dimension",
        )
    if topology == RING and used < level.size:
        raise UsageError(
            f"network.levels, level {number + 1}: {used} devices of a ring of {level.size} are no ring, and ASTRA-sim "
            "has no other topology for them",
            hint=f"devices that fill the ring, or --set network.levels with a ring of {used}",
        )
    links = level.size - 1 if topology == FULL else links_of(topology, level.size)
    if topology == RING and level.size == 2:
        topology = FULL  # one link, which two devices have in a ring, too
    rate = shortest(level.bytes_per_s / 10**9, links * GIB_PER_GB)
    wait = shortest(level.latency_s * 10**9, Fraction(links_in_message(topology)))
    return _Dimension(topology, used, rate, wait)


def _network(dimensions: list[_Dimension]) -> str:
    """The network file."""
    lists = {
        "topology": [one.topology for one in dimensions],
        "npus_count": [one.size for one in dimensions],
        "bandwidth": [one.bandwidth for one in dimensions],
        "latency": [one.latency for one in dimensions],
    }
    units = {"bandwidth": "  # GB/s of a link in each direction, GB of 2^30 bytes", "latency": "  # ns of a link"}
    lines = [f"{key}: [ {', '.join(map(str, values))} ]{units.get(key, '')}" for key, values in lists.items()]
    return "\n".join(["# dimensions of the network between devices, innermost first", *lines]) + "\n"


def _system(dimensions: list[_Dimension], chunks: int) -> dict[str, object]:
    """
    The system file: algorithms by dimension, the chunks of a collective, one chunk at a time in a dimension.

    `localBWAware` is an all-reduce as a reduce-scatter and an all-gather over all dimensions; in `baseline` all data
    would cross each dimension.
    """
    return {
        "scheduling-policy": "FIFO",
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": chunks,
        **{key: [one.scatter for one in dimensions] for key in _SCATTERS},
        "all-to-all-implementation": [_EXCHANGE[one.topology] for one in dimensions],
        "collective-optimization": "localBWAware",
    }


def _warnings(levels: dict[int, NetworkLevel], dimensions: dict[tuple[int, int], _Dimension]) -> Iterator[str]:
    """What is another thing there."""
    first = {number: one for (number, _), one in reversed(dimensions.items())}
    for number, level in levels.items():
        place, one = f"network.levels, level {number + 1}", first[number]
        if level.kind == "torus" and len(level.dimensions) > 1:
            yield f"{place}: ASTRA-sim goes over the dimensions of a torus one after the other, here all work at once"
        if level.algorithm not in (None, level.kind):
            yield f"{place}: ASTRA-sim has {one.scatter} in place of '{level.algorithm}'"
        elif (level.kind, one.scatter) == ("switch", "direct"):
            yield f"{place}: ASTRA-sim has no halving and doubling of {one.size} devices, and direct in its place"
    if any(one.topology == RING for one in dimensions.values()):
        yield "ASTRA-sim sends one way around a ring by default, over one of the two links that a device has there"


def _chunked(module: ModuleOp) -> list[Chunks | None]:
    """The chunks of each collective; None for one that moves as a whole."""
    return [chunks_of(op) for op in module.walk() if isinstance(op, DistOp) and collective_of(op) is not None]


def _counts(chunked: list[Chunks | None]) -> set[int]:
    """How many chunks collectives have."""
    return {1 if chunks is None else len(chunks.routes) for chunks in chunked} or {1}


def _chunk_warnings(chunked: list[Chunks | None], latency: Latency) -> Iterator[str]:
    """What chunks do there that they do not here."""
    counts = _counts(chunked)
    if len(counts) > 1:
        yield f"collectives have {min(counts)} to {max(counts)} chunks: ASTRA-sim cuts all into {max(counts)}"
    if any(chunks is not None and len(set(chunks.routes)) > 1 for chunks in chunked):
        yield "chunks have orders of their own: ASTRA-sim sends all of them through the dimensions in one order"
    if latency == "overlap" and max(counts) > 1:
        yield "network.latency is overlap: ASTRA-sim has one chunk at a time in a dimension, messages on their way too"
