"""
The base of all `train` operations: one syntax, and a shape rule that the constructor and the verifier share.

    %y = train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1] {layer = "conv1"} : (tensor<…>, tensor<…>) -> tensor<…>

Operands come first, then each property that differs from its default as `name value`, then the attribute dictionary
and the types. A concrete operation only declares its operands, properties and results and the static method `infer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from math import copysign, isfinite, prod
from typing import ClassVar, Protocol, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.provenance import provenance_problem
from npuc.dialects.structural import StructurallyComparable
from npuc.dialects.tensors import MAX_ELEMENTS, Tensor, tensor_type

Param: TypeAlias = bool | int | float | str | tuple[int, ...] | tuple[float, ...]
Types: TypeAlias = tuple[Tensor, ...]

_UNIT = UnitAttr()


def ints(attr: DenseArrayBase) -> tuple[int, ...]:
    """The integers of an array property."""
    return tuple(cast(DenseArrayBase[IntegerType], attr).get_values())


def encode(value: Param) -> Attribute:
    """The attribute that stands for a parameter, shared by all that have it; unit for True."""
    if isinstance(value, tuple) and any(isinstance(one, float) for one in value):
        return DenseArrayBase.from_list(f64, [float(one) for one in value])
    return _encoded(value, copysign(1.0, value) if isinstance(value, float) else 1.0)


@lru_cache(maxsize=4096, typed=True)
def _encoded(value: Param, sign: float) -> Attribute:
    """`encode`; the sign of a float tells the two zeros apart, which are equal."""
    if isinstance(value, bool):
        return _UNIT
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, str):
        return StringAttr(value)
    return DenseArrayBase.from_list(i64, cast(tuple[int, ...], value))


def decode(attr: Attribute) -> Param:
    """The parameter that an attribute stands for: the inverse of `encode`."""
    if isinstance(attr, UnitAttr):
        return True
    if isinstance(attr, IntegerAttr):
        return attr.value.data
    if isinstance(attr, FloatAttr):
        return attr.value.data
    if isinstance(attr, StringAttr):
        return attr.data
    if isinstance(attr, DenseArrayBase):
        return tuple(cast(DenseArrayBase[IntegerType], attr).get_values())
    raise VerifyException(f"a property is {attr}, expected an integer, float, string, unit or array of numbers")


class _Inferring(Protocol):
    """An operation class with its shape rule; the signature differs from class to class."""

    infer: Callable[..., Types]


@cache
def _properties(cls: type[TrainOp]) -> frozenset[str]:
    """The names of the properties of a class of operations."""
    return frozenset(cls.get_irdl_definition().properties)


class TrainOp(StructurallyComparable, IRDLOperation):
    """
    Base of the operations of the `train` dialect.

    `infer(*operand_types, **params)` is the shape rule: it returns the result types or raises VerifyException. Where
    the result is not determined by the operands (a reshape, the derivative of a strided convolution) `TAKES_RESULT`
    is set and `infer` gets the intended types as `results`, checks them and returns them. With `MAY_TAKE_RESULT` they
    may be left out: `results` is then empty, and the shape rule says what is meant.
    """

    TAKES_RESULT: ClassVar[bool] = False
    MAY_TAKE_RESULT: ClassVar[bool] = False
    MARKS: ClassVar[Mapping[int, str]] = {}
    """Operand number -> unit property that prints as `t` behind that operand."""

    def __init__(self, *operands: SSAValue, results: Sequence[Attribute] | None = None, **params: Param):
        given = {k: v for k, v in params.items() if v is not False} if params else params
        if not params.keys() <= _properties(type(self)):
            unknown = params.keys() - _properties(type(self))
            raise VerifyException(f"{self.name} has no property '{min(unknown)}'")
        properties = {k: encode(v) for k, v in given.items()}
        result_types = self._infer([tensor_type(v) for v in operands], given, results)
        Operation.__init__(self, operands=operands, result_types=result_types, properties=properties)

    @classmethod
    def _infer(
        cls, operands: Sequence[Tensor], params: Mapping[str, Param], results: Sequence[Attribute] | None
    ) -> Types:
        if cls.MAY_TAKE_RESULT:
            return cast(_Inferring, cls).infer(*operands, **params, results=tuple(results or ()))
        if not cls.TAKES_RESULT:
            return cast(_Inferring, cls).infer(*operands, **params)
        if results is None:
            raise VerifyException(f"{cls.name} needs its result type")
        return cast(_Inferring, cls).infer(*operands, **params, results=tuple(results))

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, TensorType):
                raise VerifyException(f"operands and results must be tensors, got {value.type}")
            type = tensor_type(value)
            if any(size < 0 for size in type.get_shape()):
                raise VerifyException(f"expected a static shape, got {type}")
            if not 0 < prod(type.get_shape()) <= MAX_ELEMENTS:
                raise VerifyException(f"{type} has {prod(type.get_shape()):,} elements, expected 1 to {MAX_ELEMENTS:,}")
        problem = provenance_problem(self)
        if problem is not None:
            raise VerifyException(problem)
        found = tuple(v.type for v in self.results)
        params = {name: decode(attr) for name, attr in self.properties.items()}
        for name, value in params.items():
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not isfinite(number):
                    raise VerifyException(f"{name} is {number}, expected a finite number")
        expected = self._infer([tensor_type(v) for v in self.operands], params, found)
        if found != expected:
            raise VerifyException(
                f"expected result {', '.join(map(str, expected))}, got {', '.join(map(str, found)) or 'none'}"
            )

    # syntax

    def print(self, printer: Printer) -> None:
        marked: set[str] = set()
        for number, operand in enumerate(self.operands):
            printer.print_string(", " if number else " ")
            printer.print_ssa_value(operand)
            mark = self.MARKS.get(number)
            if mark is not None and mark in self.properties:
                printer.print_string(" t")
                marked.add(mark)
        for name, definition in self.get_irdl_definition().properties.items():
            attr = self.properties.get(name)
            if attr is not None and attr != definition.default_value and name not in marked:
                printer.print_string(f" {name}")
                _print_param(printer, decode(attr))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved: list[UnresolvedOperand] = []
        properties: dict[str, Attribute] = {}
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            mark = cls.MARKS.get(len(unresolved))
            if mark is not None and parser.parse_optional_keyword("t") is not None:
                properties[mark] = _UNIT
            unresolved.append(operand)
            if parser.parse_optional_punctuation(",") is None:
                break
        names = cls.get_irdl_definition().properties
        while (name := parser.parse_optional_keyword_in(names)) is not None:
            properties[name] = _parse_param(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        function_type = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved, function_type.inputs.data, position)
        return cls.create(
            operands=operands,
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes,
        )


def _print_param(printer: Printer, value: Param) -> None:
    if value is True:
        return
    if isinstance(value, tuple):
        printer.print_string(f" [{', '.join(_float_text(v) if isinstance(v, float) else str(v) for v in value)}]")
    elif isinstance(value, str):
        printer.print_string(" ")
        printer.print_string_literal(value)
    elif isinstance(value, float):
        printer.print_string(f" {_float_text(value)}")
    else:
        printer.print_string(f" {value}")


def _float_text(value: float) -> str:
    """The shortest text that reads back as the same float, in a form the parser takes for a float."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


def _parse_param(parser: Parser) -> Attribute:
    values = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    if values is not None:
        return encode(tuple(values))
    text = parser.parse_optional_str_literal()
    if text is not None:
        return encode(text)
    number = parser.parse_optional_number()
    return _UNIT if number is None else encode(number)
