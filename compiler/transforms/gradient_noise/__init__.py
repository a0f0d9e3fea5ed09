"""
The pass `gradient-noise`: normal noise on the gradients that updates read.

    %w1 = train.sgd %w, %dw …        ->      %n = train.gradient_noise %dw, %step sigma 0.01 decay 0.55 : …
                                             %w1 = train.sgd %w, %n …

The control experiment for formats of few bits: if noise of the size of their errors, which falls as training goes on,
trains as well, then it is not the precision that counts but how much of it when. In step t the standard deviation is
sigma / (1 + t)^(decay / 2): Neelakantan et al., "Adding gradient noise improves learning for very deep networks", 2015,
equation 1 with eta = sigma^2 and gamma = decay.

The pattern `add-gradient-noise` puts it in front of an update.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isfinite
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.core.verify import require_train_level
from npuc.compiler.transforms.gradient_noise.patterns import AddGradientNoise, is_update
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.step_number import step_number
from npuc.compiler.transforms.unused import remark_idle, remark_unmatched
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.signature import training_functions

_PARAMETERS = 1 << 20
"""More parameters than a function has."""


@dataclass(frozen=True)
class GradientNoisePass(ModulePass):
    """
    Add normal noise to the gradients of parameters: of standard deviation `sigma` in the first step, less by `decay`.

    `only` is a glob of the parameters. It comes after autodiff.
    """

    name = "gradient-noise"
    EXAMPLE: ClassVar = "autodiff,gradient-noise{sigma=0.01}"
    CHANGES_NUMBERS: ClassVar = "it adds noise"

    sigma: float
    """The standard deviation in the first step."""
    decay: float = 0.55
    """How fast the variance falls: by (1 + step) to this power."""
    only: str | None = None
    """A glob of the parameters whose gradients get noise."""
    seed: int = 0
    """A number that chance begins with."""

    def __post_init__(self) -> None:
        for name, value in (("sigma", self.sigma), ("decay", self.decay)):
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}, expected at least 0")
        if not 0 <= self.seed < 1 << 31:
            raise ValueError(f"seed is {self.seed}, expected 0 to {(1 << 31) - 1:,}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        updates = 0
        names: list[str] = []
        for func in training_functions(op):
            require_train_level(func, self.name)
            updates += self._add(func, names)
        if remark_unmatched(self, self.only, names, "update") and not updates:
            remark_idle(self, "there is no update of a parameter yet: it comes after autodiff")

    def _add(self, func: FuncOp, names: list[str]) -> int:
        """Add noise to the gradients of a function; how many have it. Adds the parameters to `names`."""
        updates = [op for op in func.body.block.ops if is_update(op)]
        names += [layer_of(op) for op in updates]
        wanted = [op for op in updates if self.only is None or fnmatchcase(layer_of(op), self.only)]
        if not wanted:
            return 0
        step_number(func)
        for number, op in enumerate(wanted):  # noise of its own for each
            seed = self.seed * _PARAMETERS + number
            apply_pattern(AddGradientNoise(float(self.sigma), float(self.decay), seed), op)
        return len(wanted)
