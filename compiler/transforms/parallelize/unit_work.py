"""A unit of a step's work as operations of one device, before its part of the backward pass is derived."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue


@dataclass
class UnitWork:
    """
    The forward operations of a unit, which read loose arguments, and what its backward pass is given.

    `gradients` are the values whose gradients others have begun (with True: known before the step), `active` and `fed`
    the arguments that depend on parameters and on inputs, `read` the results that others read, and `wanted` the values
    whose gradients others take.
    """

    ops: list[Operation]
    arguments: list[BlockArgument] = field(default_factory=list[BlockArgument])
    gradients: list[tuple[SSAValue, bool]] = field(default_factory=list[tuple[SSAValue, bool]])
    active: list[SSAValue] = field(default_factory=list[SSAValue])
    fed: list[SSAValue] = field(default_factory=list[SSAValue])
    read: list[SSAValue] = field(default_factory=list[SSAValue])
    wanted: list[SSAValue] = field(default_factory=list[SSAValue])
    loss: SSAValue | None = None
