"""
The pass `predict-gradients`: the steps of a training some of whose gradients a small network predicts (ADA-GP).

    %y = train.matmul %x, %w : …                 %y = train.matmul %x, %w : …
    %l = train.dot_loss %y, %t : …       ->      %p = … a prediction of the gradient of %w, from %y …
    func.return %l                               %w1 = train.sgd %w, %p lr 0.1 {role = "update"} : …
                                                 %l = train.dot_loss %y, %t : …
                                                 func.return %l, %w1

`phase=bp` is the step of `autodiff`, with the predictor beside it: as soon as the gradient of a weight is there, the
predictor learns to predict it from the output of its layer, by Adam. The network's own gradients and updates are those
of `autodiff` to the bit. `phase=gp` has no backward pass: the weights of matrix products and convolutions are updated
right behind their layer by the network's own optimizer, so that no activation is stored beyond the layers that read it.
Other parameters (biases, scales of norms, tables of words) stay as they are in it. The predictor's parameters
and Adam's states are arguments of the step, `predictor.…`, which go from program to program by their names.

`predictor=ideal` predicts at no cost: the gradients are inputs of the step. Nobody knows their values, so that it is
priced, and not run.

The pass takes the place of `autodiff`, which has nothing to do behind it. Source: Janfaza, Mandal, Mahmud, Muzahid,
"ADA-GP: Accelerating DNN Training By Adaptive Gradient Prediction", MICRO 2023, arXiv 2305.13236.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.core.verify import refused, require_train_level
from npuc.compiler.transforms.predict_gradients.predictor import Shape
from npuc.compiler.transforms.predict_gradients.steps import PredictedStep
from npuc.compiler.transforms.predict_gradients.weights import PredictedWeight
from npuc.dialects.distributed.mesh import mesh_of
from npuc.dialects.train.signature import is_differentiated, training_functions

PHASES = ("bp", "gp")
PREDICTORS = ("real", "ideal")


@dataclass(frozen=True)
class PredictGradientsPass(ModulePass):
    """
    Make a forward function a step of a training with predicted gradients: `phase` bp trains the predictor beside the
    backward pass, gp updates weights by its predictions and has no backward pass.
    """

    name = "predict-gradients"
    EXAMPLE: ClassVar = "predict-gradients{phase=gp}"

    phase: str = "bp"
    """Which step: bp (backward pass, the predictor learns) or gp (predicted gradients)."""
    predictor: str = "real"
    """The predictor: real, or ideal, whose gradients are inputs and cost nothing (of gp)."""
    pool: int = 4
    """The height and width to which a channel of a layer's output is pooled."""
    features: int = 4
    """The maps of the predictor's convolution."""
    outputs: int | None = None
    """The numbers that the predictor has for a channel; by default the longest row of a weight."""
    lr: float = 1e-3
    """The learning rate of the predictor's Adam (of bp)."""
    only: str | None = None
    """A glob of the weights that are predicted."""

    def __post_init__(self) -> None:
        if self.phase not in PHASES:
            raise ValueError(f"phase is '{self.phase}', expected {' or '.join(PHASES)}")
        if self.predictor not in PREDICTORS:
            raise ValueError(f"predictor is '{self.predictor}', expected {' or '.join(PREDICTORS)}")
        if self.phase == "bp" and self.predictor == "ideal":
            raise ValueError("phase is 'bp', expected gp with predictor=ideal, which need not learn")
        for name, value in (("pool", self.pool), ("features", self.features), ("outputs", self.outputs)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}, expected at least 1")
        if not 0 < self.lr < inf:
            raise ValueError(f"lr is {self.lr}, expected more than 0")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in training_functions(op):
            self._check(func)
            made = PredictedStep(func, self.name, lambda name: self.only is None or fnmatchcase(name, self.only))
            if self.phase == "bp":
                made.backpropagated(self._sizes, self.lr)
            elif self.predictor == "real":
                made.predicted(self._sizes, self.lr)
            else:
                made.given()

    def _check(self, func: FuncOp) -> None:
        require_train_level(func, self.name)
        if is_differentiated(func):
            raise refused(func, "found a whole training step: run it in place of autodiff", self.name)
        if mesh_of(func) is not None:
            raise refused(func, "the program is of several devices: a predictor is of one", self.name)

    def _sizes(self, weights: Sequence[PredictedWeight]) -> Shape:
        """The sizes of the predictor. Raises `SourceError` for a weight whose rows are longer than its outputs."""
        longest = max(one.row for one in weights)
        outputs = longest if self.outputs is None else self.outputs
        for one in weights:
            if one.row > outputs:
                raise refused(
                    one.op,
                    f"the predictor has {outputs:,} outputs, and a channel of the weight '{one.name}' has {one.row:,} "
                    f"elements: expected outputs={longest} at least",
                    self.name,
                )
        return Shape(self.pool, self.features, outputs)
