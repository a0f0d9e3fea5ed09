"""Programs of the npu level and small machines."""

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from npuc.dialects.npu import NPU
from npuc.hardware import Hardware, load_hardware

SMALL: dict[str, object] = {
    "name": "small",
    "clock_mhz": 1000,
    "array": {"rows": 4, "cols": 4},
    "memory": {"spm_kib": 1},
    "dram": {"gb_per_s": 4.0},
    "vector": {"lanes": 8},
}


def parse_module(text: str, *, verified: bool = True) -> ModuleOp:
    """A module of the level `npu`; one that is not `verified` may have operations that mean nothing."""
    context = Context()
    for dialect in (Builtin, Func, NPU):
        context.load_dialect(dialect)
    module = Parser(context, text, "net.mlir").parse_module()
    if verified:
        module.verify()
    return module


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    """Reads and verifies a module."""
    return parse_module


@pytest.fixture(scope="session")
def hardware() -> Callable[..., Hardware]:
    """A 4 x 4 array at 1 GHz with 4 bytes a cycle and 512 usable bytes of SPM, with overrides by dotted key."""

    def make(**overrides: object) -> Hardware:
        return load_hardware(SMALL, {key.replace("__", "."): value for key, value in overrides.items()})

    return make
