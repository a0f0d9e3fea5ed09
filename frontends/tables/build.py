"""
The module of a layer table: one function in which every layer has inputs of its own.

    fc1,64,512,784  ->  %y = train.matmul %x, %w {layer = "fc1"} : (tensor<64x784xf32>, tensor<784x512xf32>) -> …

In a training step the gradient of each result is an input too, and dX and dW follow the product.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder, TooManyOps, function_name
from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.provenance import REPEAT, SPARSITY, Role, repeat_attr, sparsity_attr
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import Conv2dDwOp, Conv2dDxOp, Conv2dOp
from npuc.dialects.train.matmul import MatmulOp
from npuc.frontends.tables.model import Convolution, Product, Table, TableLayer
from npuc.frontends.tables.read import Choose, read_table

OpT = TypeVar("OpT", bound=TrainOp)


@dataclass(frozen=True)
class TableProgram:
    """The program of a table: its module, the table, and whether it is a training step."""

    module: ModuleOp
    table: Table
    training: bool


def read_table_program(
    text: str,
    filename: str,
    *,
    training: bool | None = None,
    max_ops: int = MAX_OPS,
    channels: bool = False,
    choose: Choose | None = None,
) -> TableProgram:
    """
    The program of the table that a text holds.

    With `training` each layer is followed by its dX and dW; None leaves that to the table, which is one of training
    if it has a column has_dX. `channels` and `choose` as for `read_table`. Raises `SourceError`s.
    """
    table = read_table(text, filename, channels=channels, choose=choose, most=max_ops)
    training = table.training if training is None else training
    builder = _Builder(GraphBuilder(function_name(_stem(filename), "table"), max_ops=max_ops), filename, training)
    for layer in table.layers:
        builder.add(layer)
    return TableProgram(builder.finish(), table, training)


def _stem(filename: str) -> str:
    """The name of a file without folder and suffix."""
    return os.path.splitext(os.path.basename(filename))[0]


@dataclass
class _Builder:
    """The function under construction."""

    graph: GraphBuilder
    filename: str
    training: bool
    outputs: list[tuple[str, SSAValue]] = field(default_factory=list[tuple[str, SSAValue]])
    gradients: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])

    def add(self, layer: TableLayer) -> None:
        """Append a layer. Raises `SourceError` beyond the limit on operations."""
        place = Location(self.filename, layer.line, 1)
        try:
            with self.graph.at(layer.name, place):
                match layer.work:
                    case Product():
                        self._product(layer, layer.work)
                    case Convolution():
                        self._convolution(layer, layer.work)
        except TooManyOps as e:
            raise SourceError(str(e), location=place, hint="raise --max-ops, or keep some layers with --only") from None

    def finish(self) -> ModuleOp:
        """The module."""
        return self.graph.finish(loss=None, outputs=self.outputs, optimizer=None, gradients=self.gradients)

    def _product(self, layer: TableLayer, work: Product) -> None:
        x = self._input(layer, "x", work.m, work.k)
        w = self.graph.param("weight", [work.k, work.n], f32)
        y_type = tensor_of(f32, (work.m, work.n))
        self._output(layer.name, self._emit(MatmulOp(x, w, results=[y_type]), layer).out)
        if not self.training:
            return
        dy = self._input(layer, "dy", work.m, work.n)
        if layer.has_dx:
            dx = MatmulOp(dy, w, results=[x.type], transpose_rhs=True, names="dY W")
            self._output(f"{layer.name}.dx", self._emit(dx, layer, Role.DX).out)
        dw = MatmulOp(x, dy, results=[w.type], transpose_lhs=True, names="X dY")
        self.gradients.append((w, self._emit(dw, layer, Role.DW).out))

    def _convolution(self, layer: TableLayer, work: Convolution) -> None:
        x = self._input(layer, "x", 1, work.channels, work.height, work.width)
        kernel = (work.filters, work.channels, work.filter_height, work.filter_width)
        w = self.graph.param("weight", kernel, f32)
        below, right = work.overhang
        stride, padding = (work.stride_height, work.stride_width), (0, below, 0, right)
        y = self._emit(Conv2dOp(x, w, stride=stride, padding=padding), layer).out
        self._output(layer.name, y)
        if not self.training:
            return
        dy = self._input(layer, "dy", 1, work.filters, work.out_height, work.out_width)
        if layer.has_dx:
            dx = Conv2dDxOp(dy, w, results=[x.type], stride=stride, padding=padding)
            self._output(f"{layer.name}.dx", self._emit(dx, layer, Role.DX).dx)
        dw = Conv2dDwOp(x, dy, results=[w.type], stride=stride, padding=padding)
        self.gradients.append((w, self._emit(dw, layer, Role.DW).dw))

    def _emit(self, op: OpT, layer: TableLayer, role: Role = Role.FORWARD) -> OpT:
        self.graph.emit(op, role=role)
        if layer.count != 1:
            op.attributes[REPEAT] = repeat_attr(layer.count)
        if layer.sparsity is not None:
            op.attributes[SPARSITY] = sparsity_attr(*layer.sparsity)
        return op

    def _input(self, layer: TableLayer, suffix: str, *shape: int) -> SSAValue:
        return self.graph.input(self.graph.unique(f"{layer.name}.{suffix}"), tensor_of(f32, shape))

    def _output(self, name: str, value: SSAValue) -> None:
        self.outputs.append((self.graph.unique(name), value))
