"""A command that is answered from the store writes the bytes that one writes which runs, or is not answered."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.core.cache.command import SETS, Command
from npuc.compiler.core.cache.store import FILE, Store

NET = """\
import "blocks.dsl"

network small(batch=4, hidden=6) {
  input  x: f32[batch, 5]
  labels y: i32[batch]
  logits = linear(twice(x, hidden), 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
BLOCKS = "block twice(x, n) {\n  h = relu(linear(x, n))\n  return relu(linear(h, n))\n}\n"
MACHINE = """\
name = "mine"
clock_mhz = 1000
array = { rows = 4, cols = 4 }
memory = { spm_kib = 64 }
dram = { gb_per_s = 8.0 }
vector = { lanes = 4 }
"""


class Outcome(NamedTuple):
    """What a command did, and whether it was answered from the store."""

    replayed: bool
    status: int
    out: str
    err: str
    files: dict[str, bytes]

    def wrote(self) -> tuple[int, str, str, dict[str, bytes]]:
        return self[1:]


Ask = Callable[..., Outcome]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Answers a command as the program does, in a folder with a network, its import, and a machine."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, text in (("net.dsl", NET), ("blocks.dsl", BLOCKS), ("mine.toml", MACHINE)):
        (folder / name).write_text(text)
    given = {path: path.read_bytes() for path in folder.iterdir()}
    environment = {"NPUC_CACHE_DIR": str(tmp_path / "store")}

    def run(text: str, keep: bool = False, **more: str) -> Outcome:
        command = Command(text.split(), environment | more)
        status = command.replayed()
        replayed = status is not None
        if status is None:
            status = command.run(run_command)
        files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path not in given}
        for path in () if keep else files:
            path.unlink()
        captured = capsys.readouterr()
        shown = {str(path.relative_to(folder)): data for path, data in files.items()}
        return Outcome(replayed, status, captured.out, captured.err, shown)

    return run


COMMANDS = (
    "compile net.dsl -O0",
    "compile net.dsl -O0 --json -",
    "compile net.dsl --json r.json --csv r.csv -o step.mlir -v",
    "compile net.dsl -b cycle -b roofline -q",
    "compile net.dsl -O0 --hw mine.toml --rows cores",
    "compile net.dsl -O0 --print-after autodiff --statistics",
    "compile net.dsl -O0 --emit dot --statistics-json s.json",
    "compile net.dsl -O1 --check",
    "compile samples:mlp -b maestro --json /dev/null",
    "explain net.dsl logits -O0",
    "explain net.dsl logits -O0 --json e.json",
    "explain net.dsl -O0 -b roofline --changes 2 -j 2",
    "check net.dsl -O1 -D hidden=3",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_is_what_a_run_writes(ask: Ask, command: str) -> None:
    without = ask(command, NPUC_NO_CACHE="1")
    first, second = ask(command), ask(command)
    assert without.status == 0
    assert without.wrote() == first.wrote() == second.wrote()
    assert (without.replayed, first.replayed, second.replayed) == (False, False, True)
    assert without.out or without.err


def test_files_in_a_folder(ask: Ask) -> None:
    """A folder that is there is looked through, so that what other runs left in it counts."""
    command = "compile net.dsl -O0 -b cycle --hw scalesim --emit scalesim -o there -q"
    runs = [ask(command, keep=True) for _ in range(3)]
    assert len({str(run.wrote()) for run in runs}) == 1
    assert runs[0].status == 0
    assert [run.replayed for run in runs][:2] == [False, False]
    assert any(name.startswith("there") for name in runs[0].files)


CHANGES = {
    "net.dsl": (NET, NET.replace("linear(twice", "relu(twice").replace("(x, hidden), 3)", "(x, hidden))")),
    "blocks.dsl": (BLOCKS, BLOCKS.replace("relu(linear(h, n))", "linear(h, n)")),
    "mine.toml": (MACHINE, MACHINE.replace("8.0", "16.0")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_content_of_a_file_is_another_command(ask: Ask, name: str) -> None:
    command = "compile net.dsl -O0 --hw mine.toml --json -"
    first = ask(command)
    before, after = CHANGES[name]
    Path(name).write_text(after)
    second = ask(command)
    assert not second.replayed
    assert second.out != first.out
    Path(name).write_text(before)
    third = ask(command)
    assert third.replayed
    assert third.wrote() == first.wrote()
    Path(name).write_text(after)
    assert ask(command).replayed


def test_sources_that_import_others_in_turn(ask: Ask) -> None:
    """Each content of the source reads files of its own; those of the last ones are known."""
    for number in range(SETS):
        Path(f"blocks{number}.dsl").write_text(BLOCKS)
    texts = [NET.replace("blocks.dsl", f"blocks{number}.dsl") for number in range(SETS)]
    for turn in range(2):
        for text in texts:
            Path("net.dsl").write_text(text)
            assert ask("compile net.dsl -O0 -b roofline", keep=True).replayed == (turn == 1)


def test_a_file_that_is_gone_is_an_error_again(ask: Ask) -> None:
    ask("compile net.dsl -O0")
    Path("blocks.dsl").unlink()
    assert ask("compile net.dsl -O0").status == 1
    Path("blocks.dsl").write_text(BLOCKS)
    assert ask("compile net.dsl -O0").replayed


@pytest.mark.parametrize(
    "other",
    [
        "compile net.dsl -O1",
        "compile net.dsl -O0 --objective traffic",
        "compile net.dsl -O0 -D batch=8",
        "compile net.dsl -O0 --set dram.gb_per_s=7",
        "compile net.dsl -O0 --cache-dir ../store",
        "compile ./net.dsl -O0",
    ],
)
def test_other_arguments_are_another_command(ask: Ask, other: str) -> None:
    ask("compile net.dsl -O0")
    assert not ask(other).replayed


@pytest.mark.parametrize("variable", ["COLUMNS", "NO_COLOR", "LC_ALL", "PYTHONUTF8", "NPUC_SOMETHING"])
def test_another_environment_is_another_command(ask: Ask, variable: str) -> None:
    ask("compile net.dsl -O0")
    assert not ask("compile net.dsl -O0", **{variable: "60"}).replayed
    assert ask("compile net.dsl -O0", UNRELATED="60").replayed


def test_another_working_folder_is_another_command(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = os.path.abspath("net.dsl")
    ask(f"compile {source} -O0")
    monkeypatch.chdir(tmp_path)
    assert not ask(f"compile {source} -O0").replayed


PASSES = 'import os\nPASSES = {}\nprint(os.environ.get("ANYTHING"))\n'


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("compile none.dsl", 2),
        ("compile net.dsl --nothing", 2),
        ("compile net.dsl -O0 --time-passes", 0),
        ("compile net.dsl -p autodiff,lower-to-npu,schedule --load passes.py", 0),
        ("compile net.mlir -O0 -o net.mlir", 0),
        ("run net.dsl -O0", 0),
        ("list samples", 0),
    ],
)
def test_what_may_be_another_result_next_time_is_not_kept(ask: Ask, command: str, status: int) -> None:
    Path("passes.py").write_text(PASSES)
    program = ask("opt net.dsl", keep=True).out
    for _ in range(2):
        Path("net.mlir").write_text(program)
        outcome = ask(command, keep=True)
        assert (outcome.replayed, outcome.status) == (False, status), outcome.err


def test_where_a_file_cannot_be_written_the_command_says_why(ask: Ask) -> None:
    Path("there").mkdir()
    command = "compile net.dsl -O0 --json there/r.json"
    assert ask(command).status == 0
    Path("there").rmdir()
    refused = ask(command)
    assert (refused.replayed, refused.status, refused.out) == (False, 2, "")
    assert "cannot write 'there/r.json'" in refused.err
    Path("there").mkdir()
    assert ask(command).replayed


def test_a_wrong_bound_and_a_named_folder_that_cannot_be_are_told_of(ask: Ask) -> None:
    Path("file").write_text("")
    outcome = ask("compile net.dsl -O0 -q --cache-dir file --json -", NPUC_CACHE_MIB="much")
    assert outcome.status == 0
    assert outcome.out == ask("compile net.dsl -O0 -q --json -", NPUC_NO_CACHE="1").out
    warnings = outcome.err.splitlines()
    assert [line.partition(":")[2].split(":")[0] for line in warnings] == [" warning", " warning"]
    assert "NPUC_CACHE_MIB=much: expected" in warnings[0]
    assert "nothing is kept in" in warnings[1]


def test_a_damaged_row_is_no_answer(ask: Ask, tmp_path: Path) -> None:
    first = ask("compile net.dsl -O0")
    store = tmp_path / "store" / FILE
    data = bytearray(store.read_bytes())
    for place in range(4096, len(data), 97):
        data[place] ^= 0xFF
    store.write_bytes(data)
    second = ask("compile net.dsl -O0")
    assert not second.replayed
    assert second.wrote() == first.wrote()
    assert ask("compile net.dsl -O0").replayed


def test_other_code_is_no_answer(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("compile net.dsl -O0")
    with monkeypatch.context() as patch:
        patch.setattr("npuc.compiler.core.cache.code.code_digest", lambda: b"of other code")
        assert not ask("compile net.dsl -O0").replayed
        assert ask("compile net.dsl -O0").replayed
    assert ask("compile net.dsl -O0").replayed


def test_code_that_changes_while_a_command_runs_keeps_nothing(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(range(100))
    monkeypatch.setattr("npuc.compiler.core.cache.code.code_digest", lambda: str(next(digests)).encode())
    kept: list[str] = []

    def put(self: Store, kind: str, key: bytes, data: bytes) -> None:
        kept.append(kind)

    monkeypatch.setattr(Store, "put", put)
    ask("compile net.dsl -O0")
    assert "results" not in kept


AS_A_PROCESS = """
import sys
from npuc.compiler.entry import main
try:
    main()
finally:
    heavy = {"typer", "click", "rich", "xdsl", "numpy", "msgspec", "lark", "dataclasses"}
    print(sorted(heavy & sys.modules.keys()), file=sys.stderr)
"""


def test_an_answer_loads_next_to_nothing(ask: Ask, tmp_path: Path) -> None:
    command = [sys.executable, "-c", AS_A_PROCESS, "compile", "net.dsl", "-O0", "--cache-dir", str(tmp_path / "x")]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout
    assert "xdsl" in first.stderr
    assert second.stderr.splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_on_a_terminal(ask: Ask, tmp_path: Path) -> None:
    """With colours, in its width; no answer of a pipe is one of a terminal."""
    import pty

    def shown(*more: str) -> bytes:
        words = ["npuc", "compile", "net.dsl", "-O0", *more, "--cache-dir", str(tmp_path / "x")]
        leader, follower = pty.openpty()
        command = [sys.executable, "-c", AS_A_PROCESS.replace("[]", "()"), *words[1:]]
        with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE) as process:
            os.close(follower)
            found = b""
            while True:
                try:
                    data = os.read(leader, 1 << 16)
                except OSError:
                    break
                if not data:
                    break
                found += data
            assert process.stderr is not None
            modules = process.stderr.read().splitlines()[-1]
        os.close(leader)
        return found + modules

    first, second = shown(), shown()
    assert b"xdsl" in first
    assert second.endswith(b"[]")
    assert first.rpartition(b"[")[0] == second.rpartition(b"[")[0]
    assert b"\x1b[" in second


def test_a_reader_that_goes_away_and_a_full_disk(ask: Ask, tmp_path: Path) -> None:
    command = [sys.executable, "-c", AS_A_PROCESS, "compile", "net.dsl", "-O0", "--json", "-"]
    command += ["--cache-dir", str(tmp_path / "x")]
    subprocess.run(command, capture_output=True, check=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"typer" not in process.stderr.read()
        assert process.wait() == 0
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"cannot write to standard output: No space left" in done.stderr
    assert b"typer" not in done.stderr
