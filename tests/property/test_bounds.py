"""No schedule moves less than the lower bound of its nest, whatever the windows, strides, dilations and padding."""

from collections.abc import Callable
from itertools import product
from random import Random

import pytest

from npuc.compiler.analysis.nest.bounds import certificate, lower_bound_bits, points_inside
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.nest.traffic import bytes_by_tensor, moved_bits, traffic
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.widths import draw_bits

Draw = Callable[..., tuple[Nest, Schedule]]


def plain(name: str, dims: str, sizes: dict[str, int]) -> Tensor:
    return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))


def convolution(r: Random) -> Nest:
    """One of the three products of a convolution; whole windows may lie in padding, dilation may exceed the image."""
    most = {"o": 16, "i": 16, "y": 12, "x": 4, "r": 4, "s": 3}
    sizes = {d: r.randint(1, size) for d, size in most.items()}
    axes = [Axis(((p, r.randint(1, 4)), (q, r.randint(1, 6))), -r.randint(0, 9)) for p, q in ("yr", "xs")]
    image = (r.randint(1, 8), r.randint(1, 6))
    role = r.choice(("forward", "dx", "dw"))
    x = Tensor("dX" if role == "dx" else "X", (sizes["i"], *image), (Axis((("i", 1),)), *axes))
    w = plain("dW" if role == "dw" else "W", "oirs", sizes)
    y = plain("Y" if role == "forward" else "dY", "oyx", sizes)
    out, lhs, rhs = {"forward": (y, x, w), "dx": (x, y, w), "dw": (w, x, y)}[role]
    return Nest(tuple(sizes.items()), (lhs, rhs), (out,), (None,), (Statement(out.name, lhs.name, rhs.name),))


def schedule_of(r: Random, nest: Nest) -> Schedule:
    """Any order of tiles, many of them thin, and any tensors kept."""
    dims = [d for d, size in nest.dims if size > 1 and r.random() < 0.5]
    r.shuffle(dims)
    loops = tuple(Loop(d, r.choice((1, r.randint(1, nest.sizes[d] - 1)))) for d in dims)
    return Schedule(loops, tuple((t, r.randint(0, len(loops))) for t in nest.tensors))


def check(nest: Nest, schedule: Schedule, widths: Bits) -> None:
    held = max(1, footprint_bytes(nest, schedule, widths))
    moved = traffic(nest, schedule)
    assert lower_bound_bits(nest, held, widths) <= moved_bits(nest, moved, widths), f"{nest}\n{schedule}\n{widths}"
    whole = sum(read + write for read, write in bytes_by_tensor(nest, moved, widths).values())
    assert certificate(nest, held, widths, whole).gap >= 0, f"{nest}\n{schedule}\n{widths}"


@pytest.mark.parametrize("seed", range(6))
def test_convolutions(seed: int) -> None:
    r = Random(seed)
    for _ in range(100):
        nest = convolution(r)
        widths = draw_bits(r, nest)
        for _ in range(4):
            check(nest, schedule_of(r, nest), widths)


@pytest.mark.parametrize("seed", range(4))
def test_any_nest(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(100):
        nest, schedule = draw(r, big=r.choice((4, 12, 60)))
        check(nest, schedule, draw_bits(r, nest))


@pytest.mark.parametrize("seed", range(10))
def test_macs_by_padding_do_not_count(seed: int) -> None:
    """The bound counts the points at which every tensor has an element."""
    r = Random(seed)
    nest = convolution(r)
    tensors = list(nest.tensors.values())
    names = [d for d, _ in nest.dims]

    def holds(t: Tensor, at: dict[str, int]) -> bool:
        places = (axis.offset + sum(c * at[d] for d, c in axis.terms) for axis in t.axes)
        return all(0 <= place < size for place, size in zip(places, t.shape, strict=True))

    points = (dict(zip(names, at, strict=True)) for at in product(*(range(size) for _, size in nest.dims)))
    inside = sum(all(holds(t, at) for t in tensors) for at in points)
    assert points_inside(tensors, nest) == inside
