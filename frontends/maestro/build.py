"""
The module of a mapping file: one function in which every layer has inputs of its own, and its mapping.

    Layer fc { Type: GEMM … }   ->   %y = train.matmul %x, %w {layer = "fc", mapping = #mapping.maestro<…>} : …

Layers are not lowered here, so that every backend and the interpreter accept them. In a training step the gradient of
each result is an input too, and dX and dW, for which the file has no mapping, follow the product.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder, TooManyOps, function_name
from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.mapping import Mapping, Problem, shared_mapping
from npuc.dialects.mapping import Role as Tensor
from npuc.dialects.provenance import MAPPING, Role
from npuc.dialects.tensors import MAX_ELEMENTS, tensor_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import Conv2dDwOp, Conv2dDxOp, Conv2dOp
from npuc.dialects.train.conv_transpose import ConvTranspose2dDwOp, ConvTranspose2dDxOp, ConvTranspose2dOp
from npuc.dialects.train.matmul import MatmulOp
from npuc.frontends.maestro.model import MappedLayer
from npuc.frontends.maestro.read import read_mapping_file

OpT = TypeVar("OpT", bound=TrainOp)
TENSORS: tuple[Tensor, ...] = ("I", "W", "O")


@dataclass(frozen=True)
class MappingProgram:
    """The program of a mapping file: its module, and warnings for the user."""

    module: ModuleOp
    warnings: tuple[str, ...]


def read_mapping_program(
    text: str,
    filename: str,
    *,
    training: bool = False,
    max_ops: int = MAX_OPS,
    choose: Callable[[Sequence[str]], Collection[int]] | None = None,
    is_legal: Callable[[Mapping], bool] | None = None,
) -> MappingProgram:
    """
    The program of the mapping file that a text holds.

    With `training` each layer is followed by its dX and dW. `choose` picks layers by the names of all; mistakes in the
    others are no errors. `is_legal` says which mappings compute each point once: the others, or all without `is_legal`,
    are marked as unchecked. Raises `SourceError`s.
    """
    file = read_mapping_file(text, filename)
    layers = file.checked(None if choose is None else choose(file.names))
    if not layers:
        hint = "Network net { Layer conv1 { Type: CONV … } }"
        raise SourceError("the file has no layers", location=Location(filename, 1, 1), hint=hint)
    stem = os.path.splitext(os.path.basename(filename))[0]
    name = function_name(file.networks[0] if file.networks else stem, "network")
    builder = _Builder(GraphBuilder(name, max_ops=max_ops), training, is_legal)
    for layer in layers:
        builder.add(layer)
    return MappingProgram(builder.finish(), tuple(warning for layer in layers for warning in layer.warnings))


@dataclass
class _Builder:
    """The function under construction."""

    graph: GraphBuilder
    training: bool
    is_legal: Callable[[Mapping], bool] | None
    outputs: list[tuple[str, SSAValue]] = field(default_factory=list[tuple[str, SSAValue]])
    gradients: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])

    def add(self, layer: MappedLayer) -> None:
        """Append a layer. Raises `SourceError` for one too large and beyond the limit on operations."""
        problem = layer.mapping.problem
        largest = max(problem.elements(tensor) for tensor in TENSORS)
        if largest > MAX_ELEMENTS:
            message = f"layer {layer.name} has a tensor of {largest:,} elements, expected at most {MAX_ELEMENTS:,}"
            raise SourceError(message, location=layer.location)
        try:
            with self.graph.at(layer.name, layer.location):
                match problem.kind:
                    case "GEMM":
                        self._product(layer, problem)
                    case "TRCONV":
                        self._transposed(layer, problem)
                    case _:
                        self._convolution(layer, problem)
        except TooManyOps as e:
            hint = "raise --max-ops, or keep some layers with --only"
            raise SourceError(str(e), location=layer.location, hint=hint) from None

    def finish(self) -> ModuleOp:
        """The module."""
        return self.graph.finish(loss=None, outputs=self.outputs, optimizer=None, gradients=self.gradients)

    def _product(self, layer: MappedLayer, problem: Problem) -> None:
        m, n, k = (problem.sizes[dim] for dim in "MNK")
        x = self._input(layer, "x", m, k)
        w = self.graph.param("weight", [k, n], f32)
        self._mapped(layer, MatmulOp(x, w, results=[tensor_of(f32, (m, n))]))
        if self.training:
            dy = self._input(layer, "dy", m, n)
            dx = MatmulOp(dy, w, results=[x.type], transpose_rhs=True, names="dY W")
            dw = MatmulOp(x, dy, results=[w.type], transpose_lhs=True, names="X dY")
            self._backward(layer, w, dx, dw)

    def _convolution(self, layer: MappedLayer, problem: Problem) -> None:
        sizes, batch = problem.sizes, problem.sizes.get("N", 1)
        groups = {"DSCONV": sizes["C"], "NGCONV": sizes.get("G", 1)}.get(problem.kind, 1)
        outer, inner = (1, 1) if problem.kind == "DSCONV" else (sizes["K"], sizes["C"])
        stride = _strides(problem)
        x = self._input(layer, "x", batch, groups * inner, sizes["Y"], sizes["X"])
        w = self.graph.param("weight", (groups * outer, inner, sizes["R"], sizes["S"]), f32)
        self._mapped(layer, Conv2dOp(x, w, stride=stride, groups=groups))
        if self.training:
            dy = self._input(layer, "dy", batch, groups * outer, problem.outputs("Y"), problem.outputs("X"))
            dx = Conv2dDxOp(dy, w, results=[x.type], stride=stride, groups=groups)
            dw = Conv2dDwOp(x, dy, results=[w.type], stride=stride, groups=groups)
            self._backward(layer, w, dx, dw)

    def _transposed(self, layer: MappedLayer, problem: Problem) -> None:
        """A transposed convolution whose windows on the output are those that the layer has on its input."""
        sizes, batch, strides = problem.sizes, problem.sizes.get("N", 1), _strides(problem)
        positions = [problem.outputs(dim) for dim in "YX"]
        reached = [(n - 1) * s + sizes[d] for n, s, d in zip(positions, strides, "RS", strict=True)]
        x = self._input(layer, "x", batch, sizes["C"], *positions)
        w = self.graph.param("weight", (sizes["C"], sizes["K"], sizes["R"], sizes["S"]), f32)
        y_type = tensor_of(f32, (batch, sizes["K"], *reached))
        self._mapped(layer, ConvTranspose2dOp(x, w, results=[y_type], stride=strides))
        if self.training:
            dy = self._input(layer, "dy", batch, sizes["K"], *reached)
            dx = ConvTranspose2dDxOp(dy, w, results=[x.type], stride=strides)
            self._backward(layer, w, dx, ConvTranspose2dDwOp(x, dy, results=[w.type], stride=strides))

    def _mapped(self, layer: MappedLayer, op: TrainOp) -> None:
        """Append the product of a layer under its mapping."""
        legal = self.is_legal is not None and self.is_legal(layer.mapping)
        op.attributes[MAPPING] = shared_mapping(replace(layer.mapping, unchecked=not legal))
        self._output(layer.name, self.graph.emit(op).results[0])

    def _backward(self, layer: MappedLayer, w: SSAValue, dx: TrainOp, dw: TrainOp) -> None:
        self._output(f"{layer.name}.dx", self.graph.emit(dx, role=Role.DX).results[0])
        self.gradients.append((w, self.graph.emit(dw, role=Role.DW).results[0]))

    def _input(self, layer: MappedLayer, suffix: str, *shape: int) -> SSAValue:
        return self.graph.input(self.graph.unique(f"{layer.name}.{suffix}"), tensor_of(f32, shape))

    def _output(self, name: str, value: SSAValue) -> None:
        self.outputs.append((self.graph.unique(name), value))


def _strides(problem: Problem) -> tuple[int, int]:
    return problem.stride["Y"], problem.stride["X"]
