"""
The pass `set-precision`: the float types of a program, before anything is priced.

    set-precision{to=bf16}      every float of the program is bf16: parameters, inputs, states, statistics, values
    set-precision{to=mixed}     what PyTorch's autocast does, with parameters, gradients and states of f32

    %y = train.matmul %x, %w : (tensor<8x4xf32>, …)      %xl = train.cast %x : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %p = train.softmax %y : …                       ->   %wl = train.cast %w {layer = "fc.weight"} : …
                                                         %y = train.matmul %xl, %wl : …
                                                         %yw = train.cast %y : (tensor<8x2xbf16>) -> tensor<8x2xf32>
                                                         %p = train.softmax %yw : …

Integers and booleans stay as they are. With `mixed` each operation has the type that `_autocast` says; a value is cast
once, right before its first use in the other type, and all uses share the result. The cast of a parameter, the cached
16-bit weight, is an operation of its own under the parameter's name, and its derivative casts the gradient back to
f32. A training step that `autodiff` made is undone and derived again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    Float64Type,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npuc.compiler.errors import SourceError
from npuc.compiler.options import PRECISIONS
from npuc.compiler.transforms._autocast import Policy, policies
from npuc.compiler.transforms._undo import undo_autodiff
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.verify import location_of
from npuc.dialects.blocks import gather, loose_argument
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp, ConstantOp, constant
from npuc.dialects.train.base import TrainOp, encode
from npuc.dialects.train.signature import (
    ArgumentKind,
    arguments_of,
    is_differentiated,
    results_of,
    training_functions,
)

_ELEMENTS: dict[str, Attribute] = {"f32": f32, "f16": f16, "bf16": bf16}
_ON_TENSORS = frozenset(
    f"npu.{name}"
    for name in ("contract", "interleave", "yield", "vector", "move", "view", "constant", "im2col", "col2im")
)
"""What `lower-to-npu` makes, and `interleave`: whole tensors, whose types follow those of the arguments."""
LOW, WIDE = bf16, f32
"""The types of mixed precision."""
LARGEST_F16 = 65504.0
"""The largest finite number of f16; a constant beyond it, which stands for infinity, becomes this."""


@dataclass(frozen=True)
class SetPrecisionPass(ModulePass):
    """
    Give a program other float types: `to` is as-written, f32, f16, bf16 or mixed.

    One type for all floats may be given at the levels `train` and `npu`, mixed precision to a network of the level
    `train`. Raises `SourceError` at the first operation of a lower level.
    """

    name = "set-precision"

    to: str

    def __post_init__(self) -> None:
        if self.to not in PRECISIONS:
            raise ValueError(f"to is '{self.to}', expected {', '.join(PRECISIONS)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.to == "as-written":
            return
        for func in training_functions(op):
            self._check(func)
            if self.to != "mixed":
                _set_all(func, _ELEMENTS[self.to])
                continue
            whole = is_differentiated(func)
            if whole:
                undo_autodiff(func, self.name)
            _Mixed(func).rewrite()
            if whole:
                differentiate(func)

    def _check(self, func: FuncOp) -> None:
        """Refuse what is lowered too far."""
        lowered = too_low(func, self.to)
        if lowered is not None:
            expected = "train operations" if self.to == "mixed" else "operations on tensors"
            raise SourceError(
                f"{self.name}: found {lowered.name}, expected {expected}",
                location=location_of(lowered),
                hint=f"{self.name} comes before lower-to-npu",
            )


def too_low(func: FuncOp, precision: str) -> Operation | None:
    """The first operation of a function whose types cannot be set; None without one."""
    for op in func.body.walk():
        if not isinstance(op, TrainOp | ReturnOp) and (precision == "mixed" or op.name not in _ON_TENSORS):
            return op
    return None


def _is_float(value: SSAValue | Attribute) -> bool:
    type = value if isinstance(value, Attribute) else value.type
    return isinstance(type, TensorType) and isinstance(type.element_type, AnyFloat)


# ---- one type for all floats


def _set_all(func: FuncOp, element: Attribute) -> None:
    """Make every float of a function one of `element`; casts that no longer change anything are left out."""
    _set_arguments(func, element)
    for op in list(func.body.walk()):
        between = isinstance(op, CastOp) and op.x.type != op.out.type
        _retype(op, element)
        if isinstance(op, ConstantOp) and element == f16:
            _fit_f16(op)
        if between and isinstance(op, CastOp) and op.x.type == op.out.type:
            Rewriter.replace_op(op, [], [op.x])
    _set_signature(func)


def _set_arguments(func: FuncOp, element: Attribute) -> None:
    """Give a function arguments whose floats are of `element`."""
    block = func.body.block
    args: list[BlockArgument] = []
    for old in list(block.args):
        if _is_float(old) and tensor_type(old).element_type != element:
            new = loose_argument(tensor_of(element, shape_of(old)), old.location, "")
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
            args.append(new)
        else:
            args.append(old)
    ops = list(block.ops)
    for op in ops:
        op.detach()
    func.body.detach_block(0)
    func.body.add_block(gather(args, ops))


def _retype(op: Operation, element: Attribute) -> None:
    """Give the float results of an operation an element type."""
    for value in list(op.results):
        if _is_float(value) and tensor_type(value).element_type != element:
            Rewriter.replace_value_with_new_type(value, tensor_of(element, shape_of(value)))


def _fit_f16(op: ConstantOp) -> None:
    """Keep a large constant, such as the score of what is masked, finite."""
    value = op.value.value.data
    if _is_float(op.out) and LARGEST_F16 < abs(value) < float("inf"):
        op.properties["value"] = encode(max(-LARGEST_F16, min(LARGEST_F16, value)))


def _set_signature(func: FuncOp) -> None:
    """Let the function's type say what its body's arguments and results are."""
    block = func.body.block
    ending = block.last_op
    outputs = ending.operand_types if isinstance(ending, ReturnOp) else ()
    func.function_type = FunctionType.from_lists([a.type for a in block.args], list(outputs))


# ---- mixed precision


@dataclass
class _Mixed:
    """A forward function on its way to mixed precision."""

    func: FuncOp
    casts: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )
    """What a value is in another element type, where that has been needed."""
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The parameters of the function."""

    def rewrite(self) -> None:
        block = self.func.body.block
        self.names = {
            block.args[argument.index]: argument.name
            for argument in arguments_of(self.func)
            if argument.kind is ArgumentKind.PARAM
        }
        ops = [op for op in block.ops if isinstance(op, TrainOp)]
        chosen = policies(ops)
        for op in ops:
            self._set(op, chosen[op])
        self._return()
        for op in ops:  # constants that were made anew in another type
            if isinstance(op, ConstantOp) and op.out.first_use is None:
                Rewriter.erase_op(op)
        _set_signature(self.func)

    def _set(self, op: TrainOp, policy: Policy) -> None:
        """Give the operands and results of one operation, whose operands have their final types, the right types."""
        floats = [value for value in op.operands if _is_float(value)]
        if policy is Policy.AS_WRITTEN or not floats:
            return
        element = _element(policy, floats)
        if policy is Policy.INPUT:
            y = op.results[0]
            Rewriter.replace_value_with_new_type(y, tensor_of(element, shape_of(y)))
            return
        for number, value in enumerate(op.operands):
            if _is_float(value):
                op.operands[number] = self._cast(value, element, op)
        _retype(op, element)
        if policy is Policy.RETURNED and tensor_type(floats[0]).element_type != element:
            self._return_to(op, tensor_type(floats[0]).element_type)

    def _return_to(self, op: TrainOp, element: Attribute) -> None:
        """Cast the result of an operation, for all its uses."""
        (result,) = op.results
        back = derive(op, CastOp(result, results=[tensor_of(element, shape_of(result))]))
        result.replace_all_uses_with(back.out)
        back.operands[0] = result
        _block_of(op).insert_op_after(back, op)

    def _cast(self, value: SSAValue, element: Attribute, user: Operation) -> SSAValue:
        """A value in an element type, for its first or a later use there."""
        if tensor_type(value).element_type == element:
            return value
        key = (value, element)
        if key not in self.casts:
            self.casts[key] = self._made(value, element, user)
        return self.casts[key]

    def _made(self, value: SSAValue, element: Attribute, user: Operation) -> SSAValue:
        type = tensor_of(element, shape_of(value))
        if isinstance(value.owner, ConstantOp):
            new: TrainOp = derive(value.owner, constant(type, value.owner.value.value.data))
        else:
            new = CastOp(value, results=[type])
            name = self.names.get(value)
            if name is None:
                derive(user, new)
            else:
                new.attributes["layer"] = StringAttr(name)
                assert isinstance(value, BlockArgument)
                new.location = value.location
        (result,) = new.results
        result.name_hint = f"{value.name_hint}_{element}" if value.name_hint else None
        _block_of(user).insert_op_before(new, user)
        return result

    def _return(self) -> None:
        """Let new values of arguments have the arguments' types."""
        block = self.func.body.block
        ending = block.last_op
        assert ending is not None
        for result in results_of(self.func):
            if result.updates is None:
                continue
            value, element = ending.operands[result.index], tensor_type(block.args[result.updates]).element_type
            if isinstance(value.owner, Operation):
                ending.operands[result.index] = self._cast(value, element, value.owner.next_op or ending)


def _block_of(op: Operation):
    block = op.parent
    assert block is not None
    return block


def _element(policy: Policy, floats: Sequence[SSAValue]) -> Attribute:
    """The type that an operation computes in; f64 stays what it is."""
    if policy in (Policy.LOW, Policy.WIDE, Policy.RETURNED):
        if any(isinstance(tensor_type(value).element_type, Float64Type) for value in floats):
            return f64
        return LOW if policy is Policy.LOW else WIDE
    return tensor_type(floats[0]).element_type if policy is Policy.INPUT else _widest(floats)


def _widest(floats: Sequence[SSAValue]) -> Attribute:
    """
    The type that floats are promoted to, as PyTorch does: constants adopt that of the others, and scalars that of
    tensors with axes.
    """
    own = [value for value in floats if not isinstance(value.owner, ConstantOp)] or list(floats)
    own = [value for value in own if shape_of(value)] or own
    return _wider(tensor_type(value).element_type for value in own)


def _wider(elements: Iterable[Attribute]) -> Attribute:
    found = list(dict.fromkeys(elements))
    if len(found) == 1:
        return found[0]
    if any(isinstance(element, Float64Type) for element in found):
        return f64
    return f32
