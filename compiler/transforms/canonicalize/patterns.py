"""The patterns of this pass, in the order in which they are tried."""

from npuc.compiler.transforms.canonicalize.compositions import CastThere, PartsOfWhole, TwoShapes
from npuc.compiler.transforms.canonicalize.constants import Folded
from npuc.compiler.transforms.canonicalize.identities import (
    EqualOperands,
    NeutralParameters,
    Repeated,
    SameShape,
    Undone,
)
from npuc.compiler.transforms.named_pattern import NamedPattern

PATTERNS: tuple[type[NamedPattern], ...] = (
    SameShape,
    NeutralParameters,
    Repeated,
    Undone,
    EqualOperands,
    TwoShapes,
    CastThere,
    PartsOfWhole,
    Folded,
)
