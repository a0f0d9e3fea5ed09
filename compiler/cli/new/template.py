"""The files of a repository with a pass; `@NAME@` and the like in their paths and texts stand for what is asked for."""

from __future__ import annotations

PASS = '''"""
The pass `@NAME@`: two scalings in a row become one.

    %a = train.affine %x scale 2.0 : …
    %y = train.affine %a scale 3.0 : …      ->      %y = train.affine %x scale 6.0 : …
"""

from dataclasses import dataclass
from typing import ClassVar

from npuc.dialects.provenance import derive
from npuc.dialects.train.arithmetic import AffineOp
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException


@dataclass(frozen=True)
class ScalingOfScaling(RewritePattern):
    """affine(affine(x, a), b) -> affine(x, a b), if neither adds an offset and nobody else reads the inner one."""

    name: ClassVar[str] = "scaling-of-scaling"
    largest: float

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AffineOp, rewriter: PatternRewriter, /) -> None:
        inner = op.x.owner
        if not isinstance(inner, AffineOp) or not op.x.has_one_use():
            return
        if op.offset.value.data != 0.0 or inner.offset.value.data != 0.0:
            return
        scale = op.scale.value.data * inner.scale.value.data
        if abs(scale) > self.largest:
            return
        rewriter.replace(op, derive(op, AffineOp(inner.x, scale=scale)))
        rewriter.erase(inner)


@dataclass(frozen=True)
class @CLASS@(ModulePass):
    """Merge scalings in a row, up to a factor of `largest`."""

    name = "@NAME@"
    largest: float = 1e30

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.largest <= 0:
            raise PassFailedException(f"{self.name}: found largest={self.largest}, expected a positive number")
        PatternRewriteWalker(ScalingOfScaling(self.largest)).rewrite_module(op)


PASSES = {@CLASS@.name: @CLASS@}
'''

TESTS = '''"""The pass `@NAME@`: it keeps what a program computes, makes it cheaper, and refuses a wrong option."""

import subprocess
import sys
from pathlib import Path

import pytest
from npuc.compiler import UsageError, compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.check import check_program
from npuc.frontends.source import text_source

HERE = Path(__file__).parent
FILE = str(HERE.parent / "@MODULE@.py")
NETWORK = """network scaled(batch=4, width=8) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = relu(linear(x, width))
  halved = h * 0.5
  scaled = halved * 0.25
  loss cross_entropy(linear(scaled, 3), y)
  optimizer sgd(lr=0.1)
}
"""


def test_the_program_computes_the_same() -> None:
    checked = check_program(
        text_source(NETWORK, "dsl", "net.dsl"), {"pipeline": "@NAME@,autodiff,lower-to-npu,schedule", "load": [FILE]}
    )
    assert [one.step for one in checked] == ["@NAME@", "autodiff", "lower-to-npu", "schedule"]
    assert all(one.comparison.equal for one in checked)


def test_a_step_is_cheaper() -> None:
    without = compile_source(NETWORK)
    merged = compile_source(NETWORK, load=[FILE], before=["autodiff=@NAME@"])
    assert "@NAME@,autodiff" in merged.pipeline
    assert merged.totals["dram_read_bytes"] < without.totals["dram_read_bytes"]


def test_the_ir_is_that_of_the_filecheck_test(capfd: pytest.CaptureFixture[str]) -> None:
    file = HERE / "@MODULE@.mlir"
    run = file.read_text().partition("npuc opt %s")[2].partition("|")[0]
    options = [word.replace("%S/../@MODULE@.py", FILE) for word in run.split()]
    assert run_command(["opt", str(file), *options]) == 0
    printed = capfd.readouterr().out
    command = [sys.executable, "-m", "filecheck", str(file)]
    found = subprocess.run(command, input=printed, text=True, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr


def test_wrong_options_are_refused() -> None:
    with pytest.raises(SourceError, match="expected a positive number"):
        compile_source(NETWORK, load=[FILE], before=["autodiff=@NAME@{largest=-1.0}"])
    with pytest.raises(UsageError, match="has no option 'factor'"):
        compile_source(NETWORK, load=[FILE], before=["autodiff=@NAME@{factor=2}"])
'''

FILECHECK = """// RUN: npuc opt %s --load %S/../@MODULE@.py -p @NAME@ | filecheck %s

// CHECK-LABEL: @merged
// CHECK-NEXT:    %y = train.affine %x scale 6.0 {layer = "y"}
// CHECK-NEXT:    func.return %y
func.func @merged(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = train.affine %x scale 2.0 {layer = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %y = train.affine %a scale 3.0 {layer = "y"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: @read_by_two
// CHECK-NEXT:    %a = train.affine %x scale 2.0
// CHECK-NEXT:    %y = train.affine %a scale 3.0
func.func @read_by_two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = train.affine %x scale 2.0 {layer = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %y = train.affine %a scale 3.0 {layer = "y"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %y : tensor<4xf32>, tensor<4xf32>
}
"""

PROJECT = """[project]
name = "@NAME@"
version = "0.1.0"
description = "A pass for npuc."
requires-python = ">=3.11"
dependencies = ["npuc"]

[project.optional-dependencies]
test = ["filecheck", "pytest"]

[project.entry-points."npuc.passes"]
@NAME@ = "@MODULE@:@CLASS@"

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
py-modules = ["@MODULE@"]
"""

DOCS = """# `@NAME@`

Merges two scalings in a row into one.

    %a = train.affine %x scale 2.0 : …
    %y = train.affine %a scale 3.0 : …      ->      %y = train.affine %x scale 6.0 : …

Checks that neither scaling adds an offset, and that nobody else reads the inner one. It belongs before `autodiff`, so
that the gradient of one scaling is derived and not of two.

| option | type | default | meaning |
|---|---|---|---|
| `largest` | number | `1e30` | No factor above this is made. |
"""

README = """# @NAME@

A pass for npuc, made by `npuc new pass @NAME@`. `@MODULE@.py` holds the pass and its pattern: replace the pattern by
your own. [docs/@MODULE@.md](docs/@MODULE@.md) says what it does; npuc's page `docs/writing-a-pass.md` how to write one.

Run it from its file, at a place among the passes of `-O`:

    npuc compile samples:lenet --load @MODULE@.py --before autodiff=@NAME@ --statistics
    npuc check samples:lenet -D batch=2 --load @MODULE@.py --before autodiff=@NAME@
    npuc opt samples:lenet --load @MODULE@.py -p @NAME@ --debug-only @NAME@

Test it:

    pip install -e '.[test]'
    pytest

Once it is installed, npuc knows it without `--load`.
"""

FILES = {
    "pyproject.toml": PROJECT,
    "README.md": README,
    "@MODULE@.py": PASS,
    "docs/@MODULE@.md": DOCS,
    "tests/test_@MODULE@.py": TESTS,
    "tests/@MODULE@.mlir": FILECHECK,
}
"""The text of each file of the repository, by its path there."""


def filled(name: str) -> dict[str, str]:
    """The files of the repository of a pass of that name."""
    words = {
        "@NAME@": name,
        "@MODULE@": name.replace("-", "_"),
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")) + "Pass",
    }
    found = FILES
    for word, text in words.items():
        found = {path.replace(word, text): content.replace(word, text) for path, content in found.items()}
    return found
