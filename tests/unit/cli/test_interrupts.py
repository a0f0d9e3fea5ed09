"""Signals at any moment of a command: one line, the status of the signal, and no file half written."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from npuc.compiler.entry import main; main()"]
LINES = {signal.SIGINT: "npuc: interrupted", signal.SIGTERM: "npuc: terminated"}
Interrupt = Callable[[int, FrameType | None], Any] | int
VERBS = {
    "compile": ["compile", "samples:lenet", "-o", "a.mlir", "--json", "b.json"],
    "sweep": ["sweep", "samples:lenet", "--vary", "memory.spm_kib=64:1024:8", "--csv", "c.csv", "--jobs", "2"],
    "map": ["map", "samples:lenet", "--csv", "d.csv", "--json", "e.json"],
    "design": ["design", "samples:lenet", "--area-mm2", "0.2", "--csv", "f.csv", "-o", "g.toml"],
    "optimize": [
        *("optimize", "samples:lenet", "--vary", "memory.spm_kib=64:1024:8", "--goals", "time,traffic"),
        *("--resume", "h.rec", "--json", "i.json"),
    ],
}


def _popen(
    arguments: list[str], folder: Path, interrupt: Interrupt = signal.default_int_handler
) -> subprocess.Popen[str]:
    """A command, started by one that has SIGINT as usual, or ignores it, whatever started the tests."""
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        return subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder
        )
    finally:
        signal.signal(signal.SIGINT, before)


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """A command that has just taken over its signals."""
    process = _popen(arguments, folder)
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = next((line for line in status.read_text().splitlines() if line.startswith("SigCgt:")), None)
        if caught is not None and int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.002)
    return process


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux whether a signal is caught")
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.4, 1.2])
@pytest.mark.parametrize("number", LINES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_signal_is_one_line_and_no_half_written_file(
    verb: str, number: signal.Signals, delay: float, tmp_path: Path
) -> None:
    process = start(VERBS[verb], tmp_path)
    time.sleep(delay)
    process.send_signal(number)
    _, errors = process.communicate()
    # What a result has beside it: that of a search is there when it is interrupted.
    lines = [line for line in errors.splitlines() if not line.startswith("npuc: backend ")]
    lines = [line for line in lines if " a second" not in line and "technology node" not in line]
    files = sorted(os.listdir(tmp_path))
    if process.returncode == 0:  # a quick machine
        assert files
        return
    assert process.returncode == 128 + number
    assert len(lines) == 1, errors
    assert lines[0].startswith(LINES[number])
    if verb == "sweep" and files:
        assert files == ["c.csv.partial"]
        assert "the same command continues" in lines[0]
    elif verb == "map" and files:
        assert files == ["d.csv", "e.json"]
        assert "the result is the best of " in lines[0]
    elif verb == "design" and files:
        assert files == ["f.csv", "g.toml"]
        assert "the result is the best of " in lines[0]
    elif verb == "optimize" and files:
        assert files == ["h.rec", "i.json"]
        assert "the same command goes on" in lines[0]
    else:
        assert files == []


def test_a_process_started_with_interrupts_ignored_goes_on(tmp_path: Path) -> None:
    """As `nohup` and `command &` start it."""
    process = _popen(VERBS["compile"], tmp_path, signal.SIG_IGN)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["a.mlir", "b.json"]
