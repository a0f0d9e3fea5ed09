"""The one error of a network whose second line is wrong: a call in `error_of`, any statement in `message_of`."""

import re

import pytest

from npuc.compiler.core.errors import NpucError, SourceErrors
from npuc.frontends import read_source

IMAGES = (
    "network t() { input x: f32[2, 4, 6, 6]; input s: f32[2, 4, 6]; input v: f32[4]; "
    "input i: i32[2, 4, 6, 6]; input r: f32[3, 5]; labels y: i32[2]"
)
OF_IMAGES = "loss cross_entropy(linear(flatten(x), 4), y) }"
MATRICES = (
    "network t() { input x: f32[4, 8]; input i: i32[4]; input s: f32[]; labels y: i32[4]; "
    "m = causal_mask(4); k = sum(i); q = s * 1.0"
)
OF_MATRICES = "loss cross_entropy(linear(x, 4), y) }"
_ARGUMENT = re.compile(r"argument '(?P<name>\w+)' of (?P<function>\w+)( \(layer 'h'\))?: (?P<what>.*)")
_SHAPE = re.compile(r"(?P<what>.*) \(layer 'h': (?P<function>\w+) of .*\)")


def message_of(statement: str, *, before: str = MATRICES, after: str = OF_MATRICES) -> str:
    """The one error of a statement as `column: message`, with a hint that is not the signature behind ` | `."""
    column, message, hint = _error(statement, before, after)
    return f"{column}: {message}{hint}"


def error_of(call: str) -> str:
    """
    The one error of `h = call`: its column, the argument, and what is said of it.

    An error of the shapes is at the call and names no argument. A hint follows where it is not the signature.
    """
    column, message, hint = _error(f"h = {call}", IMAGES, OF_IMAGES)
    found = _ARGUMENT.fullmatch(message) or _SHAPE.fullmatch(message)
    assert found is not None, message
    assert call.startswith(f"{found['function']}(")
    name = found.groupdict().get("name")
    place = f"{column}" if name is None else f"{column} {name}"
    return f"{place}: {found['what']}{hint}"


def _error(statement: str, before: str, after: str) -> tuple[int, str, str]:
    """Column, message and hint of the one error in the second line."""
    with pytest.raises(NpucError) as caught:
        read_source(f"{before}\n{statement}\n{after}", filename="f")
    errors = caught.value.errors if isinstance(caught.value, SourceErrors) else (caught.value,)
    (error,) = [e for e in errors if e.location is not None and e.location.line == 2]
    assert error.location is not None
    hint = "" if error.hint is None or error.hint.startswith("signature: ") else f" | {error.hint}"
    return error.location.col, error.message, hint
