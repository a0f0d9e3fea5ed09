"""The help of verbs: groups of options, examples that work, and where an option of another verb is taken."""

import shlex
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from npuc.compiler.cli import VERBS as MODULES
from npuc.compiler.cli import app
from npuc.compiler.cli.examples import EXAMPLES
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from tests.unit.cli.conftest import MLP, Npuc

SLOW = ("samples:res", "samples:bert", "samples:gpt2", "igo", "hypar", "all")
VERBS = sorted(MODULES)


def test_each_verb_is_registered_by_the_module_of_its_name() -> None:
    """One alone is what the command line of that verb needs, and all come in the order of the table."""
    assert [str(info.name) for info in app().registered_commands] == [*MODULES]
    for verb in MODULES:
        assert [str(info.name) for info in app(verb).registered_commands] == [verb]


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_three_examples(npuc: Npuc, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = " ".join(npuc(verb, "--help").out.split())
    assert len(EXAMPLES[verb]) == 3
    for rest, meaning in EXAMPLES[verb]:
        assert f"npuc {verb} {rest} {meaning}" in text


@pytest.mark.parametrize(("verb", "rest"), [(verb, rest) for verb in VERBS for rest, _ in EXAMPLES[verb]])
def test_examples_work(npuc: Npuc, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: str, rest: str) -> None:
    """Those of small networks do; others stop at a file that is not there and at nothing else."""
    words = shlex.split(rest)
    if any(word.startswith(SLOW) for word in words):
        pytest.skip("takes more than a moment")
    if verb == "plot" or "--plot" in words:
        pytest.importorskip("matplotlib")
    (folder / "nets").mkdir()
    (folder / "nets" / "net.dsl").write_text(MLP)
    (folder / "my_pass.py").write_text("PASSES = {}\n")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(MLP.encode())))
    outcome = npuc(verb, *[str(folder / "passes") if word == "~/passes" else word for word in words])
    if "model." in rest or "batch." in rest or verb == "plot":
        assert outcome.status == 2
        assert "cannot read '" in outcome.err
    elif "my-pass" in rest:
        assert "unknown pass 'my-pass'" in outcome.err
    else:
        assert (outcome.status, "error" in outcome.err) == (0, False), outcome.err


def test_options_stand_in_groups(npuc: Npuc) -> None:
    text = npuc("compile", "--help").out
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    groups = [group.title for group in (Program, Machine, Optimisation, Devices, Output)]
    assert titles == ["Arguments:", "Options:", *(f"{title}:" for title in groups), "Examples:"]


def test_no_description_of_a_verb_is_cut(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in ("60", "80"):
        monkeypatch.setenv("COLUMNS", width)
        assert "..." not in npuc("--help").out.replace("[ARGS]...", "")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (
            ("fmt", "net.dsl", "--zero"),
            "npuc compile, diff, explain, run, check, opt, sweep, optimize, map, flexibility, design, network and "
            "training take it",
        ),
        (("map", "net.dsl", "-O", "2"), "npuc map has none: each contraction is mapped by itself"),
        (
            ("check", "net.dsl", "--mapping", "rs"),
            "npuc check has none: mappings change costs",
        ),
        (("compile", "net.dsl", "--vary", "batch=1"), "npuc sweep and optimize take it"),
        (("compile", "net.dsl", "--parallell", "dp"), "did you mean --parallel?"),
        (("compile", "net.dsl", "--frobnicate"), "npuc --help lists verbs, npuc VERB --help options"),
    ],
)
def test_an_option_of_another_verb_names_it(npuc: Npuc, arguments: tuple[str, ...], hint: str) -> None:
    outcome = npuc(*arguments)
    assert outcome.status == 2
    assert "no such option: " + arguments[2] in outcome.err
    assert f"hint: {hint}" in outcome.err


def test_a_reason_comes_with_the_verbs_that_take_an_option(npuc: Npuc) -> None:
    err = npuc("map", "net.dsl", "-O", "2").err
    assert "share the scratchpad; npuc compile, diff, explain, run, check, opt, sweep, optimize, network" in err


def test_help_is_quick(tmp_path: Path) -> None:
    """No verb loads what compiles or computes to show its help, nor many modules at all."""
    code = (
        "import sys\nfrom npuc.compiler.cli import run_command\n"
        f"for verb in {[*VERBS, '']}:\n    run_command([*([verb] if verb else []), '--help'])\n"
        "print([name for name in ('xdsl', 'numpy', 'lark', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    code = (
        "import sys; from npuc.compiler.cli import main\ntry: main(['opt', '--help'])\nfinally: print(len(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 400
