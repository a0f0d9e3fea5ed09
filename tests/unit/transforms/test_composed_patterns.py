"""Passes of a few lines that take npuc's patterns in another order; `check` proves them right or wrong."""

from pathlib import Path

import pytest

from npuc.compiler.core.errors import CheckError
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.running.options import RunKeywords
from npuc.frontends.source import text_source

NET = """
network net(batch=2) {
  input  x: f32[batch, 2, 4, 4]
  labels y: i32[batch]
  a = relu(conv2d(x, 3, kernel=3))
  b = relu(conv2d(a, 2, kernel=2))
  loss cross_entropy(linear(flatten(b), 3), y)
  optimizer sgd(lr=0.1)
}
"""
MINE = """
from dataclasses import dataclass

from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from npuc.compiler.transforms.fuse_vector.patterns import Epilogue, FuseEpilogue
from npuc.compiler.transforms.keep_resident.patterns import KeepInSpm, Residency
from npuc.compiler.transforms.lower_tiles.patterns import ContractToTiles, ForgetResidency
from npuc.compiler.transforms.lower_to_npu.patterns import (
    LowerByLayer, LowerConstant, LowerConvByIm2col, LowerMove, LowerVector, LowerView, StartFromAddition, UseKnownSums
)
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.resident import Resident
from npuc.dialects.provenance import Role, layer_of, role_of


def run(module, *patterns):
    PatternRewriteWalker(GreedyRewritePatternApplier(list(patterns), dce_enabled=False)).rewrite_module(module)


@dataclass(frozen=True)
class LowerMinePass(ModulePass):
    \"\"\"One convolution by im2col, the others natively; vector work first, additions last.\"\"\"

    name = "lower-mine"

    def apply(self, ctx, op):
        windows = LowerConvByIm2col(lambda conv: layer_of(conv).startswith("a"))
        run(op, windows, LowerConstant(), LowerByLayer(), LowerView(), LowerMove(), StartFromAddition(), LowerVector())


@dataclass(frozen=True)
class KeepMinePass(ModulePass):
    \"\"\"What forward vector work leaves, the contraction behind it finds.\"\"\"

    name = "keep-mine"

    def apply(self, ctx, op):
        run(op, KeepInSpm(keep))


def keep(op):
    first, second = (op, op.next_op) if isinstance(op, VectorOp) else (op.prev_op, op)
    if not (isinstance(first, VectorOp) and isinstance(second, ContractOp) and role_of(second) is Role.FORWARD):
        return None
    return Residency(Resident(outs=("out0",)) if op is first else Resident(ins=("X",)))


@dataclass(frozen=True)
class FuseMinePass(ModulePass):
    \"\"\"An activation is fused with its contraction, before there is a schedule.\"\"\"

    name = "fuse-mine"

    def apply(self, ctx, op):
        run(op, FuseEpilogue(lambda one: Epilogue((one.next_op,)) if is_activation(one.next_op, one) else None))


def is_activation(op, contract):
    return isinstance(op, VectorOp) and op.kind == "relu" and op.operands[0] is contract.results[0]


@dataclass(frozen=True)
class TilesMinePass(ModulePass):
    \"\"\"The loops of the backward pass only.\"\"\"

    name = "tiles-mine"

    def apply(self, ctx, op):
        run(op, ContractToTiles(lambda one: role_of(one) is not Role.FORWARD), ForgetResidency())


PASSES = [LowerMinePass, KeepMinePass, FuseMinePass, TilesMinePass]
"""


def checked(tmp_path: Path, text: str, pipeline: str) -> list[str]:
    file = tmp_path / "mine.py"
    file.write_text(text)
    keywords: RunKeywords = {"load": [str(file)], "pipeline": f"autodiff,{pipeline}"}
    return [check.step for check in check_program(text_source(NET, "dsl", "net.dsl"), keywords)][1:]


@pytest.mark.parametrize("pipeline", ["lower-mine,fuse-mine,schedule,tiles-mine", "lower-mine,schedule,keep-mine"])
def test_patterns_in_another_order_keep_the_program(tmp_path: Path, pipeline: str) -> None:
    assert checked(tmp_path, MINE, pipeline) == pipeline.split(",")


@pytest.mark.parametrize(
    ("old", "new", "pipeline", "message"),
    [
        ('outs=("out0",)', "", "lower-mine,schedule,keep-mine", "'keep-mine' breaks the program: .* is not resident"),
        ('op.kind == "relu"', "True", "lower-mine,fuse-mine", "'fuse-mine' breaks the program"),
        (
            "(one.next_op,)",
            "(op.body.block.first_op.body.block.last_op.prev_op,)",
            "lower-mine,fuse-mine",
            "cannot move",
        ),
    ],
)
def test_a_wrong_choice_is_caught(tmp_path: Path, old: str, new: str, pipeline: str, message: str) -> None:
    assert old in MINE
    with pytest.raises(CheckError, match=message):
        checked(tmp_path, MINE.replace(old, new), pipeline)
