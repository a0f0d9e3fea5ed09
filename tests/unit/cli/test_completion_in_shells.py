"""Completion in zsh and fish themselves, where they are installed: what they offer, and what they write."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE = 60.0
"""Seconds after which a shell has nothing more to say."""
ZSHRC = """
PROMPT= RPROMPT= LISTMAX=0
autoload -U compinit && compinit -u -D
source ./completion
compdef _npuc_completion npuc
echo REA""DY
"""


def script(shell: str) -> str:
    """The script that `npuc --show-completion` prints in a shell."""
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [Path(sys.executable).parent / "npuc", "--show-completion", shell]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home with a file, in which npuc is found."""
    (tmp_path / "report.json").write_text("{}")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """An environment in which the shell has no files of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "dumb"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("npuc compile samples:resnet", ["samples:resnet18", "samples:resnet50"]),
        ("npuc compile samples:mlp --set array.drain=", ["array.drain=full", "array.drain=hidden"]),
        ("npuc compile samples:mlp -D ba", ["batch=64"]),
        ("npuc compile samples:mlp -p autodiff,interleave{mo", ["autodiff,interleave{mode="]),
        ("npuc sweep samples:mlp --vary 'pipeline=-O0; zip: autod", ["pipeline=-O0; zip: autodiff"]),
        ("npuc compile samples:mlp --json rep", ["report.json"]),
    ],
)
def test_fish(folder: Path, typed: str, offered: list[str]) -> None:
    (folder / "completion").write_text(script("fish"))
    command = ["fish", "-c", "source completion; complete -C $argv[1]", typed]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered


@contextmanager
def zsh(folder: Path) -> Generator[int]:
    """The terminal of a zsh that knows the completion of npuc."""
    (folder / "completion").write_text(script("zsh"))
    (folder / ".zshrc").write_text(ZSHRC)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-d", "-i"], environment(folder))
    try:
        read_until(terminal, "READY")
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal: int, *wanted: str) -> str:
    """What a terminal shows, without its commands, up to all of these texts."""
    found, end = "", time.monotonic() + PATIENCE
    while not all(text in found for text in wanted) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            found += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x07]", "", os.read(terminal, 65536).decode(errors="replace"))
    assert all(text in found for text in wanted), found
    return found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(folder: Path) -> None:
    cases = {
        "npuc compile samples:resn": ("samples:resnet18", "samples:resnet50"),
        "npuc compile samples:mlp --set array.drain=": ("array.drain=full", "array.drain=hidden"),
        "npuc sweep samples:mlp --vary pipeline=-O": ("pipeline=-O0", "pipeline=-O3"),
        "npuc compile samples:mlp -p 'autodiff,interleave{mode=z": ("interleave{mode=zip'",),
        "npuc sweep samples:mlp --vary 'pipeline=-O0; zip: autod": ("zip: autodiff'",),
        "npuc explain samples:mlp --ter": ("--term",),
        "npuc compile samples:mlp --json rep": ("report.json",),
    }
    with zsh(folder) as terminal:
        for typed, offered in cases.items():
            os.write(terminal, f"{typed}\t\t".encode())
            read_until(terminal, *offered)
            os.write(terminal, b"\x15")  # an empty line
