"""
Where an operation came from: its layer, its role in the training step, its place in the source.

Every operation of the `train` and `npu` dialects carries these three. `derive` is the one way for a pass to build an
operation in place of another, so that none of them is lost.
"""

from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


class Role(StrEnum):
    """What an operation is for: a phase of the training step."""

    FORWARD = "forward"
    DX = "dx"
    DW = "dw"
    DXDW = "dxdw"
    UPDATE = "update"
    COMM = "comm"


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


def derive(source: Operation, new: OpT, *, role: Role | None = None) -> OpT:
    """Give `new` the layer, role and location of `source` (with another role, if one is named), and return it."""
    layer = source.attributes.get("layer")
    if layer is not None:
        new.attributes["layer"] = layer
    if role is not None:
        if role is not Role.FORWARD:
            new.attributes["role"] = role_attr(role)
    elif "role" in source.attributes:
        new.attributes["role"] = source.attributes["role"]
    new.location = source.location
    return new


@lru_cache(maxsize=4096)
def source_location(file: str, line: int, col: int) -> LocationAttr:
    """The location attribute of a place in a source file, shared by all that come from there."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(col))


def location_text(op: Operation) -> str | None:
    """`file:line:col` of an operation, or None where it is unknown."""
    loc = op.location
    if isinstance(loc, FileLineColLoc):
        return f"{loc.filename.data}:{loc.line.data}:{loc.column.data}"
    return None
