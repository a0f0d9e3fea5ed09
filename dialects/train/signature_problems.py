"""What is wrong with the signature of a function: its body, and the attributes of its arguments and results."""

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute

from npuc.dialects.train.signature import (
    NAME,
    ArgumentKind,
    Entries,
    argument_entries,
    arguments_of,
    result_entries,
    results_of,
)
from npuc.dialects.train.tables import TABLES, pieces_of

_TEXTS = (*(f"train.{kind.value}" for kind in ArgumentKind), "train.output", NAME)
_NUMBERS = ("train.updates", "train.gradient")
MAX_BOUND = 1e30
"""The largest bound of the interval from which initial weights are drawn."""


def signature_problems(func: FuncOp) -> Iterator[str]:
    """What is wrong with a function's body and its arguments' and results' attributes, a sentence each."""
    if len(func.body.blocks) != 1:
        yield f"the function has {len(func.body.blocks)} blocks, expected one"
        return
    block = func.body.block
    if not isinstance(block.last_op, ReturnOp):
        yield "the function does not end in func.return"
        return
    inputs, outputs = func.function_type.inputs.data, func.function_type.outputs.data
    if tuple(a.type for a in block.args) != tuple(inputs):
        yield "the arguments of the body differ from the function's type"
    if tuple(v.type for v in block.last_op.operands) != tuple(outputs):
        yield "the returned values differ from the function's type"
    for what, attributes, values in (("argument", func.arg_attrs, inputs), ("result", func.res_attrs, outputs)):
        if attributes is not None and len(attributes) != len(values):
            yield f"found attributes of {len(attributes)} {what}s, expected those of {len(values)}"
    yield from _argument_problems(func, inputs)
    yield from _table_problems(func)
    yield from _result_problems(func, inputs, outputs)


def _table_problems(func: FuncOp) -> Iterator[str]:
    """What is wrong with the tables that arguments hold; whether they have so many rows is seen when one runs."""
    for argument, pieces in pieces_of(func):
        end, wanted = 0, "each a name, and rows behind those of the one before"
        for piece in pieces:
            if not piece.name or piece.rows < 1 or piece.at < end:
                yield f"argument '{argument.name}' has {TABLES} that are no tables, expected {wanted}"
                break
            end = piece.at + piece.rows


def _argument_problems(func: FuncOp, inputs: Sequence[Attribute]) -> Iterator[str]:
    written = list(argument_entries(func))
    for index, entries in enumerate(written):
        yield from _name_problems(f"argument {index}", entries)
    seen: set[str] = set()
    for argument in arguments_of(func):
        type = inputs[argument.index]
        if not isinstance(type, TensorType) and NAME not in written[argument.index]:
            yield f"argument '{argument.name}' is {type}, expected a tensor"
        counts = argument.kind is ArgumentKind.STATE and argument.name == "step"
        if counts and isinstance(type, TensorType) and type.get_num_dims():
            yield f"argument 'step', which counts steps, is {type}, expected a scalar"
        if argument.name in seen:
            yield f"two arguments are named '{argument.name}'"
        if argument.bound is not None and not 0.0 <= argument.bound <= MAX_BOUND:
            yield f"argument '{argument.name}' starts within ±{argument.bound}, expected 0 to {MAX_BOUND:g}"
        seen.add(argument.name)


def _name_problems(place: str, entries: Entries) -> Iterator[str]:
    """What is wrong with the attributes that say what an argument or result is, and what it is called."""
    for key in _TEXTS:
        if key in entries and not isinstance(entries[key], StringAttr):
            yield f"{place}: {key} is {entries[key]}, expected a string"
    for key in _NUMBERS:
        if key in entries and not isinstance(entries[key], IntegerAttr):
            yield f"{place}: {key} is {entries[key]}, expected an integer"
    said = [key for key in (*_TEXTS, *_NUMBERS, "train.loss") if key in entries]
    if len(said) > 1:
        yield f"{place} has {' and '.join(said)}, expected one of them"


def _result_problems(func: FuncOp, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> Iterator[str]:
    kinds = {a.index: a.kind for a in arguments_of(func)}
    written = list(result_entries(func))
    for index, entries in enumerate(written):
        yield from _name_problems(f"result {index}", entries)
    seen: set[str] = set()
    for result in results_of(func):
        type = outputs[result.index]
        if result.output is not None:
            if result.output in seen:
                yield f"two results are named '{result.output}'"
            seen.add(result.output)
        if not isinstance(type, TensorType) and NAME not in written[result.index]:
            yield f"result {result.index} is {type}, expected a tensor"
        elif result.loss and cast(TensorType[Attribute], type).get_shape() != ():
            yield f"the loss is {type}, expected a scalar"
        for what, number, allowed in (
            ("updates", result.updates, set(ArgumentKind) - {ArgumentKind.INPUT}),
            ("gradient", result.gradient, {ArgumentKind.PARAM}),
        ):
            if number is None:
                continue
            if kinds.get(number) not in allowed:
                yield f"result {result.index} has train.{what} = {number}, which is not the number of such an argument"
            elif inputs[number] != type:
                yield f"result {result.index} is {type}, argument {number}, which it {what}, is {inputs[number]}"
