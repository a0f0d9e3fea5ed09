"""The filecheck tests of `tests/filecheck` in this process, a test a file; `lit tests/filecheck` runs them, too."""

from pathlib import Path

import pytest

from tests.support.runlines import run_file, run_lines

FOLDER = Path(__file__).parent / "filecheck"
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".mlir", ".dsl"))
MODULE = "func.func private @f()\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_filecheck(path: Path) -> None:
    run_file(path)


def file_with(folder: Path, *lines: str) -> Path:
    path = folder / "test.mlir"
    path.write_text("".join(f"// {line}\n" for line in lines) + MODULE, encoding="utf-8")
    return path


def test_a_check_that_holds_passes(tmp_path: Path) -> None:
    run_file(file_with(tmp_path, "RUN: npuc opt %s | npuc opt | filecheck %s", "CHECK: @f()"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["RUN: npuc opt %s | filecheck %s", "CHECK: @g()"], "exit status 1"),
        (["RUN: npuc opt %s | filecheck %s", "CHECK-NOT: @f()"], "exit status 1"),
        (["RUN: npuc opt %s | filecheck %s --check-prefix OTHER", "CHECK: @f()"], "exit status 2"),
        (["RUN: npuc opt %s -p nothing | filecheck %s", "CHECK-NOT: @g()"], "npuc opt .*exit status 2"),
        (["RUN: npuc opt %s | npuc opt -p nothing | filecheck %s", "CHECK: @f()"], "npuc opt .*exit status 2"),
        (["RUN: npuc opt %s", "CHECK: @f()"], "does not end in filecheck"),
        (["RUN: npuc opt %s | cat | filecheck %s", "CHECK: @f()"], "npuc and filecheck only"),
        (["RUN: npuc opt %s > here | filecheck %s", "CHECK: @f()"], "only pipes"),
        (["RUN: npuc opt %s | filecheck %s", "CHECK: @f()", "RUN: npuc opt %s | filecheck %s \\"], "backslash"),
        (["CHECK: @f()"], "no RUN line"),
    ],
)
def test_a_check_that_does_not_hold_fails(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        run_file(file_with(tmp_path, *lines))


def test_a_run_line_goes_on_after_a_backslash() -> None:
    assert run_lines("// RUN: npuc opt %s \\\n// RUN: | filecheck %s\n") == ["npuc opt %s | filecheck %s"]
