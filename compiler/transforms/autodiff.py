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
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import NotDifferentiable
from npuc.compiler.layers.optimizer import OPTIMIZERS, OptimizerRule
from npuc.dialects.provenance import Role, derive, role_attr, role_of
from npuc.dialects.train.arithmetic import AddOp, constant
from npuc.dialects.train.base import TrainOp, tensor_type
from npuc.dialects.train.optimizer import IncrementOp
from npuc.dialects.train.signature import (
    Argument,
    ArgumentKind,
    arguments_of,
    is_differentiated,
    results_of,
    training_functions,
)

OpT = TypeVar("OpT", bound=Operation)
_Result: TypeAlias = tuple[SSAValue, dict[str, Attribute]]


def _is_float(value: SSAValue) -> bool:
    return isinstance(tensor_type(value).element_type, AnyFloat)


def _reached(block_ops: Iterable[Operation], seeds: Iterable[SSAValue]) -> set[SSAValue]:
    """The float values that depend on one of the seeds."""
    reached = set(seeds)
    for op in block_ops:
        if any(operand in reached for operand in op.operands):
            reached.update(r for r in op.results if isinstance(r.type, TensorType) and _is_float(r))
    return reached


@dataclass
class _Step:
    """The training step under construction: the function and what is appended to it."""

    func: FuncOp
    results: list[_Result] = field(default_factory=list["_Result"])
    arg_attrs: list[Attribute] = field(default_factory=list[Attribute])
    gradients: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    appended: list[Operation] = field(default_factory=list[Operation])

    def append(self, op: OpT) -> OpT:
        self.func.body.block.add_op(op)
        self.appended.append(op)
        return op

    def argument(self, index: int) -> BlockArgument:
        return self.func.body.block.args[index]

    def new_state(self, name: str, like: Attribute, location: LocationAttr) -> SSAValue:
        """Add an optimizer state argument that starts at zero."""
        block = self.func.body.block
        value = block.insert_arg(like, len(block.args))
        value.location = location
        value.name_hint = "".join(c if c.isalnum() else "_" for c in name)
        self.arg_attrs.append(DictionaryAttr({"train.state": StringAttr(name), "train.fill": FloatAttr(0.0, f64)}))
        return value

    def updates(self, argument: SSAValue, new: SSAValue) -> None:
        assert isinstance(argument, BlockArgument)
        self.results.append((new, {"train.updates": IntegerAttr(argument.index, i64)}))

    def accumulate(self, source: TrainOp, role: Role, operand: SSAValue, contribution: SSAValue) -> None:
        """Add a contribution to the gradient of a value."""
        earlier = self.gradients.get(operand)
        if earlier is None:
            self.gradients[operand] = contribution
            if contribution.name_hint is None and operand.name_hint is not None:
                contribution.name_hint = f"d{operand.name_hint}"
            return
        self.gradients[operand] = self.append(derive(source, AddOp(earlier, contribution), role=role)).out


def _backward(step: _Step, forward: list[Operation], loss: SSAValue, trained: list[BlockArgument]) -> None:
    """Emit the derivatives of `loss` with respect to the trained parameters."""
    block = step.func.body.block
    names = {a.index: a.kind for a in arguments_of(step.func)}
    inputs = [arg for arg in block.args if names.get(arg.index) is ArgumentKind.INPUT]
    active, fed = _reached(forward, trained), _reached(forward, inputs)
    if loss not in active:
        return
    assert isinstance(loss.owner, Operation)
    seed = derive(loss.owner, constant(tensor_type(loss), 1.0), role=Role.DX)
    step.gradients[loss] = step.append(seed).out
    for op in reversed(forward):
        if not isinstance(op, TrainOp) or role_of(op) is Role.UPDATE:
            continue
        grads = [step.gradients.get(r) for r in op.results]
        if all(g is None for g in grads):
            continue
        for role, in_role in ((Role.DX, True), (Role.DW, False)):
            needs = [v in active and (v in fed) is in_role for v in op.operands]
            if any(needs):
                _differentiate(step, op, grads, needs, role)


def _differentiate(step: _Step, op: TrainOp, grads: list[SSAValue | None], needs: list[bool], role: Role) -> None:
    """Emit the gradients of some operands of one operation, all of one role."""

    def emit(new: OpT) -> OpT:
        return step.append(derive(op, new, role=role))

    try:
        contributions = get_layer(op).vjp(op, grads, needs, emit)
    except NotDifferentiable as error:
        raise PassFailedException(f"autodiff: {op.name} has no derivative") from error
    for operand, need, contribution in zip(op.operands, needs, contributions, strict=True):
        if need and contribution is not None:
            step.accumulate(op, role, operand, contribution)


def _optimize(step: _Step, spec: DictionaryAttr, trained: list[tuple[Argument, BlockArgument]]) -> None:
    """Emit the optimizer's updates of the parameters that have a gradient."""
    kind = spec.data.get("kind")
    rule = OPTIMIZERS.get(kind.data) if isinstance(kind, StringAttr) else None
    if rule is None:
        raise PassFailedException(f"autodiff: unknown optimizer {kind}, expected one of {', '.join(OPTIMIZERS)}")
    options = {k: float(v.value.data) for k, v in spec.data.items() if isinstance(v, FloatAttr)}
    stateless = rule.stateless_without is not None and options.get(rule.stateless_without, 0.0) == 0.0
    suffixes = () if stateless else rule.states
    count = _step_argument(step, trained) if rule.needs_step else None
    for argument, param in trained:
        gradient = step.gradients.get(param)
        if gradient is not None:
            states = [step.new_state(f"{argument.name}.{suffix}", param.type, param.location) for suffix in suffixes]
            _update(step, rule, options, argument, (param, gradient, *states), count)


def _update(
    step: _Step,
    rule: OptimizerRule,
    options: dict[str, float],
    argument: Argument,
    operands: tuple[SSAValue, ...],
    count: SSAValue | None,
) -> None:
    op = rule.op(*operands, *(() if count is None else (count,)), results=None, **options)
    op.attributes["layer"] = StringAttr(argument.name)
    op.attributes["role"] = role_attr(Role.UPDATE)
    op.location = step.argument(argument.index).location
    step.append(op)
    param, _, *states = operands
    for old, new in zip((param, *states), op.results, strict=True):
        new.name_hint = f"{old.name_hint}_new" if old.name_hint else None
        step.updates(old, new)


def _step_argument(step: _Step, trained: list[tuple[Argument, BlockArgument]]) -> SSAValue:
    """The step count, which is made if the network has none."""
    for argument in arguments_of(step.func):
        if argument.kind is ArgumentKind.STATE and argument.name == "step":
            return step.argument(argument.index)
    return step.new_state("step", TensorType(i64, []), trained[0][1].location)


def _count_step(step: _Step) -> None:
    """Increment the step count, if anything reads it."""
    block = step.func.body.block
    for arg, attrs in zip(block.args, step.arg_attrs, strict=True):
        assert isinstance(attrs, DictionaryAttr)
        if attrs.data.get("train.state") == StringAttr("step"):
            op = IncrementOp(arg)
            op.attributes |= {"layer": StringAttr("step"), "role": role_attr(Role.UPDATE)}
            op.location = arg.location
            step.updates(arg, step.append(op).out)


def differentiate(func: FuncOp) -> None:
    """Turn a forward function, which has a loss, into the whole training step."""
    block = func.body.block
    ending = block.last_op
    results = results_of(func)
    loss = next(r for r in results if r.loss)
    assert isinstance(ending, ReturnOp)
    values = list(ending.operands)
    ending.detach()
    ending.erase()
    step = _Step(func, arg_attrs=_attribute_list(func, len(block.args)))
    trained = [(a, block.args[a.index]) for a in arguments_of(func) if a.kind is ArgumentKind.PARAM and not a.frozen]
    _backward(step, list(block.ops), values[loss.index], [value for _, value in trained])
    spec = func.attributes.pop("train.optimizer", None)
    if isinstance(spec, DictionaryAttr) and trained:
        _optimize(step, spec, trained)
    else:
        for argument, param in trained:
            if param in step.gradients:
                step.results.append((step.gradients[param], {"train.gradient": IntegerAttr(argument.index, i64)}))
    _count_step(step)
    kept: list[_Result] = [(values[loss.index], {"train.loss": UnitAttr()}), *step.results]
    for result in results:
        if result.updates is not None:
            kept.append((values[result.index], {"train.updates": IntegerAttr(result.updates, i64)}))
    for result in results:
        if result.output is not None:
            kept.append((values[result.index], {"train.output": StringAttr(result.output)}))
    block.add_op(ReturnOp(*(value for value, _ in kept)))
    for op in reversed(step.appended):
        if all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
    func.function_type = FunctionType.from_lists([a.type for a in block.args], [v.type for v, _ in kept])
    func.arg_attrs = ArrayAttr([a for a in step.arg_attrs if isinstance(a, DictionaryAttr)])
    func.res_attrs = ArrayAttr([DictionaryAttr(attrs) for _, attrs in kept])


def _attribute_list(func: FuncOp, count: int) -> list[Attribute]:
    return list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({}) for _ in range(count)]


@dataclass(frozen=True)
class AutodiffPass(ModulePass):
    """Derive the training step of every function that has a loss and is not differentiated yet."""

    name = "autodiff"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in training_functions(op):
            if any(r.loss for r in results_of(func)) and not is_differentiated(func):
                differentiate(func)
