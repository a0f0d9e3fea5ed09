"""A whole training step in the train dialect: roles and layers of its operations, what arguments and results are."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.dialects.provenance import Role, role_attr
from npuc.dialects.tensors import fan_in, tensor_type
from npuc.dialects.train.base import encode
from npuc.dialects.train.matmul import MatmulOp
from npuc.dialects.train.optimizer import IncrementOp
from npuc.frontends.jax.arguments import COUNT, StepSignature
from npuc.frontends.jax.values import FlatProgram

_MOVES = ("train.reshape", "train.transpose", "train.slice")


def finish_step(
    module: ModuleOp, flat: FlatProgram, signature: StepSignature, names: dict[str, int], results: dict[str, int]
) -> None:
    """
    Say what the operations, arguments and results of a step are.

    `names` are the arguments of the list by their names in the module, `results` those of its results.
    """
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    by_place = {op.number: op for op in flat.ops}
    for op in function.body.block.ops:
        place = op.location
        found = by_place.get(place.line.data) if isinstance(place, FileLineColLoc) else None
        if found is not None and "layer" in op.attributes:
            op.attributes["layer"] = StringAttr(found.layer)
            if found.role != Role.FORWARD:
                op.attributes["role"] = role_attr(Role(found.role))
    for op in function.body.block.ops:
        if isinstance(op, MatmulOp) and _role(op) in (Role.DX, Role.DW):
            op.properties["names"] = StringAttr(_operand_names(op))
    _arguments(function, signature, names)
    _results(function, signature, names, results)
    _count(function)


def _role(op: Operation) -> Role:
    attr = op.attributes.get("role")
    return Role(attr.data) if isinstance(attr, StringAttr) else Role.FORWARD


def _operand_names(op: MatmulOp) -> str:
    """Which tensors of the forward product the operands of a gradient are: dY comes from the backward pass."""
    backward = [_is_backward(value) for value in op.operands]
    other = "X" if _role(op) is Role.DW else "W"
    return f"dY {other}" if backward[0] and not backward[1] else f"{other} dY"


def _is_backward(value: SSAValue) -> bool:
    """Whether a value is computed in the backward pass, which may move what is not."""
    owner = value.owner
    if not isinstance(owner, Operation) or _role(owner) is Role.FORWARD:
        return False
    return _is_backward(owner.operands[0]) if owner.name in _MOVES else True


def _arguments(function: FuncOp, signature: StepSignature, names: dict[str, int]) -> None:
    attrs: list[DictionaryAttr] = []
    given = cast("ArrayAttr[DictionaryAttr]", function.arg_attrs)
    for argument, old in zip(function.body.block.args, given, strict=True):
        name = old.data.get("train.input")
        number = names.get(name.data) if isinstance(name, StringAttr) else None
        if number is None or not isinstance(name, StringAttr):
            attrs.append(old)
            continue
        kind = signature.kinds[number]
        entries: dict[str, Attribute] = {f"train.{kind}": StringAttr(name.data)}
        if kind == "param":
            shape = tensor_type(argument).get_shape()
            entries["train.bound"] = encode(fan_in(shape) ** -0.5 if shape else 1.0)
        elif kind == "state":
            entries["train.fill"] = encode(0.0)
        attrs.append(DictionaryAttr(entries))
    function.arg_attrs = ArrayAttr(attrs)


def _results(function: FuncOp, signature: StepSignature, names: dict[str, int], results: dict[str, int]) -> None:
    given = cast("ArrayAttr[DictionaryAttr]", function.arg_attrs)
    place: dict[int, int] = {}
    for index, entries in enumerate(given.data):
        for attr in entries.data.values():
            if isinstance(attr, StringAttr) and attr.data in names:
                place[names[attr.data]] = index
    attrs: list[DictionaryAttr] = []
    for old in cast("ArrayAttr[DictionaryAttr]", function.res_attrs):
        name = old.data.get("train.output")
        number = results.get(name.data) if isinstance(name, StringAttr) else None
        if number is None:
            attrs.append(old)
        elif number == signature.loss:
            attrs.append(DictionaryAttr({"train.loss": UnitAttr()}))
        elif signature.updates.get(number) in place:
            attrs.append(DictionaryAttr({"train.updates": IntegerAttr(place[signature.updates[number]], i64)}))
        else:
            attrs.append(old)
    function.res_attrs = ArrayAttr(attrs)


def _count(function: FuncOp) -> None:
    """Count the steps, where random draws depend on their number."""
    given = cast("ArrayAttr[DictionaryAttr]", function.arg_attrs)
    found = [
        number for number, entries in enumerate(given.data) if entries.data.get("train.state") == StringAttr(COUNT)
    ]
    block = function.body.block
    last = block.last_op
    for number in found:
        assert isinstance(last, ReturnOp)
        count = block.args[number]
        added = IncrementOp(count)
        added.attributes |= {"layer": StringAttr(COUNT), "role": role_attr(Role.UPDATE)}
        added.location = last.location
        block.insert_op_before(added, last)
        last.operands = [*last.operands, added.out]
        attrs = cast("ArrayAttr[DictionaryAttr]", function.res_attrs)
        entries = DictionaryAttr({"train.updates": IntegerAttr(number, i64)})
        function.res_attrs = ArrayAttr([*attrs.data, entries])
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        function.function_type = FunctionType.from_lists(inputs, [*outputs, count.type])
