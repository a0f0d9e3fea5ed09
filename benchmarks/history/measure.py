"""CPU seconds and memory of commands, beside a yardstick in the same minute."""

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.history.cases import Case, Command

YARDSTICK = Path(__file__).with_name("yardstick.py")

REFERENCE_YARDSTICK = 0.793
"""
CPU seconds of the yardstick on the machine in whose seconds the goals are given. There the compile of samples:resnet50
of revision d564d01 takes 2.8 s; it takes 3.53 times the yardstick (median of nine pairs, 3.29 to 3.66).
"""


class Failed(Exception):
    """A command did not end well, or not in time."""


@dataclass(frozen=True)
class Spent:
    """What one process took, with the processes it waited for: CPU and wall-clock seconds, and MB at its peak."""

    cpu: float
    wall: float
    peak_mb: float


@dataclass(frozen=True)
class Measured:
    """
    A case in one run.

    `cpu` are CPU seconds here, of a point where a case is of points, `yardstick` those of the yardstick beside it, and
    `reference` what the case takes in seconds of the machine of the goals. `peak_mb` is of the largest process.
    """

    cpu: float
    yardstick: float
    reference: float
    peak_mb: float


def run(arguments: Sequence[str], environment: dict[str, str], folder: Path, limit: float) -> Spent:
    """Run a program to its end; its output goes to a file that is shown when it fails."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        child = subprocess.Popen(arguments, env=environment, cwd=folder, stdout=output, stderr=output)
        while True:
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - start > limit:
                child.kill()
                child.wait()
                raise Failed(f"not done after {limit:.0f} s: {' '.join(arguments)}")
            time.sleep(0.01)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            text = output.read().decode(errors="replace")[-2000:]
            raise Failed(f"exit status {child.returncode}: {' '.join(arguments)}\n{text}")
    return Spent(usage.ru_utime + usage.ru_stime, time.monotonic() - start, _megabytes(usage))


def _megabytes(usage: resource.struct_rusage) -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB here
    return usage.ru_maxrss * unit / 1e6


def compile_all(root: Path) -> None:
    """Write the byte code of a checkout, as an installation has it."""
    for module in sorted({path.parent for path in root.glob("*/__init__.py")}):
        compileall.compile_dir(module, quiet=1)


def yardstick(environment: dict[str, str]) -> float:
    """CPU seconds of the yardstick now."""
    return run([sys.executable, str(YARDSTICK)], environment, YARDSTICK.parent, 60).cpu


def measure(case: Case, rounds: int, limit: float, peer: str | None = None) -> Measured:
    """The median of some rounds, each between two runs of the yardstick; `peer` is the Python that has a peer."""
    program = peer if case.peer and peer is not None else str(Path(sys.executable).with_name("npuc"))
    found = [_round(case, limit, program) for _ in range(rounds)]
    best = sorted(found, key=lambda m: m.reference)[(len(found) - 1) // 2]
    return Measured(best.cpu, best.yardstick, best.reference, median(m.peak_mb for m in found))


def _round(case: Case, limit: float, program: str) -> Measured:
    """One round in a folder of its own, so that nothing is kept from the last but what the case itself keeps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = os.environ | {"NPUC_CACHE_DIR": str(folder / "cache"), "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for file, text in case.files.items():
            (folder / file).write_text(text)

        def spent(command: Command) -> Spent:
            return run([program, *command], environment, folder, limit)

        for command in case.before:
            spent(command)
        before = yardstick(environment)
        whole = spent(case.command)
        less = spent(case.less).cpu if case.less else 0.0
        beside = (before + yardstick(environment)) / 2
    cpu = (whole.cpu - less) / case.points
    return Measured(cpu, beside, cpu / beside * REFERENCE_YARDSTICK, whole.peak_mb)
