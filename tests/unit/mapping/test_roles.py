"""Which dimensions of a nest a dataflow's K, C, R, S, Y, X, G and N stand for."""

import pytest

from npuc.compiler.analysis.mapping.named.roles import roles_of
from npuc.dialects.mapping import Problem
from npuc.dialects.npu.nest import Nest
from tests.mappings import gradient_of, nest_of

SIZES = (("N", 2), ("K", 3), ("C", 4), ("Y", 7), ("X", 6), ("R", 3), ("S", 2))


def roles(nest: Nest) -> dict[str, str]:
    """The dimensions of each part, as letters."""
    return {name: "".join(dims) for name, dims in roles_of(nest, nest.statements[0]).dims}


@pytest.mark.parametrize(("out", "filters", "channels"), [("Y", "o", "i"), ("dX", "i", "o"), ("dW", "o", "i")])
def test_parts_of_a_convolution(out: str, filters: str, channels: str) -> None:
    forward = nest_of(Problem("CONV", SIZES))
    nest = forward if out == "Y" else gradient_of(forward, out)
    window = {"N": "b", "Y": "y", "X": "x", "R": "r", "S": "s"}
    assert roles(nest) == {"G": "", "K": filters, "C": channels, **window}
