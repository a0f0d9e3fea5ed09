"""What operands of products become: formats by name, for weights, activations and gradients."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, i8
from xdsl.ir import Attribute

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.formats import BlockFloat, parse_format

WEIGHTS, ACTIVATIONS, GRADIENTS = KINDS = ("weights", "activations", "gradients")
"""What an operand of a product is: computed from parameters alone, by the backward pass, or else."""
FAST = "fast"
_LOW, _MID, _HIGH = (f"bfp<{bits}, 16, 3>" for bits in (2, 3, 4))
PRESETS: Final[Mapping[str, Mapping[str, str]]] = {
    "bfp-low": dict.fromkeys(KINDS, _LOW),
    "bfp-mid": dict.fromkeys(KINDS, _MID),
    "bfp-high": dict.fromkeys(KINDS, _HIGH),
    FAST: dict.fromkeys(KINDS, _HIGH),
    "fp8": {WEIGHTS: "f8e4m3", ACTIVATIONS: "f8e4m3", GRADIENTS: "f8e5m2"},
    "int8": dict.fromkeys(KINDS, "int8"),
}
"""
Names of sets of formats. Block floating point of FAST (HPCA 2022): 2, 3 and 4 bits of mantissa in groups of 16 with
exponents of 3 bits, as its authors compare them. fp8 as of Micikevicius et al. (2022), section 3.
"""
_ELEMENTS: Mapping[str, Attribute] = {"f8e4m3": Float8E4M3FNType(), "f8e5m2": Float8E5M2Type(), "int8": i8}


@dataclass(frozen=True)
class Conversion:
    """
    How an operand is converted: its element type, its rounding, a number for chance to begin with.

    With `low` FAST's controller chooses between as many bits of mantissa and those of the type, by the place of the
    `layer` among `layers` and the step of `steps` (0: by the layer alone).
    """

    element: Attribute
    rounding: str
    seed: int = 0
    low: int | None = None
    layer: int = 0
    layers: int = 1
    steps: int = 0

    @property
    def has_blocks(self) -> bool:
        """Whether values share exponents along an axis; other formats have a scale of the tensor."""
        return isinstance(self.element, BlockFloatType)


def element_of(text: str) -> Attribute:
    """The element type of a format by its name, `bfp<4, 16, 3>`, `f8e4m3`. Raises `ValueError` for another."""
    found = parse_format(text)
    if isinstance(found, BlockFloat):
        return BlockFloatType(found.mantissa, found.group, found.exponent)
    element = _ELEMENTS.get(str(found))
    if element is None:
        raise ValueError(f"found the format {found}, expected one of {', '.join(_ELEMENTS)}, or blocks of floats")
    return element


def formats_of(text: str) -> Mapping[str, Attribute]:
    """The element types of each kind of operand by a preset or a format. Raises `ValueError` for another."""
    known = PRESETS.get(text)
    if known is None:
        try:
            return dict.fromkeys(KINDS, element_of(text))
        except ValueError as error:
            raise ValueError(f"{error}; or one of {', '.join(PRESETS)}") from None
    return {kind: element_of(one) for kind, one in known.items()}
