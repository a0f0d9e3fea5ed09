"""Programs that JAX exports: read from MLIR's generic form, printed, read by JAX's MLIR again."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import io
from typing import Any

import pytest
from xdsl.printer import Printer

from npuc.frontends.mlir import read_mlir
from tests.jax_programs import PROGRAMS, text_of

pytestmark = pytest.mark.heavy


def generic(context: Any, text: str) -> str:
    from jaxlib.mlir import ir

    with context:
        return str(ir.Module.parse(text).operation.get_asm(print_generic_op_form=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_survives_both_readers(name: str) -> None:
    pytest.importorskip("jax")
    optax = pytest.importorskip("optax")
    from jax._src.interpreters import mlir

    program = PROGRAMS[name]()
    text = text_of(*program.step(optax.adam(0.01)), generic=True)
    module = read_mlir(text, "step.mlir")
    module.verify()
    out = io.StringIO()
    Printer(out, print_generic_format=True).print_op(module)
    context = mlir.make_ir_context()
    assert generic(context, out.getvalue()) == generic(context, text)


def test_random_bits_and_sorting_survive_both_readers() -> None:
    jax = pytest.importorskip("jax")
    from jax._src.interpreters import mlir

    def function(key: Any, x: Any) -> Any:
        y = jax.lax.cond(x[0, 0] > 0, lambda v: jax.lax.erf(v), lambda v: v, x)
        noise = jax.random.bernoulli(key, 0.5, x.shape)
        best = jax.lax.top_k(x, 2)
        return jax.numpy.sort(y, -1), noise, best, jax.lax.optimization_barrier(x), jax.lax.reduce_precision(x, 5, 10)

    arguments = (jax.random.PRNGKey(0), jax.numpy.ones((2, 3)))
    text = text_of(function, arguments, generic=True)
    module = read_mlir(text, "step.mlir")
    module.verify()
    out = io.StringIO()
    Printer(out, print_generic_format=True).print_op(module)
    context = mlir.make_ir_context()
    assert generic(context, out.getvalue()) == generic(context, text)
