"""The step of every sample in the forms of other compilers, and in npuc's own dialects, read by MLIR's own parser."""

import io
from dataclasses import replace

import pytest
from xdsl.printer import Printer

from npuc.compiler.driver.levels.primitives import as_primitives
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.frontends.files import sample_names
from npuc.frontends.source import open_source
from tests.unit.emit.upstream.forms import FORMS, mlir_parses, written
from tests.unit.samples.test_samples import SMALL

QUICK = ("mlp", "lenet")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.heavy) for name in sample_names()]
)
def test_samples_are_read_by_mlir(name: str) -> None:
    pytest.importorskip("iree.compiler")
    source = open_source(f"samples:{name}")
    module = lowered_source(source, replace(run_options({"defines": SMALL[name]}), level="train"))
    own = io.StringIO()
    Printer(own, print_generic_format=True).print_op(module)
    mlir_parses(own.getvalue(), unregistered=True)
    primitives = as_primitives(module, texts_of(source))
    for form in FORMS:
        mlir_parses(written(form, primitives))
