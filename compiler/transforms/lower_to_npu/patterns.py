"""The patterns of this pass, in the order in which they are tried."""

from npuc.compiler.transforms.lower_to_npu.by_layer import LowerByLayer, LowerConvByIm2col
from npuc.compiler.transforms.lower_to_npu.known_sums import UseKnownSums
from npuc.compiler.transforms.lower_to_npu.starts import StartFromAddition
from npuc.compiler.transforms.lower_to_npu.work import LowerConstant, LowerMove, LowerVector, LowerView
from npuc.compiler.transforms.named_pattern import NamedPattern

PATTERNS: tuple[type[NamedPattern], ...] = (
    UseKnownSums,
    StartFromAddition,
    LowerConvByIm2col,
    LowerConstant,
    LowerByLayer,
    LowerView,
    LowerMove,
    LowerVector,
)
