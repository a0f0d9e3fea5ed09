"""Checking passes: a right pipeline passes, a wrong pass is named with what it changed."""

from pathlib import Path

import pytest

from npuc.compiler.core.errors import CapacityError, CheckError, UsageError
from npuc.compiler.driver.check import check_program
from npuc.frontends.dsl.values import Value
from npuc.frontends.source import open_source, text_source

NET = """
network net(batch=2) {
  input  x: f32[batch, 3, 6, 6]
  labels y: i32[batch]
  h = relu(batch_norm(conv2d(x, 4, kernel=3, padding=1)))
  halved = h * 0.5
  small = halved * 0.25
  loss cross_entropy(linear(flatten(small), 5), y)
  optimizer adam()
}
"""

PATTERN = Path(__file__).parents[2] / "samples/pattern/merge_scalings.py"


def broken(tmp_path: Path, old: str, new: str) -> str:
    text = PATTERN.read_text()
    assert old in text
    file = tmp_path / "broken.py"
    file.write_text(text.replace(old, new))
    return str(file)


def test_the_default_pipeline_keeps_the_program() -> None:
    done = check_program(text_source(NET, "dsl", "net.dsl"), {})
    assert [check.step for check in done] == ["autodiff", "lower-to-npu", 'interleave{mode="best"}', "schedule"]
    assert all(check.comparison.equal for check in done)


def test_tiles_are_checked_too() -> None:
    done = check_program(text_source(NET, "dsl", "net.dsl"), {"level": "tiles"})
    assert done[-1].step == "lower-tiles"


def test_a_pass_of_ones_own_is_checked() -> None:
    pipeline = "merge-scalings,autodiff,lower-to-npu"
    done = check_program(text_source(NET, "dsl", "net.dsl"), {"load": [str(PATTERN)], "pipeline": pipeline})
    assert done[0].step == "merge-scalings"


def test_a_pass_that_changes_values_is_named(tmp_path: Path) -> None:
    file = broken(tmp_path, "* inner.scale", "+ inner.scale")
    with pytest.raises(CheckError, match=r"pass 'merge-scalings' changes the program: loss is .* before and .* after"):
        check_program(text_source(NET, "dsl", "net.dsl"), {"load": [file], "pipeline": "merge-scalings,autodiff"})


def test_a_pass_that_breaks_an_operation_is_named(tmp_path: Path) -> None:
    file = broken(tmp_path, "AffineOp(inner.x, scale=scale)", "AffineOp.create(operands=[], result_types=[op.x.type])")
    with pytest.raises(CheckError, match="pass 'merge-scalings' breaks the program"):
        check_program(text_source(NET, "dsl", "net.dsl"), {"load": [file], "pipeline": "merge-scalings"})


def test_a_pass_that_does_not_take_the_program_has_not_broken_it() -> None:
    for step, found in (("rearrange{order=q}", "there is no loop 'q'"), ("recompute", "found npu.contract")):
        with pytest.raises(CheckError, match=f"does not take the program: {found}"):
            check_program(text_source(NET, "dsl", "net.dsl"), {"pipeline": f"autodiff,lower-to-npu,{step}"})


def test_a_program_that_takes_too_long_is_refused_with_what_to_lower() -> None:
    with pytest.raises(UsageError, match=r"one run of the program takes .* MACs, the limit is 1,000") as caught:
        check_program(text_source(NET, "dsl", "net.dsl"), {}, limit=1000)
    assert caught.value.hint is not None
    assert "-D batch=" in caught.value.hint


@pytest.mark.parametrize(("sample", "named"), [("ncf", "users"), ("dlrm", "tables")])
def test_a_program_that_holds_too_much_is_refused_with_what_to_lower(sample: str, named: str) -> None:
    """Tables of embeddings take little work, and much memory with the states of an optimizer."""
    with pytest.raises(UsageError, match=r"one run of the program holds .* GB, the limit is 2.0 GB") as caught:
        check_program(open_source(f"samples:{sample}"), {"defines": {"batch": 8}})
    assert caught.value.hint is not None
    assert named in caught.value.hint
    sizes: dict[str, Value] = {"batch": 8, "users": 50, "items": 20}
    done = check_program(open_source("samples:ncf"), {"defines": sizes, "pipeline": "autodiff,lower-to-npu"})
    assert all(one.comparison.equal for one in done)


@pytest.mark.slow
def test_samples_are_checked_at_a_small_size() -> None:
    """With the contractions in turn that need no search."""
    sizes: dict[str, Value] = {"batch": 1, "image": 32}
    done = check_program(open_source("samples:resnet18"), {"defines": sizes, "level": "npu", "opt_level": 1})
    assert [check.step.partition("{")[0] for check in done] == ["autodiff", "lower-to-npu", "interleave", "schedule"]


@pytest.mark.heavy
def test_a_network_that_amplifies_rounding_is_no_false_alarm() -> None:
    sizes: dict[str, Value] = {"batch": 2, "image": 32}
    done = check_program(open_source("samples:resnet50"), {"defines": sizes, "pipeline": "autodiff,lower-to-npu"})
    assert done[1].step == "lower-to-npu"
    assert done[1].comparison.equal
    assert done[1].comparison.amplified > 1e-9


KINKS = """
network net(batch=32) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, 64) * 0.5)
  loss cross_entropy(linear(h * 0.25, 10), y)
  optimizer sgd(lr=0.1)
}
"""
HALF_GRADIENT = """
from dataclasses import dataclass
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from npuc.dialects.provenance import Role, derive, role_of
from npuc.dialects.train.arithmetic import AffineOp

class Halve(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AffineOp, rewriter, /):
        if role_of(op) is Role.DX and op.scale.value.data == 0.5:
            rewriter.replace(op, derive(op, AffineOp(op.x, scale=0.25)))

@dataclass(frozen=True)
class HalfGradient(ModulePass):
    name = "half-gradient"
    def apply(self, ctx, op):
        PatternRewriteWalker(Halve()).rewrite_module(op)

PASSES = [HalfGradient]
"""


def test_a_wrong_gradient_is_no_rounding_where_data_lie_on_kinks(tmp_path: Path) -> None:
    """Sums of small integers are often 0, where the gradient of relu jumps: their last digits say nothing."""
    file = tmp_path / "half.py"
    file.write_text(HALF_GRADIENT)
    with pytest.raises(CheckError, match="pass 'half-gradient' changes the program: new h"):
        check_program(text_source(KINKS, "dsl", "net.dsl"), {"load": [str(file)], "pipeline": "autodiff,half-gradient"})


def test_a_pass_that_changes_nothing_is_no_proof() -> None:
    done = check_program(text_source(NET, "dsl", "net.dsl"), {"pipeline": "autodiff,cse"})
    assert [str(check) for check in done] == ["autodiff: equal to 1e-09", "cse: equal to 1e-09, it changed nothing"]


def test_a_pass_that_loses_the_names_of_layers_is_named(tmp_path: Path) -> None:
    file = broken(tmp_path, "derive(op, AffineOp(inner.x, scale=scale))", "AffineOp(inner.x, scale=scale)")
    with pytest.raises(CheckError, match=r"made 1 operations without a layer, the first train\.affine") as caught:
        check_program(text_source(NET, "dsl", "net.dsl"), {"load": [file], "pipeline": "merge-scalings"})
    assert caught.value.hint is not None
    assert "derive" in caught.value.hint


INTEGERS = """
network net(batch=4) {
  input x: f32[batch, 6]
  h = linear(relu(linear(x, 8, bias=false)), 5, bias=false)
  loss sum(h * h)
}
"""
STEPS = {
    0: [],
    1: ['interleave{mode="zip"}'],
    2: ['interleave{mode="zip"}', 'rearrange{rule="published"}'],
    3: ['interleave{mode="best"}'],
}


@pytest.mark.parametrize("level", [*STEPS, None])
def test_every_pass_of_a_level_is_checked(level: int | None) -> None:
    """By default those of the default level; the program keeps integers, so that results are equal to the bit."""
    done = check_program(text_source(INTEGERS, "dsl", "net.dsl"), {"opt_level": level})
    steps = STEPS[3 if level is None else level]
    assert [check.step for check in done] == ["autodiff", "lower-to-npu", *steps, "schedule"]
    assert all(check.comparison.equal and check.comparison.exact for check in done)


def test_passes_are_checked_on_the_machine_that_is_named() -> None:
    """On a machine without array nothing can be scheduled; the passes before are checked all the same."""
    source, passes = text_source(INTEGERS, "dsl", "net.dsl"), "autodiff,lower-to-npu"
    assert len(check_program(source, {"hardware": "a100", "pipeline": passes})) == 2
    with pytest.raises(CheckError, match="pass 'schedule' does not take the program: the module does not say"):
        check_program(source, {"hardware": "a100", "pipeline": f"{passes},schedule"})
    small = {"memory.spm_kib": 0.004}
    with pytest.raises(CapacityError, match="the smallest tiles need"):
        check_program(source, {"overrides": small})
