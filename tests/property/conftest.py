"""Random contractions with random schedules, and a walk of their tiles over sets of elements."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random

import pytest

from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.widths import finished, with_passes

Case = tuple[Nest, Schedule]
Element = tuple[int, ...]


def plain(*dims: str) -> tuple[Axis, ...]:
    return tuple(Axis(((d, 1),)) for d in dims)


def tensor(name: str, sizes: dict[str, int], axes: tuple[Axis, ...], shape: tuple[int, ...] | None = None) -> Tensor:
    return Tensor(name, shape or tuple(sizes[a.terms[0][0]] for a in axes), axes)


def gemm(sizes: dict[str, int], roles: str, batch: tuple[str, ...], start: str) -> Nest:
    """The product of a linear layer in one role, or dX and dW together."""
    x = tensor("X", sizes, plain(*batch, "m", "k"))
    w = tensor("W", sizes, plain(*batch, "k", "n"))
    y = tensor("Y", sizes, plain(*batch, "m", "n"))
    return triple(sizes, roles, x, w, y, start)


def triple(sizes: dict[str, int], roles: str, x: Tensor, w: Tensor, y: Tensor, start: str) -> Nest:
    """The statements of `roles` over an input, a weight and an output."""

    def out(t: Tensor) -> Tensor:
        return Tensor(f"d{t.name}", t.shape, t.axes)

    forms = {
        "forward": ((x, w), (y,), (Statement("Y", "X", "W"),)),
        "dx": ((y, w), (out(x),), (Statement("dX", "Y", "W"),)),
        "dw": ((x, y), (out(w),), (Statement("dW", "X", "Y"),)),
        "dxdw": ((y, w, x), (out(x), out(w)), (Statement("dX", "Y", "W"), Statement("dW", "X", "Y"))),
    }
    ins, outs, statements = forms[roles]
    starts: list[Tensor | None] = [None for _ in outs]
    if start == "full":
        starts[0] = Tensor(f"{outs[0].name}0", outs[0].shape, outs[0].axes)
    elif start == "bias":
        starts[0] = Tensor(f"{outs[0].name}0", outs[0].shape[-1:], outs[0].axes[-1:])
    return Nest(tuple(sizes.items()), ins, outs, tuple(starts), statements)


def convolution(r: Random, roles: str, depthwise: bool, start: str, big: int) -> Nest:
    stride, dilation, pad = r.randint(1, 3), r.randint(1, 2), r.randint(0, 2)
    sizes = {"b": r.randint(1, 2), "i": r.randint(1, 3), "y": r.randint(1, big), "x": r.randint(1, 3)}
    sizes |= {"r": r.randint(1, 3), "s": r.randint(1, 2)} | ({} if depthwise else {"o": r.randint(1, 3)})
    window = (Axis((("y", stride), ("r", dilation)), -pad), Axis((("x", stride), ("s", 1)), -pad))
    image = (r.randint(1, big * stride + 2), r.randint(1, 3 * stride + 2))
    x = Tensor("X", (sizes["b"], sizes["i"], *image), (*plain("b", "i"), *window))
    channels = ("i",) if depthwise else ("o", "i")
    w = tensor("W", sizes, plain(*channels, "r", "s"))
    y = tensor("Y", sizes, plain("b", channels[0], "y", "x"))
    return triple(sizes, roles, x, w, y, start)


def draw_nest(r: Random, big: int = 7) -> Nest:
    roles = r.choice(["forward", "dx", "dw", "dxdw"])
    start = r.choice(["none", "none", "bias", "full"])
    kind = r.choice(["gemm", "gemm", "batched", "conv", "conv", "depthwise"])
    if kind in ("conv", "depthwise"):
        return with_passes(convolution(r, roles, kind == "depthwise", start, big))
    batch = ("b",) if kind == "batched" else ()
    return with_passes(gemm({d: r.randint(1, big) for d in (*batch, "m", "n", "k")}, roles, batch, start))


def draw_schedule(r: Random, nest: Nest, repeat: bool = True, cores: bool = False) -> Schedule:
    steps: dict[str, list[int]] = {}
    for dim, size in nest.dims:
        cuts = r.choice([0, 1, 1, 2] if repeat else [0, 1])
        steps[dim] = sorted({r.randint(1, size) for _ in range(cuts)})
    order = [dim for dim in steps for _ in steps[dim]]
    r.shuffle(order)
    loops = [Loop(dim, steps[dim].pop()) for dim in order]
    spread = 0
    if cores:
        dims = [loop.dim for loop in loops]
        most = next((n for n in range(len(dims)) if dims[n] in dims[:n]), len(dims))
        spread = r.randint(0, min(most, 3))
        loops = [replace(loop, cores=n < spread) for n, loop in enumerate(loops)]
    keep = tuple((t, r.randint(0, len(loops) - spread)) for t in nest.tensors if r.random() < 0.5)
    return Schedule(tuple(loops), keep)


@dataclass
class Moves:
    """
    What a walk of the tiles moved: a tensor's elements read and written, and both by tile operation.

    Of a result, `finished(name)` counts the elements that are written for the last time, the name itself all.

    `tiles` are the extents of the dimensions, `places` their ranges, `cores` says on which core each runs. `tail` is
    written after the last one, `spare` is what no tile touches. `tails` are written after the last one of each core.
    """

    read: dict[str, int] = field(default_factory=dict[str, int])
    write: dict[str, int] = field(default_factory=dict[str, int])
    by_tile: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    tail: dict[str, int] = field(default_factory=dict[str, int])
    spare: dict[str, int] = field(default_factory=dict[str, int])
    tiles: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    places: list[dict[str, tuple[int, int]]] = field(default_factory=list[dict[str, tuple[int, int]]])
    cores: list[int] = field(default_factory=list[int])
    tails: list[dict[str, int]] = field(default_factory=list[dict[str, int]])


def tiles(nest: Nest, schedule: Schedule) -> Iterator[list[dict[str, tuple[int, int]]]]:
    """For each tile operation the ranges (from, to) of the dimensions under 0, 1, … all of the loops."""

    def inner(
        ranges: list[dict[str, tuple[int, int]]], left: tuple[Loop, ...]
    ) -> Iterator[list[dict[str, tuple[int, int]]]]:
        if not left:
            yield ranges
            return
        low, high = ranges[-1][left[0].dim]
        for at in range(low, high, left[0].step):
            cut = {**ranges[-1], left[0].dim: (at, min(at + left[0].step, high))}
            yield from inner([*ranges, cut], left[1:])

    yield from inner([{d: (0, n) for d, n in nest.dims}], schedule.loops)


def elements(t: Tensor, ranges: dict[str, tuple[int, int]]) -> frozenset[Element]:
    """The elements of a tensor that the index map reaches for these ranges."""
    axes: list[set[int]] = []
    for axis, size in zip(t.axes, t.shape, strict=True):
        sums = {axis.offset}
        for dim, c in axis.terms:
            sums = {s + c * i for s in sums for i in range(*ranges[dim])}
        axes.append({s for s in sums if 0 <= s < size})
    return frozenset(product(*axes))


def walk(nest: Nest, schedule: Schedule) -> Moves:
    """Runs the tiles one after another and moves a block when the one that is held is another one."""
    moves = Moves({t: 0 for t in nest.tensors}, {t: 0 for t in nest.tensors})
    n = len(schedule.loops)
    names = [t.name for t in nest.ins + nest.outs]
    held: dict[str, dict[str, tuple[int, int]]] = {}
    seen: dict[str, set[Element]] = {t.name: set() for t in nest.outs}
    written: dict[tuple[str, Element], dict[str, int]] = {}

    def add(kind: dict[str, int], tile: dict[str, int], name: str, count: int) -> None:
        kind[name] += count
        tile[name] = tile.get(name, 0) + count

    def write(tile: dict[str, int], name: str) -> None:
        block = elements(nest.tensors[name], held[name])
        add(moves.write, tile, name, len(block))
        written.update(((name, element), tile) for element in block)

    starts = {s.name: (s, o) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None}
    core: dict[str, tuple[int, int]] | None = None

    def leave() -> None:
        """A core writes what it holds, and forgets it."""
        moves.tails.append({})
        for name in seen:
            write(moves.tails[-1], name)
        held.clear()

    for ranges in tiles(nest, schedule):
        moved: dict[str, int] = {}
        if core is not None and ranges[schedule.core_depth] != core:
            leave()
        core = ranges[schedule.core_depth]
        moves.cores.append(len(moves.tails))
        for name in [*names, *starts]:
            t = nest.tensors[name]
            at = ranges[n - schedule.keep_depth(name)]
            if name in starts:
                others = set(nest.sizes) - starts[name][1].dims
                if any(ranges[-1][d][0] > 0 for d in others):
                    continue
            block = {d: at[d] for d in sorted(t.dims)}
            if held.get(name) == block:
                continue
            if name in seen and name in held:
                write(moved, name)
            now = elements(t, block)
            held[name] = block
            if name in seen:
                add(moves.read, moved, name, len(now & seen[name]))
                seen[name] |= now
            else:
                add(moves.read, moved, name, len(now))
        moves.by_tile.append(moved)
        moves.places.append(ranges[-1])
        moves.tiles.append({d: high - low for d, (low, high) in ranges[-1].items()})
    leave()
    moves.tail = moves.tails[-1]
    for (name, _), tile in written.items():
        tile[finished(name)] = tile.get(finished(name), 0) + 1
    for name in seen:
        missed = nest.tensors[name].elements - len(seen[name])
        add(moves.write, moves.spare, name, missed)
        moves.spare[finished(name)] = missed
    for name, (t, _) in starts.items():
        add(moves.read, moves.spare, name, t.elements - len(elements(t, {d: (0, s) for d, s in nest.dims})))
    return moves


@pytest.fixture(scope="session")
def draw() -> Callable[..., Case]:
    """Draws a nest and a schedule: `draw(random, big=7, repeat=True, cores=False)`."""

    def case(r: Random, big: int = 7, repeat: bool = True, cores: bool = False) -> Case:
        nest = draw_nest(r, big)
        return nest, draw_schedule(r, nest, repeat, cores)

    return case


@pytest.fixture(scope="session")
def explicit_walk() -> Callable[[Nest, Schedule], Moves]:
    """The walk of the tiles."""
    return walk


@pytest.fixture(scope="session")
def pair() -> Callable[[dict[str, int]], Nest]:
    """The nest of dX and dW of a linear layer of sizes m, n, k."""
    return lambda sizes: gemm(sizes, "dxdw", (), "none")
