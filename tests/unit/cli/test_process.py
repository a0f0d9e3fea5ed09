"""The command line as a process: imports, pipes, colour."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from npuc.compiler.cli import main; main()"]
UNUSED = (
    "npuc.backends.communication",
    "npuc.backends.cycle.groups",
    "npuc.backends.cycle.scalesim",
    "npuc.backends.maestro",
    "npuc.backends.roofline",
    "npuc.compiler.analysis.fusion",
    "npuc.compiler.analysis.interconnect.chunks",
    "npuc.compiler.analysis.lru",
    "npuc.compiler.analysis.mapping.exact",
    "npuc.compiler.analysis.schedule.over_cores",
    "npuc.compiler.analysis.schedule.over_levels",
    "npuc.compiler.analysis.sharding",
    "npuc.compiler.analysis.solvers",
    "npuc.compiler.distributed",
    "npuc.compiler.explain",
    "npuc.compiler.explore",
    "npuc.compiler.transforms.assign_units",
    "npuc.compiler.transforms.bucket_gradients",
    "npuc.compiler.transforms.parallelize",
    "npuc.compiler.transforms.quantize",
    "npuc.frontends.darknet",
    "npuc.frontends.jax",
    "npuc.frontends.keras",
    "npuc.frontends.maestro",
    "npuc.frontends.onnx",
    "npuc.frontends.tables",
    "npuc.frontends.torch",
    "npuc.studies",
)
"""Packages that the compile of a network of products for one device has no use for."""
MOST_MODULES = 585
"""That a plain compile may load of npuc's own."""
HEAVY = ("xdsl", "numpy", "lark", "rich", "msgspec")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom npuc.compiler.cli import run_command\nrun_command(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_plain_compile_loads_no_feature_that_it_does_not_use(tmp_path: Path) -> None:
    """What is optional is imported where it is used: a new import at the head of a file shows here."""
    code = (
        "import sys\nfrom npuc.compiler.cli import run_command\nrun_command(['compile', 'samples:mlp', '-q'])\n"
        "print(*[name for name in sys.modules if name.startswith('npuc.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = done.stdout.splitlines()[-1].split()
    # the names of formats and of hardware keys are registered by small modules
    own = [name for name in loaded if name.rpartition(".")[2] not in ("frontend", "keys")]
    assert [name for name in own if name.startswith(tuple(f"{package}." for package in UNUSED))] == []
    assert len(loaded) <= MOST_MODULES


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
