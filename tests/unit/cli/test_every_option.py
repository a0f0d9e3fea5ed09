"""Every option of every verb changes what a command does, or is exempt for a reason: none is taken and ignored."""

import io
import re
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from typer.core import TyperGroup
from typer.main import get_command

from npuc.compiler.cli import app, run_command
from npuc.compiler.cli.opt.arguments import TAKEN
from tests.unit.cli.option_cases import BASE, EXEMPT, REFUSES, SHARED
from tests.unit.cli.option_files import FILES, SWEEP
from tests.unit.cli.option_refusals import MEANINGLESS, WARNED
from tests.unit.cli.own_option_cases import OWN

Observed = tuple[int, str, str, dict[str, bytes]]
"""The exit status, standard output, standard error, and the files that were written."""
Observe = Callable[[str], Observed]
OPTIONS = [
    f"{verb} {max(option.opts, key=len)}"
    for verb, command in cast("TyperGroup", get_command(app())).commands.items()
    for option in command.params
    if option.param_type_name == "option"
] + [f"opt {max(group.names()[name], key=len)}" for group, names in TAKEN.items() for name in names]
"""Every option that the command line has, after its verb; of `opt`, which has xDSL's besides, those of npuc."""


def run_in(folder: Path, command: str) -> Observed:
    """What a command does in a folder with the files that cases name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "sweep.json").write_text(SWEEP)
    np.savez(folder / "in.npz", x=np.ones((4, 8), np.float32), y=np.zeros(4, np.int32))
    np.savez(folder / "words.npz", x=np.ones((4, 2), np.int32), y=np.zeros(4, np.int32))
    np.savez(folder / "graph.npz", x=np.ones((4, 6), np.float32), y=np.zeros(4, np.int32))
    there = {path: path.read_bytes() for path in folder.iterdir()}
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = run_command(command.split())
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written = {str(path.relative_to(folder)): data for path, data in files.items() if there.get(path) != data}
    return status, out.getvalue(), _WALL_TIME.sub("a moment", err.getvalue()), written


_WALL_TIME = re.compile(r"in [\d.]+ s, [\d,]+ a second|took [\d.]+ \S+ here, [\d.]+ \S+ each")


@pytest.fixture(scope="module")
def observe(tmp_path_factory: pytest.TempPathFactory) -> Observe:
    """Runs a command in a folder of its own, each command once."""
    known: dict[str, Observed] = {}

    def run(command: str) -> Observed:
        if command not in known:
            known[command] = run_in(tmp_path_factory.mktemp("run"), command)
        return known[command]

    return run


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_shows(observe: Observe, option: str) -> None:
    verb, name = option.split()
    if option in EXEMPT or name in EXEMPT:
        return
    case = OWN.get(option) or SHARED[name]
    if verb == "plot" or any(word in case.given + case.beside for word in ("--plot", "--svg", "--emit svg")):
        pytest.importorskip("matplotlib")
    if "digamma" in (case.command or ""):
        pytest.importorskip("cmaes")
    base = f"{case.command or BASE[verb]} {case.beside}"
    before, after = (observe(" ".join(f"{base} {given}".split())) for given in ("", case.given))
    assert (after[0] == 2) == (option in REFUSES), after[2]
    assert before != after


@pytest.mark.parametrize("command", MEANINGLESS)
def test_an_option_without_meaning_is_refused(observe: Observe, command: str) -> None:
    status, out, err, _ = observe(command)
    assert (status, out) == (2, ""), err
    assert MEANINGLESS[command] in err


@pytest.mark.parametrize("command", WARNED)
def test_what_nothing_reads_is_warned_of(observe: Observe, command: str) -> None:
    status, _, err, _ = observe(command)
    assert status == 0, err
    assert [line for line in err.splitlines() if "warning: " in line and WARNED[command] in line]


def test_a_key_that_one_of_several_backends_reads_is_not_warned_of(observe: Observe) -> None:
    command = "compile net.dsl -b cycle -b roofline --hw igo-large --json r.json --set array.rows=8"
    status, _, err, files = observe(command)
    assert status == 0, err
    assert "no effect" not in err + files["r.json"].decode()
