"""The pattern of this pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.by_hand import ByHand
from npuc.compiler.transforms.schedule.pins import named, usage_error
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True, eq=False)
class SetKeepDepths(ByHand):
    """
    The blocks of some tensors of a contraction stay in SPM over so many of its innermost loops.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> SetKeepDepths(depths={"X": 1, "W": 2})
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] keep(X = 1, W = 2) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    A contraction without these tensors stays as it is. Checks that it has as many loops, else raises `UsageError`, and
    that its blocks fit `spm`, by default the machine's SPM, which is written; else raises `CapacityError`.
    """

    name: ClassVar[str] = "set-keep-depths"

    depths: Mapping[str, int]
    """The number of innermost loops by tensor; 0 keeps one tile."""

    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule with these depths."""
        mine = {name: depth for name, depth in self.depths.items() if name in op.nest.tensors}
        if not mine or (op.schedule_attr is None and not any(mine.values())):
            return None
        if not op.schedule.loops and any(mine.values()):
            raise usage_error(op, f"{named(op)} has no loops to keep a tensor over", "tile or schedule before keep")
        return with_keep_depths(op.nest, op.schedule, mine)


def with_keep_depths(nest: Nest, schedule: Schedule, depths: Mapping[str, int]) -> Schedule:
    """The schedule with these keep depths, tensors in the nest's order."""
    every = schedule.keep_depths | dict(depths)
    return replace(schedule, keep=tuple((name, every[name]) for name in nest.tensors if every.get(name)))


PATTERNS: tuple[type[NamedPattern], ...] = (SetKeepDepths,)
