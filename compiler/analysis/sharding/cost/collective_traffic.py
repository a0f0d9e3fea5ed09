"""
The elements that devices read from each other in collectives, in closed form.

The elements of an operation are those of one direction: half of what all devices read from others, so that between two
devices they are what one of them reads. With D devices, L elements of the operand on each, and a level of p parts

    slice, copy    0                       all_gather       D L (p - 1) / 2
    all_to_all     D L (p - 1) / p / 2     reduce_scatter   D L (p - 1) / p / 2
    send_receive   D L m / p / 2           m messages between different parts

An all-reduce over levels of p_1, …, p_k parts, outermost first, is a reduce-scatter from the innermost level out and an
all-gather back. It reads D L (p_i - 1) / (p_i p_(i+1) … p_k) at level i, which adds up to D L (P - 1) / P for P parts
together, even where they do not divide L. In chunks each of them does, over the levels in its own order. What moves in
a bucket is counted where its last member stands. All results are exact.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from npuc.compiler.layers.base import elements
from npuc.dialects.distributed import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    DistOp,
    Mesh,
    ReduceScatterOp,
    Route,
    SendReceiveOp,
    levels_of,
    mesh_around,
    moved_by,
    routes_of,
)
from npuc.dialects.train.base import ints


def gathered(devices: int, local: int, parts: int) -> Fraction:
    """The elements of an all-gather at a level of so many parts, of `local` elements on each of the devices."""
    return Fraction(devices * local * (parts - 1), 2)


def shared(devices: int, local: int, parts: int) -> Fraction:
    """The elements of an all-to-all or a reduce-scatter at a level of so many parts."""
    return Fraction(devices * local * (parts - 1), 2 * parts)


def sent(devices: int, local: int, parts: int, messages: int) -> Fraction:
    """The elements of so many messages between different parts in each group of a level."""
    return Fraction(devices * local * messages, 2 * parts)


def reduced(devices: int, local: int, sizes: Sequence[int], routes: Sequence[Route]) -> dict[int, Fraction]:
    """
    The elements of an all-reduce at each level of a mesh of such sizes; each chunk has a route.

    The first chunks have an element more than the others, where these do not divide the operand.
    """
    least, more = divmod(local, len(routes))
    moved = Counter[Route]()
    for number, route in enumerate(routes):
        moved[route] += least + (number < more)
    found = dict.fromkeys(sorted(routes[0].there), Fraction(0))
    for route, count in moved.items():
        for way in (route.there, route.back[::-1]):
            held = Fraction(devices * count, 2)
            for level in way:
                held /= sizes[level]
                found[level] += held * (sizes[level] - 1)
    return found


def moved_elements(op: DistOp) -> int:
    """The elements that each device hands in where an operation stands: those of its bucket at the last member."""
    return sum(elements(member.x) for member in moved_by(op))


def exchanged(op: DistOp, mesh: Mesh | None = None) -> dict[int, Fraction]:
    """The elements that devices read in an operation at each of its levels; by default on its function's mesh."""
    mesh = mesh_around(op) if mesh is None else mesh
    devices, local, over = mesh.devices, moved_elements(op), levels_of(op)
    parts = [mesh.sizes[level] for level in over]
    match op:
        case AllReduceOp():
            return reduced(devices, local, mesh.sizes, routes_of(op))
        case AllGatherOp():
            return {over[0]: gathered(devices, local, parts[0])}
        case AllToAllOp() | ReduceScatterOp():
            return {over[0]: shared(devices, local, parts[0])}
        case SendReceiveOp():
            messages = sum(s != t for s, t in zip(ints(op.source), ints(op.target), strict=True))
            return {over[0]: sent(devices, local, parts[0], messages)}
        case _:
            return dict.fromkeys(over, Fraction(0))
