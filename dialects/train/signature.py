"""
What a training function's arguments and results are, read from their attributes.

    func.func @mlp(%x {train.input = "x"}, %w {train.param = "fc1.weight"}, %v {train.state = "fc1.weight.momentum"})
        -> ({train.loss}, {train.updates = 1 : i64}, {train.updates = 2 : i64})

An argument is an input, a parameter, an optimizer state or a running statistic; a result is the loss, the new value
of an argument, the gradient of a parameter or an output.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute


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


def _entries(attrs: object, index: int) -> Mapping[str, Attribute]:
    data = getattr(attrs, "data", ())
    entry = data[index] if index < len(data) else None
    return entry.data if isinstance(entry, DictionaryAttr) else {}


def _float(entries: Mapping[str, Attribute], key: str) -> float | None:
    attr = entries.get(key)
    return float(attr.value.data) if isinstance(attr, FloatAttr) else None


def _int(entries: Mapping[str, Attribute], key: str) -> int | None:
    attr = entries.get(key)
    return int(attr.value.data) if isinstance(attr, IntegerAttr) else None


def arguments_of(func: FuncOp) -> list[Argument]:
    """The arguments that have a `train.*` name, in order."""
    found: list[Argument] = []
    for index in range(len(func.function_type.inputs.data)):
        entries = _entries(func.arg_attrs, index)
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
    found: list[Result] = []
    for index in range(len(func.function_type.outputs.data)):
        entries = _entries(func.res_attrs, index)
        output = entries.get("train.output")
        result = Result(
            index,
            loss="train.loss" in entries,
            updates=_int(entries, "train.updates"),
            gradient=_int(entries, "train.gradient"),
            output=output.data if isinstance(output, StringAttr) else None,
        )
        if result != Result(index):
            found.append(result)
    return found


def training_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body and named arguments or results."""
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration and (arguments_of(op) or results_of(op)):
            yield op


def is_differentiated(func: FuncOp) -> bool:
    """Whether a function is a whole training step already: it updates parameters or returns gradients."""
    params = {a.index for a in arguments_of(func) if a.kind in (ArgumentKind.PARAM, ArgumentKind.STATE)}
    return any(r.updates in params or r.gradient is not None for r in results_of(func))
