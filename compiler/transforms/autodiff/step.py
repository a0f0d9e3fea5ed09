"""The training step that `autodiff` writes: what is appended to a forward function, and what it says of itself."""

from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, LocationAttr, StringAttr, f64, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.transforms.autodiff.gradient_types import cast_to, summation_type
from npuc.dialects.blocks import loose_argument
from npuc.dialects.distributed.sharding import sharding_entry
from npuc.dialects.provenance import Role, derive
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.arithmetic import AddOp, CastOp
from npuc.dialects.train.base import TrainOp

OpT = TypeVar("OpT", bound=Operation)
Returned: TypeAlias = tuple[SSAValue, dict[str, Attribute]]
"""A value that the function returns, with its attributes."""


@dataclass
class Step:
    """A training step under construction: the function's arguments and what is appended to its operations."""

    args: list[BlockArgument]
    arg_attrs: list[DictionaryAttr]
    appended: list[Operation] = field(default_factory=list[Operation])
    results: list[Returned] = field(default_factory=list[Returned])
    gradients: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def append(self, op: OpT) -> OpT:
        self.appended.append(op)
        return op

    def new_state(self, name: str, like: BlockArgument | Attribute, location: LocationAttr, fill: float = 0.0) -> int:
        """Add an optimizer state argument, of a type or like another argument, that starts at `fill`; its number."""
        spread = sharding_entry(self.arg_attrs[like.index].data) if isinstance(like, BlockArgument) else {}
        type = like.type if isinstance(like, BlockArgument) else like
        self.args.append(loose_argument(type, location, name))
        attrs: dict[str, Attribute] = {"train.state": StringAttr(name), "train.fill": FloatAttr(fill, f64)}
        self.arg_attrs.append(DictionaryAttr(attrs | spread))
        return len(self.args) - 1

    def updates(self, number: int, new: SSAValue) -> None:
        """Let `new` be the value of an argument after the step."""
        hint = self.args[number].name_hint
        new.name_hint = f"{hint}_new" if hint else None
        self.results.append((new, self.of_argument("updates", number)))

    def of_argument(self, what: str, number: int) -> dict[str, Attribute]:
        """The attributes of a result that `updates` an argument or is its `gradient`: spread as the argument is."""
        return {f"train.{what}": IntegerAttr(number, i64), **sharding_entry(self.arg_attrs[number].data)}

    def accumulate(self, source: TrainOp, role: Role, operand: SSAValue, contribution: SSAValue) -> None:
        """
        Add a contribution to the gradient of a value; of two types in the wider one.

        That of what is cast for each use is cast and added in the type of what is cast.
        """
        element, target = summation_type(operand)
        if target is not operand and element is not None:
            operand, contribution = target, cast_to(contribution, element, source, role, self.append)
        earlier = self.gradients.get(operand)
        if earlier is None:
            self.gradients[operand] = contribution
            # a cast may hand back what it is given
            if (contribution.name_hint is None or isinstance(source, CastOp)) and operand.name_hint is not None:
                contribution.name_hint = f"d{operand.name_hint}"
            return
        addends = (earlier, contribution)
        if element is None:
            element = tensor_type(max(addends, key=lambda one: element_bytes(one.type, None))).element_type
        both = (cast_to(one, element, source, role, self.append) for one in addends)
        self.gradients[operand] = self.append(derive(source, AddOp(*both), role=role)).out
