"""
Where an operation came from: its layer, its role in the training step, its place in the source.

Every operation of the `train` and `npu` dialects carries these three. Three more are written where the source says
them: `repeat`, how often the operation runs (1 where nothing is written), `sparsity`, the N:M of its weights, and
`mapping`, how matrix work is spread over processing elements (`npuc.dialects.mapping`). A fourth, `recompute`, marks
forward work that runs a second time, in the backward pass (pass `recompute`); a fifth, `source`, is the line of the
program that the source was made of, as in `model.py:41`, where the place is the node of a graph. `derive` is the one
way for a pass to build an operation in place of another, so that none of them is lost.
"""

from enum import StrEnum
from functools import lru_cache
from re import compile as pattern
from typing import TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, LocationAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation

OpT = TypeVar("OpT", bound=Operation)


class Role(StrEnum):
    """What an operation is for: a phase of the training step."""

    FORWARD = "forward"
    DX = "dx"
    DW = "dw"
    DXDW = "dxdw"
    UPDATE = "update"
    COMM = "comm"


ROLES = tuple(sorted(role.value for role in Role))
_RATIO = pattern("[1-9][0-9]{0,17}:[1-9][0-9]{0,17}")
_ROLE_ATTRS = {role.value: StringAttr(role.value) for role in Role}


def role_attr(role: Role) -> StringAttr:
    """The shared attribute of a role."""
    return _ROLE_ATTRS[role.value]


def layer_of(op: Operation) -> str:
    """The name of the source layer an operation belongs to; empty if it has none."""
    attr = op.attributes.get("layer")
    return attr.data if isinstance(attr, StringAttr) else ""


def role_of(op: Operation) -> Role:
    """The role of an operation; `forward` where nothing is written."""
    attr = op.attributes.get("role")
    return Role(attr.data) if isinstance(attr, StringAttr) else Role.FORWARD


REPEAT, SPARSITY, RECOMPUTE, MAPPING, SOURCE = "repeat", "sparsity", "recompute", "mapping", "source"
_INHERITED = ("layer", REPEAT, SPARSITY, RECOMPUTE, SOURCE)
MAPPINGS = ("mapping.maestro", "mapping.clusters")
MAX_REPEAT = 1 << 32
_RECOMPUTED = UnitAttr()


def repeat_of(op: Operation) -> int:
    """How often an operation runs in the program; 1 where nothing is written."""
    attr = op.attributes.get(REPEAT)
    return max(1, attr.value.data) if isinstance(attr, IntegerAttr) else 1


@lru_cache(maxsize=256)
def repeat_attr(count: int) -> IntegerAttr:
    """The shared attribute of a number of repetitions."""
    return IntegerAttr(count, i64)


def source_of(op: Operation) -> str | None:
    """The line of the program that the source was made of, `model.py:41`; None where it is unknown."""
    attr = op.attributes.get(SOURCE)
    return attr.data if isinstance(attr, StringAttr) else None


def sparsity_of(op: Operation) -> tuple[int, int] | None:
    """Of how many weights along the contraction (the second number) only the first few are kept; None: dense."""
    attr = op.attributes.get(SPARSITY)
    if not isinstance(attr, StringAttr) or not _RATIO.fullmatch(attr.data):
        return None
    kept, of = map(int, attr.data.split(":"))
    return (kept, of) if kept < of else None


@lru_cache(maxsize=256)
def sparsity_attr(kept: int, of: int) -> StringAttr:
    """The shared attribute of a sparsity, as SCALE-Sim's topologies write it: `2:4`."""
    return StringAttr(f"{kept}:{of}")


def provenance_problem(op: Operation) -> str | None:
    """What is wrong with the role, the layer or another mark of an operation; None if nothing is."""
    attributes = op.attributes
    role, layer, repeat = attributes.get("role"), attributes.get("layer"), attributes.get(REPEAT)
    if role is not None and not (isinstance(role, StringAttr) and role.data in _ROLE_ATTRS):
        return f"role is {role}, expected one of {', '.join(ROLES)}"
    if layer is not None and not isinstance(layer, StringAttr):
        return f"layer is {layer}, expected a string"
    if repeat is not None and not (isinstance(repeat, IntegerAttr) and 1 <= repeat.value.data <= MAX_REPEAT):
        return f"{REPEAT} is {repeat}, expected an integer from 1 to {MAX_REPEAT:,}"
    line = attributes.get(SOURCE)
    if line is not None and not isinstance(line, StringAttr):
        return f'{SOURCE} is {line}, expected a string as in "model.py:41"'
    mapping = attributes.get(MAPPING)
    if mapping is not None and mapping.name not in MAPPINGS:
        return f"{MAPPING} is {mapping}, expected {' or '.join(f'#{name}' for name in MAPPINGS)}"
    sparsity = attributes.get(SPARSITY)
    if sparsity is not None and not (isinstance(sparsity, StringAttr) and _RATIO.fullmatch(sparsity.data)):
        return f'{SPARSITY} is {sparsity}, expected two integers N:M as in "2:4"'
    return None


class Mappable:
    """An operation whose property `mapping` says where and when its points are computed."""


def mapping_of(op: Operation) -> Attribute | None:
    """The mapping of an operation: the property of matrix work, the attribute of an operation that becomes such."""
    return op.properties.get(MAPPING, op.attributes.get(MAPPING))


def is_recomputed(op: Operation) -> bool:
    """Whether an operation is forward work that runs a second time."""
    return RECOMPUTE in op.attributes


def mark_recomputed(op: OpT) -> OpT:
    """Mark an operation as forward work that runs a second time."""
    op.attributes[RECOMPUTE] = _RECOMPUTED
    return op


def derive(source: Operation, new: OpT, *, role: Role | None = None) -> OpT:
    """
    Give `new` what is known of `source`: layer, places, repetitions, sparsity, whether it is recomputed, and its
    role if no other is named. With the role goes the mapping: work of another role is another product.
    """
    for name in _INHERITED:
        attr = source.attributes.get(name)
        if attr is not None:
            new.attributes[name] = attr
    if role is not None:
        if role is not Role.FORWARD:
            new.attributes["role"] = role_attr(role)
    elif "role" in source.attributes:
        new.attributes["role"] = source.attributes["role"]
    mapping = mapping_of(source)
    if mapping is not None and role is None and isinstance(new, Mappable):
        new.properties[MAPPING] = mapping
    new.location = source.location
    return new


@lru_cache(maxsize=4096)
def source_location(file: str, line: int, col: int) -> LocationAttr:
    """The location attribute of a place in a source file, shared by all that come from there."""
    return FileLineColLoc(_text(file), IntAttr(line), _number(col))


@lru_cache(maxsize=256)
def _text(text: str) -> StringAttr:
    return StringAttr(text)


@lru_cache(maxsize=256)
def _number(number: int) -> IntAttr:
    return IntAttr(number)


def source_attr(line: str) -> StringAttr:
    """The shared attribute of a line of the program that the source was made of."""
    return _text(line)


def location_text(op: Operation) -> str | None:
    """`file:line:col` of an operation, or None where it is unknown."""
    loc = op.location
    if isinstance(loc, FileLineColLoc):
        return f"{loc.filename.data}:{loc.line.data}:{loc.column.data}"
    return None
