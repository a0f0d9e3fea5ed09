"""The one error of a network whose second line is a wrong call."""

import re

import pytest

from npuc.compiler.errors import NpucError, SourceErrors
from npuc.frontends import read_source

HEAD = (
    "network t() { input x: f32[2, 4, 6, 6]; input s: f32[2, 4, 6]; input v: f32[4]; "
    "input i: i32[2, 4, 6, 6]; input r: f32[3, 5]; labels y: i32[2]\n"
)
TAIL = "\nloss cross_entropy(linear(flatten(x), 4), y) }"
_ARGUMENT = re.compile(r"argument '(?P<name>\w+)' of (?P<function>\w+)( \(layer 'h'\))?: (?P<what>.*)")
_SHAPE = re.compile(r"(?P<what>.*) \(layer 'h': (?P<function>\w+) of .*\)")


def error_of(call: str) -> str:
    """
    The one error of `h = call`: its column, the argument, and what is said of it.

    An error of the shapes is at the call and names no argument. A hint follows where it is not the signature.
    """
    with pytest.raises(NpucError) as caught:
        read_source(f"{HEAD}h = {call}{TAIL}", filename="f")
    (error,) = [e for e in _errors(caught.value) if e.location is not None and e.location.line == 2]
    assert error.location is not None
    found = _ARGUMENT.fullmatch(error.message) or _SHAPE.fullmatch(error.message)
    assert found is not None, error.message
    assert call.startswith(f"{found['function']}(")
    name = found.groupdict().get("name")
    place = f"{error.location.col}" if name is None else f"{error.location.col} {name}"
    hint = "" if error.hint is None or error.hint.startswith("signature: ") else f" | {error.hint}"
    return f"{place}: {found['what']}{hint}"


def _errors(error: NpucError) -> tuple[NpucError, ...]:
    return tuple(error.errors) if isinstance(error, SourceErrors) else (error,)
