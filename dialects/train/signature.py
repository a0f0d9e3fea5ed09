"""
The roles of the arguments and results of a training function, read from their attributes.

    func.func @mlp(%x {train.input = "x"}, %w {train.param = "fc1.weight"}, %v {train.state = "fc1.weight.momentum"})
        -> ({train.loss}, {train.updates = 1 : i64}, {train.updates = 2 : i64})

An argument is an input, a parameter, an optimizer state or a running statistic; a result is the loss, the new value
of an argument, the gradient of a parameter or an output.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

Entries = Mapping[str, Attribute]
"""The attributes of an argument or result by name."""
Writes = Mapping[Operation, frozenset[SSAValue]]
"""The arguments of the function that an operation overwrites."""
MAX_BOUND = 1e30
"""The widest that initial weights may be drawn."""


class ArgumentKind(StrEnum):
    """What an argument of a training function is."""

    INPUT = "input"
    PARAM = "param"
    STATE = "state"
    STAT = "stat"


_KINDS = {f"train.{kind.value}": kind for kind in ArgumentKind}


@dataclass(frozen=True)
class Argument:
    """
    One argument: its position, kind and name.

    `labels` marks an input that holds labels, `frozen` a parameter that is not trained. The value at the start is
    `fill` everywhere, or random in [-bound, bound].
    """

    index: int
    kind: ArgumentKind
    name: str
    labels: bool = False
    frozen: bool = False
    fill: float | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Result:
    """
    One result: its position and what it is.

    Exactly one of the four is set: `loss`, `updates` (the argument whose new value it is), `gradient` (the argument
    whose gradient it is), `output` (a name).
    """

    index: int
    loss: bool = False
    updates: int | None = None
    gradient: int | None = None
    output: str | None = None


def _entries(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> Iterator[Entries]:
    """The attributes of each of `count` arguments or results."""
    data = () if attrs is None else attrs.data
    for index in range(count):
        yield data[index].data if index < len(data) else {}


def _float(entries: Entries, key: str) -> float | None:
    attr = entries.get(key)
    return float(attr.value.data) if isinstance(attr, FloatAttr) else None


def _int(entries: Entries, key: str) -> int | None:
    attr = entries.get(key)
    return int(attr.value.data) if isinstance(attr, IntegerAttr) else None


def arguments_of(func: FuncOp) -> list[Argument]:
    """The arguments that have a `train.*` name, in order."""
    found: list[Argument] = []
    for index, entries in enumerate(argument_entries(func)):
        key = next((k for k in entries if k in _KINDS), None)
        name = entries[key] if key is not None else None
        if key is None or not isinstance(name, StringAttr):
            continue
        found.append(
            Argument(
                index,
                _KINDS[key],
                name.data,
                labels="train.labels" in entries,
                frozen="train.frozen" in entries,
                fill=_float(entries, "train.fill"),
                bound=_float(entries, "train.bound"),
            )
        )
    return found


def results_of(func: FuncOp) -> list[Result]:
    """The results that have a `train.*` attribute, in order."""
    return list(_results(func))


def argument_entries(func: FuncOp) -> Iterator[Entries]:
    """The attributes of each argument."""
    return _entries(func.arg_attrs, len(func.function_type.inputs.data))


def result_entries(func: FuncOp) -> Iterator[Entries]:
    """The attributes of each result."""
    return _entries(func.res_attrs, len(func.function_type.outputs.data))


def result_names(func: FuncOp) -> list[str]:
    """What each result is called: `loss`, `new NAME`, `gradient NAME`, `output NAME`; by its number if it is none."""
    arguments = {a.index: a.name for a in arguments_of(func)}
    names = [f"result {index}" for index in range(len(func.function_type.outputs.data))]
    for result in _results(func):
        if result.loss:
            names[result.index] = "loss"
        elif result.updates is not None:
            names[result.index] = f"new {arguments.get(result.updates, result.updates)}"
        elif result.gradient is not None:
            names[result.index] = f"gradient {arguments.get(result.gradient, result.gradient)}"
        else:
            names[result.index] = f"output {result.output}"
    return names


def _results(func: FuncOp) -> Iterator[Result]:
    for index, entries in enumerate(result_entries(func)):
        loss, output = "train.loss" in entries, entries.get("train.output")
        updates, gradient = _int(entries, "train.updates"), _int(entries, "train.gradient")
        name = output.data if isinstance(output, StringAttr) else None
        if loss or (updates, gradient, name) != (None, None, None):
            yield Result(index, loss, updates, gradient, name)


def training_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body and named arguments or results."""
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration and (_is_named(op) or any(_results(op))):
            yield op


def _is_named(func: FuncOp) -> bool:
    """Whether an argument of a function has a `train.*` name."""
    return any(key in _KINDS for entries in argument_entries(func) for key in entries)


def is_differentiated(func: FuncOp) -> bool:
    """Whether a function is a whole training step already: it updates parameters or returns gradients."""
    if any(_int(entries, "train.gradient") is not None for entries in result_entries(func)):
        return True
    updated = {_int(entries, "train.updates") for entries in result_entries(func)} - {None}
    trained = (ArgumentKind.PARAM, ArgumentKind.STATE)
    return bool(updated) and any(a.index in updated and a.kind in trained for a in arguments_of(func))


def trains(func: FuncOp) -> bool:
    """Whether a function has a loss and parameters that are not frozen, so that it can be differentiated."""
    return has_loss(func) and any(a.kind is ArgumentKind.PARAM and not a.frozen for a in arguments_of(func))


def has_loss(func: FuncOp) -> bool:
    """Whether a function returns a loss."""
    return any("train.loss" in entries for entries in result_entries(func))


def writes_of(block: Block) -> Writes:
    """What the operations of a function's body write in place: the arguments that its results are new values of."""
    func = block.parent_op()
    ending = block.last_op
    if not isinstance(func, FuncOp) or not isinstance(ending, ReturnOp):
        return {}
    found: dict[Operation, frozenset[SSAValue]] = {}
    for result in results_of(func):
        owner = ending.operands[result.index].owner
        if result.updates is not None and isinstance(owner, Operation):
            found[owner] = found.get(owner, frozenset()) | {block.args[result.updates]}
    return found


def signature_problems(func: FuncOp) -> Iterator[str]:
    """What is wrong with a training function's body and its arguments' and results' attributes, a sentence each."""
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
    yield from _argument_problems(func, inputs)
    yield from _result_problems(func, inputs, outputs)


def _argument_problems(func: FuncOp, inputs: Sequence[Attribute]) -> Iterator[str]:
    seen: set[str] = set()
    for argument in arguments_of(func):
        type = inputs[argument.index]
        if not isinstance(type, TensorType):
            yield f"argument '{argument.name}' is {type}, expected a tensor"
        if argument.name in seen:
            yield f"two arguments are named '{argument.name}'"
        if argument.bound is not None and not 0.0 <= argument.bound <= MAX_BOUND:
            yield f"argument '{argument.name}' starts within ±{argument.bound}, expected 0 to {MAX_BOUND:g}"
        seen.add(argument.name)


def _result_problems(func: FuncOp, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> Iterator[str]:
    kinds = {a.index: a.kind for a in arguments_of(func)}
    for result in results_of(func):
        type = outputs[result.index]
        if not isinstance(type, TensorType):
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
