"""
The RUN lines of a filecheck test, executed in this process: `npuc opt` by the command line's entry, `filecheck` by its
library, with the meaning that lit gives them: every command of a pipe must succeed.
"""

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from npuc.compiler.cli import run_command

RUN = re.compile(r"\bRUN:(.*)")


def run_lines(text: str) -> list[str]:
    """The commands of a test's text; a line that ends in a backslash goes on in the next RUN line."""
    lines: list[str] = []
    pending = ""
    for found in RUN.findall(text):
        pending += found.strip()
        if pending.endswith("\\"):
            pending = pending[:-1]
        else:
            lines.append(pending)
            pending = ""
    assert not pending, "the last RUN line ends in a backslash"
    return lines


def run_file(path: Path) -> None:
    """Execute a test's RUN lines. Raises `AssertionError` with the command's messages where one fails."""
    lines = run_lines(path.read_text(encoding="utf-8"))
    assert lines, f"{path.name} has no RUN line"
    for line in lines:
        run_line(line, path)


def run_line(line: str, path: Path) -> None:
    """Execute one pipe, `%s` being the test's file; the last command must be a filecheck, or nothing is tested."""
    stages = list(_stages(line, path))
    assert stages[-1][0] == "filecheck", f"{line}: does not end in filecheck"
    data = ""
    for stage in stages:
        status, data, messages = execute(stage, data)
        assert status == 0, f"{shlex.join(stage)}: exit status {status}\n{messages}"


def execute(command: Sequence[str], data: str) -> tuple[int, str, str]:
    """Run one command on the text of its standard input; returns exit status, standard output and error."""
    match command:
        case ["npuc", *arguments]:
            return _npuc(arguments, data)
        case ["filecheck", *arguments]:
            return _filecheck(arguments, data)
        case _:
            raise AssertionError(f"{shlex.join(command)}: a RUN line runs npuc and filecheck only")


def _npuc(arguments: list[str], data: str) -> tuple[int, str, str]:
    out, messages = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(messages),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode()))),
        mock.patch.dict("os.environ", {"COLUMNS": "100"}),
    ):
        status = run_command(arguments)
    return status, out.getvalue(), messages.getvalue()


def _filecheck(arguments: list[str], data: str) -> tuple[int, str, str]:
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(messages):
        options = parse_argv_options(["filecheck", *arguments])
        content = FInput.canonicalize_line_ends(data)
        status = Matcher(options, FInput("-", content), Parser.from_opts(options)).run()
    return status, "", messages.getvalue()


def _stages(line: str, path: Path) -> Iterator[list[str]]:
    """The commands of a pipe, with their arguments."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stage: list[str] = []
    for token in lexer:
        if token == "|":
            yield stage
            stage = []
        else:
            assert not set(token) <= set("|&;<>"), f"{line}: only pipes connect commands"
            stage.append(token.replace("%s", str(path)))
    yield stage
