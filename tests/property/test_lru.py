"""The walk over a pool of tiles equals one that follows the rules word by word, and keeps what any walk must keep."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product, zip_longest
from random import Random
from typing import Protocol
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.lru import Mode, Pooled, Split, Walk, walk_pool
from npuc.compiler.analysis.lru.loops import Loops, loops_of
from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import compulsory
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.edge_walk import fold_cycles, operation_folds
from tests.widths import of_bytes

Ranges = dict[str, tuple[int, int]]
Tile = tuple[str, tuple[frozenset[int], ...]]
"""A tensor, and the positions along each of its axes."""
Draw = Callable[..., tuple[Nest, Schedule]]
SEEDS = st.integers(0, 2**32)


class Moves(Protocol):
    places: list[Ranges]


Places = Callable[[Nest, Schedule], Moves]


def machine(spm: int, rate: Fraction = Fraction(3), array: Array | None = None) -> Machine:
    return Machine(array or Array(2, 3), spm, rate, 1000.0, 4)


def block(tensor: Tensor, ranges: Ranges) -> Tile:
    axes: list[frozenset[int]] = []
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        sums = {axis.offset}
        for dim, c in axis.terms:
            sums = {s + c * i for s in sums for i in range(*ranges[dim])}
        axes.append(frozenset(s for s in sums if 0 <= s < size))
    return tensor.name, tuple(axes)


@cache
def points(tile: Tile) -> frozenset[tuple[int, ...]]:
    """The elements of a tile."""
    return frozenset(product(*tile[1]))


@dataclass
class Reference:
    """
    A pool of sets of elements, most recently used last, of elements of one byte.

    Partial sums of the tensors `sums` have `wide` bytes; `ended` counts the elements that are written finished.
    """

    capacity: int
    sums: set[str]
    wide: int = 1
    ended: dict[str, int] = field(default_factory=dict[str, int])
    pool: list[Tile] = field(default_factory=list[Tile])
    read: dict[str, int] = field(default_factory=dict[str, int])
    written: dict[str, int] = field(default_factory=dict[str, int])
    seen: dict[str, set[tuple[int, ...]]] = field(default_factory=dict[str, set[tuple[int, ...]]])
    peak: int = 0
    moved: list[int] = field(default_factory=list[int])

    def size(self, tile: Tile) -> int:
        return len(points(tile)) * (self.wide if tile[0] in self.sums else 1)

    def leave(self, tile: Tile, final: int = 0) -> None:
        """Of a sum `final` elements are finished."""
        self.pool.remove(tile)
        if tile[0] in self.sums:
            self.written[tile[0]] = self.written.get(tile[0], 0) + len(points(tile))
            self.ended[tile[0]] = self.ended.get(tile[0], 0) + final
            self.moved[-1] += self.size(tile) - final * (self.wide - 1)

    def touch(self, tile: Tile, need: list[Tile]) -> None:
        name, elements = tile[0], points(tile)
        if tile in self.pool:
            self.pool.remove(tile)
            self.pool.append(tile)
            return
        if name in self.sums:
            for other in [t for t in self.pool if t[0] == name and points(t) & elements]:
                self.leave(other)
            seen = self.seen.setdefault(name, set())
            count = len(elements & seen)
            seen |= elements
        else:
            count = len(elements)
        while sum(map(self.size, self.pool)) + self.size(tile) > self.capacity:
            self.leave(next(t for t in self.pool if t not in need))
        self.pool.append(tile)
        self.peak = max(self.peak, sum(map(self.size, self.pool)))
        self.read[name] = self.read.get(name, 0) + count
        self.moved[-1] += count * (self.wide if name in self.sums else 1)


Step = list[tuple[Statement, Nest, Ranges]]


def reference(streams: list[list[Step]], mode: Mode, capacity: int, wide: int = 1) -> Reference:
    """Runs the tile operations of some walks, each a list of steps with one operation a statement."""
    order = [op for s in streams for step in s for op in step]
    if mode == "round-robin":
        order = [op for steps in zip_longest(*streams) for step in steps if step for op in step]
    nests = list({id(nest): nest for _, nest, _ in order}.values())
    sums = {t.name for nest in nests for t in nest.outs}
    used = [name for nest in nests for s in nest.statements for name in (s.lhs, s.rhs)]
    left: dict[Tile, int] = {}
    for s, nest, ranges in order:
        out = block(nest.tensors[s.out], ranges)
        left[out] = left.get(out, 0) + 1
    total = left.copy()
    pool = Reference(capacity, sums, wide)
    for s, nest, ranges in order:
        operands = sorted((s.lhs, s.rhs), key=lambda name: used.count(name) < 2)
        need = [block(nest.tensors[name], ranges) for name in operands]
        out = block(nest.tensors[s.out], ranges)
        start = nest.start_of(s.out)
        if start is not None and left[out] == total[out]:
            need.append(block(start, ranges))
        need.append(out)
        pool.moved.append(0)
        for tile in need:
            pool.touch(tile, need)
        left[out] -= 1
        if not left[out]:
            later = [points(t) for t, count in left.items() if count and t[0] == out[0]]
            pool.leave(out, len(points(out).difference(*later)))
    return pool


def steps_of(nest: Nest, schedule: Schedule, places: Places) -> list[Step]:
    return [[(s, nest, ranges) for s in nest.statements] for ranges in places(nest, schedule).places]


def room(streams: list[list[Step]], wide: int = 1) -> int:
    """The least pool: the tiles of the largest operation, with a start."""
    return max(
        sum(len(points(block(t, ranges))) * (wide if t in nest.outs else 1) for t in nest.tensors.values())
        for stream in streams
        for step in stream
        for _, nest, ranges in step
    )


def pooled(walks: list[Walk], spm: int, mode: Mode = "sequential") -> Pooled:
    return walk_pool(tuple(walks), machine(spm), mode)


def walk_of(nest: Nest, schedule: Schedule, split: Split | None = None, wide: int = 1) -> Walk:
    return Walk(nest, schedule, of_bytes(nest, 1, wide), split=split)


def clock(moved: list[int], cycles: list[int], capacity: int, rate: Fraction) -> Fraction:
    """The recurrence as it is written down."""
    loaded, computed = [Fraction(0)], [Fraction(0)]
    for t, (size, busy) in enumerate(zip(moved, cycles, strict=True)):
        s = t
        while s > 0 and sum(moved[s - 1 : t + 1]) <= capacity:
            s -= 1
        loaded.append(max(loaded[t], computed[s]) + size / rate)
        computed.append(max(computed[t], loaded[t + 1]) + busy)
    return computed[-1]


def spare(nest: Nest) -> dict[str, int]:
    """The elements of sums and starts that no tile operation reaches."""
    whole: Ranges = {d: (0, n) for d, n in nest.dims}
    return {name: t.elements - len(points(block(t, whole))) for name, t in nest.tensors.items() if t not in nest.ins}


@given(SEEDS)
@settings(max_examples=150)
def test_one_nest_equals_the_rules(draw: Draw, explicit_walk: Places, seed: int) -> None:
    """Windows, strides, padding, batches, starts, dimensions cut twice, dX and dW in one nest: tensor by tensor."""
    r = Random(seed)
    nest, schedule = draw(r, big=5)
    compare(nest, schedule, explicit_walk, r.choice([0, 1, 5, 20, 1000]), r.choice([1, 2, 4]))


@given(SEEDS)
@settings(max_examples=60)
def test_overlapping_sums_equal_the_rules(explicit_walk: Places, seed: int) -> None:
    """dX of a convolution over one axis: sums over windows overlap, and are left and come back for every output."""
    r = Random(seed)
    sizes = {"o": 3, "y": r.randint(3, 8), "r": r.randint(1, 4)}
    axis = Axis((("y", r.randint(1, 3)), ("r", r.randint(1, 2))), -r.randint(0, 2))
    dx = Tensor("dX", (r.randint(3, 20),), (axis,))
    dy = Tensor("dY", (3, sizes["y"]), (Axis((("o", 1),)), Axis((("y", 1),))))
    w = Tensor("W", (3, sizes["r"]), (Axis((("o", 1),)), Axis((("r", 1),))))
    start = Tensor("dX0", dx.shape, dx.axes) if r.random() < 0.3 else None
    nest = Nest(tuple(sizes.items()), (dy, w), (dx,), (start,), (Statement("dX", "dY", "W"),))
    loops = [Loop("o", 1), Loop("y", r.randint(1, 3)), Loop("r", r.randint(1, sizes["r"]))]
    compare(nest, Schedule(tuple(r.sample(loops, 3))), explicit_walk, r.choice([0, 3, 1000]), r.choice([1, 2, 4]))


def compare(nest: Nest, schedule: Schedule, places: Places, more: int, wide: int) -> None:
    """One nest against the rules, in the least pool it fits in and `more`, with partial sums of `wide` bytes."""
    streams = [steps_of(nest, schedule, places)]
    spm = room(streams, wide) + more
    found = pooled([walk_of(nest, schedule, wide=wide)], spm)
    expected = reference(streams, "sequential", spm, wide)
    rest = spare(nest)
    for name, moved in found.walks[0].tensors:
        output = any(t.name == name for t in nest.outs)
        assert moved.read == expected.read.get(name, 0) + (0 if output else rest.get(name, 0))
        assert moved.write == expected.written.get(name, 0) + (rest[name] if output else 0)
        assert moved.spilled == expected.written.get(name, 0) - expected.ended.get(name, 0)
        assert moved.resumed == (moved.read if output else 0)
    assert found.peak == 8 * expected.peak <= 8 * spm
    assert found.operations == walk_of(nest, schedule).operations == len(expected.moved)
    assert found.walks[0].head == 8 * expected.moved[0]
    assert found.walks[0].moved == 8 * (sum(expected.moved) + sum(rest.values()))


def gemm(sizes: dict[str, int], *statements: Statement) -> Nest:
    """Products of a layer's backward pass, dims m, n, k."""
    index = {"X": "mk", "W": "kn", "dY": "mn", "dX": "mk", "dW": "kn"}

    def tensor(name: str) -> Tensor:
        return Tensor(name, tuple(sizes[d] for d in index[name]), tuple(Axis(((d, 1),)) for d in index[name]))

    ins = {name: tensor(name) for s in statements for name in (s.lhs, s.rhs)}
    outs = tuple(tensor(s.out) for s in statements)
    return Nest(tuple(sizes.items()), tuple(ins.values()), outs, tuple(None for _ in outs), statements)


DX, DW = Statement("dX", "dY", "W"), Statement("dW", "X", "dY")


def operation_cycles(streams: list[list[Step]], mode: Mode, array: Array) -> list[int]:
    """What each operation of some walks computes: a walk that runs alone is a sequence of its own."""
    if mode == "round-robin":
        order = [op for both in zip_longest(*streams) for step in both if step for op in step]
        return sequence_cycles(order, array, alone=False)
    orders = [[op for step in steps for op in step] for steps in streams]
    return [c for order in orders for c in sequence_cycles(order, array, alone=len(order[0][1].statements) == 1)]


def sequence_cycles(order: Step, array: Array, alone: bool) -> list[int]:
    folds = [
        fold
        for number, (s, nest, ranges) in enumerate(order)
        for fold in operation_folds(nest, [s], array, ranges, number, alone)
    ]
    return fold_cycles(folds, len(order), array)


def random_loops(r: Random, sizes: dict[str, int], steps: dict[str, int]) -> Schedule:
    return Schedule(tuple(Loop(d, steps[d]) for d in r.sample(sorted(sizes), len(sizes))))


@given(SEEDS, st.sampled_from(["sequential", "round-robin"]))
@settings(max_examples=150)
def test_shared_tensors_equal_the_rules(explicit_walk: Places, seed: int, mode: Mode) -> None:
    """dX and dW share dY, in tiles of their own (which are not shared unless they are equal), with the time of both."""
    r = Random(seed)
    sizes = {d: r.randint(1, 9) for d in "mnk"}
    steps = [{d: r.randint(1, sizes[d]) for d in "mnk"} for _ in range(2)]
    cases = [(gemm(sizes, s), random_loops(r, sizes, r.choice(steps))) for s in (DX, DW)]
    streams = [steps_of(nest, schedule, explicit_walk) for nest, schedule in cases]
    wide = r.choice([1, 2, 4])
    spm = room(streams, wide) + r.choice([0, 3, 10, 40, 1000])
    flow: Dataflow = r.choice(["os", "ws", "is"])
    array = Array(r.choice([2, 5]), 3, flow, edge_elements=r.choice([None, 1, 1, 2]))
    found = walk_pool(tuple(walk_of(*case, wide=wide) for case in cases), machine(spm, array=array), mode)
    expected = reference(streams, mode, spm, wide)
    read: dict[str, int] = {}
    for walked in found.walks:
        for name, moved in walked.tensors:
            read[name] = read.get(name, 0) + moved.read
            assert moved.write == expected.written.get(name, 0)
    assert read == {name: expected.read.get(name, 0) for name in read}
    assert found.peak == 8 * expected.peak
    cycles = operation_cycles(streams, mode, array)
    assert found.time == clock(expected.moved, cycles, spm, Fraction(3))
    assert found.compute == sum(cycles)
    busy = max(Fraction(found.compute), Fraction(sum(expected.moved), 3))
    assert busy <= found.time <= found.compute + Fraction(sum(expected.moved), 3)


@given(SEEDS)
@settings(max_examples=100)
def test_work_is_that_of_the_walk(draw: Draw, explicit_walk: Places, seed: int) -> None:
    """Groups of folds wait in a pool as elsewhere: by the walk of the folds, and by the closed form."""
    r = Random(seed)
    nest, schedule = draw(r, big=8)
    array = Array(r.choice([1, 2, 5, 12]), 3, r.choice(["os", "ws", "is"]), edge_elements=r.choice([1, 1, 3]))
    streams = [steps_of(nest, schedule, explicit_walk)]
    found = walk_pool((walk_of(nest, schedule),), machine(10**6, array=array))
    assert found.compute == sum(operation_cycles(streams, "sequential", array))
    work = compute(nest, schedule, array)
    assert found.compute == work.cycles - work.overhead


@given(SEEDS)
@settings(max_examples=100)
def test_conservation_and_compulsory_traffic(draw: Draw, seed: int) -> None:
    """Sums are written once more than read back, inputs read at least once; a pool for everything moves no more."""
    r = Random(seed)
    nest, schedule = draw(r, big=12)
    least = compulsory(nest)
    windows = any(len(axis.terms) > 1 for t in nest.tensors.values() for axis in t.axes)
    for spm in (10**6, sum(t.elements for t in nest.tensors.values())):
        for name, moved in pooled([walk_of(nest, schedule)], spm).walks[0].tensors:
            output = any(t.name == name for t in nest.outs)
            assert not output or moved.write - moved.read == nest.tensors[name].elements
            assert not output or moved.write - moved.spilled == nest.tensors[name].elements
            total = moved.write - moved.read if output else moved.read
            assert total == least[name] if output or not windows else total >= least[name]


@given(SEEDS)
@settings(max_examples=60)
def test_a_split_is_an_outer_loop(seed: int) -> None:
    """Parts of equally many tiles are a dimension cut twice; one part is no split; parts without tiles do not exist."""
    r = Random(seed)
    sizes = {d: r.randint(1, 12) for d in "mnk"}
    steps = {d: r.randint(1, sizes[d]) for d in "mnk"}
    nest, schedule = gemm(sizes, DX, DW), random_loops(r, sizes, steps)
    dim = r.choice("mnk")
    tiles = -(-sizes[dim] // steps[dim])
    spm = sum(steps[a] * steps[b] for a, b in ("mn", "nk", "mk")) * 2
    plain = pooled([walk_of(nest, schedule)], spm)
    assert pooled([walk_of(nest, schedule, Split(dim, 1))], spm) == plain
    each = r.choice([n for n in range(1, tiles + 1) if tiles % n == 0])
    outer = Schedule((*([Loop(dim, each * steps[dim])] if each < tiles else []), *schedule.loops))
    if each > 1:
        assert pooled([walk_of(nest, schedule, Split(dim, tiles // each))], spm) == pooled([walk_of(nest, outer)], spm)
    most = pooled([walk_of(nest, schedule, Split(dim, tiles))], spm)
    assert pooled([walk_of(nest, schedule, Split(dim, tiles + 3))], spm) == most


@settings(max_examples=60)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.data())
def test_iterations_are_those_of_the_loops_in_chunks_of_any_size(sizes: list[int], data: st.DataObject) -> None:
    dims = tuple(zip("mnk", sizes, strict=False))
    loops = tuple(data.draw(st.lists(st.tuples(st.sampled_from(list(dict(dims))), st.integers(1, 4)), max_size=4)))
    nest = Nest(dims, (), (), (), ())
    walk = Walk(nest, Schedule(tuple(Loop(dim, step) for dim, step in loops)), of_bytes(nest, 1))
    whole = loops_of(walk)
    expected = [tuple(at[dim].tolist()) for dim, _ in dims for at in whole.chunks()]
    for most in (data.draw(st.integers(1, 20)), 1 << 15):
        with patch("npuc.compiler.analysis.lru.loops.CHUNK", most):
            own = Loops(whole.dims, whole.order)
            for _ in range(3):
                parts = list(own.iterations())
                found = [tuple(n for at in parts for n in at[dim].tolist()) for dim, _ in dims]
                assert found == expected
            assert len(own.known) == (len(list(own.chunks())) == 1)
