"""
The pass `autodiff`: from the forward function of a network to its whole training step.

    %y = train.matmul %x, %w : …                       %y = train.matmul %x, %w : …
    %l = train.dot_loss %y, %t : …             ->      %l = train.dot_loss %y, %t : …
    func.return %l                                     %dw = train.matmul %x t, %t {role = "dw"} : …
                                                       %w1 = train.sgd %w, %dw lr 0.1 {role = "update"} : …
                                                       func.return %l, %w1

Reverse-mode differentiation over the active values, those that depend on a trained parameter, so the first layer has
no dX and nothing is computed that nobody needs. A value with several uses gets its contributions added in reverse
program order; each addition carries the layer and role of the contributor. The optimizer named by the function's
`train.optimizer` updates every parameter that has a gradient; without one the gradients themselves are results.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from npuc.compiler.core.verify import refused, require_train_level
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import NotDifferentiable
from npuc.compiler.layers.optimizer import OPTIMIZERS, OptimizerRule, Option
from npuc.compiler.transforms.autodiff.gradient_types import cast_gradients, gradient_types
from npuc.compiler.transforms.autodiff.hyperparameters import hyperparameters
from npuc.compiler.transforms.autodiff.step import Returned, Step
from npuc.dialects.blocks import gather, needed
from npuc.dialects.distributed.sharding import sharding_entry
from npuc.dialects.provenance import Role, derive, role_attr, role_of
from npuc.dialects.tensors import is_float, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.optimizer import IncrementOp
from npuc.dialects.train.signature import (
    NAME,
    Argument,
    ArgumentKind,
    arguments_of,
    has_loss,
    is_differentiated,
    name_all,
    result_entries,
    results_of,
    training_functions,
)

OpT = TypeVar("OpT", bound=Operation)


def _reached(block_ops: Iterable[Operation], seeds: Iterable[SSAValue], *, integers: bool = False) -> set[SSAValue]:
    """The float values that depend on one of the seeds by floats alone; with `integers` by any values."""
    reached = set(seeds)
    for op in block_ops:
        if any(operand in reached for operand in op.operands):
            reached.update(r for r in op.results if integers or is_float(r))
    return reached


def _backward(
    step: Step, forward: list[Operation], loss: SSAValue, trained: list[SSAValue], inputs: list[SSAValue]
) -> None:
    """Emit the derivatives of `loss` with respect to the trained parameters."""
    active, fed = _reached(forward, trained), _reached(forward, inputs)
    types = gradient_types(forward, trained, _reached(forward, inputs, integers=True).__contains__)
    if loss not in active:
        return
    assert isinstance(loss.owner, Operation)
    seed = derive(loss.owner, constant(tensor_type(loss), 1.0), role=Role.DX)
    step.gradients[loss] = step.append(seed).out
    for op in reversed(forward):
        if not isinstance(op, TrainOp) or role_of(op) is Role.UPDATE:
            continue
        grads = cast_gradients(op, [step.gradients.get(r) for r in op.results], types, step.append)
        if all(g is None for g in grads):
            continue
        for role, in_role in ((Role.DX, True), (Role.DW, False)):
            needs = [v in active and (v in fed) is in_role for v in op.operands]
            if any(needs):
                _differentiate(step, op, grads, needs, role)


def _differentiate(step: Step, op: TrainOp, grads: list[SSAValue | None], needs: list[bool], role: Role) -> None:
    """Emit the gradients of some operands of one operation, all of one role."""

    def emit(new: OpT) -> OpT:
        return step.append(derive(op, new, role=role))

    try:
        contributions = get_layer(op).vjp(op, grads, needs, emit)
    except NotDifferentiable as error:
        raise refused(op, f"{op.name} has no derivative", "autodiff") from error
    for operand, need, contribution in zip(op.operands, needs, contributions, strict=True):
        if need and contribution is not None:
            step.accumulate(op, role, operand, contribution)


def _optimize(step: Step, func: FuncOp, spec: DictionaryAttr, trained: list[tuple[Argument, BlockArgument]]) -> None:
    """Emit the optimizer's updates of the parameters that have a gradient."""
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
                states.append(step.new_state(name, param, param.location, options.get(state.fill or "", 0.0)))
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
    op = rule.op(*operands, *counts, results=None, **rule.for_update(options))
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


def _count_step(step: Step) -> None:
    """Increment the step count, if the network has one."""
    for number, (arg, attrs) in enumerate(zip(step.args, step.arg_attrs, strict=True)):
        if _is_step(attrs):
            step.updates(number, step.append(_named(IncrementOp(arg), "step", arg.location)).out)


def differentiate(func: FuncOp) -> None:
    """
    Turn a forward function, which has a loss, into the whole training step.

    Raises `SourceError` for a function that computes no loss, is lowered already, or whose optimizer does not exist.
    """
    block = func.body.block
    *forward, ending = list(block.ops)
    require_train_level(func, "autodiff")
    name_all(func)
    values = list(ending.operands)
    arguments, results = arguments_of(func), results_of(func)
    if not any(result.loss for result in results):
        raise refused(func, "found a function without a loss, expected one that returns a train.loss", "autodiff")
    step = Step(list(block.args), _attribute_list(func, len(block.args)))
    loss = values[next(r for r in results if r.loss).index]
    if isinstance(loss, BlockArgument):
        raise refused(func, "found a loss that is an argument, expected one that operations compute", "autodiff")
    # Integers and booleans have no gradient: weights of them stay as they are.
    params = [(a, block.args[a.index]) for a in arguments if a.kind is ArgumentKind.PARAM and not a.frozen]
    trained = [(a, value) for a, value in params if is_float(value)]
    inputs: list[SSAValue] = [block.args[a.index] for a in arguments if a.kind is ArgumentKind.INPUT]
    _backward(step, forward, loss, [param for _, param in trained], inputs)
    spec = func.attributes.pop("train.optimizer", None)
    if isinstance(spec, DictionaryAttr) and trained:
        _optimize(step, func, spec, trained)
    else:
        for argument, param in trained:
            if param in step.gradients:
                step.results.append((step.gradients[param], step.of_argument("gradient", argument.index)))
    _count_step(step)
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
    backward, _ = needed(step.appended, (value for value, _ in kept))
    for op in (*forward, ending):
        op.detach()
    ending.erase()
    _rebuild(func, step, [*forward, *backward], kept)


def whole_step(module: ModuleOp) -> ModuleOp:
    """A module with the backward pass of every forward function that has a loss: itself where there is none."""

    def is_forward(func: FuncOp) -> bool:
        return has_loss(func) and not is_differentiated(func)

    if not any(map(is_forward, training_functions(module))):
        return module
    step = module.clone()
    for func in filter(is_forward, training_functions(step)):
        differentiate(func)
    return step


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


@dataclass(frozen=True)
class AutodiffPass(ModulePass):
    """Derive the training step of every function that has a loss, if it is not one yet. Some function must have one."""

    name = "autodiff"
    EXAMPLE: ClassVar = "autodiff"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = training_functions(op)
        forward = [func for func in functions if has_loss(func) and not is_differentiated(func)]
        if not forward and not any(map(is_differentiated, functions)):
            forward = functions  # each is refused, with what is expected
        for func in forward:
            differentiate(func)
