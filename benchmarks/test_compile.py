"""
How long compiling takes, as ratios to xDSL's own work on the same program in the same run.

    pytest benchmarks --benchmark-columns=mean,stddev
"""

from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npuc.compiler import compile_source
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.frontends import read_source, read_text
from npuc.frontends.mlir import make_context

DEEP = """
network deep(batch=4, width=8, depth=1000) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = x
  for i in 0..depth { h = relu(linear(h, width)) }
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}
"""
PASSES = ["autodiff", "lower-to-npu", "schedule"]


def after(passes: list[str], depth: int) -> ModuleOp:
    """The deep network after some passes; a step has about 9 operations for each unit of depth."""
    module = read_source(DEEP, defines={"depth": depth})
    stamp_default_target(module)
    run_pipeline(module, read_pipeline(",".join(passes), available_passes()), make_context(), SourceTexts())
    return module


@pytest.mark.parametrize("depth", [100, 1000])
def test_xdsl_parse_and_print(benchmark: Any, depth: int) -> None:
    """The yardstick: xDSL reads and prints the finished program."""
    text = str(after(PASSES, depth))
    benchmark.pedantic(lambda: str(Parser(make_context(), text).parse_module()), rounds=2)


@pytest.mark.parametrize("depth", [100, 1000])
def test_compile(benchmark: Any, depth: int) -> None:
    benchmark.pedantic(lambda: compile_source(DEEP, defines={"depth": depth}), rounds=2)


@pytest.mark.parametrize("depth", [100, 1000])
@pytest.mark.parametrize("number", range(len(PASSES)), ids=PASSES)
def test_pass(benchmark: Any, number: int, depth: int) -> None:
    def setup() -> tuple[tuple[ModuleOp], dict[str, Any]]:
        return (after(PASSES[:number], depth),), {}

    (step,) = read_pipeline(PASSES[number], available_passes())

    def run(module: ModuleOp) -> None:
        with without_cycle_collection():
            step.apply(make_context(), module)

    benchmark.pedantic(run, setup=setup, rounds=2)


@pytest.mark.parametrize("depth", [100, 1000])
def test_verify(benchmark: Any, depth: int) -> None:
    module = after(PASSES, depth)
    benchmark.pedantic(lambda: verify_module(module, SourceTexts()), rounds=2)


@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2", "bert_base"])
def test_sample(benchmark: Any, name: str) -> None:
    """A whole training step; schedules are found once and then remembered, so only the first round counts."""
    text = read_text(f"samples:{name}")
    benchmark.pedantic(lambda: compile_source(text, filename=f"samples:{name}"), rounds=1)


@pytest.mark.parametrize("cores", [1, 4, 32, 528])
def test_many_cores(benchmark: Any, cores: int) -> None:
    """Like cores are costed once; what grows is the number of ways to share them."""
    text = read_text("samples:mlp")
    overrides = {"array.cores": cores}
    benchmark.pedantic(lambda: compile_source(text, opt_level=0, overrides=overrides), rounds=1)
