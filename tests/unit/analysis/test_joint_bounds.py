"""Bounds of several nests: what one value is, and nests that are no one nest together."""

from npuc.compiler.analysis.nest import bounds
from npuc.compiler.analysis.nest.bounds import Certificate, compulsory_bytes
from npuc.compiler.analysis.nest.fusion import NestPart, union
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from tests.widths import of_bytes

SIZES = {"m": 64, "n": 48, "k": 32}


def tensor(name: str, dims: str) -> Tensor:
    return Tensor(name, tuple(SIZES[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))


def product(out: Tensor, lhs: Tensor, rhs: Tensor) -> Nest:
    statement = Statement(out.name, lhs.name, rhs.name)
    return Nest(tuple(SIZES.items()), (lhs, rhs), (out,), (None,), (statement,))


DX = product(tensor("dX", "mk"), tensor("dY", "mn"), tensor("W", "kn"))
DW = product(tensor("dW", "kn"), tensor("X", "mk"), tensor("dY", "mn"))
X, W, Y = 64 * 32, 32 * 48, 64 * 48


def pair(
    spm: int, widths: tuple[int, ...] = (1, 1, 1), values: tuple[tuple[int, ...], ...] = ((0, 1), (2, 0))
) -> Certificate:
    return joint_certificate((DX, DW), values, spm, (of_bytes(DX, widths), of_bytes(DW, 1)), 0)


def capacity(nest: Nest, spm: int) -> int:
    return bounds.capacity(nest, spm, of_bytes(nest, 1)) // 8


def test_the_pair_is_its_one_nest() -> None:
    """Both bounds are those of the nest of both statements, whatever room there is."""
    names = {dim: dim for dim in SIZES}
    nest = union((NestPart(DX, ("dY", "W"), names), NestPart(DW, ("X", "dY"), names))).nest
    for spm in (1, 64, 500, 10**5):
        found = pair(spm)
        assert found.compulsory == compulsory_bytes(nest, of_bytes(nest, 1)) == 2 * X + 2 * W + Y
        assert found.capacity == capacity(nest, spm)


def test_less_than_both_alone_and_no_less_than_either() -> None:
    for spm in (64, 500, 10**5):
        alone = [joint_certificate((nest,), ((0, 1),), spm, (of_bytes(nest, 1),), 0).bound for nest in (DX, DW)]
        assert max(alone) <= pair(spm).bound <= sum(alone)


def test_nests_without_a_common_value_are_not_one() -> None:
    """The capacity bound of one counts beside what is compulsory of the other."""
    found = pair(64, values=((0, 1), (2, 3)))
    assert found.compulsory == 2 * (X + W + Y)
    assert found.capacity == capacity(DX, 64) + X + W + Y


def test_one_value_as_two_tensors_has_no_capacity_bound() -> None:
    """X and W of one nest, and of two nests under different index maps; other nests keep theirs."""
    square = product(tensor("dX", "mk"), tensor("dY", "mn"), tensor("W", "kn"))
    one = joint_certificate((square,), ((0, 0),), 64, (of_bytes(DX, 1),), 0)
    assert (one.compulsory, one.capacity) == (X + max(W, Y), 0)
    two = pair(64, values=((0, 1), (1, 0)))
    assert two.compulsory == X + W + Y + max(X, W)
    assert two.capacity == max(capacity(DX, 64) + W, capacity(DW, 64) + X)


def test_what_stays_in_scratchpad_is_free() -> None:
    """dY costs dX nothing: it is read once, for dW, and no sum over both statements needs it."""
    found = pair(64, widths=(0, 1, 1))
    assert found.compulsory == 2 * X + 2 * W + Y
    assert found.capacity == capacity(DW, 64) + X + W
