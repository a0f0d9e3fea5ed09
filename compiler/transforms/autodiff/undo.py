"""
Undoing `autodiff`: the forward function of a training step, with the optimizer it was derived for.

What is undone is checked by deriving the step again: a step that was changed since is refused.
"""

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.verify import refused
from npuc.compiler.layers.base import params_of
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.autodiff import differentiate
from npuc.dialects.blocks import gather, needed
from npuc.dialects.copies import copied
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import Argument, ArgumentKind, arguments_of, name_all, results_of


def undo_autodiff(func: FuncOp, name: str) -> None:
    """
    Give a training step its forward function's body again; `name` is the pass that asks, for messages.

    Raises `SourceError` for a step that `autodiff` does not make.
    """
    name_all(func)
    step = copied(func)
    arguments, results = arguments_of(func), results_of(func)
    if not any(result.loss for result in results):
        raise refused(func, "found a training step without a loss, expected one that autodiff has made", name)
    block = func.body.block
    *ops, ending = list(block.ops)
    values = list(ending.operands)
    spec = _optimizer(arguments, {r.updates: values[r.index] for r in results if r.updates is not None})
    stats = {a.index for a in arguments if a.kind is ArgumentKind.STAT}
    kept = [r for r in results if r.loss or r.updates in stats or r.output is not None]
    entries = list(func.res_attrs.data) if func.res_attrs is not None else []
    ending.detach()
    ending.erase()
    for op in ops:
        op.detach()
    forward, used = needed(ops, [values[r.index] for r in kept])
    own = [a for a in arguments if a.kind is not ArgumentKind.STATE or block.args[a.index] in used]
    number = {a.index: n for n, a in enumerate(own)}
    attrs = list(func.arg_attrs.data) if func.arg_attrs is not None else []
    returned = [values[r.index] for r in kept]
    body = gather([block.args[a.index] for a in own], [*forward, ReturnOp(*returned)])
    func.body.detach_block(0)
    func.body.add_block(body)
    func.function_type = FunctionType.from_lists([a.type for a in body.args], [v.type for v in returned])
    func.arg_attrs = ArrayAttr([attrs[a.index] for a in own])
    func.res_attrs = ArrayAttr([_renumbered(entries[r.index], number) for r in kept])
    if spec is not None:
        func.attributes["train.optimizer"] = spec
    again = copied(func)
    differentiate(again)
    if not again.is_structurally_equivalent(step):
        raise refused(func, f"the step was changed since autodiff: run {name} before it", name)


def _renumbered(entry: DictionaryAttr, number: Mapping[int, int]) -> DictionaryAttr:
    """The attributes of a result whose argument has another number now."""
    old = entry.data.get("train.updates")
    if not isinstance(old, IntegerAttr):
        return entry
    return DictionaryAttr({**entry.data, "train.updates": IntegerAttr(number.get(old.value.data, -1), i64)})


def _optimizer(arguments: list[Argument], new: Mapping[int | None, SSAValue]) -> DictionaryAttr | None:
    """What `train.optimizer` was: from the first update of a parameter and how its states start."""
    rules = {rule.op.name: (kind, rule) for kind, rule in OPTIMIZERS.items()}
    for argument in arguments:
        value = new.get(argument.index)
        if argument.kind is not ArgumentKind.PARAM or value is None or not isinstance(value.owner, TrainOp):
            continue
        if value.owner.name not in rules:
            continue  # it is no step of autodiff, as deriving it again will show
        kind, rule = rules[value.owner.name]
        options: dict[str, Attribute] = {"kind": StringAttr(kind)}
        for option, given in params_of(value.owner).items():
            if option in rule.defaults:
                options[option] = FloatAttr(given, f64) if isinstance(given, float) else UnitAttr()
        fills = {a.name: a.fill for a in arguments if a.kind is ArgumentKind.STATE}
        for state in rule.states:
            fill = fills.get(f"{argument.name}.{state.suffix}")
            if state.fill is not None and fill is not None:
                options[state.fill] = FloatAttr(fill, f64)
        return DictionaryAttr(options)
    return None
