"""The digest of the code that runs: an edit, or another distribution, is other code."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from npuc.compiler.core.cache import code
from npuc.compiler.core.cache.code import code_digest, own_folders


def test_own_folders_are_the_packages() -> None:
    assert all((Path(folder) / "__init__.py").exists() for folder in own_folders())


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of npuc's."""
    folder = tmp_path / "part"
    (folder / "deep" / "__pycache__").mkdir(parents=True)
    for name in ("one.py", "deep/two.py", "deep/data.csv", "deep/__pycache__/two.pyc"):
        (folder / name).write_text("text")
    monkeypatch.setattr(code, "own_folders", lambda: [str(folder)])
    monkeypatch.setattr("sys.path", [str(tmp_path / "site"), *sys.path])
    (tmp_path / "site").mkdir()
    return folder


def test_what_changes_it(tree: Path, tmp_path: Path) -> None:
    seen = [code_digest()]
    assert code_digest() == seen[0]

    def differs() -> bool:
        seen.append(code_digest())
        return seen[-1] not in seen[:-1]

    (tree / "deep" / "two.py").write_text("longer text")
    assert differs()
    os.utime(tree / "deep" / "two.py", ns=(5, 5))
    assert differs()
    (tree / "deep" / "data.csv").write_text("other data")
    assert differs()
    (tree / "three.py").write_text("")
    assert differs()
    (tree / "three.py").rename(tree / "four.py")
    assert differs()
    shutil.rmtree(tree / "deep")
    assert differs()
    (tmp_path / "site" / "plugin-1.0.dist-info").mkdir()
    assert differs()
    (tmp_path / "site" / "plugin-1.0.dist-info").rename(tmp_path / "site" / "plugin-1.1.dist-info")
    assert differs()


def test_what_does_not(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_digest()
    (tree / "deep" / "__pycache__" / "two.pyc").write_text("other code")
    monkeypatch.setattr("sys.path", [str(tmp_path / "of-a-program"), *sys.path])
    (tmp_path / "of-a-program").mkdir()
    assert code_digest() == before
