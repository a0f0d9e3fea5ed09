"""Named cases of traffic, in elements, from the definition of interleaved gradients."""

import pytest

from npuc.compiler.analysis.nest.blocks import TiledDimension, axis_sum, intervals, lengths
from npuc.compiler.analysis.nest.traffic import TensorTraffic, traffic
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor


def plain(name: str, *dims: tuple[str, int]) -> Tensor:
    return Tensor(name, tuple(size for _, size in dims), tuple(Axis(((d, 1),)) for d, _ in dims))


def backward(m: int, n: int, k: int, roles: str = "dxdw") -> Nest:
    """The gradients of a linear layer: dX, dW or both."""
    dy, w, x = plain("dY", ("m", m), ("n", n)), plain("W", ("k", k), ("n", n)), plain("X", ("m", m), ("k", k))
    dx, dw = Tensor("dX", x.shape, x.axes), Tensor("dW", w.shape, w.axes)
    sx, sw = Statement("dX", "dY", "W"), Statement("dW", "X", "dY")
    ins, outs, statements = {
        "dx": ((dy, w), (dx,), (sx,)),
        "dw": ((x, dy), (dw,), (sw,)),
        "dxdw": ((dy, w, x), (dx, dw), (sx, sw)),
    }[roles]
    return Nest((("m", m), ("n", n), ("k", k)), ins, outs, tuple(None for _ in outs), statements)


def cost(nest: Nest, order: str, keep: dict[str, int], step: int = 2) -> dict[str, TensorTraffic]:
    return traffic(nest, Schedule(tuple(Loop(d, step) for d in order), tuple(keep.items())))


def rw(read: int, write: int = 0) -> TensorTraffic:
    """What moves of an input, or of a result: what is read back is what was written before it was finished."""
    return TensorTraffic(read, write, read, read) if write else TensorTraffic(read, write)


@pytest.mark.parametrize(
    ("order", "keep", "dy", "w", "x", "dx", "dw", "held"),
    [
        ("mkn", {}, 96, 96, 48, rw(0, 48), rw(64, 96), 20),
        ("mkn", {"dY": 2}, 24, 96, 48, rw(0, 48), rw(64, 96), 24),
        ("mkn", {"dY": 2, "W": 3, "dW": 3}, 24, 32, 48, rw(0, 48), rw(0, 32), 80),
        ("nkm", {}, 96, 32, 96, rw(48, 96), rw(0, 32), 20),
        ("kmn", {"W": 2, "dW": 2}, 96, 32, 48, rw(0, 48), rw(0, 32), 28),
        ("kmn", {"W": 2, "dW": 2, "dY": 3}, 24, 32, 48, rw(0, 48), rw(0, 32), 48),
    ],
)
def test_tiny_fused_table(
    order: str, keep: dict[str, int], dy: int, w: int, x: int, dx: TensorTraffic, dw: TensorTraffic, held: int
) -> None:
    """M = 6, K = 8, N = 4, all tiles 2."""
    nest = backward(6, 4, 8)
    assert cost(nest, order, keep) == {"dY": rw(dy), "W": rw(w), "X": rw(x), "dX": dx, "dW": dw}
    schedule = Schedule(tuple(Loop(d, 2) for d in order), tuple(keep.items()))
    assert sum(footprint(nest, schedule).values()) == held


def test_tiny_sequential() -> None:
    first, second = cost(backward(6, 4, 8, "dx"), "mkn", {}), cost(backward(6, 4, 8, "dw"), "nkm", {})
    assert first == {"dY": rw(96), "W": rw(96), "dX": rw(0, 48)}
    assert second == {"X": rw(96), "dY": rw(96), "dW": rw(0, 32)}


@pytest.mark.parametrize(
    ("order", "keep", "trips"),
    [
        ("mkn", {}, ("k", "m", "", "", "m")),
        ("mkn", {"dY": 2}, ("", "m", "", "", "m")),
        ("mkn", {"dY": 2, "W": 3, "dW": 3}, ("", "", "", "", "")),
        ("nkm", {}, ("k", "", "n", "n", "")),
        ("nkm", {"dY": 2}, ("", "", "n", "n", "")),
        ("nkm", {"dY": 2, "X": 3, "dX": 3}, ("", "", "", "", "")),
        ("kmn", {"W": 2, "dW": 2}, ("k", "", "", "", "")),
    ],
)
def test_named_orders(order: str, keep: dict[str, int], trips: tuple[str, ...]) -> None:
    """Each tensor moves as often as the trips of the named loop; ragged tiles do not matter."""
    sizes = {"m": 23, "n": 14, "k": 31}
    count = {d: -(-s // 4) for d, s in sizes.items()} | {"": 1}
    nest = backward(23, 14, 31)
    moved = cost(nest, order, keep, step=4)
    for name, trip in zip(("dY", "W", "X", "dX", "dW"), trips, strict=True):
        size, times = nest.tensors[name].elements, count[trip]
        accumulates = name in ("dX", "dW")
        assert moved[name] == (rw((times - 1) * size, times * size) if accumulates else rw(times * size)), name


def test_expand_layer_of_resnet50() -> None:
    """25088 x 256 x 64: dW and W resident reach the compulsory bound, 19,333,120 bytes of two-byte elements."""
    nest = backward(25088, 256, 64)
    schedule = Schedule((Loop("m", 128), Loop("k", 64), Loop("n", 128)), (("dY", 2), ("W", 3), ("dW", 3)))
    moved = traffic(nest, schedule)
    assert 2 * sum(t.read + t.write for t in moved.values()) == 19_333_120


def test_partition_in_front() -> None:
    """
    A second cut of M outside N: W is read once a part. A second cut of K: its last part is one tile, which stays while
    M steps.
    """
    nest = backward(16, 4, 8, "dx")
    schedule = Schedule((Loop("m", 8), Loop("n", 2), Loop("k", 4), Loop("m", 2)))
    moved = traffic(nest, schedule)
    assert moved["W"] == rw(2 * 32)
    assert moved["dY"] == rw(2 * 64)
    assert moved["dX"] == rw(128, 256)
    seam = Schedule((Loop("k", 6), Loop("m", 8), Loop("k", 4)))
    assert traffic(backward(16, 4, 8, "dw"), seam)["dW"] == rw(24, 56)


def test_strided_window_reads_a_quarter() -> None:
    """A 1x1 convolution of stride 2 touches every fourth pixel; the others of dX are written once as zeros."""
    image = (Axis((("y", 2), ("r", 1))), Axis((("x", 2), ("s", 1))))
    dims = (("o", 3), ("i", 2), ("y", 4), ("x", 4), ("r", 1), ("s", 1))
    dx = Tensor("dX", (2, 8, 8), (Axis((("i", 1),)), *image))
    dy, w = plain("dY", ("o", 3), ("y", 4), ("x", 4)), plain("W", ("o", 3), ("i", 2), ("r", 1), ("s", 1))
    nest = Nest(dims, (dy, w), (dx,), (None,), (Statement("dX", "dY", "W"),))
    assert traffic(nest, Schedule())["dX"] == rw(0, 128)
    assert traffic(nest, Schedule((Loop("o", 1), Loop("y", 1))))["dX"] == rw(2 * 32, 3 * 32 + 96)


def test_overlapping_windows_are_read_back() -> None:
    """The convolution example: 3x3, stride 2, padding 1; halos of dX come back 48 times."""
    window = (Axis((("y", 2), ("r", 1)), -1), Axis((("x", 2), ("s", 1)), -1))
    dims = (("b", 2), ("o", 8), ("i", 3), ("y", 4), ("x", 4), ("r", 3), ("s", 3))
    dy = plain("dY", ("b", 2), ("o", 8), ("y", 4), ("x", 4))
    w = plain("W", ("o", 8), ("i", 3), ("r", 3), ("s", 3))
    x = Tensor("X", (2, 3, 8, 8), (Axis((("b", 1),)), Axis((("i", 1),)), *window))
    dx, dw = Tensor("dX", x.shape, x.axes), Tensor("dW", w.shape, w.axes)
    statements = (Statement("dX", "dY", "W"), Statement("dW", "X", "dY"))
    nest = Nest(dims, (dy, w, x), (dx, dw), (None, None), statements)
    schedule = Schedule((Loop("b", 1), Loop("y", 2), Loop("o", 4)), (("W", 2), ("dW", 3)))
    moved = traffic(nest, schedule)
    assert moved["dX"] == rw(48, 384 + 48)
    assert moved["W"] == rw(216)
    assert gemm_view(nest, statements[0]) == GemmView((), ("b", "y", "x"), ("i", "r", "s"), ("o",))
    assert gemm_view(nest, statements[1]).sizes(nest.sizes) == (1, 27, 8, 32)


def test_bias_is_read_for_the_first_visit_only() -> None:
    x, w, y = plain("X", ("m", 8), ("k", 8)), plain("W", ("k", 8), ("n", 6)), plain("Y", ("m", 8), ("n", 6))
    bias = plain("Y0", ("n", 6))
    nest = Nest((("m", 8), ("n", 6), ("k", 8)), (x, w), (y,), (bias,), (Statement("Y", "X", "W"),))
    tiles = (Loop("k", 4), Loop("m", 2), Loop("n", 3))
    assert traffic(nest, Schedule(tiles))["Y0"] == rw(4 * 6)
    assert traffic(nest, Schedule(tiles, (("Y0", 2),)))["Y0"] == rw(6)


def test_depthwise_channels_are_batch() -> None:
    y, x = plain("Y", ("i", 4), ("y", 6)), Tensor("X", (4, 6), (Axis((("i", 1),)), Axis((("y", 1), ("r", 1)), -1)))
    statement = Statement("Y", "X", "W")
    nest = Nest((("i", 4), ("y", 6), ("r", 3)), (x, plain("W", ("i", 4), ("r", 3))), (y,), (None,), (statement,))
    assert gemm_view(nest, statement) == GemmView(("i",), ("y",), (), ("r",))


def test_intervals_of_nested_cuts() -> None:
    assert list(intervals(7, (4, 3))) == [(0, 3), (3, 1), (4, 3)]
    assert dict(lengths(7, (4, 3))) == {3: 2, 1: 1}
    assert dict(lengths(10**12 + 1, (10**6, 10**3))) == {10**3: 10**9, 1: 1}


def test_axis_tables_are_clipped() -> None:
    """Windows of 3 with padding 1 over 6 positions, two a tile: 4 + 4 + 4 positions less one outside at each end."""
    axis = Axis((("y", 1), ("r", 1)), -1)
    assert axis_sum(axis, 6, (TiledDimension(6, (2,)), TiledDimension(3, ()))) == 3 + 4 + 3
