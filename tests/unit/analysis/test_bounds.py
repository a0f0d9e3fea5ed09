"""Lower bounds of traffic."""

from npuc.compiler.analysis.bounds import capacity, compulsory, lower_bound_bytes
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor


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
    """2 V / sqrt(S) - 2 S with V = 1000^3 and S = 10^4."""
    assert capacity(gemm(1000, 1000, 1000), 10**4) == 2 * 10**9 // 100 - 2 * 10**4
    assert capacity(gemm(10, 10, 10), 10**4) == 0


def test_windows_weaken_the_capacity_bound() -> None:
    """
    A 3x3 window uses an element of the image nine times, so nine times the memory would do; padding needs none.
    """
    window = (Axis((("y", 1), ("r", 1)), -1), Axis((("x", 1), ("s", 1)), -1))
    x = Tensor("X", (64, 56, 56), (Axis((("i", 1),)), *window))
    w, y = plain("W", ("o", 64), ("i", 64), ("r", 3), ("s", 3)), plain("Y", ("o", 64), ("y", 56), ("x", 56))
    dims = (("o", 64), ("i", 64), ("y", 56), ("x", 56), ("r", 3), ("s", 3))
    nest = Nest(dims, (x, w), (y,), (None,), (Statement("Y", "X", "W"),))
    points = 64 * 64 * (56 * 3 - 2) ** 2
    assert capacity(nest, 400) == 2 * points // 60 - 800


def test_bytes_take_the_larger_bound() -> None:
    assert lower_bound_bytes(gemm(6, 4, 8), 10**6, (2, 2, 4)) == 2 * 48 + 2 * 32 + 4 * 24
    assert lower_bound_bytes(gemm(1000, 1000, 1000), 2 * 10**4, (2, 2, 2)) == 2 * (2 * 10**7 - 2 * 10**4)
