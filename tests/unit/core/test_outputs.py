"""Files of a command: all of them under their names at its end, or none, and no temporary one left."""

import os
from pathlib import Path

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files import unfinished
from npuc.compiler.core.files.outputs import Outputs, make_folder, write_file


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_files_get_their_names_at_the_end() -> None:
    Path("old").write_text("before")
    with Outputs():
        write_file("old", b"after")
        write_file("new", b"data")
        assert Path("old").read_text() == "before"
        assert not Path("new").exists()
    assert (Path("old").read_text(), Path("new").read_text()) == ("after", "data")
    assert sorted(os.listdir()) == ["new", "old"]


def _write_and_fail() -> None:
    with Outputs():
        write_file("old", b"after")
        make_folder("folder")
        write_file("folder/file", b"data")
        write_file("now", b"data", now=True)
        raise ZeroDivisionError


def test_a_failure_leaves_only_what_was_written_now() -> None:
    Path("old").write_text("before")
    with pytest.raises(ZeroDivisionError):
        _write_and_fail()
    assert sorted(os.listdir()) == ["now", "old"]
    assert Path("old").read_text() == "before"


def test_modes_are_kept_and_new_files_have_the_usual_one() -> None:
    Path("old").touch(0o600)
    write_file("old", b"")
    write_file("new", b"")
    Path("usual").touch()
    modes = [Path(name).stat().st_mode & 0o777 for name in ("old", "new", "usual")]
    assert modes == [0o600, modes[2], modes[2]]


def test_what_cannot_be_written_is_said_at_once() -> None:
    with Outputs(), pytest.raises(UsageError, match="cannot write 'none/file'"):
        write_file("none/file", b"data")


def test_a_device_gets_the_data() -> None:
    with Outputs():
        write_file(os.devnull, b"data")
    assert os.listdir() == []


def test_unfinished_files_can_be_removed() -> None:
    outputs = Outputs()
    outputs.add("file", b"data")
    assert len(os.listdir()) == 1
    unfinished.remove_all()
    assert os.listdir() == []
