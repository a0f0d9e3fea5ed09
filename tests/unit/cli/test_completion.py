"""Completion as the shells ask for it: by the variables that their scripts set, in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from npuc.compiler.cli.complete.known import words
from npuc.compiler.cli.complete.shells import Typed, answer, typed_in
from npuc.compiler.cli.complete.sources import layers_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.passes import own_passes, read_pipeline
from npuc.hardware import KEYS, load_hardware, parse_setting
from tests.unit.cli import completion_words
from tests.unit.cli.option_files import NETWORK

DEEP = "block cell(x, n) {\n  y = linear(x, n)\n  return y\n}\n" + NETWORK.replace(
    "  logits", "  for i in 0..3 { h = relu(cell(h, hidden)) }\n  logits"
)
HEAVY = ("xdsl", "numpy", "lark", "msgspec", "rich")
MODULES = 80
"""So many modules of npuc may be imported to complete a word."""
RUN = "import sys; sys.argv[0] = 'npuc'; from npuc.compiler.entry import main; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.dsl").write_text(NETWORK)
    (tmp_path / "deep.dsl").write_text(DEEP)
    (tmp_path / "table.csv").write_text("block,layer,M,N,K\na,b,1,2,3\n")
    (tmp_path / "mine.toml").write_text("")
    (tmp_path / "nets").mkdir()
    return tmp_path


def asked(folder: Path, environment: dict[str, str], code: str = RUN) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=own, capture_output=True, text=True, check=False
    )


def bash(folder: Path, *typed: str) -> list[str]:
    """What bash offers where the words end; it splits words at `:` and `=`."""
    both = [[word] if word[:1] in ("", "'") else re.split("([:=]+)", word) for word in ("npuc", *typed)]
    split = [part for parts in both for part in parts]
    split = split[:-1] if split[-1] == "" and typed[-1] else split  # behind a sign nothing is typed yet
    done = asked(
        folder,
        {"_NPUC_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(split), "COMP_CWORD": str(len(split) - 1)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["com"], ["compile"]),
        (["compile", "samples:resnet"], ["resnet18", "resnet50"]),
        (["compile", "n"], ["net.dsl", "nets/"]),
        (["compile", "net.dsl", "--hw", "igo-"], ["igo-large", "igo-small"]),
        (["compile", "net.dsl", "--hw", "mine"], ["mine.toml"]),
        (["compile", "net.dsl", "-b", "c"], ["cycle"]),
        (["compile", "net.dsl", "--parallel", "acc"], ["accpar", "accpar-joint"]),
        (["compile", "net.dsl", "--recompute", "e"], ["every="]),
        (["compile", "net.dsl", "--set", "array.data"], ["array.dataflow="]),
        (["compile", "net.dsl", "--set", "array.drain=h"], ["hidden"]),
        (["compile", "net.dsl", "-D", "hid"], ["hidden=8"]),
        (["compile", "samples:lenet", "-D", "batch="], ["64"]),
        (["compile", "net.dsl", "--zero", "--conv"], ["--convention"]),
        (["compile", "net.dsl", "--zero="], ["0", "1", "2", "3"]),
        (["compile", "net.dsl", "-p", "autodiff,lower-t"], ["autodiff,lower-tiles", "autodiff,lower-to-npu"]),
        (["compile", "net.dsl", "-p", "autodiff,interleave{mode=z"], ["zip"]),
        (["compile", "net.dsl", "-p", "'interleave{mode=zip wh"], ["interleave{mode=zip what="]),
        (["compile", "net.dsl", "--before", "schedule=tile{st"], ["tile{steps="]),
        (["compile", "net.dsl", "--print-after", "al"], ["all"]),
        (["opt", "net.dsl", "-p", "auto"], ["autodiff"]),
        (["opt", "net.dsl", "--emit", "d"], ["dot"]),
        (["opt", "net.dsl", "--devi"], ["--devices"]),
        (["sweep", "net.dsl", "--vary", "hidd"], ["hidden="]),
        (["sweep", "net.dsl", "--vary", "array.dataflow=os,w"], ["os,ws"]),
        (["sweep", "net.dsl", "--vary", "hw=igo-l"], ["igo-large"]),
        (["sweep", "net.dsl", "--vary", "pipe"], ["pipeline="]),
        (["sweep", "net.dsl", "--vary", "pipeline=-O"], ["-O0", "-O1", "-O2", "-O3"]),
        (["sweep", "net.dsl", "--vary", "'pipeline=-O0; zip: autodiff,interleave{mode=z"], None),
        (["explain", "net.dsl", "log"], ["logits"]),
        (["explain", "samples:lenet", "fc"], words()["layers"]["lenet"][-2:] and None),
        (["explain", "deep.dsl", ""], ["h", "*.h", "logits"]),
        (["explain", "table.csv", ""], ["a/b"]),
        (["explain", "net.dsl", "--op", "npu.con"], ["npu.constant", "npu.contract", "npu.convert"]),
        (["compile", "net.dsl", "--only", "l"], ["logits"]),
        (["list", "hard"], ["hardware"]),
        (["study", "igo", "--netw"], ["--network"]),
        (["map", "net.dsl", "--tiles", ""], ["divisors", "any"]),
        (["compile", "net.dsl", "--json", ""], []),
        (["nothing", ""], []),
    ],
)
def test_bash(folder: Path, typed: list[str], offered: list[str] | None) -> None:
    found = bash(folder, *typed)
    if offered is None and typed[0] == "sweep":
        offered = [f"{typed[-1][1:]}ip"]
    elif offered is None:
        offered = [name for name in words()["layers"][typed[1].removeprefix("samples:")] if name.startswith(typed[-1])]
        assert offered
    assert found == offered


def test_zsh(folder: Path) -> None:
    variables = {"_NPUC_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "npuc compile net.dsl --hw igo-"}
    assert asked(folder, variables).stdout == '_arguments \'*: :(("igo-large"\n"igo-small"))\'\n'
    variables["_TYPER_COMPLETE_ARGS"] = "npuc compile samples:resnet1"
    assert '"samples\\\\:resnet18"' in asked(folder, variables).stdout
    variables["_TYPER_COMPLETE_ARGS"] = "npuc compile net.dsl --json "
    assert asked(folder, variables).stdout == "_files\n"
    variables["_TYPER_COMPLETE_ARGS"] = "npuc ex"
    assert asked(folder, variables).stdout == '_arguments \'*: :(("explain":"Explain where the time goes"))\'\n'


def test_fish(folder: Path) -> None:
    variables = {"_NPUC_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "npuc compile net.dsl --hw igo-"}
    for action, out, status in (("get-args", "igo-large\nigo-small\n", 0), ("is-args", "", 0)):
        done = asked(folder, {**variables, "_TYPER_COMPLETE_FISH_ACTION": action})
        assert (done.stdout, done.returncode) == (out, status)
    files = {**variables, "_TYPER_COMPLETE_ARGS": "npuc compile net.dsl --json "}
    assert asked(folder, {**files, "_TYPER_COMPLETE_FISH_ACTION": "is-args"}).returncode == 1
    verbs = {**variables, "_TYPER_COMPLETE_ARGS": "npuc ch", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert asked(folder, verbs).stdout == "check\tCheck that no pass changes what the program computes\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_script_that_is_installed(folder: Path) -> None:
    """The script of `--install-completion`, run by bash itself."""
    shown = asked(folder, {"_NPUC_COMPLETE": "source_bash"}).stdout
    assert "complete -o default -F" in shown
    (folder / "npuc").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RUN}" "$@"\n')
    (folder / "npuc").chmod(0o755)
    ask = "COMP_WORDS=(npuc compile --hw igo-); COMP_CWORD=3; _npuc_completion ./npuc; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f"{shown}\n{ask}"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "igo-large igo-small\n", done.stderr


def test_installing(folder: Path) -> None:
    home = {"HOME": str(folder), "SHELL": "/bin/bash", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    install = RUN.replace("sys.argv[0] = 'npuc'", "sys.argv = ['npuc', '--install-completion', 'bash']")
    done = asked(folder, home, install)
    assert done.returncode == 0, done.stderr
    assert "_NPUC_COMPLETE=complete_bash" in (folder / ".bash_completions" / "npuc.sh").read_text()


def test_it_is_quick(folder: Path) -> None:
    """Nothing heavy is imported, and little at all: how long that takes depends on the machine."""
    variables = {"_NPUC_COMPLETE": "complete_bash", "COMP_WORDS": "npuc explain samples:resnet50 st", "COMP_CWORD": "3"}
    told = f"print([m for m in {HEAVY} if m in sys.modules], sum(m.startswith('npuc.') for m in sys.modules))"
    done = asked(folder, variables, RUN.replace("main()", f"import atexit; atexit.register(lambda: {told}); main()"))
    heavy, _, own = done.stdout.splitlines()[-1].rpartition(" ")
    assert heavy == "[]"
    assert 0 < int(own) <= MODULES


def test_words_are_those_of_the_program() -> None:
    assert completion_words.FILE.read_text(encoding="utf-8") == completion_words.text(), (
        "run: python -m tests.unit.cli.completion_words"
    )


def refusal(pipeline: str) -> str:
    """What is wrong with a pipeline: nothing, or an option that is missing beside the ones it has."""
    try:
        read_pipeline(pipeline, own_passes())
    except UsageError as error:
        return error.message
    return ""


def test_values_are_taken() -> None:
    """Every value that is offered for a key is one, and so is every option of a pass."""
    for key, values in words()["keys"].items():
        for value in values:
            KEYS[key].kind.read(parse_setting(f"{key}={value}")[1])
    for name in words()["names"]["hardware"]:
        load_hardware(name)
    for name, options in words()["passes"].items():
        for option, values in options.items():
            for value in values:
                assert not re.search(rf"\b{option}\b.* is '{value}', expected", refusal(f"{name}{{{option}={value}}}"))
    for name in words()["names"]["mappings"]:
        options_of({"mapping": name})


@pytest.mark.parametrize("text", [NETWORK, DEEP])
def test_layers_of_a_text_are_there(tmp_path: Path, text: str) -> None:
    """Names, and patterns where the text alone does not tell them."""
    (tmp_path / "net.dsl").write_text(text)
    there = set(completion_words.layers(text, "net.dsl"))
    for offered in layers_of(str(tmp_path / "net.dsl")):
        assert [name for name in there if fnmatchcase(name, offered)], offered


def test_nobody_asks_in_an_ordinary_run() -> None:
    assert typed_in({}) is None
    assert typed_in({"_NPUC_COMPLETE": "source_bash"}) is None
    assert typed_in({"_NPUC_COMPLETE": "complete_tcsh"}) is None
    assert answer(Typed("bash", (), ""), [], {}) == ("", 0)
