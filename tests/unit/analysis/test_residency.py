"""Which product of a layer a statement is, by the names of its tensors."""

import pytest

from npuc.compiler.analysis.machine.stationary import Product, Side, product_of
from npuc.dialects.npu.nest import Statement


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Statement("Y", "X", "W"), ("forward", "lhs", "rhs", "out")),
        (Statement("Y1", "X", "W1"), ("forward", "lhs", "rhs", "out")),
        (Statement("dX", "dY", "W"), ("dx", "out", "rhs", "lhs")),
        (Statement("dX2", "dY1", "W2"), ("dx", "out", "rhs", "lhs")),
        (Statement("dW", "dY", "X"), ("dw", "rhs", "out", "lhs")),
        (Statement("dW1", "X", "dY1"), ("dw", "lhs", "out", "rhs")),
        (Statement("P", "A", "B"), ("forward", "lhs", "rhs", "out")),
    ],
)
def test_products_are_known_by_their_names(statement: Statement, expected: tuple[Product, Side, Side, Side]) -> None:
    assert product_of(statement) == expected
