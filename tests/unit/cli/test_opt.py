"""`npuc opt`: its sources, machines and help, and what it shows of passes."""

import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Npuc


def test_opt_takes_sources_and_machines_as_compile_does(npuc: Npuc, folder: Path) -> None:
    (folder / "table.csv").write_text("M,N,K\n4,8,16\n")
    assert "(m = 4, n = 8, k = 16)" in npuc("opt", "table.csv", "-p", "lower-to-npu").out
    taken = npuc("opt", "samples:mlp", "-D", "batch=4", "-p", "autodiff,lower-to-npu,schedule", "--hw", "igo-small")
    assert taken.status == 0, taken.err
    assert " loops [" in taken.out
    assert 'npu.target = {name = "igo-small"' in taken.out
    assert "tensor<4x784xf32>" in taken.out
    assert "npu.target" not in npuc("opt", "samples:mlp").out
    assert npuc("opt", "samples:mlp", "-o", "net.mlir").status == 0
    assert npuc("opt", "net.mlir", "-p", "autodiff").status == 0
    refused = npuc("opt", "net.mlir", "-D", "batch=4")
    assert (refused.status, "-D batch=4: IR has no parameters" in refused.err) == (2, True)
    forward = npuc("opt", "net.mlir", "--inference", "-p", "autodiff")
    assert (forward.status, "loss" in forward.err) == (1, True)
    assert npuc("opt", "samples:mlp", "--hw", "rtx2080ti").status == 2
    unread = npuc("opt", "samples:mlp", "--set", "memory.spm_kib=64", "--set", "precision=f32")
    assert unread.err == "npuc: warning: precision has no effect: no pass reads it\n"


def test_opt_shows_what_passes_did(npuc: Npuc, folder: Path) -> None:
    shown = npuc("opt", "samples:mlp", "-p", "autodiff,lower-to-npu", "--statistics", "--debug-only", "lower-to-npu")
    assert re.search(
        r"// lower-to-npu: lower-vector at .*\n//   %.* = train\.relu .*\n//     --> %.* = npu\.vector relu", shown.err
    )
    assert re.search(r"// lower-to-npu  +\d+ -> \d+ .*lower-vector \d", shown.err)
    assert npuc("opt", "samples:mlp", "--debug-only", "tile").status == 2
    changed = npuc("opt", "samples:mlp", "-p", "dce", "--print-changed", "diff")
    assert changed.err == "// after dce: no change\n"
    assert npuc("opt", "samples:mlp", "-p", "dce").err == "npuc: warning: pass 'dce' changed nothing\n"


def test_help_of_opt_has_xdsl_s_options_where_all_are_asked_for(npuc: Npuc) -> None:
    # Lines break behind hyphens, wherever a longer list of passes puts them.
    short, long = (re.sub(r"-\n\s*", "-", npuc("opt", *args).out) for args in (["--help"], ["--help", "--all"]))
    assert long.rindex("--hw") < long.rindex("--parsing-diagnostics")
    assert "autodiff" in short
    for upstream in ("--parsing-diagnostics", "convert-scf-to-cf"):
        assert upstream not in short
        assert upstream in long


@pytest.mark.parametrize("old", [None, "as it was"])
def test_a_file_is_written_whole_or_not_at_all(old: str | None, npuc: Npuc, folder: Path) -> None:
    target = folder / "step.mlir"
    if old is not None:
        target.write_text(old)
    for pipeline in ("autodiff,lower-to-npu,schedule", "no-pass", "autodiff{x=1}"):
        assert npuc("opt", "net.dsl", "-p", pipeline, "-o", "step.mlir").status in (1, 2)
        assert (target.read_text() if target.exists() else None) == old
    assert npuc("opt", "net.dsl", "-p", "autodiff", "-o", "step.mlir").status == 0
    shown = npuc("opt", "net.dsl", "-p", "autodiff", "-o", "-")
    assert target.read_text() == shown.out
    assert not (folder / "-").exists()
    refused = npuc("opt", "net.dsl", "-o", "no/step.mlir")
    assert (refused.status, "cannot write 'no/step.mlir'" in refused.err) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == ["net.dsl", "step.mlir"]
