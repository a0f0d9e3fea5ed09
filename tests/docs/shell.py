"""Executing the blocks of a page: the command line in this process, everything else in a shell."""

import contextlib
import io
import shlex
import subprocess
import sys
import tomllib
from importlib import invalidate_caches
from pathlib import Path
from typing import cast
from unittest import mock

from npuc.compiler.cli import run_command
from npuc.compiler.layers import forget_outside
from tests.docs.pages import Block, Command, commands_of, matches
from tests.support.shared import run_thesis_once


class Shell:
    """A working folder, the status of the last command, and the names that python blocks have made."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.status = 0
        self.names: dict[str, object] = {"__name__": "docs"}
        self.printed: str | None = None

    def run(self, block: Block) -> None:
        """Execute a block. Raises `AssertionError` where the page is wrong."""
        if block.name:
            (self.folder / block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            self._console(commands_of(block))
        elif block.language == "python":
            self.printed = self._python(block)
        elif block.language == "text":
            assert self.printed is not None, f"line {block.line}: nothing has been printed"
            assert matches(block.text, self.printed), f"line {block.line}: the output is\n{self.printed}"

    def _console(self, commands: list[Command]) -> None:
        for number, command in enumerate(commands):
            found = self.command(command)
            following = commands[number + 1].text if number + 1 < len(commands) else ""
            told = self.status == 0 or "echo $?" in (command.text, following)
            assert told, f"line {command.line}: {command.text}: exit status {self.status}\n{found}"
            assert matches("\n".join(command.output), found), f"line {command.line}: {command.text} prints\n{found}"

    def command(self, command: Command) -> str:
        """Run one command; returns what it prints, standard error and output as they come."""
        text = command.text
        if text == "echo $?":
            return f"{self.status}\n"
        if text == "pip install .":
            install(self.folder)
            self.status = 0
            return ""
        if text.startswith("npuc ") and "|" not in text:
            return self._npuc(text)
        assert not text.startswith(("npuc ", "pip ")), f"{text}: not a command that tests execute"
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, capture_output=True, text=True, check=False)
        self.status = done.returncode
        return done.stdout + done.stderr

    def _npuc(self, text: str) -> str:
        text, _, source = text.partition(" < ")
        data = (self.folder / source).read_bytes() if source else b""
        printed = io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))),
            mock.patch("npuc.studies.thesis.study.run_study", run_thesis_once),
        ):
            self.status = run_command(shlex.split(text)[1:])
        return printed.getvalue()

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, "page.md", "exec")
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()


def install(folder: Path) -> None:
    """
    What `pip install` writes for a project of single modules: a `dist-info` with the entry points of pyproject.toml.

    The caller has the folder on the import path.
    """
    project = cast(
        "dict[str, str | dict[str, dict[str, str]]]",
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"],
    )
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    groups = cast("dict[str, dict[str, str]]", project["entry-points"])
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    invalidate_caches()
    forget_outside()
