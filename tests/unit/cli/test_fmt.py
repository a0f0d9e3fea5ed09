"""`npuc fmt` on files, folders and standard input."""

import io
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from tests.unit.cli.conftest import MLP, Outcome

Npuc = Callable[..., Outcome]
UGLY = "network n(b=1){input x:f32[b,1]\nloss mse(x,x)}"
NICE = "network n(b=1) {\n  input x: f32[b, 1]\n  loss mse(x, x)\n}\n"


@pytest.fixture
def ugly(folder: Path) -> Path:
    """A file that is not in the one layout, beside net.dsl, which is."""
    path = folder / "ugly.dsl"
    path.write_text(UGLY)
    return path


def test_a_file_is_written_with_its_mode(npuc: Npuc, ugly: Path) -> None:
    ugly.chmod(0o640)
    assert npuc("fmt", "ugly.dsl", "net.dsl") == (0, "", "npuc: formatted ugly.dsl\n")
    assert ugly.read_text() == NICE
    assert stat.S_IMODE(ugly.stat().st_mode) == 0o640
    assert npuc("fmt", "ugly.dsl") == (0, "", "")


def test_a_file_in_the_layout_is_not_written(npuc: Npuc, folder: Path) -> None:
    before = (folder / "net.dsl").stat()
    assert npuc("fmt", "net.dsl") == (0, "", "")
    after = (folder / "net.dsl").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_nothing_is_left_beside_the_file(npuc: Npuc, ugly: Path) -> None:
    npuc("fmt", "-q", "ugly.dsl")
    assert sorted(path.name for path in ugly.parent.glob("*ugly*")) == ["ugly.dsl"]


def test_a_link_stays_a_link(npuc: Npuc, ugly: Path) -> None:
    link = ugly.parent / "link.dsl"
    link.symlink_to("ugly.dsl")
    assert npuc("fmt", "-q", "link.dsl").status == 0
    assert link.is_symlink()
    assert ugly.read_text() == NICE


def test_check_lists_and_writes_nothing(npuc: Npuc, ugly: Path) -> None:
    assert npuc("fmt", "--check", "net.dsl", "ugly.dsl") == (1, "ugly.dsl\n", "")
    assert npuc("fmt", "--check", "net.dsl") == (0, "", "")
    assert ugly.read_text() == UGLY


@pytest.mark.parametrize(("options", "status"), [(["--diff"], 0), (["--diff", "--check"], 1)])
def test_diff(npuc: Npuc, ugly: Path, options: list[str], status: int) -> None:
    found = npuc("fmt", *options, "net.dsl", "ugly.dsl")
    assert (found.status, found.err, ugly.read_text()) == (status, "", UGLY)
    assert found.out == (
        "--- ugly.dsl\n+++ ugly.dsl (formatted)\n@@ -1,2 +1,4 @@\n-network n(b=1){input x:f32[b,1]\n-loss mse(x,x)}\n"
        "\\ No newline at end of file\n+network n(b=1) {\n+  input x: f32[b, 1]\n+  loss mse(x, x)\n+}\n"
    )


def test_folders_are_walked(npuc: Npuc, ugly: Path) -> None:
    for name in ("sub/deep/a.dsl", "sub/b.dsl", "sub/c.txt", ".hidden/d.dsl"):
        path = ugly.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(UGLY)
    found = npuc("fmt", "--check", ".", "sub", "ugly.dsl")
    assert found.out == "sub/b.dsl\nsub/deep/a.dsl\nugly.dsl\n"


def test_a_folder_without_files(npuc: Npuc, folder: Path) -> None:
    (folder / "empty").mkdir()
    assert npuc("fmt", "empty") == (0, "", "npuc: no .dsl files there\n")


def test_a_byte_order_mark_and_carriage_returns_are_changes(npuc: Npuc, folder: Path) -> None:
    for name, data in (("bom.dsl", "\ufeff" + MLP), ("crlf.dsl", MLP.replace("\n", "\r\n"))):
        (folder / name).write_bytes(data.encode())
        assert npuc("fmt", "--check", name) == (1, f"{name}\n", "")
        assert npuc("fmt", "-q", name).status == 0
        assert (folder / name).read_bytes() == MLP.encode()


@pytest.mark.parametrize(("options", "status", "out"), [([], 0, NICE), (["--check"], 1, "<stdin>\n")])
def test_standard_input(npuc: Npuc, options: list[str], status: int, out: str) -> None:
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode()))):
        assert npuc("fmt", "-", *options) == (status, out, "")


def test_files_with_errors_are_left_and_the_others_formatted(npuc: Npuc, ugly: Path) -> None:
    wrong = ugly.parent / "bad.dsl"
    wrong.write_text("network n( {\n  h = \n}")
    found = npuc("fmt", "bad.dsl", "ugly.dsl")
    assert (found.status, found.out) == (1, "")
    assert found.err.startswith("bad.dsl:1:12: error: found '{', expected ")
    assert wrong.read_text() == "network n( {\n  h = \n}"
    assert ugly.read_text() == NICE


def test_bytes_that_are_no_text(npuc: Npuc, folder: Path) -> None:
    (folder / "bad.dsl").write_bytes(b"# \xff\n")
    assert npuc("fmt", "bad.dsl").err.startswith("bad.dsl:1:3: error: found the byte 0xff")


@pytest.mark.parametrize("path", ["missing.dsl", "net.mlir", "samples:mlp", "net"])
def test_wrong_usage(npuc: Npuc, path: str) -> None:
    found = npuc("fmt", path)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith("npuc: error: cannot ")


def test_no_file(npuc: Npuc) -> None:
    assert npuc("fmt").status == 2
