"""Programs of tiles whose boxes do not fit each other run or are refused, with a place."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from npuc.compiler import SourceError, UsageError, run_source
from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr, Range
from npuc.dialects.npu.tiles.accumulators import ZeroOp
from tests.ir_programs import lowered, printed

NETWORKS = {
    "linear": ("[batch, 3]", "linear(x, 4)", "m:1,n:2"),
    "conv": ("[batch, 3, 5, 5]", "conv2d(x, 4, kernel=3)", "o:1,y:1"),
}
NUMBER = re.compile(r"(?<![\w.%:<x])\d+(?![\w.x])")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("number", [-1, 1 << 40, 1 << 62, 1 << 63, -(10**29)])
def test_a_box_elsewhere_is_refused_or_runs(network: str, number: int) -> None:
    shape, layer, steps = NETWORKS[network]
    source = f"network n(batch=2) {{\n  input x: f32{shape}\n  loss mean({layer})\n  optimizer sgd(lr=0.1)\n}}\n"
    text = printed(lowered(source, f'autodiff,lower-to-npu,tile{{steps="{steps}"}},schedule,lower-tiles'))
    x = np.ones([2 if size == "batch" else int(size) for size in shape[1:-1].split(", ")], np.float32)
    refusals = list[SourceError]()
    for spot in NUMBER.finditer(text):
        line = text[text.rfind("\n", 0, spot.start()) + 1 : spot.start()]
        if " over (" not in line:
            continue
        try:
            run_source(text[: spot.start()] + str(number) + text[spot.end() :], "mlir", "f.mlir", inputs={"x": x})
        except SourceError as error:
            refusals.append(error)
        except UsageError as error:  # a block of more than memory holds
            assert error.message.startswith("out of memory")  # noqa: PT017
    assert all(one.location and one.location.file == "f.mlir" for one in refusals)
    expected = "its use reaches" if number in (-1, 1 << 40) else "reaches" if number == 1 << 62 else "64 bits"
    assert any(expected in one.message for one in refusals), [one.message for one in refusals]


def test_the_numbers_of_a_box_have_64_bits() -> None:
    """Offsets, extents and limits; those of all bits are fine."""
    most = (1 << 63) - 1

    def box(offset: int, extent: int, limit: int) -> ZeroOp:
        ranges = (Range("m", offset, extent, limit, limited=True),)
        return ZeroOp(MapAttr(()), BoxAttr(ranges), [], BlockType((), f32))

    box(-most, most, most).verify_()
    for numbers in ((most + 1, 1, 1), (-most - 1, 1, 1), (0, most + 1, 1), (0, 1, most + 1), (0, 1, -most - 1)):
        with pytest.raises(VerifyException, match=r"the range of m has the number .*, an index has 64 bits"):
            box(*numbers).verify_()
