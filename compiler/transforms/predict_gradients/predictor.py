"""
The predictor: a small network, one for all layers, from a layer's output to the gradient of its weight.

    output of a layer [batch, channels, height, width]
      -> mean over the batch, pooled to pool x pool         a picture for each channel, [channels, 1, pool, pool]
      -> convolution 3 x 3 to `features` maps, relu         for each channel alone
      -> a linear layer with `outputs` numbers              a row of the weight's gradient for each channel

The output channels of a layer are the batch of the predictor, and a row is what one of them has of the weight: [out,
in, k, k] is predicted in rows of in k k numbers. Layers with shorter rows use the first `row` columns of the linear
layer. Where a layer has only a batch and channels, the samples take the place of the picture.

That one predictor serves all layers by such a reorganisation is ADA-GP's (Janfaza, Mandal, Mahmud, Muzahid, MICRO 2023,
arXiv 2305.13236); its sizes and its loss, the squared error, are ours, as the text of the paper was not at hand. The
linear layer starts at 0, so that a predictor that has learned nothing predicts no gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.builder import GraphBuilder, Optimizer
from npuc.compiler.core.errors import Location
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers.activation import relu
from npuc.compiler.layers.adaptive_pool import adaptive_avg_pool
from npuc.compiler.layers.arithmetic import add
from npuc.compiler.layers.box import slice as part
from npuc.compiler.layers.conv import conv2d
from npuc.compiler.layers.matmul import matmul
from npuc.compiler.layers.pair_loss import mse
from npuc.compiler.layers.reduction import mean
from npuc.compiler.layers.shape import reshape, transpose
from npuc.compiler.transforms.predict_gradients.weights import PredictedWeight
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp

NAME = "predictor"
KERNEL = 3


@dataclass(frozen=True)
class Shape:
    """The sizes of a predictor: pictures of `pool` x `pool`, `features` maps, rows of `outputs` numbers."""

    pool: int
    features: int
    outputs: int

    @property
    def inner(self) -> int:
        """The numbers of a channel before the linear layer."""
        return self.features * self.pool**2


@dataclass(frozen=True)
class PredictorFunction:
    """
    A predictor as a function of the outputs of layers (and the gradients that it is to learn).

    `inputs` are the values of the network that its first arguments stand for. It returns predictions in the order of
    the weights, or the loss.
    """

    func: FuncOp
    inputs: tuple[SSAValue, ...]


def predictor(
    weights: Sequence[PredictedWeight], shape: Shape, gradients: Mapping[SSAValue, SSAValue] | None, lr: float
) -> PredictorFunction:
    """
    The function that predicts the gradients of all weights; with `gradients`, the true ones by their parameters, the
    loss that it is trained by, for Adam with the learning rate `lr`.
    """
    b = GraphBuilder(NAME)
    made = _Predictor(b, shape, tensor_type(weights[0].param).element_type, location_of(weights[0].op))
    inputs: list[SSAValue] = []
    predictions: list[SSAValue] = []
    losses: list[SSAValue] = []

    def input_of(name: str, value: SSAValue) -> SSAValue:
        inputs.append(value)
        return b.input(name, tensor_type(value))

    for weight in weights:
        x = input_of(f"{weight.name}.output", weight.output)
        rows = made.rows(weight, x)
        if gradients is None:
            predictions.append(made.laid_out(weight, rows))
        else:
            target = input_of(f"{weight.name}.gradient", gradients[weight.param])
            losses.append(made.loss(weight, rows, target))
    if gradients is None:
        outputs = [(weight.name, value) for weight, value in zip(weights, predictions, strict=True)]
        module = b.finish(loss=None, outputs=outputs, optimizer=None)
    else:
        total = losses[0]
        with b.at(NAME, location_of(weights[0].op)):
            for loss in losses[1:]:
                total = add(b, total, loss)
        module = b.finish(loss=total, outputs=[], optimizer=Optimizer("adam", {"lr": lr}))
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    func.detach()
    return PredictorFunction(func, tuple(inputs))


class _Predictor:
    """The layers of a predictor, with parameters that all weights share."""

    def __init__(self, b: GraphBuilder, shape: Shape, element: Attribute, location: Location | None):
        self.b, self.shape, self.element = b, shape, element
        with b.at(f"{NAME}.conv", location):
            self.kernel = b.param("weight", [shape.features, 1, KERNEL, KERNEL], element)
            self.kernel_bias = b.param("bias", [shape.features], element, bound=1 / KERNEL)
        with b.at(f"{NAME}.linear", location):
            self.matrix = b.param("weight", [shape.inner, shape.outputs], element, fill=0.0)
            self.matrix_bias = b.param("bias", [shape.outputs], element, fill=0.0)

    def rows(self, weight: PredictedWeight, output: SSAValue) -> SSAValue:
        """The predicted gradient: a row for each channel, or a column where the weight has its channels in columns."""
        b = self.b
        with b.at(f"{weight.layer}.pool", location_of(weight.op)):
            x = self._cast(self._pictures(weight, output), self.element)
        with b.at(weight.layer, location_of(weight.op)):
            y = conv2d(b, x, weight=self.kernel, padding=KERNEL // 2, bias=False)
            y = relu(b, add(b, y, reshape(b, self.kernel_bias, [self.shape.features, 1, 1])))
            y = reshape(b, y, [weight.channels, self.shape.inner])
            matrix = part(b, self.matrix, 1, 0, weight.row)
            bias = part(b, self.matrix_bias, 0, 0, weight.row)
            if weight.form == "columns":
                columns = matmul(b, matrix, y, transpose_a=True, transpose_b=True)
                return add(b, columns, reshape(b, bias, [weight.row, 1]))
            return add(b, matmul(b, y, matrix), bias)

    def laid_out(self, weight: PredictedWeight, rows: SSAValue) -> SSAValue:
        """Rows in the shape and type of the weight."""
        b, shape = self.b, shape_of(weight.param)
        with b.at(weight.layer, location_of(weight.op)):
            if weight.form == "transposed kernels":
                turned = reshape(b, rows, [shape[1], shape[0], *shape[2:]])
                rows = transpose(b, turned, [1, 0, *range(2, len(shape))])
            return self._cast(_shaped(b, rows, shape), tensor_type(weight.param).element_type)

    def loss(self, weight: PredictedWeight, rows: SSAValue, gradient: SSAValue) -> SSAValue:
        """The squared error of all elements of a gradient, summed."""
        b = self.b
        with b.at(weight.layer, location_of(weight.op)):
            shape = shape_of(gradient)
            target = self._cast(gradient, self.element)
            if weight.form == "transposed kernels":
                target = transpose(b, target, [1, 0, *range(2, len(shape))])
            return mse(b, rows, _shaped(b, target, shape_of(rows)), reduction="sum")

    def _pictures(self, weight: PredictedWeight, y: SSAValue) -> SSAValue:
        """A picture for each channel of a layer's output."""
        b, pool, channels = self.b, self.shape.pool, weight.channels
        if weight.form in ("kernels", "transposed kernels"):
            y = mean(b, y, 0)
            size = shape_of(y)[1:]
            if len(size) == 2:
                return adaptive_avg_pool(b, reshape(b, y, [channels, 1, *size]), pool)
            y = reshape(b, y, [channels, 1, 1, prod(size)])
            return reshape(b, adaptive_avg_pool(b, y, [1, pool**2]), [channels, 1, pool, pool])
        if weight.averages:
            y = mean(b, y, list(range(len(shape_of(y)) - 2)))
        if weight.axis == len(shape_of(weight.output)) - 1:
            y = adaptive_avg_pool(b, reshape(b, y, [1, 1, *shape_of(y)]), [pool**2, channels])
            y = transpose(b, reshape(b, y, [pool**2, channels]), [1, 0])
        else:
            y = adaptive_avg_pool(b, reshape(b, y, [1, 1, *shape_of(y)]), [channels, pool**2])
        return reshape(b, y, [channels, 1, pool, pool])

    def _cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        if tensor_type(value).element_type == element:
            return value
        return self.b.emit(CastOp(value, results=[tensor_of(element, shape_of(value))])).out


def _shaped(b: GraphBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(shape) else reshape(b, value, list(shape))
