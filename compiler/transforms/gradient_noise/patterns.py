"""The pattern of this pass."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.step_number import step_number
from npuc.dialects.provenance import Role, derive
from npuc.dialects.train.quantized import GradientNoiseOp


@cache
def _updates() -> frozenset[str]:
    return frozenset(rule.op.name for rule in OPTIMIZERS.values())


def is_update(op: Operation) -> bool:
    """Whether an operation is an optimizer's update of a parameter, whose second operand is the gradient."""
    return op.name in _updates()


@dataclass(frozen=True, eq=False)
class AddGradientNoise(NamedPattern):
    """
    An update reads its gradient with noise on it.

        %new = train.sgd %w, %g lr 0.5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
        --> AddGradientNoise(0.01)
        %n = train.gradient_noise %g, %step sigma 0.01 : (tensor<4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
        %new = train.sgd %w, %n lr 0.5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>

    Checks that the gradient has none yet. The step is the argument of the function that counts steps, a new one where
    there is none.
    """

    name: ClassVar[str] = "add-gradient-noise"

    sigma: float
    """The standard deviation in the first step."""
    decay: float = 0.55
    """How fast the variance falls."""
    seed: int = 0
    """A number that chance begins with."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        func = op.parent_op()
        if not is_update(op) or not isinstance(func, FuncOp) or isinstance(op.operands[1].owner, GradientNoiseOp):
            return
        gradient = op.operands[1]
        noise = GradientNoiseOp(gradient, step_number(func), sigma=self.sigma, decay=self.decay, seed=self.seed)
        noise.out.name_hint = f"{gradient.name_hint}_noisy" if gradient.name_hint else None
        rewriter.insert(derive(op, noise, role=Role.DW), InsertPoint.before(op))
        op.operands[1] = noise.out
        rewriter.notify_op_modified(op)


PATTERNS: tuple[type[NamedPattern], ...] = (AddGradientNoise,)
