"""Rules about the forward graph that a program builds with the given parameters: weights and losses."""

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.core.errors import Location
from npuc.dialects.tensors import is_float, shape_of
from npuc.dialects.train.activation import ClipOp, ReluOp
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.conv import ForwardOp
from npuc.dialects.train.conv_transpose import TransposedForwardOp
from npuc.dialects.train.loss import ClassesBase, CrossEntropyOp, NllLossOp
from npuc.dialects.train.matmul import MatmulOp
from npuc.dialects.train.norm import BatchNormOp
from npuc.dialects.train.pointwise import AbsOp
from npuc.dialects.train.probability_loss import LogitsLossOp
from npuc.dialects.train.shape import ReshapeOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of
from npuc.dialects.train.smooth import SigmoidOp
from npuc.dialects.train.softmax import LogSoftmaxOp, SoftmaxOp
from npuc.frontends.dsl.lint.findings import Remark, Rule, Subject

_PRODUCTS = (ForwardOp, TransposedForwardOp, MatmulOp)
_IDEMPOTENT = (ReluOp, ClipOp, AbsOp)


def _location(attr: LocationAttr) -> Location | None:
    if not isinstance(attr, FileLineColLoc):
        return None
    return Location(attr.filename.data, attr.line.data, attr.column.data)


def _owner(value: SSAValue) -> Operation | None:
    """The operation that computes a value, seen through reshapes."""
    owner = value.owner
    while isinstance(owner, ReshapeOp):
        owner = owner.operands[0].owner
    return owner if isinstance(owner, Operation) else None


def _returned(function: FuncOp, *, loss: bool) -> list[SSAValue]:
    """The loss, or the other results of a function."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    return [last.operands[result.index] for result in results_of(function) if result.loss == loss]


def _depended_on(results: list[SSAValue]) -> set[SSAValue]:
    """The floating-point values that results depend on by way of floating-point values."""
    found, pending = set(results), list(results)
    while pending:
        owner = pending.pop().owner
        operands = owner.operands if isinstance(owner, Operation) else ()
        new = [operand for operand in operands if operand not in found and is_float(operand)]
        found.update(new)
        pending += new
    return found


def _without_gradient(subject: Subject) -> Iterator[Remark]:
    function, program = subject.graph, subject.program
    if function is None or program is None:
        return
    loss = _returned(function, loss=True)
    reached = _depended_on(loss) if loss else None
    for argument in arguments_of(function):
        value = function.body.block.args[argument.index]
        trained = argument.kind is ArgumentKind.PARAM and not argument.frozen
        if reached is None or not trained or value in reached:
            continue
        location = _location(value.location)
        at = subject.place(location)
        made = "" if at is not None or location is None else f" (made at {location})"
        message = f"the weight '{argument.name}'{made} is never trained: the loss does not depend on it"
        hint = "leave it out, let the loss depend on it, or write 'frozen' before the call that makes it"
        yield Remark(at or program.network.definition.name.at, message, hint)


def _operations(subject: Subject) -> Iterator[tuple[Operation, Remark]]:
    """The operations that come from the file, each with a remark to fill in."""
    if subject.graph is None:
        return
    for op in subject.graph.body.block.ops:
        at = subject.place(_location(op.location))
        if at is not None:
            yield op, Remark(at, "")


def _normalised_twice(subject: Subject) -> Iterator[Remark]:
    for op, remark in _operations(subject):
        match op:
            case CrossEntropyOp():
                wrong, takes, what = (SoftmaxOp, LogSoftmaxOp, SigmoidOp), "scores before any softmax", "cross_entropy"
                given: SSAValue = op.logits
            case NllLossOp():
                wrong, takes, what = (SoftmaxOp, SigmoidOp), "logarithms, as log_softmax gives them", "nll_loss"
                given = op.logits
            case LogitsLossOp():
                wrong, takes = (SigmoidOp, SoftmaxOp), "scores before the sigmoid"
                what, given = "binary_cross_entropy_with_logits", op.operands[0]
            case _:
                continue
        owner = _owner(given)
        if isinstance(owner, wrong):
            kind = owner.name.removeprefix("train.")
            yield Remark(remark.at, f"{what} gets the result of {kind}, but expects {takes}", f"leave the {kind} out")


def _constant(subject: Subject) -> Iterator[Remark]:
    for op, remark in _operations(subject):
        match op:
            case SoftmaxOp() | LogSoftmaxOp() if shape_of(op.x)[op.axis.value.data] == 1:
                value = 1 if isinstance(op, SoftmaxOp) else 0
                message = f"the softmax runs over an axis of size 1: all its values are {value}"
                yield Remark(remark.at, message, "another axis, or sigmoid for a single score")
            case ClassesBase() if shape_of(op.logits)[-1] == 1:
                hint = "the last axis holds a score a class; for one score there is binary_cross_entropy_with_logits"
                yield Remark(remark.at, "the loss sees one class only: it is 0 for any score", hint)
            case BatchNormOp() if _values_a_channel(op) == 1:
                message = "each channel has one value in a batch: normalised, it is always 0"
                yield Remark(remark.at, message, "a larger batch, or another normalisation")
            case _:
                pass


def _values_a_channel(op: BatchNormOp) -> int:
    batch, _, *rest = shape_of(op.x)
    return batch * prod(rest)


def _useless_biases(subject: Subject) -> Iterator[Remark]:
    for op, remark in _operations(subject):
        norm = _only_user(op.out) if isinstance(op, AddOp) else None
        if isinstance(norm, BatchNormOp) and norm.operands[0].owner is op and _adds_a_bias(op):
            message = "the bias has no effect: batch_norm subtracts the mean of each channel"
            yield Remark(remark.at, message, "write bias=false")


def _adds_a_bias(op: Operation) -> bool:
    """Whether a parameter with one value per channel (second axis) is added to a product that nothing else uses."""
    product, bias = op.operands
    sizes = shape_of(bias)
    axes = (1,) * (len(shape_of(product)) - len(sizes)) + sizes
    while isinstance(bias.owner, ReshapeOp):
        bias = bias.owner.operands[0]
    is_own = isinstance(bias, BlockArgument) and bias.has_one_use() and product.has_one_use()
    a_channel = all(size == 1 for axis, size in enumerate(axes) if axis != 1)
    return is_own and a_channel and isinstance(product.owner, _PRODUCTS)


def _only_user(value: SSAValue) -> Operation | None:
    """The one operation that uses a value, or None."""
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _repeated(subject: Subject) -> Iterator[Remark]:
    for op, remark in _operations(subject):
        inner = op.operands[0].owner if op.operands else None
        if isinstance(op, _IDEMPOTENT) and isinstance(inner, _IDEMPOTENT) and _is_same(op, inner):
            kind = op.name.removeprefix("train.")
            yield Remark(remark.at, f"{kind} of the result of {kind} has no effect", "leave one of them out")


def _is_same(a: Operation, b: Operation) -> bool:
    return a.name == b.name and a.properties == b.properties


RULES = (
    Rule("no-gradient", "the loss does not depend on a weight that is to be trained", _without_gradient),
    Rule("softmax-twice", "a loss with a built-in softmax or sigmoid gets the result of one", _normalised_twice),
    Rule("constant-result", "a softmax, loss or normalisation over a single value", _constant),
    Rule("useless-bias", "a bias right before batch_norm", _useless_biases),
    Rule("repeated-operation", "relu, clip or abs of its own result", _repeated),
)
