"""What is told of passes: times, changes; and the file that is kept of a defect."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler import compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.transforms.fuse_vector import FuseVectorPass
from npuc.compiler.transforms.schedule import SchedulePass

PASSES = "autodiff,lower-to-npu,cse,schedule"


@pytest.fixture(autouse=True)
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlp: str) -> None:
    (tmp_path / "net.dsl").write_text(mlp)
    monkeypatch.chdir(tmp_path)


def compile_net(*options: str) -> int:
    return run_command(["compile", "net.dsl", "--hw", "igo-small", "-q", "--precision", "f32", *options])


def test_times_of_passes_are_told_and_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_net("--json", "-", "-p", PASSES) == 0
    plain = capsys.readouterr()
    assert compile_net("--json", "-", "-p", PASSES, "--time-passes") == 0
    timed = capsys.readouterr()
    assert timed.out == plain.out
    lines = timed.err.splitlines()
    assert [line.split()[-1] for line in lines[1:-1]] == ['set-precision{to="f32"}', *PASSES.split(",")]
    row = re.compile(r"// +\d+\.\d{4} +\d+\.\d{4} +\d+\.\d% +[\d,]+( -> [\d,]+)?  \S+$")
    assert all(row.match(line) for line in lines[1:-1]), lines
    assert re.search(r"\d+ -> \d+  autodiff$", lines[2])
    walls = [float(line.split()[1]) for line in lines[1:]]
    assert sum(walls[:-1]) == pytest.approx(walls[-1], abs=1e-3)


def test_changes_are_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_net("-p", "autodiff,dce,lower-to-npu,schedule", "--print-changed", "full") == 0
    text = capsys.readouterr().err
    assert "// after dce: no change\n// after lower-to-npu:\nbuiltin.module" in text
    assert text.count("func.func @mlp") == 3


def test_changes_are_shown_as_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_net("-p", PASSES, "--print-changed", "diff") == 0
    text = capsys.readouterr().err
    changed = text.partition("// after schedule:\n")[2].splitlines()
    assert changed[:2] == ["--- before", "+++ after"]
    assert any(line.startswith("-") and "npu.contract" in line for line in changed)
    assert any(line.startswith("+") and "npu.contract" in line and " loops [" in line for line in changed)


def test_errors() -> None:
    assert compile_net("--print-changed", "all") == 2
    with pytest.raises(UsageError, match="unknown form of changes 'all'"):
        compile_source("network n() {}", print_changed="all")
    assert run_command(["sweep", "net.dsl", "--vary", "batch=1,2", "--time-passes"]) == 2


Break = Callable[[type[ModulePass]], None]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes a pass change a program and then fail, as a defect does."""

    def breaks(kind: type[ModulePass]) -> None:
        own = kind.apply

        def apply(self: ModulePass, context: Context, module: ModuleOp) -> None:
            own(self, context, module)
            raise ZeroDivisionError("division by zero")

        monkeypatch.setattr(kind, "apply", apply)

    return breaks


def test_a_defect_of_a_pass_leaves_a_file_that_shows_it_again(
    broken: Break, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken(SchedulePass)
    options = ["-p", f"{PASSES},fuse-vector", "--set", "dram.gb_per_s=3", "-b", "cycle"]
    assert compile_net(*options) == 70
    error = capsys.readouterr().err
    (file,) = tmp_path.glob("npuc-crash-*.mlir")
    assert error.startswith("npuc: error: a defect in npuc: ZeroDivisionError: division by zero\n")
    assert error.endswith(f"the command that runs it: {file.name}\n")
    text = file.read_text()
    first, second = text.splitlines()[:2]
    assert first.endswith("ZeroDivisionError: division by zero, in the pass schedule")
    program = text.partition("builtin.module")[2]
    assert "npu.contract" in program
    assert " loops [" not in program
    assert "//   | network mlp(batch=4, hidden=6) {" in text
    assert 'raise ZeroDivisionError("division by zero")' in text
    command = shlex.split(second.removeprefix("// run again: "))
    assert command[-2:] == ["-p", "schedule,fuse-vector"]
    assert run_command(command[1:]) == 70
    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert compile_net(*options) == 70
    assert file in set(tmp_path.glob("npuc-crash-*.mlir"))


def test_a_defect_of_a_backend_leaves_what_it_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("no")

    monkeypatch.setattr("npuc.backends.cycle.backend.CycleBackend.score", broken)
    assert compile_net("-b", "cycle") == 70
    (file,) = tmp_path.glob("npuc-crash-*.mlir")
    second = file.read_text().splitlines()[1]
    assert second.endswith("-p ''")
    capsys.readouterr()
    assert run_command(shlex.split(second.removeprefix("// run again: "))[1:]) == 70


def test_what_is_no_defect_leaves_nothing(broken: Break, tmp_path: Path) -> None:
    assert compile_net("-p", "no-such-pass") == 2
    assert compile_net("--set", "memory.spm_kib=0.001") != 0
    broken(FuseVectorPass)
    assert compile_net("-p", PASSES) == 0
    assert list(tmp_path.glob("npuc-crash-*")) == []


def test_a_folder_that_takes_no_files_is_no_second_error(
    broken: Break, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: str, data: bytes, *, now: bool) -> None:
        raise UsageError(f"cannot write '{path}'")

    monkeypatch.setattr("npuc.compiler.cli.compile.write_file", refuse)
    broken(SchedulePass)
    assert compile_net() == 70
    assert capsys.readouterr().err.endswith("please report it with the source and the output of --debug\n")
