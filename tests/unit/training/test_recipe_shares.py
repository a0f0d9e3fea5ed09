"""N:M recipes on whole trainings: which share of the products formats leave, and that every program of them runs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import run_file
from npuc.compiler.analysis.sparsity.products import ProductCounts, counted_products, left_of
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.explore.training.phases_file import read_phases
from npuc.compiler.explore.training.price import Pricing
from npuc.compiler.explore.training.result import TrainingCost
from npuc.dialects.npu import ContractOp
from npuc.dialects.products import SparseFactor
from npuc.dialects.provenance import layer_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import open_source, text_source

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords

NET = """
network net(batch=4) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  a = relu(linear(x, 24))
  b = relu(linear(a, 32))
  loss cross_entropy(linear(b, 8), y)
  optimizer sgd(lr=0.5)
}
"""
LAYERS = (16 * 24, 24 * 32, 32 * 8)
"""The elements of the weights, outermost first; the first layer has no dX."""
MACS = 4 * (3 * sum(LAYERS) - LAYERS[0])
RECIPES = ("nm-mask-linear", "nm-mask-exponential", "nm-structure-step", "nm-structure-halving", "nm-sr-ste")
SMALL = {"batch": 2, "length": 4, "width": 16, "hidden": 32, "heads": 2, "layers": 1}


def lowered(passes: str, text: str = NET) -> ModuleOp:
    source = text_source(text, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    run_pipeline(module, read_pipeline(f"autodiff,lower-to-npu,{passes}", available_passes()), make_context(), sources)
    return module


def of_step(kept: Fraction) -> Fraction:
    """The share that is left of a step by hand: all layers forward, nothing of dX and dW."""
    return 1 - (1 - kept) * Fraction(4 * sum(LAYERS), MACS)


@pytest.mark.parametrize(
    ("options", "share"),
    [("", Fraction(5, 6)), (" transposable=true", Fraction(2, 3))],
)
def test_three_equal_products_are_the_formula(options: str, share: Fraction) -> None:
    """2:4 leaves (1/2 + 1 + 1) / 3, with a transposable mask (1/2 + 1/2 + 1) / 3, of layers with a dX."""
    module = lowered(f'nm-recipe{{pattern="2:4"{options}}}')
    inner = [op for op in module.walk() if isinstance(op, ContractOp) and layer_of(op) != "a.linear"]
    counts = counted_products(inner)
    assert (counts.left_share, counts.sparse_share) == (share, Fraction(1 if options else 0, 3) + Fraction(1, 3))
    whole = counted_products(module.walk())
    saved = Fraction(1, 2) * 4 * (2 * sum(LAYERS) - LAYERS[0] if options else sum(LAYERS))
    assert (whole.macs, whole.left) == (MACS, MACS - saved)


def test_formats_without_groups_leave_their_density_in_every_product() -> None:
    """1/10 of weights and 1/2 of activations: forward 1/20, dX 1/10, dW 1/2."""
    counts = counted_products(lowered('sparsify{rules="weights=0.1; activations=0.5"}').walk())
    forward, dx, dw = sum(LAYERS), sum(LAYERS) - LAYERS[0], sum(LAYERS)
    assert counts.left == 4 * (Fraction(forward, 20) + Fraction(dx, 10) + Fraction(dw, 2))
    assert counts.sparse == counts.macs == MACS


def test_groups_along_another_axis_leave_all() -> None:
    half = Fraction(1, 2)
    assert left_of((None, SparseFactor(half, (2, 4), (0,)))) == half
    assert left_of((None, SparseFactor(half, None, (0,)))) == 1
    assert left_of((SparseFactor(half), SparseFactor(half))) == half * half
    assert ProductCounts().left_share == 1
    assert ProductCounts().sparse_share == 0


def priced(name: str) -> TrainingCost:
    options = cast("CompileKeywords", {"hardware": "igo-small", "opt_level": 1})
    return Pricing(text_source(NET, "dsl", "<string>"), "cycle", options).result([read_phases(name)]).trainings[0]


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("nm-mask-linear", {Fraction(1): 8_000, Fraction(1, 2): 2_000}),
        ("nm-mask-exponential", {Fraction(1): 8_000, Fraction(1, 2): 2_000}),
        (
            "nm-structure-step",
            {Fraction(1): 1_000, Fraction(3, 4): 3_000, Fraction(1, 2): 3_000, Fraction(1, 4): 3_000},
        ),
        (
            "nm-structure-halving",
            {Fraction(1): 1_000, Fraction(1, 2): 3_000, Fraction(1, 4): 3_000, Fraction(1, 8): 3_000},
        ),
        ("nm-sr-ste", {Fraction(1, 2): 10_000}),
    ],
)
def test_shares_of_whole_trainings_by_hand(name: str, phases: dict[Fraction, int]) -> None:
    """The mean over the steps of their phases, exactly."""
    own = priced(name).products
    assert own.macs == 10_000 * MACS
    assert own.left_share == sum(of_step(kept) * steps for kept, steps in phases.items()) / 10_000
    forward = Fraction(4 * sum(LAYERS), MACS)
    assert own.sparse_share == forward * sum(steps for kept, steps in phases.items() if kept < 1) / 10_000


@pytest.mark.parametrize("name", RECIPES)
def test_every_program_of_a_recipe_runs_and_compiles(name: str) -> None:
    """On a small transformer: a step is executed, counts of kept values are those of the formats, and it is priced."""
    source, recipe = "samples:transformer", read_phases(name)
    for program in recipe.programs:
        own = cast("CompileKeywords", program.options)
        run = run_file(source, defines=SMALL, steps=1, opt_level=0, after=own.get("after") or [])
        assert np.isfinite(run.losses).all()
        fades = "kind=" in str(own)
        assert fades == (not run.densities)
        for step in run.densities:
            assert len(step) == 16
            assert all(0 < one.kept <= one.stated < one.size for one in step.values())
    options = cast("CompileKeywords", {"hardware": "tpu-v4", "opt_level": 1, "defines": SMALL})
    cost = Pricing(open_source(source), "cycle", options).result([recipe]).trainings[0]
    assert 0 < cost.products.left_share < 1
    assert cost.steps == 10_000
