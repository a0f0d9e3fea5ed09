"""The argument `name=` of any call: the name of its layer, or the path of the layers of its block."""

from __future__ import annotations

import re
from typing import TypeGuard

from npuc.frontends.dsl.naming import OWN, Frame
from npuc.frontends.dsl.program import Routine
from npuc.frontends.dsl.syntax import Argument, Call
from npuc.frontends.dsl.values import Value

_NAME = "name"
_LAYER_NAME = re.compile(r'[^\s".]+(\.[^\s".]+)*')


def given_name(call: Call, routine: Routine | None) -> Argument | None:
    """The argument with the name of a call; None where there is none, or its block has a parameter of that name."""
    for argument in call.arguments:
        if argument.name == _NAME:
            taken = routine is not None and any(p.name == _NAME for p in routine.definition.parameters)
            return None if taken else argument
    return None


def without(call: Call, argument: Argument) -> Call:
    """A call without one of its arguments."""
    return Call(call.at, call.function, tuple(a for a in call.arguments if a is not argument), call.frozen)


def is_layer_name(value: Value, frame: Frame) -> TypeGuard[str]:
    """Whether a value can be the name of a layer; `.` is that of the block around it."""
    if not isinstance(value, str):
        return False
    return bool(frame.prefix) if value == OWN else _LAYER_NAME.fullmatch(value) is not None
