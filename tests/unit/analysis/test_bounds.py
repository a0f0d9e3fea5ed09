"""Lower bounds of traffic."""

from dataclasses import replace

import pytest

from npuc.compiler.analysis.nest import bounds
from npuc.compiler.analysis.nest.bounds import compulsory, lower_bound_bits
from npuc.compiler.analysis.nest.elements import Bits
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from tests.widths import of_bytes


def capacity(nest: Nest, spm_bytes: int, widths: tuple[int, ...], sums: int | None = None) -> int:
    """The bound in bytes, of elements of so many bytes."""
    return bounds.capacity(nest, spm_bytes, of_bytes(nest, widths, sums)) // 8


def compulsory_bytes(nest: Nest, widths: tuple[int, ...]) -> int:
    return bounds.compulsory_bytes(nest, of_bytes(nest, widths))


def lower_bound_bytes(nest: Nest, spm_bytes: int, widths: tuple[int, ...]) -> int:
    return lower_bound_bits(nest, spm_bytes, of_bytes(nest, widths)) // 8


def certificate(nest: Nest, spm_bytes: int, widths: tuple[int, ...], reached: int) -> bounds.Certificate:
    return bounds.certificate(nest, spm_bytes, of_bytes(nest, widths), reached)


def plain(name: str, *dims: tuple[str, int]) -> Tensor:
    return Tensor(name, tuple(size for _, size in dims), tuple(Axis(((d, 1),)) for d, _ in dims))


def gemm(m: int, n: int, k: int, *, bias: bool = False) -> Nest:
    y = plain("Y", ("m", m), ("n", n))
    ins = (plain("X", ("m", m), ("k", k)), plain("W", ("k", k), ("n", n)))
    start = plain("Y0", ("n", n)) if bias else None
    return Nest((("m", m), ("n", n), ("k", k)), ins, (y,), (start,), (Statement("Y", "X", "W"),))


def test_compulsory_counts_each_tensor_once() -> None:
    assert compulsory(gemm(6, 4, 8, bias=True)) == {"X": 48, "W": 32, "Y": 24, "Y0": 4}


def test_capacity_of_a_cube() -> None:
    """2 V / sqrt(S) + S with V = 1000^3 and S = 10^4, since V is a multiple of S^(3/2); in a large memory 3 V^(2/3)."""
    assert capacity(gemm(1000, 1000, 1000), 10**4, (1, 1, 1)) == 2 * 10**9 // 100 + 10**4
    assert capacity(gemm(10, 10, 10), 10**4, (1, 1, 1)) == 300


def test_capacity_takes_bytes() -> None:
    """Elements of twice the width in twice the memory: twice the traffic. Of a wide output: V counts more."""
    assert capacity(gemm(1000, 1000, 1000), 2 * 10**4, (2, 2, 2)) == 2 * (2 * 10**7 + 10**4)
    assert capacity(gemm(1000, 1000, 1000), 10**4, (1, 1, 4)) == 2 * (2 * 10**7) + 10**4


def test_partial_sums_are_wide() -> None:
    """
    In twice the width of the result: V counts sqrt(2) times, less what the last write has less.

    In a memory for everything only the last writes are left, and where sums are narrower each result has more at last.
    """
    cube = gemm(1000, 1000, 1000)
    wide = capacity(cube, 10**4, (2, 2, 2), 4)
    assert wide == pytest.approx(2 * (2 * 2 * 4) ** 0.5 * 10**9 / 100 + 10**4 - 2 * 10**6, rel=1e-6)
    assert wide > capacity(cube, 10**4, (2, 2, 2), 2)
    narrow = capacity(cube, 10**4, (2, 2, 4), 2)
    assert narrow == pytest.approx(2 * (2 * 2 * 2) ** 0.5 * 10**9 / 100 + 10**4 + 2 * 10**6, rel=1e-6)
    assert bounds.capacity(gemm(6, 4, 8), 10**4, of_bytes(gemm(6, 4, 8), 2, 4)) <= 8 * (2 * 48 + 2 * 32 + 2 * 24)


def test_bits_that_are_no_bytes() -> None:
    """Elements of half a byte in half the memory: half the traffic, and whole bytes of each tensor are compulsory."""
    cube = gemm(1000, 1000, 1000)
    half = Bits((4, 4, 4), (4,))
    assert bounds.capacity(cube, 5 * 10**3, half) == 4 * (2 * 10**7 + 10**4)
    odd = gemm(3, 1, 1)
    assert bounds.compulsory_bits(odd, half) == 4 * (3 + 1 + 3)
    assert bounds.compulsory_bytes(odd, half) == 2 + 1 + 2


def test_a_small_side() -> None:
    """
    16 rows, memory for 10^4: W once and V^2 / (S |W|) more, which is above both plain bounds.

    X and Y alone are read again and again: 1 + 16^2 / 10^4 times |W|, and about S.
    """
    nest = gemm(16, 10**5, 10**5)
    expected = 10**10 + 16 * 16 * 10**6
    assert 0 <= capacity(nest, 10**4, (1, 1, 1)) - expected <= 10**4
    assert compulsory_bytes(nest, (1, 1, 1)) < expected


@pytest.mark.parametrize(("stride", "reuse"), [(1, 9), (2, 4), (3, 1), (4, 1)])
def test_windows_weaken_the_capacity_bound(stride: int, reuse: int) -> None:
    """A 3x3 window uses an element of the image up to nine times, so nine times the memory would do."""
    window = (Axis((("y", stride), ("r", 1))), Axis((("x", stride), ("s", 1))))
    side = 55 * stride + 3
    x = Tensor("X", (64, side, side), (Axis((("i", 1),)), *window))
    w, y = plain("W", ("o", 64), ("i", 64), ("r", 3), ("s", 3)), plain("Y", ("o", 64), ("y", 56), ("x", 56))
    dims = (("o", 64), ("i", 64), ("y", 56), ("x", 56), ("r", 3), ("s", 3))
    nest = Nest(dims, (x, w), (y,), (None,), (Statement("Y", "X", "W"),))
    expected = 2 * nest.points / (400 * reuse) ** 0.5 + 400
    assert capacity(nest, 400, (1, 1, 1)) == pytest.approx(expected, rel=1e-5)


def test_padding_is_no_work_for_the_bound() -> None:
    """Of 11 positions of a window 9 wide, most lie in the padding of an image of one column; a few points remain."""
    x = Tensor("X", (100, 1), (Axis((("b", 1),)), Axis((("y", 1), ("r", 1)), -9)))
    y, dw = plain("Y", ("b", 100), ("y", 11), ("o", 50)), plain("dW", ("o", 50), ("r", 9))
    dims = (("b", 100), ("y", 11), ("o", 50), ("r", 9))
    nest = Nest(dims, (x, y), (dw,), (None,), (Statement("dW", "X", "Y"),))
    inside = 100 * 50 * 9
    assert capacity(nest, 25, (1, 1, 1)) <= compulsory_bytes(nest, (1, 1, 1)) + 2 * inside // 5
    away = replace(nest, ins=(replace(x, axes=(x.axes[0], replace(x.axes[1], offset=-30))), y))
    assert lower_bound_bytes(away, 3, (1, 1, 1)) == compulsory_bytes(away, (1, 1, 1)) == y.elements + dw.elements


def siblings(shared: str) -> Nest:
    """Three products over the same sizes that share X, or X and W."""
    sizes = (("m", 900), ("n", 900), ("k", 900))
    x, (m, n, k) = plain("X", ("m", 900), ("k", 900)), sizes
    weights = [plain(f"W{i}", k, n) for i in range(3 if shared == "X" else 1)]
    outs = tuple(plain(f"Y{i}", m, n) for i in range(3))
    statements = tuple(Statement(y.name, "X", weights[i % len(weights)].name) for i, y in enumerate(outs))
    return Nest(sizes, (x, *weights), outs, (None,) * 3, statements)


def test_siblings() -> None:
    """With one shared operand every product counts in full; with two, all three count like one."""
    alone = 2 * 900**3 // 30
    assert capacity(siblings("X"), 900, (1,) * 7) == 3 * alone + 900
    both = capacity(siblings("XW"), 900, (1,) * 5)
    assert alone < both < 1.1 * alone


def test_nothing_without_three_tensors() -> None:
    """A tensor times itself, and a dimension of one tensor only, have no capacity bound of their own."""
    x, y = plain("X", ("m", 50), ("k", 50)), plain("Y", ("m", 50), ("k", 50))
    nest = Nest((("m", 50), ("k", 50)), (x,), (y,), (None,), (Statement("Y", "X", "X"),))
    assert capacity(nest, 3, (1, 1)) == 0
    total = plain("T", ("k", 50))
    nest = Nest((("m", 50), ("k", 50)), (x, plain("V", ("k", 50))), (total,), (None,), (Statement("T", "X", "V"),))
    assert capacity(nest, 3, (1, 1, 1)) == 0


def test_bytes_take_the_larger_bound() -> None:
    assert lower_bound_bytes(gemm(6, 4, 8), 10**6, (2, 2, 4)) == 2 * 48 + 2 * 32 + 4 * 24
    assert lower_bound_bytes(gemm(1000, 1000, 1000), 2 * 10**4, (2, 2, 2)) == 2 * (2 * 10**7 + 10**4)


def test_certificate() -> None:
    found = certificate(gemm(6, 4, 8), 10**6, (2, 2, 4), 256)
    assert (found.compulsory, found.bound, found.gap, found.optimal) == (256, 256, 0, True)
    found = certificate(gemm(1000, 1000, 1000), 10**4, (1, 1, 1), 3 * 10**7)
    assert (found.compulsory, found.capacity) == (3 * 10**6, 2 * 10**7 + 10**4)
    assert (found.gap, found.optimal) == (10**7 - 10**4, False)
