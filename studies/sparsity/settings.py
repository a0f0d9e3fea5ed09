"""What the study prices: its machines, densities and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuc.compiler.core.options import CompileKeywords

PRESETS = ("training",)
NETWORK = "samples:resnet18"
DEFINES: Mapping[str, object] = {"batch": 16}
"""The study's own network, and its size."""
DENSITIES = (0.5, 0.3, 0.2, 0.1, 0.05)
MACHINE = "tpu-v4"
"""Where N:M is priced, with an array that skips what is N:M and stationary."""
SKIPPING: Mapping[str, object] = {"array.skips": "structured", "array.dataflow": "ws"}
PROCRUSTES, TENSORDASH = "procrustes", "tensordash"
"""The two machines made for sparse training, by their presets."""


@dataclass(frozen=True)
class Case:
    """
    A program on a machine: `machine` None is that of `--hw`; `dense` marks the one that others on it are compared with.

    `density` are the operands that are sparse, as `--density` takes them, `recipe` the options of `nm-recipe`.
    """

    method: str
    machine: str | None
    density: Mapping[str, str] = field(default_factory=dict[str, str])
    recipe: str | None = None
    published: str = ""
    source: str = ""

    @property
    def dense(self) -> bool:
        """Whether nothing is sparse."""
        return not self.density and self.recipe is None

    @property
    def options(self) -> CompileKeywords:
        """What differs from the dense program, as keywords of a compilation."""
        found: CompileKeywords = {}
        if self.density:
            found |= {"density": dict(self.density)}
        if self.recipe is not None:
            found |= {"after": [f"lower-to-npu=nm-recipe{{{self.recipe}}}"]}
        return found


def cases() -> tuple[Case, ...]:
    """The rows of the study, the dense program first of each machine."""
    kao = "Kao et al., 2022; Hubara et al., NeurIPS 2021"
    found = [
        Case("dense", None),
        Case("2:4", None, recipe='pattern="2:4"', published="0.833 of the FLOPs of a step by the formula", source=kao),
        Case(
            "2:4 transposable",
            None,
            recipe='pattern="2:4" transposable=true',
            published="0.667 of the FLOPs of a step by the formula",
            source=kao,
        ),
        Case("dense", PROCRUSTES),
    ]
    for one in DENSITIES:
        told = "up to 4 times as fast, 3.26 times less energy" if one == 0.1 else ""
        found.append(Case(f"weights {one}", PROCRUSTES, {"weights": str(one)}, None, told, "Yang et al., MICRO 2020"))
    found.append(Case("dense", TENSORDASH))
    for one in DENSITIES:
        told = "1.95 times as fast, mean of networks" if one == 0.5 else ""
        operands = {"activations": str(one), "gradients": str(one)}
        found.append(
            Case(f"activations, gradients {one}", TENSORDASH, operands, None, told, "Mahmoud et al., MICRO 2020")
        )
    return tuple(found)
