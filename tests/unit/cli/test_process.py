"""The command line as a process: imports, pipes, colour."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from npuc.compiler.cli import main; main()"]
HEAVY = ("xdsl", "numpy", "lark", "rich", "msgspec")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom npuc.compiler.cli import run_command\nrun_command(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_signals_are_taken_over_before_most_is_loaded() -> None:
    """A signal before that is answered by Python, with a traceback; one while the rest loads waits."""
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a runner in the background ignores it
before = {*sys.modules}
from npuc.compiler.entry import main
print(sorted(name for name in {*sys.modules} - before if name.startswith("npuc")), flush=True)
from npuc.compiler.core import interrupts
install = interrupts.install
interrupts.install = lambda: (os.kill(os.getpid(), signal.SIGINT), install())
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    own = ["npuc", "npuc.compiler", "npuc.compiler.core", "npuc.compiler.core.former_names", "npuc.compiler.entry"]
    assert done.stdout.splitlines() == [str(own)]
    assert (done.returncode, done.stderr) == (130, "npuc: interrupted\n")


def test_hardware_errors_need_no_ir() -> None:
    code = (
        "import sys\nfrom npuc.compiler.cli import run_command\n"
        "run_command(['list', 'hardware'])\nprint('xdsl' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen([*COMMAND, "list", "layers"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait() == 0
    assert errors == b""


def test_status_and_message_of_a_wrong_call(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "compile", "none.dsl"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("npuc: error: cannot read 'none.dsl'")


def test_network_from_standard_input(tmp_path: Path) -> None:
    text = "network f(batch=2) {\n  input x: f32[batch, 3]\n  y = relu(x)\n  output y\n}\n"
    done = subprocess.run(
        [*COMMAND, "run", "-", "--inference"],
        input=text,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0
    assert "y: float32 [2, 3]" in done.stdout
    assert "one batch of random data" in done.stderr
