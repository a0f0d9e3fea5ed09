"""Programs in the forms of other compilers: written, read again, and run."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.compiler.core.verify import the_function
from npuc.compiler.emit.base import Translation, get_emitter
from npuc.compiler.interpreter.execute import call
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.others.base import Other, get_other
from npuc.dialects.stablehlo import STABLEHLO
from npuc.dialects.stablehlo.chlo import CHLO
from npuc.frontends.mlir import make_context
from tests.unit.emit.upstream.cases import Array, Case, program

FORMS = ("linalg", "stablehlo")
COMPILERS = {"iree": "iree.compiler", "xla": "jax"}
"""Other compilers, and what is imported where they are installed."""


def read(text: str) -> ModuleOp:
    """A module of npuc's dialects, verified."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def written(name: str, module: ModuleOp) -> str:
    """A module of primitives as an emitter writes it."""
    emitter = get_emitter(name)
    assert isinstance(emitter, Translation)
    return emitter.write(module)


def printed(module: ModuleOp) -> str:
    """A module in generic form by xDSL's printer."""
    text = io.StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def nameless(text: str) -> str:
    """A text without the names of its values, and the space that may follow that of an argument."""
    return re.sub(r"%[\w$.-]+( (?=:))?", "%", text).rstrip()


def read_again(text: str) -> ModuleOp:
    """What an emitter wrote, by xDSL's parser and verifier."""
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.func import Func
    from xdsl.dialects.linalg import Linalg
    from xdsl.dialects.math import Math
    from xdsl.dialects.scf import Scf
    from xdsl.dialects.tensor import Tensor

    context = Context(allow_unregistered=True)  # `arith.remf` is none of xDSL's
    for dialect in (Builtin, Func, Arith, Math, Linalg, Tensor, Scf, STABLEHLO, CHLO):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def other_compiler(name: str) -> Other:
    """A compiler of others; skips the test where it is not installed."""
    pytest.importorskip(COMPILERS[name])
    return get_other(name)


def wrong_cases(compiler: Other, cases: Sequence[Case]) -> list[str]:
    """The calls of which a compiler computes something else than the interpreter, all in one program."""
    text, values = program(cases)
    module = read(text)
    expected = call(module, the_function(module), values, Numbers())
    found = compiler.compute(written(compiler.emits, module), "main", values)
    wrong, results = list[str](), iter(zip(found, expected, strict=True))
    for case in cases:
        for _ in case.types()[1]:
            if not _agree(case, *map(np.asarray, next(results))):
                wrong.append(case.text)
    return wrong


def _agree(case: Case, found: Array, expected: Array) -> bool:
    if found.shape != expected.shape:
        return False
    if case.exact or expected.dtype.kind != "f":
        return bool(np.array_equal(found.astype(expected.dtype), expected, equal_nan=expected.dtype.kind == "f"))
    return bool(np.allclose(found, expected, rtol=case.within, atol=case.within / 10, equal_nan=True))


MLIR = {"iree": "iree.compiler.ir", "xla": "jaxlib.mlir.ir"}
"""MLIR's own parser, of IREE's compiler and of XLA."""


def mlir_parses(text: str, by: str = "iree", *, unregistered: bool = False) -> None:
    """Parse and verify a module by MLIR itself, that of a compiler of `MLIR`; skips the test without it."""
    pytest.importorskip(MLIR[by])
    ir = import_module(MLIR[by])
    with ir.Context() as context:
        if by == "xla":
            registry = ir.DialectRegistry()
            import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
            context.append_dialect_registry(registry)
            for name in ("stablehlo", "chlo"):
                import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
        context.allow_unregistered_dialects = unregistered
        ir.Module.parse(text).operation.verify()
