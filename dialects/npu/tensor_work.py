"""
Work that is not a contraction: `npu.vector`, `npu.move`, `npu.view` and `npu.constant`.

Each keeps the meaning of one train operation: `kind` is its name without `train.`, `params` its properties.

    %y = npu.vector relu(%x) ops 48 {layer = "relu1"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %p = npu.vector softmax(%x) <{axis = -1 : i64}> ops 240 again [0] groups 6 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %t = npu.move slice(%x) <{axis = 1 : i64, start = 0 : i64}> reads [24] : (tensor<6x8xf32>) -> tensor<6x4xf32>
    %v = npu.view reshape(%x) : (tensor<6x8xf32>) -> tensor<48xf32>
    %c = npu.constant constant() <{value = 1.0 : f64}> : () -> tensor<8xf32>

They differ in cost only: vector operations and traffic; traffic; nothing; nothing.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.resident import (
    SameMemory,
)
from npuc.dialects.npu.syntax import parse_types, print_tail
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.structural import StructurallyComparable

NO_PARAMS = DictionaryAttr({})


class TensorWorkOp(StructurallyComparable, IRDLOperation):
    """Base of the four: a kind with its parameters, operands in parentheses, functional type."""

    args = var_operand_def(AnyAttr())
    outs = var_result_def(AnyAttr())
    kind_attr = prop_def(StringAttr, prop_name="kind")
    params_attr = prop_def(DictionaryAttr, prop_name="params")

    traits = traits_def(Pure())

    MOVES: ClassVar[bool] = False
    """Whether the operation may say how many elements it reads and writes."""

    def __init__(
        self,
        kind: str | StringAttr,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        params: Mapping[str, Attribute] | DictionaryAttr = NO_PARAMS,
        **properties: Attribute | None,
    ):
        """`params` are the properties of the train operation whose meaning this one has."""
        kept: dict[str, Attribute] = {
            "kind": kind if isinstance(kind, StringAttr) else StringAttr(kind),
            "params": params if isinstance(params, DictionaryAttr) else DictionaryAttr(dict(params)),
        }
        kept.update((name, attr) for name, attr in properties.items() if attr is not None)
        Operation.__init__(
            self,
            operands=[v if isinstance(v, SSAValue) else SSAValue.get(v) for v in operands],
            result_types=result_types,
            properties=kept,
        )

    @property
    def kind(self) -> str:
        """The name of the train operation, without `train.`."""
        return self.kind_attr.data

    @property
    def params(self) -> Mapping[str, Attribute]:
        """The properties of the train operation."""
        return self.params_attr.data

    @property
    def reads(self) -> tuple[int, ...] | None:
        """The elements read of each operand; None: all of each."""
        return _counts(self.properties.get("reads"))

    @property
    def writes(self) -> tuple[int, ...] | None:
        """The elements written of each result; None: all of each."""
        return _counts(self.properties.get("writes"))

    def verify_(self) -> None:
        """
        All tensors; a count of `reads` and `writes` a value, not negative; and all that the train operation verifies.
        """
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, TensorType):
                raise VerifyException(f"operands and results must be tensors, got {value.type}")
        for name, values in (("reads", self.operands), ("writes", self.results)):
            counts = _counts(self.properties.get(name))
            if counts is None:
                continue
            if len(counts) != len(values):
                raise VerifyException(f"{name} has {len(counts)} counts for {len(values)} values")
            if min(counts, default=0) < 0:
                raise VerifyException(f"{name} is {list(counts)}, counts must not be negative")
        check_meaning(self.kind, self.params, self.operands, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"kind": StringAttr(parser.parse_identifier(" of a train operation"))}
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand, " in operands"
        )
        properties["params"] = DictionaryAttr(parser.parse_optional_properties_dict())
        cls._parse_cost(parser, properties)
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs, start = parse_types(parser)
        operands = parser.resolve_operands(unresolved, inputs, start)
        return cls.create(operands=operands, result_types=outputs, properties=properties, attributes=attributes)

    @classmethod
    def _parse_cost(cls, parser: Parser, properties: dict[str, Attribute]) -> None:
        """Parse what the operation says of its cost: `reads` and `writes`, if it moves."""
        if cls.MOVES:
            for name in ("reads", "writes"):
                if parser.parse_optional_keyword(name):
                    counts = parser.parse_comma_separated_list(
                        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                    )
                    properties[name] = DenseArrayBase.from_list(i64, counts)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind}")
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_operand)
        if self.params:
            printer.print_string(" ")
            with printer.in_angle_brackets():
                printer.print_attr_dict(self.params)
        self._print_cost(printer)
        print_tail(printer, self)

    def _print_cost(self, printer: Printer) -> None:
        """Print what the operation says of its cost."""
        for name, counts in (("reads", self.reads), ("writes", self.writes)):
            if counts is not None:
                printer.print_string(f" {name} [{', '.join(map(str, counts))}]")


def check_meaning(
    kind: str, params: Mapping[str, Attribute], operands: Sequence[SSAValue], results: Sequence[Attribute]
) -> None:
    """Raise unless there is a train operation of a kind that has these properties, operands and results."""
    found = operation_of_kind(kind)
    if found is None:
        raise VerifyException(f"kind is '{kind}', expected the name of a train operation without 'train.'")
    stand_ins = Block(arg_types=[value.type for value in operands]).args
    try:
        found.create(operands=stand_ins, result_types=results, properties=params).verify_()
    except VerifyException as error:
        raise VerifyException(f"{kind}: {error}") from None


def _counts(attr: Attribute | None) -> tuple[int, ...] | None:
    return tuple(attr.get_values()) if isinstance(attr, DenseArrayBase) else None


def counts_attr(counts: Sequence[int] | None) -> DenseArrayBase | None:
    """The attribute of `reads` or `writes`; None for whole tensors."""
    return None if counts is None else DenseArrayBase.from_list(i64, counts)


@irdl_op_definition
class MoveOp(TensorWorkOp):
    """
    Pure data movement: transpose, concat, slice, pad, lookups.

        %y, %z = npu.move split(%x) <{axis = 0 : i64, sizes = array<i64: 2, 4>}>
            : (tensor<6x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>)
    """

    name = "npu.move"

    reads_attr = opt_prop_def(DenseArrayBase, prop_name="reads")
    writes_attr = opt_prop_def(DenseArrayBase, prop_name="writes")

    MOVES: ClassVar[bool] = True

    def __init__(
        self,
        kind: str | StringAttr,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        params: Mapping[str, Attribute] | DictionaryAttr = NO_PARAMS,
        *,
        reads: Sequence[int] | None = None,
        writes: Sequence[int] | None = None,
    ):
        super().__init__(kind, operands, result_types, params, reads=counts_attr(reads), writes=counts_attr(writes))


@irdl_op_definition
class ViewOp(SameMemory, TensorWorkOp):
    """
    Another shape of the same memory: moves nothing.

        %y = npu.view reshape(%x) : (tensor<6x4xf32>) -> tensor<24xf32>
    """

    name = "npu.view"


@irdl_op_definition
class ConstantOp(TensorWorkOp):
    """
    A value known at compile time: moves nothing.

        %y = npu.constant constant() <{value = 1.0 : f64}> : () -> tensor<8xf32>
    """

    name = "npu.constant"


def same_value(value: SSAValue) -> Hashable:
    """Equal for values that are the same: a value itself, equal views of the same, equal constants."""
    owner = value.owner
    if isinstance(owner, ViewOp | ConstantOp):
        return (owner.name, owner.kind, owner.params_attr, value.type, *map(same_value, owner.operands))
    return value
