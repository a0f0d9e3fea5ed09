"""Mixed precision of a forward function: casts where an operation computes in another type than its operands have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import Float64Type, FunctionType, StringAttr, UnitAttr, bf16, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.transforms.set_precision.autocast import Policy, policies
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import has_precision, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp, ConstantOp, constant
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

LOW, WIDE = bf16, f32
"""The types of mixed precision."""


def retype(op: Operation, element: Attribute) -> None:
    """Give the float results of an operation an element type."""
    for value in list(op.results):
        if has_precision(value) and tensor_type(value).element_type != element:
            Rewriter.replace_value_with_new_type(value, tensor_of(element, shape_of(value)))


def set_signature(func: FuncOp) -> None:
    """Set the function's type from its body's arguments and results."""
    block = func.body.block
    ending = block.last_op
    outputs = ending.operand_types if isinstance(ending, ReturnOp) else ()
    func.function_type = FunctionType.from_lists([a.type for a in block.args], list(outputs))


@dataclass
class Mixed:
    """A forward function on its way to mixed precision."""

    func: FuncOp
    casts: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )
    """The casts of values to other element types made so far."""
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
        for op in ops:  # constants that were rebuilt in another type
            if isinstance(op, ConstantOp) and op.out.first_use is None:
                Rewriter.erase_op(op)
        set_signature(self.func)

    def _set(self, op: TrainOp, policy: Policy) -> None:
        """Give the operands and results of one operation, whose operands have their final types, the right types."""
        floats = [value for value in op.operands if has_precision(value)]
        if policy is Policy.AS_WRITTEN or not floats:
            return
        element = _element(policy, floats)
        if policy is Policy.INPUT:
            y = op.results[0]
            Rewriter.replace_value_with_new_type(y, tensor_of(element, shape_of(y)))
            return
        for number, value in enumerate(op.operands):
            if has_precision(value):
                op.operands[number] = self._cast(value, element, op)
        retype(op, element)
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
        """
        A value in an element type, for its first or a later use there.

        All uses share one cast. PyTorch casts for each use, except for the values it caches: f32 parameters in 16 bits.
        """
        if tensor_type(value).element_type == element:
            return value
        key = (value, element)
        if key not in self.casts:
            self.casts[key] = self._made(value, element, user)
        elif isinstance(op := self.casts[key].owner, CastOp) and not self._is_cached(value, element):
            op.each_use = UnitAttr()
        return self.casts[key]

    def _is_cached(self, value: SSAValue, element: Attribute) -> bool:
        """Whether a value in an element type has one gradient, or as an input none."""
        return isinstance(value, BlockArgument) and (value not in self.names or element == LOW)

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
        """Cast new values of arguments to the arguments' types."""
        block = self.func.body.block
        ending = block.last_op
        assert ending is not None
        for result in results_of(self.func):
            if result.updates is None:
                continue
            value, element = ending.operands[result.index], tensor_type(block.args[result.updates]).element_type
            if isinstance(value.owner, Operation):
                ending.operands[result.index] = self._cast(value, element, value.owner.next_op or ending)


def _block_of(op: Operation) -> Block:
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
