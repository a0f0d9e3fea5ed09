"""The ends of a training step: the optimizer's updates, and the function that returns them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    LocationAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.core.verify import refused
from npuc.compiler.layers.optimizer import OPTIMIZERS, OptimizerRule, Option
from npuc.compiler.transforms.autodiff.hyperparameters import hyperparameters
from npuc.compiler.transforms.autodiff.step import Returned, Step
from npuc.dialects.blocks import gather, needed
from npuc.dialects.distributed.sharding import sharding_entry
from npuc.dialects.provenance import Role, role_attr
from npuc.dialects.tensors import is_float, tensor_of, tensor_type
from npuc.dialects.train.optimizer import IncrementOp
from npuc.dialects.train.signature import (
    NAME,
    Argument,
    ArgumentKind,
    arguments_of,
    name_all,
    result_entries,
    results_of,
)

OpT = TypeVar("OpT", bound=Operation)
Trained = tuple[Argument, BlockArgument]
"""A parameter that is trained: what is known of it, and its value."""
Order = Callable[[Sequence[Operation], Sequence[Operation]], list[Operation]]
"""What puts operations of the forward function and those that were appended in their order."""


def begin(func: FuncOp) -> tuple[Step, list[Operation], SSAValue]:
    """
    A step with the arguments of a forward function, the function's operations, its loss.

    Raises `SourceError` for a function that computes no loss.
    """
    block = func.body.block
    *forward, ending = list(block.ops)
    name_all(func)
    losses = [result.index for result in results_of(func) if result.loss]
    if not losses:
        raise refused(func, "found a function without a loss, expected one that returns a train.loss", "autodiff")
    loss = ending.operands[losses[0]]
    if isinstance(loss, BlockArgument):
        raise refused(func, "found a loss that is an argument, expected one that operations compute", "autodiff")
    return Step(list(block.args), _attribute_list(func, len(block.args))), forward, loss


def trained_of(func: FuncOp, step: Step) -> list[Trained]:
    """
    The parameters that are trained. Integers and booleans have no gradient: weights of them stay as they are.
    """
    params = (a for a in arguments_of(func) if a.kind is ArgumentKind.PARAM and not a.frozen)
    return [(a, step.args[a.index]) for a in params if is_float(step.args[a.index])]


def optimize(step: Step, func: FuncOp, spec: DictionaryAttr, trained: Sequence[Trained]) -> None:
    """
    Emit the updates of the parameters that have a gradient, by the optimizer that `train.optimizer` describes.

    Raises `SourceError` for one that does not exist or has other hyperparameters.
    """
    kind = spec.data.get("kind")
    rule = OPTIMIZERS.get(kind.data) if isinstance(kind, StringAttr) else None
    if rule is None:
        found = "without a kind" if kind is None else str(kind)
        raise refused(func, f"unknown optimizer {found}, expected one of {', '.join(OPTIMIZERS)}", "autodiff")
    try:
        options = hyperparameters(spec, rule)
    except ValueError as error:
        raise refused(func, f"train.optimizer{error}", "autodiff") from None
    named = {argument.name for argument in arguments_of(func)}
    count = _step_number(step, trained[0][1].location) if rule.counts_steps(options) else None
    for argument, param in trained:
        if param in step.gradients:
            states: list[int] = []
            for state in rule.states_for(options):
                name = f"{argument.name}.{state.suffix}"
                if name in named:
                    raise refused(func, f"found an argument '{name}', the name of a state", "autodiff")
                like = tensor_of(tensor_type(param).element_type, ()) if state.scalar else param
                states.append(step.new_state(name, like, param.location, options.get(state.fill or "", 0.0)))
            _update(step, rule, options, argument, states, count)


def _update(
    step: Step,
    rule: OptimizerRule,
    options: dict[str, Option],
    argument: Argument,
    states: list[int],
    count: int | None,
) -> None:
    """Emit the update of one parameter; `states` and `count` are numbers of arguments."""
    param = step.args[argument.index]
    operands = [param, step.gradients[param], *(step.args[s] for s in states)]
    counts = () if count is None else (step.args[count],)
    start = rule.start_of(options, argument)
    op = rule.op(*operands, *counts, results=None, **rule.for_update(options), **start)
    step.append(_named(op, argument.name, param.location))
    for number, new in zip((argument.index, *states), op.results, strict=True):
        step.updates(number, new)


def _named(op: OpT, layer: str, location: LocationAttr) -> OpT:
    """Give an update, which replaces no operation, its layer, role and place."""
    op.attributes |= {"layer": StringAttr(layer), "role": role_attr(Role.UPDATE)}
    op.location = location
    return op


def _is_step(attrs: DictionaryAttr) -> bool:
    return attrs.data.get("train.state") == StringAttr("step")


def _step_number(step: Step, location: LocationAttr) -> int:
    """The number of the argument that counts steps, which is made if the network has none."""
    found = next((i for i, attrs in enumerate(step.arg_attrs) if _is_step(attrs)), None)
    return step.new_state("step", tensor_of(i64, ()), location) if found is None else found


def count_step(step: Step) -> None:
    """Increment the step count, if the network has one."""
    for number, (arg, attrs) in enumerate(zip(step.args, step.arg_attrs, strict=True)):
        if _is_step(attrs):
            step.updates(number, step.append(_named(IncrementOp(arg), "step", arg.location)).out)


def one_after_the_other(forward: Sequence[Operation], appended: Sequence[Operation]) -> list[Operation]:
    """The operations of the forward function, and behind them those that were appended."""
    return [*forward, *appended]


def finish(
    func: FuncOp, step: Step, forward: Sequence[Operation], loss: SSAValue, order: Order = one_after_the_other
) -> None:
    """
    Let a forward function be the step: it returns its loss, what the step returns, its new statistics and its outputs.

    What is appended and nobody needs is erased; `order` puts the rest among the operations of the forward function.
    """
    ending = func.body.block.last_op
    assert isinstance(ending, ReturnOp)
    values, results = list(ending.operands), results_of(func)
    kept: list[Returned] = [(loss, {"train.loss": UnitAttr()}), *step.results]
    for result in results:
        if result.updates is not None:
            kept.append((values[result.index], step.of_argument("updates", result.updates)))
    written = list(result_entries(func))
    for result in results:
        if result.output is not None:
            entries = written[result.index]
            key = NAME if NAME in entries else "train.output"
            kept.append((values[result.index], {key: StringAttr(result.output), **sharding_entry(entries)}))
    appended, _ = needed(step.appended, (value for value, _ in kept))
    for op in (*forward, ending):
        op.detach()
    ending.erase()
    _rebuild(func, step, order(forward, appended), kept)


def _rebuild(func: FuncOp, step: Step, ops: list[Operation], results: list[Returned]) -> None:
    """Give the function its new body, type and attributes."""
    body = gather(step.args, [*ops, ReturnOp(*(value for value, _ in results))])
    func.body.detach_block(0)
    func.body.add_block(body)
    func.function_type = FunctionType.from_lists([a.type for a in body.args], [value.type for value, _ in results])
    func.arg_attrs = ArrayAttr(step.arg_attrs)
    func.res_attrs = ArrayAttr([DictionaryAttr(attrs) for _, attrs in results])


def _attribute_list(func: FuncOp, count: int) -> list[DictionaryAttr]:
    return list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({}) for _ in range(count)]
