"""A network that calls blocks of the library, and the message of a wrong one."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import NpucError, SourceError
from npuc.frontends import read_source

HEAD = "network t() { input x: f32[2, 5, 8]; input s: f32[2, 6]; input m: bool[2, 5]; k = [s, m]; output x\n"


def build(body: str, blocks: str = "", *, max_ops: int = 10_000) -> ModuleOp:
    """The verified module of a network over x [2, 5, 8], s [2, 6] and a mask m [2, 5]; its value is `h`."""
    text = f"{blocks}{HEAD}{body}; loss sum(h * h) }}"
    module = read_source(text, filename="f", max_ops=max_ops)
    module.verify()
    return module


def message(body: str, blocks: str = "", *, max_ops: int = 10_000) -> str:
    """The one error of a network: `line:col: message`."""
    with pytest.raises(NpucError) as caught:
        build(body, blocks, max_ops=max_ops)
    error = caught.value
    assert type(error).__mro__[1] in (SourceError, NpucError)
    assert error.location is not None
    assert error.location.file == "f"
    return f"{error.location.line}:{error.location.col}: {error.message}"
