"""From a program of primitives to one public function in another dialect, one lowering for each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of, the_function
from npuc.compiler.transforms.decompose.operation import function_of
from npuc.compiler.transforms.decompose.primitives import OUTLINED
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import element_text, tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import NAME, arguments_of, result_names

WriterT = TypeVar("WriterT")
Lowering = Callable[[WriterT, Operation, Sequence[SSAValue]], list[SSAValue]]
"""Writes what an operation of the program does, on values of its operands: those of its results."""
SHOWN = 12
_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
_BITS = (1, 8, 16, 32, 64)


@frozen
class Form(Generic[WriterT]):
    """
    A dialect in which programs are written: its name, a lowering for the name of each primitive, the type of a value in
    it, and what writes operations into a block. The function is called `entry` (None: as in the program).
    """

    title: str
    lowerings: Mapping[str, Lowering[WriterT]]
    type_of: Callable[[Attribute], Attribute]
    writer: Callable[[Block], WriterT]
    entry: str | None = None


def translated(module: ModuleOp, form: Form[WriterT]) -> ModuleOp:
    """
    A module with one public function that computes what the program does, whose arguments and results are those of the
    program in its order; `npuc.name` is their name. What operations that are `OUTLINED` compute are private functions.

    Raises `SourceError` that lists what has no form, each operation with its layer.
    """
    func = the_function(module)
    _check(func, form)
    names = {one.index: one.name for one in arguments_of(func)}
    program = _Program(form, form.entry or func.sym_name.data)
    block = program.block(func)
    for number, arg in enumerate(block.args):
        arg.name_hint = _hint(names.get(number))
    program.fill(block, func)
    made = FuncOp(
        program.entry,
        program.type(func),
        Region(block),
        arg_attrs=_named([names.get(number, f"arg{number}") for number in range(len(block.args))]),
        res_attrs=_named(result_names(func)),
    )
    return ModuleOp([made, *program.called.values()])


class _Program(Generic[WriterT]):
    """What is written of a program: the name of its function, and the private functions that it calls, by name."""

    def __init__(self, form: Form[WriterT], entry: str) -> None:
        self.form, self.entry = form, entry
        self.called: dict[str, FuncOp] = {}

    def type(self, func: FuncOp) -> FunctionType:
        """The type of a function in the form."""
        inputs, outputs = (
            [self.form.type_of(type) for type in types]
            for types in (func.function_type.inputs, func.function_type.outputs)
        )
        return FunctionType.from_lists(inputs, outputs)

    def block(self, func: FuncOp) -> Block:
        """A block with the arguments of a function."""
        return Block(arg_types=[self.form.type_of(arg.type) for arg in func.body.block.args])

    def fill(self, block: Block, func: FuncOp) -> None:
        """Write what a function computes of its arguments into a block that has them."""
        values: dict[SSAValue, SSAValue] = dict(zip(func.body.block.args, block.args, strict=True))
        writer = self.form.writer(block)
        for op in func.body.block.ops:
            operands = [values[value] for value in op.operands]
            if isinstance(op, ReturnOp):
                block.add_op(ReturnOp(*operands))
                continue
            if isinstance(op, OUTLINED):
                results: Sequence[SSAValue] = self._call(block, op, operands)
            else:
                results = self.form.lowerings[op.name](writer, op, operands)
            for result, value in zip(op.results, results, strict=True):
                values[result] = value

    def _call(self, block: Block, op: TrainOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The results of a call of the function that does what an operation does, made once for each shape."""
        (type,) = (tensor_type(result) for result in op.results)
        sizes = "x".join(map(str, type.get_shape()))
        # one that begins with the name of the entry is not that name
        name = "_".join(filter(None, [self.entry, op.name.removeprefix("train."), sizes]))
        if name not in self.called:
            func = function_of(op, name)
            inner = self.block(func)
            self.fill(inner, func)
            self.called[name] = FuncOp(name, self.type(func), Region(inner), visibility="private")
        call = CallOp(name, operands, [self.form.type_of(type)])
        block.add_op(call)
        return call.results


def _hint(name: str | None) -> str | None:
    """The name of an argument as a value is called, None if it has letters that no value may have."""
    text = "" if name is None else name.replace(".", "_")
    return text if SSAValue.is_valid_name(text) else None


def _named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in names])


def _check(func: FuncOp, form: Form[WriterT]) -> None:
    """Raise `SourceError` for operations and element types that the form lacks."""
    found: dict[str, list[str]] = {}
    first: Operation | None = None
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            continue
        reason = _reason(op, form)
        if reason is not None:
            first = first or op
            layers = found.setdefault(reason, [])
            layer = layer_of(op)
            if layer and layer not in layers:
                layers.append(layer)
    if first is None:
        return
    parts = [f"{reason}{_of(layers)}" for reason, layers in found.items()]
    more = f", and {len(parts) - SHOWN} more kinds" if len(parts) > SHOWN else ""
    raise SourceError(
        f"{form.title} has no form for {'; '.join(parts[:SHOWN])}{more}",
        location=location_of(first),
        hint="nothing was written",
    )


def _of(layers: Sequence[str]) -> str:
    if not layers:
        return ""
    more = f" and {len(layers) - 3} more layers" if len(layers) > 3 else ""
    return f" of {', '.join(layers[:3])}{more}"


def _reason(op: Operation, form: Form[WriterT]) -> str | None:
    if op.name not in form.lowerings and not isinstance(op, OUTLINED):
        return op.name
    for value in (*op.operands, *op.results):
        element = tensor_type(value).element_type if isinstance(value.type, TensorType) else value.type
        if not _is_known(element):
            return f"{op.name} with elements of {element_text(element)}"
    return None


def _is_known(element: Attribute) -> bool:
    if isinstance(element, AnyFloat):
        return isinstance(element, _FLOATS)
    return isinstance(element, IntegerType) and cast(IntegerType, element).width.data in _BITS
