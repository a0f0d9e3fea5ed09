"""What passes and their patterns did: counted (`--statistics`), and shown one by one (`--debug-only`)."""

import json
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from npuc.compiler.cli import run_command
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.watch.statistics import Statistics
from npuc.compiler.transforms.canonicalize.identities import Repeated
from npuc.compiler.transforms.rewrites import observed
from npuc.dialects.train.activation import ReluOp
from npuc.frontends import read_source
from npuc.frontends.mlir import make_context

NET = """network net(batch=2) {
  input x: f32[batch, 4]
  h = relu(relu(relu(x)))
  a = abs(h)
  b = abs(h)
  out = a * b
  output out
}
"""


class MarkRelu(RewritePattern):
    """A rewrite of somebody's own, in place, which has no name."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        if "seen" not in op.attributes:
            op.attributes["seen"] = op.attributes["layer"]
            rewriter.notify_op_modified(op)


class MarkPass(ModulePass):
    """Mark."""

    name = "mark"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(MarkRelu()).rewrite_module(op)


@pytest.fixture(autouse=True)
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    monkeypatch.chdir(tmp_path)


def run(*options: str) -> int:
    return run_command(
        ["compile", "net.dsl", "-q", "--inference", "-O", "0", "--before", "lower-to-npu=canonicalize", *options]
    )


def test_statistics_count_operations_and_rewrites(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "-") == 0
    plain = capsys.readouterr().out
    assert run("--json", "-", "--statistics", "--statistics-json", "s.json") == 0
    shown = capsys.readouterr()
    assert shown.out == plain
    document = json.loads(Path("s.json").read_text())
    assert document["schema"] == "npuc.statistics/1"
    passes = {one["pass"]: one for one in document["passes"]}
    assert passes["canonicalize"] == {
        "pass": "canonicalize",
        "operations": {"before": 8, "after": 5, "made": 0, "erased": 3},
        "patterns": {"repeated": 2},
        "counters": {"equal operations": 1},
    }
    assert passes["lower-to-npu"]["patterns"]["lower-vector"] == 3
    lines = shown.err.splitlines()
    assert lines[0].split() == ["//", "pass", "operations", "made", "erased", "rewrites"]
    assert "// canonicalize                  8 -> 5     0       3  repeated 2, equal operations 1" in lines


def test_statistics_may_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--statistics-json", "-") == 0
    assert "canonicalize" in [one["pass"] for one in json.loads(capsys.readouterr().out)["passes"]]


def test_each_rewrite_of_a_pass_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--precision", "f32", "--debug-only", "canonicalize,repeated", "--json", "r.json") == 0
    assert capsys.readouterr().err.splitlines()[:3] == [
        "// canonicalize: repeated at net.dsl:3:12, layer h.relu_2",
        '//   %1 = train.relu %0 {layer = "h.relu_2"} : (tensor<2x4xf32>) -> tensor<2x4xf32>',
        "//     --> %0",
    ]
    assert run("--debug-only", "canonicalize,undone", "--json", "r.json") == 0
    assert capsys.readouterr().err == "// canonicalize: no rewrite of undone\n"
    assert run("--debug-only", "lower-to-npu", "--json", "r.json") == 0
    shown = capsys.readouterr().err
    assert shown.count("// lower-to-npu: lower-vector at") == 3
    assert "//     --> %h = npu.vector relu(%x) ops 8" in shown


def test_patterns_that_share_a_method_of_a_class_without_a_name_are_counted() -> None:
    counts = Statistics()
    text = NET.replace("relu(relu(relu(x)))", "linear(x, 4)").replace("  output", "  loss sum(out)\n  output")
    passes = read_pipeline('lower-to-npu,tile{steps="n:2"}', available_passes())
    with observed(counts):
        module = read_source(text, format="dsl", filename="net.dsl")
        run_pipeline(module, passes, make_context(), SourceTexts({}), watch=counts)
    assert counts.done[1].patterns == {"tile": 1}


def test_patterns_are_their_own_again_and_those_of_others_are_counted() -> None:
    own, other = vars(Repeated)["match_and_rewrite"], vars(MarkRelu)["match_and_rewrite"]
    counts = Statistics()
    module = read_source(NET.replace("  output", "  loss sum(out)\n  output"), format="dsl", filename="net.dsl")
    with observed(counts):
        assert vars(Repeated)["match_and_rewrite"] is not own
        run_pipeline(module, [MarkPass()], make_context(), SourceTexts({}), watch=counts)
    assert counts.done[0].patterns == {"mark-relu": 3}
    assert (vars(Repeated)["match_and_rewrite"], vars(MarkRelu)["match_and_rewrite"]) == (own, other)
