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

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import refused, require_train_level
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import NotDifferentiable
from npuc.compiler.transforms.autodiff.gradient_types import GradientType, cast_gradients, gradient_types
from npuc.compiler.transforms.autodiff.step import Step
from npuc.compiler.transforms.autodiff.updates import begin, count_step, finish, optimize, trained_of
from npuc.dialects.copies import copied
from npuc.dialects.provenance import Role, derive, role_of
from npuc.dialects.tensors import is_float, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import (
    ArgumentKind,
    arguments_of,
    has_loss,
    is_differentiated,
    training_functions,
)

OpT = TypeVar("OpT", bound=Operation)


def reached_from(block_ops: Iterable[Operation], seeds: Iterable[SSAValue], *, integers: bool = False) -> set[SSAValue]:
    """The float values that depend on one of the seeds by floats alone; with `integers` by any values."""
    reached = set(seeds)
    for op in block_ops:
        if any(operand in reached for operand in op.operands):
            reached.update(r for r in op.results if integers or is_float(r))
    return reached


def backward(func: FuncOp, step: Step, forward: list[Operation], loss: SSAValue) -> None:
    """Emit the derivatives of the loss of a forward function with respect to its trained parameters."""
    trained = [value for _, value in trained_of(func, step)]
    inputs = [step.args[a.index] for a in arguments_of(func) if a.kind is ArgumentKind.INPUT]
    active, fed = reached_from(forward, trained), reached_from(forward, inputs)
    types = gradient_types(forward, trained, reached_from(forward, inputs, integers=True).__contains__)
    if loss not in active:
        return
    assert isinstance(loss.owner, Operation)
    seed = derive(loss.owner, constant(tensor_type(loss), 1.0), role=Role.DX)
    step.gradients[loss] = step.append(seed).out
    propagate(step, forward, active, fed, types)


def propagate(
    step: Step,
    forward: Sequence[Operation],
    active: AbstractSet[SSAValue],
    fed: AbstractSet[SSAValue],
    types: Mapping[SSAValue, GradientType],
) -> None:
    """
    Emit the derivatives of operations from the gradients of their results that a step has.

    `active` are the values that depend on trained parameters, `fed` those that depend on inputs; `types` are those of
    the gradients of values that depend on parameters alone.
    """
    for op in reversed(forward):
        if not isinstance(op, TrainOp) or role_of(op) is Role.UPDATE:
            continue
        grads = cast_gradients(op, [step.gradients.get(r) for r in op.results], types, step.append)
        if all(g is None for g in grads):
            continue
        wanted = [
            (role, [v in active and (v in fed) is in_role for v in op.operands])
            for role, in_role in ((Role.DX, True), (Role.DW, False))
        ]
        if get_layer(op).joint_gradients and all(any(needs) for _, needs in wanted):
            wanted = [(Role.DXDW, [v in active for v in op.operands])]
        for role, needs in wanted:
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


def differentiate(func: FuncOp) -> None:
    """
    Turn a forward function, which has a loss, into the whole training step.

    Raises `SourceError` for a function that computes no loss, is lowered already, or whose optimizer does not exist.
    """
    require_train_level(func, "autodiff")
    step, forward, loss = begin(func)
    trained = trained_of(func, step)
    backward(func, step, forward, loss)
    spec = func.attributes.pop("train.optimizer", None)
    if isinstance(spec, DictionaryAttr) and trained:
        optimize(step, func, spec, trained)
    else:
        for argument, param in trained:
            if param in step.gradients:
                step.results.append((step.gradients[param], step.of_argument("gradient", argument.index)))
    count_step(step)
    finish(func, step, forward, loss)


def whole_step(module: ModuleOp) -> ModuleOp:
    """A module with the backward pass of every forward function that has a loss: itself where there is none."""

    def is_forward(func: FuncOp) -> bool:
        return has_loss(func) and not is_differentiated(func)

    if not any(map(is_forward, training_functions(module))):
        return module
    step = copied(module)
    for func in filter(is_forward, training_functions(step)):
        differentiate(func)
    return step


@frozen
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
