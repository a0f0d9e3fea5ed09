"""
The pass `shard-updates`: of a step that many devices share, each updates a part of the parameters that all have (ZeRO).

    %dw = dist.all_reduce %g over [0]               %d = dist.reduce_scatter %g axis 0 over [0]
    %w1, %v1 = train.sgd %w, %dw, %v     ->         %p = dist.slice %w axis 0 over [0]
                                                    %p1, %v1 = train.sgd %p, %d, %v
                                                    %w1 = dist.all_gather %p1 axis 0 over [0]

The optimizer's states are kept in parts (stage 1). Gradients are summed into parts when all are there, or with stage 2
as soon as each is there, so that no device keeps more of them than its parts. Together scatter and gather move what the
sum moved. Stage 3, with parameters in parts, is the option `zero` of `parallelize`: it gathers them before they are
read.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.core.verify import refused, require_train_level
from npuc.compiler.transforms.shard_updates.sharder import Sharder
from npuc.compiler.transforms.unused import remark_idle
from npuc.dialects.distributed.mesh import mesh_of
from npuc.dialects.train.signature import is_differentiated, training_functions

STAGES = (1, 2)


@dataclass(frozen=True)
class ShardUpdatesPass(ModulePass):
    """
    Let each device update a part of the parameters that all devices have, whose states it alone keeps.

    `stage` 1 sums gradients into parts at the end of the backward pass, 2 each as soon as it is there.
    """

    name = "shard-updates"
    EXAMPLE: ClassVar = "parallelize{strategy=dp devices=2},autodiff,shard-updates{stage=2}"

    stage: int = 1
    """What is kept in parts: 1 states of the optimizer, 2 gradients, too."""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise ValueError(f"stage is {self.stage}, expected 1 or 2; stage 3 is parallelize{{zero=true}}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        idle: list[str] = []
        for func in training_functions(op):
            self._check(func)
            mesh = mesh_of(func)
            if mesh is None:
                idle.append("the program is of one device: it comes after parallelize")
            elif not Sharder(func, mesh, early=self.stage == STAGES[-1]).shard():
                idle.append("of no parameter that several devices have can each update a part")
        if idle:
            remark_idle(self, idle[0])

    def _check(self, func: FuncOp) -> None:
        require_train_level(func, self.name)
        if not is_differentiated(func):
            raise refused(func, "there are no updates: run it after autodiff", self.name)
