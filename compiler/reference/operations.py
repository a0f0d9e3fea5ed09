"""What an operation means, from its definition: operands, properties, results, what is verified, an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
)

from npuc.compiler.core.errors import UsageError, nearest
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.reference.docstrings import documentation, method_documentation
from npuc.compiler.reference.meanings import OPERANDS, PROPERTIES, RESULTS, meaning
from npuc.dialects import get_all_dialects
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu.attrs import BlockType
from npuc.dialects.train.base import TrainOp, decode

SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_TYPES: Mapping[type[Attribute], str] = {
    BlockType: "block",
    DenseArrayBase: "integers",
    DictionaryAttr: "dictionary",
    FloatAttr: "number",
    IndexType: "index",
    IntegerAttr: "integer",
    StringAttr: "string",
    TensorType: "tensor",
    UnitAttr: "flag",
}
_TRAITS = {
    "Pure": "no side effects",
    "MemoryAllocEffect": "allocates memory",
    "RecursiveMemoryEffect": "has the effects of what it holds",
    "IsTerminator": "ends a block",
}
WORK = {
    Kind.MATRIX: "matrix work: becomes an `npu.contract`",
    Kind.VECTOR: "vector work: becomes an `npu.vector`",
    Kind.DATA: "data movement: becomes an `npu.move`",
    Kind.VIEW: "another view of the same memory: becomes an `npu.view`",
    Kind.CONSTANT: "known at compile time: becomes an `npu.constant`",
    Kind.COMM: "exchanged between devices: stays as it is",
}


@dataclass(frozen=True)
class FieldPage:
    """An operand, property, result or region; `many` says how often it may stand: empty, `optional`, `any number`."""

    name: str
    type: str
    meaning: str | None
    many: str = ""
    default: str | None = None


@dataclass(frozen=True)
class OperationPage:
    """What an operation means. Texts are plain sentences with code in backticks."""

    name: str
    class_name: str
    """The class, with its module, that a pass imports."""
    summary: str
    details: tuple[str, ...]
    operands: tuple[FieldPage, ...]
    properties: tuple[FieldPage, ...]
    regions: tuple[FieldPage, ...]
    results: tuple[FieldPage, ...]
    verified: tuple[str, ...]
    traits: tuple[str, ...]
    work: str | None
    """What it becomes on an NPU; None for what is not of the `train` dialect."""
    example: str | None


def own_operations() -> dict[str, type[IRDLOperation]]:
    """The operations of npuc's dialects, by name, a dialect after the other."""
    found = (op for factory in get_all_dialects().values() for op in factory().operations)
    return {op.name: cast("type[IRDLOperation]", op) for op in found}


def operation_named(name: str) -> type[IRDLOperation]:
    """The operation of a name, with or without its dialect. Raises `UsageError` with the nearest."""
    known = own_operations()
    for full in (name, *(f"{dialect}.{name}" for dialect in get_all_dialects())):
        if full in known:
            return known[full]
    near = nearest(name, [*known, *(full.partition(".")[2] for full in known)])
    hint = f"did you mean '{near}'?" if near else "names are those of the IR, like npu.contract or train.matmul"
    raise UsageError(f"there is no operation '{name}'", hint=hint)


def operation_page(op: type[IRDLOperation]) -> OperationPage:
    """What an operation means, by its definition."""
    told = documentation(op)
    definition = op.get_irdl_definition()
    return OperationPage(
        op.name,
        f"{op.__module__}.{op.__name__}",
        told.summary,
        told.details,
        tuple(_field(op, OPERANDS, name, found, found.constr) for name, found in definition.operands),
        tuple(
            _field(op, PROPERTIES, name, found, found.constr, found.default_value)
            for name, found in definition.properties.items()
            if name not in SEGMENTS
        ),
        tuple(
            FieldPage(name, "region", meaning(PROPERTIES, name, op.name), _many(found))
            for name, found in definition.regions
        ),
        tuple(_field(op, RESULTS, name, found, found.constr) for name, found in definition.results),
        tuple(_verified(op)),
        tuple(_TRAITS.get(type(trait).__name__, type(trait).__name__) for trait in _traits(op)),
        _work(op),
        told.example,
    )


def _traits(op: type[IRDLOperation]) -> list[object]:
    return sorted(op.traits.traits, key=lambda trait: type(trait).__name__)


def _verified(op: type[IRDLOperation]) -> list[str]:
    rule: object = getattr(op, "shape_on" if issubclass(op, DistOp) else "infer", None)
    if issubclass(op, TrainOp) and rule is not None:
        return [" ".join((rule.__doc__ or "").split())]
    return method_documentation(op, "verify_")


def _work(op: type[IRDLOperation]) -> str | None:
    if not issubclass(op, TrainOp) or issubclass(op, DistOp):
        return None
    layer = get_layer(op)
    return WORK[layer.kind] + (", elementwise" if layer.kind is Kind.VECTOR and layer.elementwise else "")


def _field(
    op: type[IRDLOperation],
    meanings: Mapping[str, str],
    name: str,
    found: object,
    constraint: object,
    default: Attribute | None = None,
) -> FieldPage:
    shown = None if default is None else _value(default)
    return FieldPage(name, type_text(constraint), meaning(meanings, name, op.name), _many(found), shown)


def _many(found: object) -> str:
    if isinstance(found, OptionalDef):
        return "optional"
    return "any number" if isinstance(found, VariadicDef) else ""


def _value(attr: Attribute) -> str:
    value = decode(attr)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def type_text(constraint: object) -> str:
    """What a constraint allows, in words: `tensor`, `integers`, `#npu.schedule`."""
    match constraint:
        case RangeOf():
            return type_text(cast("RangeOf[Any]", constraint).constr)
        case RangeLengthConstraint():
            return type_text(cast("RangeLengthConstraint[Any]", constraint).constraint)
        case BaseAttr():
            return _class_text(cast("BaseAttr[Any]", constraint).attr)
        case ParamAttrConstraint():
            known = cast("ParamAttrConstraint[Any]", constraint)
            return "numbers" if known == DenseArrayBase.constr(f64) else _class_text(known.base_attr)
        case EqAttrConstraint():
            attr = cast("EqAttrConstraint[Any]", constraint).attr
            return "boolean" if attr == IntegerType(1) else str(attr)
        case AnyOf():
            return " or ".join(map(type_text, cast("AnyOf[Any]", constraint).attr_constrs))
        case _:
            return "any type"


def _class_text(attr: type[Attribute]) -> str:
    return _TYPES.get(attr) or f"#{attr.name}"
