"""
The roles of the arguments and results of a function, read from their attributes.

    func.func @mlp(%x {train.input = "x"}, %w {train.param = "fc1.weight"}, %v {train.state = "fc1.weight.momentum"})
        -> ({train.loss}, {train.updates = 1 : i64}, {train.updates = 2 : i64})

An argument is an input, a parameter, an optimizer state or a running statistic; a result is the loss, the new value
of an argument, the gradient of a parameter or an output. Of a function that is no training step `npuc.name` names the
inputs and outputs, which may be numbers, too; what has no name gets one from `name_all`.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from npuc.compiler.core.frozen import frozen

Entries = Mapping[str, Attribute]
"""The attributes of an argument or result by name."""
Writes = Mapping[Operation, frozenset[SSAValue]]
"""The arguments of the function that an operation overwrites."""
NAME = "npuc.name"
"""The name of an input or output of any function."""


class ArgumentKind(StrEnum):
    """What an argument of a training function is."""

    INPUT = "input"
    PARAM = "param"
    STATE = "state"
    STAT = "stat"


DENSITY = "train.density"
"""The attribute of a parameter that says its density in products: a text, `0.1 csr` or `2:4`."""
_KINDS = {**{f"train.{kind.value}": kind for kind in ArgumentKind}, NAME: ArgumentKind.INPUT}


@frozen
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


@frozen
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
    """The arguments that have a name, in order."""
    attrs, count = func.arg_attrs, len(func.function_type.inputs.data)
    for one in _read:
        if one.attrs is attrs and one.number == count:
            return list(one.arguments)
    found = _arguments(attrs, count)
    if attrs is not None:
        _read.appendleft(_Read(attrs, count, tuple(found)))
    return found


class _Read(NamedTuple):
    """What the attributes of so many arguments say."""

    attrs: ArrayAttr[DictionaryAttr]
    number: int
    arguments: tuple[Argument, ...]


_read: deque[_Read] = deque(maxlen=2)
"""What was read last: the same again is asked for many times, and a network has thousands of arguments."""


def _arguments(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[Argument]:
    found: list[Argument] = []
    for index, entries in enumerate(_entries(attrs, count)):
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
    """The results that have a `train.*` attribute or a name, in order."""
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
        loss, output = "train.loss" in entries, entries.get("train.output", entries.get(NAME))
        updates, gradient = _int(entries, "train.updates"), _int(entries, "train.gradient")
        name = output.data if isinstance(output, StringAttr) else None
        if loss or (updates, gradient, name) != (None, None, None):
            yield Result(index, loss, updates, gradient, name)


def training_functions(module: ModuleOp) -> list[FuncOp]:
    """
    The functions of a module that are programs: those with named arguments or results.

    Where none has names they are all that have a body and are not private; private ones only where there are no others.
    """
    bodies = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
    named = [func for func in bodies if _is_named(func) or any(_results(func))]
    return named or [func for func in bodies if func.sym_visibility != StringAttr("private")] or bodies


def name_all(func: FuncOp) -> None:
    """Name the arguments and results that have no name by their numbers: `arg0`, `result0`."""
    arguments, results = {a.index for a in arguments_of(func)}, {r.index for r in results_of(func)}
    inputs = [_named(entries, i, "arg", arguments) for i, entries in enumerate(argument_entries(func))]
    outputs = [_named(entries, i, "result", results) for i, entries in enumerate(result_entries(func))]
    if len(arguments) < len(inputs):
        func.arg_attrs = ArrayAttr(inputs)
    if len(results) < len(outputs):
        func.res_attrs = ArrayAttr(outputs)


def _named(entries: Entries, index: int, what: str, known: AbstractSet[int]) -> DictionaryAttr:
    """The attributes of an argument or result, with a name if its number is not among the known ones."""
    return DictionaryAttr({**entries, **({} if index in known else {NAME: StringAttr(f"{what}{index}")})})


def _is_named(func: FuncOp) -> bool:
    """Whether an argument of a function has a name."""
    return any(key in _KINDS for entries in argument_entries(func) for key in entries)


def is_differentiated(func: FuncOp) -> bool:
    """Whether a function is a whole training step already: it updates parameters or returns gradients."""
    if any(_int(entries, "train.gradient") is not None for entries in result_entries(func)):
        return True
    updated = {_int(entries, "train.updates") for entries in result_entries(func)} - {None}
    trained = (ArgumentKind.PARAM, ArgumentKind.STATE)
    return bool(updated) and any(a.index in updated and a.kind in trained for a in arguments_of(func))


def trains(func: FuncOp) -> bool:
    """Whether a function has a loss with a gradient for some parameter that is not frozen."""
    trained = {a.index for a in arguments_of(func) if a.kind is ArgumentKind.PARAM and not a.frozen}
    ending = func.body.blocks[-1].last_op if func.body.blocks else None
    if not trained or ending is None:
        return False
    entries = zip(ending.operands, result_entries(func), strict=False)
    todo, seen = [value for value, of in entries if "train.loss" in of], set[SSAValue]()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.index in trained:
                return True
        elif isinstance(value.owner, Operation) and value.owner.name != "train.detach":
            todo += value.owner.operands
    return False


def has_loss(func: FuncOp) -> bool:
    """Whether a function returns a loss."""
    return any("train.loss" in entries for entries in result_entries(func))


def writes_of(block: Block) -> Writes:
    """The arguments that each operation of a function's body overwrites: those whose new values its results are."""
    func = block.parent_op()
    ending = block.last_op
    if not isinstance(func, FuncOp) or not isinstance(ending, ReturnOp):
        return {}
    found: dict[Operation, frozenset[SSAValue]] = {}
    for result in results_of(func):
        owner = ending.operands[result.index].owner
        if result.updates is not None and result.updates < len(block.args) and isinstance(owner, Operation):
            found[owner] = found.get(owner, frozenset()) | {block.args[result.updates]}
    return found
