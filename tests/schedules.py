"""Small products and pairs of them, and every schedule that they can have, for searches to be compared with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import prod

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import streams
from npuc.compiler.analysis.nest.cores import core_parts
from npuc.compiler.analysis.nest.elements import Bits, whole_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic, moved_bits, traffic, volume
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.footprint import block_shape, block_sizes, footprint
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor


def gemm(m: int, n: int, k: int) -> Nest:
    """Y = X W."""
    sizes = {"m": m, "n": n, "k": k}

    def tensor(name: str, dims: str) -> Tensor:
        return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))

    tensors = (tensor("X", "mk"), tensor("W", "kn"), tensor("Y", "mn"))
    return Nest(tuple(sizes.items()), tensors[:2], tensors[2:], (None,), (Statement("Y", "X", "W"),))


def fused(nest: Nest) -> Nest:
    """dX and dW of a product, or two products of one X, in one nest."""
    x, w, y = (nest.tensors[name] for name in "XWY")
    outs = tuple(replace(t, name=f"d{t.name}") for t in (x, w))
    return Nest(nest.dims, (y, w, x), outs, (None, None), (Statement("dX", "Y", "W"), Statement("dW", "X", "Y")))


@dataclass(frozen=True)
class Fitting:
    """A schedule that fits, the bits that it moves, and what its time is not below, in cycles."""

    schedule: Schedule
    moved: int
    bound: Fraction


def fitting(nest: Nest, machine: Machine, widths: Bits, most: int = 1, cut: tuple[Loop, ...] = ()) -> list[Fitting]:
    """
    Every schedule that fits a machine, dimensions cut at most `most` times.

    With `cut`, loops over cores, every schedule inside of them.
    """
    found: list[Fitting] = []
    rooms = widths.occupied(nest)
    for inner in all_loops(core_parts(nest, Schedule(cut))[0].nest, most):
        loops = (*cut, *inner)
        kept = [
            [
                (whole_bytes(rooms[name] * elements), moved_bits(nest, {name: row}, widths))
                for elements, row in options(nest, loops, name)
            ]
            for name in nest.tensors
        ]
        part = core_parts(nest, Schedule(loops))[0]
        cycles = compute(part.nest, part.schedule, machine.array).cycles
        for keeps in product(range(len(inner) + 1), repeat=len(nest.tensors)):
            room, moved = (sum(own[keep][n] for own, keep in zip(kept, keeps, strict=True)) for n in range(2))
            if room <= machine.spm_bytes:
                schedule = Schedule(loops, tuple(zip(nest.tensors, keeps, strict=True)))
                found.append(Fitting(schedule, moved, max(Fraction(cycles), moved / machine.channel_bits)))
    return found


@lru_cache(maxsize=65536)
def options(nest: Nest, loops: tuple[Loop, ...], name: str) -> tuple[tuple[int, TensorTraffic], ...]:
    """
    The elements of SPM and the traffic of a tensor, by how many of the loops keep it.

    What a tensor keeps changes only its own room and traffic.
    """
    kept = [Schedule(loops, ((name, depth),)) for depth in range(len(loops) + 1)]
    return tuple((footprint(nest, schedule)[name], traffic(nest, schedule)[name]) for schedule in kept)


def least_time(nest: Nest, machine: Machine, widths: Bits, schedules: Sequence[Fitting]) -> Fraction:
    """The time of the fastest of some schedules; what cannot be faster is not timed."""
    least: Fraction | None = None
    for one in sorted(schedules, key=lambda one: one.bound):
        if least is not None and one.bound >= least:
            break
        time = pipeline(nest, one.schedule, machine, widths).time
        least = time if least is None else min(least, time)
    assert least is not None, "no schedule fits"
    return least


def moved(nest: Nest, schedule: Schedule) -> int:
    """The elements that move."""
    return sum(t.read + t.write for t in traffic(nest, schedule).values())


def held(nest: Nest, schedule: Schedule) -> int:
    """The elements that SPM holds."""
    return sum(footprint(nest, schedule).values())


def all_loops(nest: Nest, most: int) -> Iterator[tuple[Loop, ...]]:
    """Every list of loops that cuts each dimension at most so many times, in steps that shrink."""
    chains: list[list[tuple[Loop, ...]]] = []
    for dim, size in nest.dims:
        steps = (c for count in range(min(most, size - 1) + 1) for c in combinations(range(size - 1, 0, -1), count))
        chains.append([tuple(Loop(dim, step) for step in own) for own in steps])
    for chosen in product(*chains):
        yield from _shuffles(chosen)


def _shuffles(chains: Sequence[tuple[Loop, ...]]) -> Iterator[tuple[Loop, ...]]:
    """Every merge of some lists in which each keeps its order."""
    left = [chain for chain in chains if chain]
    if not left:
        yield ()
    for number, chain in enumerate(left):
        for rest in _shuffles([*left[:number], chain[1:], *left[number + 1 :]]):
            yield (chain[0], *rest)


@lru_cache(maxsize=64)
def least_moved(nest: Nest, most: int, sums: int = 1) -> dict[int, int]:
    """
    For each room that schedules take, the bytes that the best of them moves; dimensions cut at most `most` times.

    Elements have one byte, partial sums `sums`.

    What one tensor keeps changes only its own room and traffic, so that tensors are looked at one by one.
    """
    best: dict[int, int] = {}
    for loops in all_loops(nest, most):
        options = [_worthwhile(nest, loops, name, sums) for name in nest.tensors]
        for chosen in product(*options):
            room, sent = (sum(option[n] for option in chosen) for n in range(2))
            best[room] = min(sent, best.get(room, sent))
    return best


def _worthwhile(nest: Nest, loops: tuple[Loop, ...], name: str, sums: int) -> list[tuple[int, int]]:
    """Room and traffic of one tensor, at each depth at which more room moves less."""
    tensor, found = nest.tensors[name], list[tuple[int, int]]()
    for depth in range(len(loops) + 1):
        schedule = Schedule(loops, ((name, depth),))
        (stream,) = (one for one in streams(nest, schedule) if one.tensor.name == name)
        room = prod(block_shape(tensor.axes, tensor.shape, block_sizes(nest, schedule, name)))
        visits = volume(nest, schedule, stream)
        if stream.kind == "accumulator":
            found.append((sums * room, 2 * sums * (visits - tensor.elements) + tensor.elements))
        else:
            found.append((room, visits))
    kept: list[tuple[int, int]] = []
    for option in sorted(found):
        if not kept or option[1] < kept[-1][1]:
            kept.append(option)
    return kept
