"""What a compilation is at, on a terminal: shown when it takes long, erased at the end, and nowhere else."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest

from npuc.compiler import compile_file
from npuc.compiler.cli import progress
from npuc.compiler.core.stages import each, tell, told_to

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
ERASE = "\x1b[2K"
SHOW_CURSOR = "\x1b[?25h"
AT_ONCE = """
import sys, time
from npuc.compiler.cli import main, progress
progress.SHOWN_AFTER_SECONDS = 0.0
from npuc.compiler.transforms import schedule
search = schedule.schedule_operation
def slow(*arguments):
    time.sleep(0.3)
    search(*arguments)
schedule.schedule_operation = slow
main()
"""


def on_terminal(*arguments: str, code: str = AT_ONCE) -> tuple[int, bytes, str]:
    """A command whose standard error is a terminal: its status, its standard output, what the terminal got."""
    ours, theirs = pty.openpty()
    command, env = [sys.executable, "-c", code, *arguments], {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        out = process.stdout.read() if process.stdout is not None else b""
        process.wait(timeout=60)
    os.close(ours)
    return process.returncode, out, shown.decode()


def test_a_terminal_shows_the_stage_and_it_is_erased() -> None:
    status, out, shown = on_terminal("compile", "samples:mlp", "-b", "cycle", "-O0", "--json", "-")
    assert status == 0
    assert "npuc: schedule 1 of 5 contractions" in shown
    assert "npuc: schedule 5 of 5 contractions" in shown
    *_, last = shown.split("contractions")
    assert ERASE in last
    assert "schedule" not in last.split(ERASE)[-1]
    assert shown.index("schedule 5") < shown.rindex(SHOW_CURSOR)
    assert out.startswith(b"{")
    assert b"\x1b" not in out


def test_an_error_comes_after_the_stage_is_erased() -> None:
    asked = "compile", "samples:mlp", "-b", "cycle", "-O0", "--set", "memory.spm_kib=0.004"
    status, out, shown = on_terminal(*asked)
    assert status == 3
    assert out == b""
    before, error = shown.split("error:")
    assert "npuc: schedule 1 of 5 contractions" in before
    assert ERASE in before
    assert "npuc: schedule" not in error


def test_check_shows_the_stage_between_its_lines() -> None:
    status, out, shown = on_terminal("check", "samples:mlp", "-O0")
    assert status == 0
    assert "npuc: schedule 1 of 5 contractions" in shown
    assert ERASE in shown.split("contractions")[-1]
    assert b"\x1b" not in out
    assert [line.split(b":")[0] for line in out.splitlines()][-2].startswith(b"schedule")
    assert "equal" not in shown


def test_opt_shows_the_pass_and_it_is_erased(tmp_path: Path) -> None:
    net = tmp_path / "net.dsl"
    net.write_text((files("npuc.samples") / "mlp.dsl").read_text(), encoding="utf-8")
    passes = (
        "autodiff,lower-to-npu,set-target{rows=16 cols=16 spm-bytes=16384 clock-mhz=1000 gb-per-s=10 lanes=16},schedule"
    )
    status, out, shown = on_terminal("opt", str(net), "-p", passes)
    assert status == 0
    assert "npuc: schedule" in shown
    assert ERASE in shown.split("npuc: schedule")[-1]
    assert out.startswith(b"builtin.module")
    status, _, shown = on_terminal("opt", str(net), "-p", passes, "--print-between-passes")
    assert status == 0
    assert shown == ""


@pytest.mark.parametrize("arguments", [("--quiet",), ()])
def test_quiet_and_short_compilations_show_no_stage(arguments: Sequence[str]) -> None:
    code = AT_ONCE if arguments else AT_ONCE.replace("SHOWN_AFTER_SECONDS = 0.0", "SHOWN_AFTER_SECONDS = 1000.0")
    asked = "compile", "samples:mlp", "-b", "cycle", "-O0", "--json", "-", *arguments
    status, out, shown = on_terminal(*asked, code=code)
    assert status == 0
    assert out.startswith(b"{")
    assert "schedule" not in shown
    assert "\x1b" not in shown


def test_what_is_no_terminal_gets_no_stage() -> None:
    command = [sys.executable, "-c", AT_ONCE, "compile", "samples:mlp", "-b", "cycle", "-O0"]
    found = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert b"schedule" not in found.stderr
    assert b"\x1b" not in found.stderr


def test_stages_of_a_compilation() -> None:
    told: list[str] = []
    with told_to(told.append):
        compile_file("samples:mlp", backend="cycle", opt_level=3)
    stages = list(dict.fromkeys(stage.split()[0] for stage in told))
    assert stages == ["reading", "set-precision", "autodiff", "lower-to-npu", "interleave", "schedule", "scoring"]
    assert told.index("scoring") < told.index(next(stage for stage in told if stage.startswith("scoring 1 of ")))
    tell("nobody listens any more")
    assert "nobody listens any more" not in told


def test_each_tells_before_the_work() -> None:
    told: list[str] = []
    with told_to(told.append):
        for number in each("draw", "lots", [1, 2]):
            assert told[-1] == f"draw {number} of 2 lots"


def test_a_stage_that_ends_at_once_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    import threading

    before = threading.active_count()
    with progress.stages(quiet=False):
        pass
    limit = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < limit:
        time.sleep(0.01)
    assert threading.active_count() == before
