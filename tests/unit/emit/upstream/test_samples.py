"""The step of every sample in the forms of other compilers, and in npuc's own dialects, read by MLIR's own parser."""

from dataclasses import replace

import pytest

from npuc.compiler.driver.levels.primitives import as_primitives
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.emit.upstream.linalg import LINALG
from npuc.compiler.emit.upstream.program import translated
from npuc.compiler.emit.upstream.stablehlo import STABLEHLO
from npuc.frontends.files import sample_names
from npuc.frontends.source import open_source
from tests.unit.emit.upstream.forms import mlir_parses, nameless, printed, written
from tests.unit.samples.test_samples import SMALL

QUICK = ("mlp", "lenet")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.heavy) for name in sample_names()]
)
def test_samples_are_read_by_mlir(name: str) -> None:
    pytest.importorskip("iree.compiler")
    source = open_source(f"samples:{name}")
    module = lowered_source(source, replace(run_options({"defines": SMALL[name]}), level="train"))
    mlir_parses(printed(module), unregistered=True)
    primitives = as_primitives(module, texts_of(source))
    for name, form in (("linalg", LINALG), ("stablehlo", STABLEHLO)):
        text = written(name, primitives)
        mlir_parses(text)
        assert nameless(text) == nameless(printed(translated(primitives, form)))
    # the last one is in StableHLO, which JAX's MLIR has, too
    mlir_parses(text, "xla")
