"""Einsum: the products that it becomes, axes that broadcast, and mistakes."""

import numpy as np
import pytest

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_layer
from npuc.dialects.train.base import TrainOp
from tests.networks import Net
from tests.unit.layers.wrong_call import message_of


def einsum(equation: str, *shapes: tuple[int, ...]) -> tuple[list[str], int]:
    """The operations that an equation becomes, and their multiplications in products; the values are numpy's."""
    net = Net()
    y = net.call("einsum", equation, [net.input(f"x{i}", *shape) for i, shape in enumerate(shapes)])
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    random = np.random.default_rng(0)
    values = {f"x{i}": random.standard_normal(shape) for i, shape in enumerate(shapes)}
    expected = np.einsum(equation, *values.values())
    np.testing.assert_allclose(execute(module, values, double=True).outputs["y"], expected, atol=1e-12)
    ops = [op for op in module.walk() if isinstance(op, TrainOp)]
    return [op.name.removeprefix("train.") for op in ops], sum(get_layer(op).work(op).macs for op in ops)


@pytest.mark.parametrize(
    ("equation", "shapes", "ops", "macs"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], ["matmul"], 24),
        ("bij,jk->bik", [(5, 2, 3), (3, 4)], ["matmul"], 120),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)], ["matmul"], 720),
        ("bji,bjk->bik", [(5, 3, 2), (5, 3, 4)], ["matmul"], 120),
        ("bihd,bjhd->bhij", [(2, 4, 3, 5), (2, 6, 3, 5)], ["transpose", "transpose", "matmul"], 720),
        ("ij,ij->i", [(2, 3), (2, 3)], ["reshape", "reshape", "matmul", "reshape"], 6),
        ("i,j->ij", [(2,), (3,)], ["reshape", "reshape", "mul"], 0),
        ("ijk,jl->il", [(2, 3, 4), (3, 5)], ["reduce", "reshape", "matmul"], 30),
        ("ij,jk->ki", [(2, 3), (3, 4)], ["matmul", "transpose"], 24),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], ["matmul", "matmul"], 64),
        ("ij,jk->ik", [(2, 3), (1, 4)], ["reshape", "reduce", "reshape", "reshape", "reshape", "mul"], 0),
        ("...ij,...jk->...ik", [(7, 2, 3), (3, 4)], ["matmul"], 168),
    ],
)
def test_products_and_their_work(equation: str, shapes: list[tuple[int, ...]], ops: list[str], macs: int) -> None:
    assert einsum(equation, *shapes) == (ops, macs)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('einsum("ij,jk->ik", [x])', "12: found 'ij,jk->ik', which names 2 operands, expected 1"),
        ('einsum("ijk->i", [x])', "12: found 'ijk->i', in which 'ijk' names 3 axes of a tensor of rank 2"),
        ('einsum("i->i", [x])', "12: found 'i->i', in which 'i' names 1 axes of a tensor of rank 2"),
        ('einsum("ij->ik", [x])', "12: found 'ij->ik', in which no operand has the axis 'k' of the result"),
        ('einsum("ij->ii", [x])', "12: found 'ij->ii', expected each axis of the result once"),
        ('einsum("ii->i", [x])', "12: found 'ii->i', in which 'i' has the sizes 4 and 8"),
        ('einsum("ij,ji->i", [x, x])', "12: found 'ij,ji->i', in which 'j' has the sizes 8 and 4"),
        ('einsum("i1->i", [x])', "12: found 'i1->i', expected letters, '...', ',' and '->'"),
        ('einsum("", [])', "16: found an empty list, expected at least one tensor"),
    ],
)
def test_mistakes(call: str, expected: str) -> None:
    argument = "tensors" if expected.startswith("16") else "equation"
    column, _, what = expected.partition(": ")
    assert message_of(f"h = {call}") == f"{column}: argument '{argument}' of einsum (layer 'h'): {what}"
