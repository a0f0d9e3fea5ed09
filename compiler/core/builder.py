"""
The builder through which every frontend makes a program: one function of `train` operations with named arguments.

    b = GraphBuilder("mlp")
    x = b.input("x", TensorType(f32, [64, 784]))
    with b.at("fc1", location):
        h = linear(b, x, 512)                       # a language function of npuc.compiler.layers
    module = b.finish(loss=loss, outputs=[("h", h)], optimizer=Optimizer("sgd", {"lr": 0.1}))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue

from npuc.compiler.core.errors import Location
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.blocks import gather, loose_argument, needed
from npuc.dialects.provenance import SOURCE, Role, role_attr, source_attr, source_location
from npuc.dialects.tensors import Tensor, fan_in, tensor_of
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import encode
from npuc.dialects.train.signature import DENSITY

OpT = TypeVar("OpT", bound=Operation)


class TooManyOps(Exception):
    """The program grew beyond the limit on operations."""

    def __init__(self, limit: int):
        super().__init__(f"the network has more than {limit:,} operations")


@frozen
class Optimizer:
    """An optimizer by name with its hyperparameters and flags; `npuc.compiler.layers.optimizer` knows the names."""

    kind: str
    options: Mapping[str, float | bool] = field(default_factory=dict[str, "float | bool"])


@dataclass
class _Argument:
    value: BlockArgument
    attributes: dict[str, Attribute]
    layer: str
    update: SSAValue | None = None


class _Under(NamedTuple):
    """What is under construction: the layer, whether its parameters are kept from training, and its attributes."""

    layer: str
    frozen: bool
    layer_attr: StringAttr
    location_attr: LocationAttr


class GraphBuilder:
    """
    Builds the forward function of a network.

    `training` tells layers whether to build the form for training (batch statistics, dropout) or for inference.
    `max_ops` limits the number of operations; beyond it TooManyOps is raised. `is_frozen` says by their names which
    parameters are not trained, besides those that layers freeze.
    """

    def __init__(
        self,
        name: str,
        *,
        training: bool = True,
        max_ops: int = MAX_OPS,
        is_frozen: Callable[[str], bool] | None = None,
    ):
        self.name = name
        self.training = training
        self.max_ops = max_ops
        self.parameters: dict[str, Tensor] = {}
        self._is_frozen = is_frozen
        self._ops: list[Operation] = []
        self._arguments: list[_Argument] = []
        self._by_value: dict[SSAValue, _Argument] = {}
        self._step: SSAValue | None = None
        self._under = _Under("", False, StringAttr(""), source_location("-", 1, 1))
        self._source_attr: StringAttr | None = None
        self._names: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._seeds = 0
        self.has_updates = False  # whether a statistic has a value after this step
        self.idle: frozenset[str] = frozenset()
        """Layers whose statistics stay as they are."""
        self.op_count = 0

    # the layer under construction

    @property
    def layer(self) -> str:
        """The name of the layer under construction."""
        return self._under.layer

    @property
    def source_line(self) -> str | None:
        """The line of the program that the source was made of, `model.py:41`, which operations get from now on."""
        return None if self._source_attr is None else self._source_attr.data

    @source_line.setter
    def source_line(self, line: str | None) -> None:
        self._source_attr = None if line is None else source_attr(line)

    @contextmanager
    def at(self, layer: str, location: Location | None, *, frozen: bool = False) -> Generator[None]:
        """Name the layer and place of what is built inside; `frozen` keeps its parameters from being trained."""
        saved = self._under
        place = saved.location_attr if location is None else source_location(location.file, location.line, location.col)
        self._under = _Under(layer, saved.frozen or frozen, StringAttr(layer), place)
        try:
            yield
        finally:
            self._under = saved

    def emit(self, op: OpT, *, role: Role = Role.FORWARD) -> OpT:
        """Append an operation; it gets the current layer, the role and the location."""
        self.claim(1)
        op.attributes["layer"] = self._under.layer_attr
        if role is not Role.FORWARD:
            op.attributes["role"] = role_attr(role)
        if self._source_attr is not None:
            op.attributes[SOURCE] = self._source_attr
        op.location = self._under.location_attr
        self._ops.append(op)
        return op

    def claim(self, values: int) -> None:
        """Count what is about to be made as so many operations: the parts of a tensor, a parameter without a layer."""
        self.op_count += values
        if self.op_count > self.max_ops:
            raise TooManyOps(self.max_ops)

    def constant(self, type: Tensor, value: float) -> SSAValue:
        """A tensor filled with one value."""
        return self.emit(constant(type, value)).out

    def next_seed(self) -> int:
        """A number that no other random operation of the network has."""
        self._seeds += 1
        return self._seeds

    # arguments

    def _argument(self, type: Tensor, attributes: dict[str, Attribute], hint: str) -> SSAValue:
        value = loose_argument(type, self._under.location_attr, hint)
        argument = _Argument(value, attributes, self.layer)
        self._arguments.append(argument)
        self._by_value[value] = argument
        return value

    def has(self, name: str) -> bool:
        """Whether a parameter, statistic, input or layer has a name."""
        return name in self._names

    def unique(self, name: str) -> str:
        """The name, with a number where it is taken; it is then taken too."""
        candidate, number = name, self._numbers.get(name, 2)
        while candidate in self._names:
            candidate, number = f"{name}_{number}", number + 1
        self._numbers[name] = number
        self._names.add(candidate)
        return candidate

    def input(self, name: str, type: Tensor, *, labels: bool = False) -> SSAValue:
        """An input of the network, or its labels."""
        attributes: dict[str, Attribute] = {"train.input": StringAttr(name)}
        if labels:
            attributes["train.labels"] = UnitAttr()
        self._names.add(name)
        return self._argument(type, attributes, name)

    def param(
        self,
        suffix: str,
        shape: Sequence[int],
        element: Attribute,
        *,
        fill: float | None = None,
        bound: float | None = None,
        frozen: bool = False,
        density: float | str | None = None,
    ) -> SSAValue:
        """
        A trained parameter named `<layer>.<suffix>` (the layer alone without a suffix), of a `density` in products.

        It starts as `fill` everywhere, or uniformly random in [-bound, bound]; by default bound = 1 / sqrt(fan-in),
        the fan-in being the product of all sizes but the largest-stride (output) one of a [in, out] matrix or [out,
        in, …] kernel.
        """
        name = self.unique(f"{self.layer}.{suffix}" if suffix else self.layer)
        attributes: dict[str, Attribute] = {"train.param": StringAttr(name)}
        if fill is not None:
            attributes["train.fill"] = encode(float(fill))
        else:
            attributes["train.bound"] = encode(fan_in(shape) ** -0.5 if bound is None else float(bound))
        if density is not None:
            attributes[DENSITY] = StringAttr(str(density))
        if frozen or self._under.frozen or (self._is_frozen is not None and self._is_frozen(name)):
            attributes["train.frozen"] = UnitAttr()
        self.parameters[name] = type = tensor_of(element, shape)
        return self._argument(type, attributes, name)

    def stat(self, suffix: str, shape: Sequence[int], element: Attribute, *, fill: float) -> SSAValue:
        """A running statistic named `<layer>.<suffix>`, at first `fill`; `update` gives its next value."""
        name = self.unique(f"{self.layer}.{suffix}")
        attributes: dict[str, Attribute] = {"train.stat": StringAttr(name), "train.fill": encode(float(fill))}
        return self._argument(tensor_of(element, shape), attributes, name)

    def step(self) -> SSAValue:
        """The number of steps done so far: one scalar i64 state of the whole network."""
        if self._step is None:
            attributes: dict[str, Attribute] = {"train.state": StringAttr("step"), "train.fill": encode(0.0)}
            self._step = self._argument(tensor_of(i64, ()), attributes, "step")
        return self._step

    def update(self, argument: SSAValue, new: SSAValue) -> None:
        """`new` is the value of a statistic after this step."""
        self._by_value[argument].update, self.has_updates = new, True

    # the finished program

    def finish(
        self,
        *,
        loss: SSAValue | None,
        outputs: Sequence[tuple[str, SSAValue]],
        optimizer: Optimizer | None,
        gradients: Sequence[tuple[SSAValue, SSAValue]] = (),
    ) -> ModuleOp:
        """
        The module with the one function built so far. The builder must not be used afterwards.

        Results are the loss, the new statistics, the gradients (pairs of a parameter and what was built for it; only
        where the program holds its own gradients), the outputs. Operations that none of them needs are removed, and so
        are arguments that are not used then.
        """
        values: list[SSAValue] = []
        result_attrs: list[dict[str, Attribute]] = []
        if loss is not None:
            values.append(loss)
            result_attrs.append({"train.loss": UnitAttr()})
        updates = [a for a in self._arguments if a.update is not None and self.training and a.layer not in self.idle]
        new = [a.update for a in updates if a.update is not None]
        results = [*values, *new, *(value for _, value in (*gradients, *outputs))]
        ops, used = needed(self._ops, results)
        self._arguments = [a for a in self._arguments if a.value in used]
        number: dict[SSAValue, int] = {a.value: i for i, a in enumerate(self._arguments)}
        for argument in updates:
            if argument.update is not None:
                values.append(argument.update)
                result_attrs.append({"train.updates": IntegerAttr(number[argument.value], i64)})
        for parameter, value in gradients:
            values.append(value)
            result_attrs.append({"train.gradient": IntegerAttr(number[parameter], i64)})
        for name, value in outputs:
            values.append(value)
            result_attrs.append({"train.output": StringAttr(name)})
        body = gather([a.value for a in self._arguments], [*ops, ReturnOp(*values)])
        function = FuncOp(
            self.name,
            FunctionType.from_lists([a.type for a in body.args], [v.type for v in values]),
            Region(body),
            arg_attrs=ArrayAttr([DictionaryAttr(a.attributes) for a in self._arguments]),
            res_attrs=ArrayAttr([DictionaryAttr(a) for a in result_attrs]),
        )
        if optimizer is not None:
            function.attributes["train.optimizer"] = _optimizer_attr(optimizer)
        return ModuleOp([function])


def function_name(text: str, what: str) -> str:
    """A text as the name of a function; `what` stands before one that is none or begins with a digit."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text).strip("_")
    return name if name and not name[0].isdigit() else f"{what}_{name}".rstrip("_")


def _optimizer_attr(optimizer: Optimizer) -> DictionaryAttr:
    entries: dict[str, Attribute] = {"kind": StringAttr(optimizer.kind)}
    for name, value in sorted(optimizer.options.items()):
        if value is not False:
            entries[name] = UnitAttr() if value is True else encode(float(value))
    return DictionaryAttr(entries)
