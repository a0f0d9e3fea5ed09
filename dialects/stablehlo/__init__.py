"""The `stablehlo` dialect: the programs that JAX exports, in the syntax of MLIR; `chlo.py` has its companion `chlo`."""

from xdsl.ir import Dialect

from npuc.dialects.stablehlo.binary import BINARY
from npuc.dialects.stablehlo.choice import CHOICE
from npuc.dialects.stablehlo.control import CONTROL
from npuc.dialects.stablehlo.enums import (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
)
from npuc.dialects.stablehlo.numbering import (
    ChannelHandleAttr,
    ConvNumbersAttr,
    DotNumbersAttr,
    GatherNumbersAttr,
    ScatterNumbersAttr,
)
from npuc.dialects.stablehlo.parts import PARTS
from npuc.dialects.stablehlo.places import PLACES
from npuc.dialects.stablehlo.products import PRODUCTS
from npuc.dialects.stablehlo.reductions import REDUCTIONS
from npuc.dialects.stablehlo.shape import SHAPE
from npuc.dialects.stablehlo.unary import UNARY

__all__ = ["STABLEHLO"]

STABLEHLO = Dialect(
    "stablehlo",
    [*UNARY, *BINARY, *CHOICE, *SHAPE, *PARTS, *PRODUCTS, *REDUCTIONS, *PLACES, *CONTROL],
    [
        ComparisonDirectionAttr,
        ComparisonTypeAttr,
        PrecisionAttr,
        RngAlgorithmAttr,
        RngDistributionAttr,
        ChannelHandleAttr,
        ConvNumbersAttr,
        DotNumbersAttr,
        GatherNumbersAttr,
        ScatterNumbersAttr,
    ],
)
