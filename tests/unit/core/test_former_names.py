"""Imports that the documentation showed before modules moved keep working, and say where to go."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from npuc.compiler.core.former_names import FORMER_NAMES, present_name

DOCUMENTED = [
    "from npuc.backends.hardware import load_hardware, machine_target",
    "from npuc.backends.hardware.network import network_of",
    "from npuc.compiler.analysis.bounds import certificate",
    "from npuc.compiler.analysis.elements import Bits",
    "from npuc.compiler.analysis.machine import machine_from",
    "from npuc.compiler.analysis.network.collectives import collective_cost",
    "from npuc.compiler.analysis.partition_knn import evaluate, labels",
    "from npuc.compiler.analysis.pipeline import pipeline",
    "from npuc.compiler.analysis.search import best_schedule",
    "from npuc.compiler.errors import CapacityError",
    "from npuc.compiler.study.igo.networks import workloads",
    "from npuc.compiler.sweep import sweep_file",
]


@pytest.mark.parametrize("line", DOCUMENTED)
def test_a_documented_import_works(line: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(line, {})


@pytest.mark.parametrize(("former", "present"), FORMER_NAMES.items())
def test_the_module_is_the_same_and_says_its_name(former: str, present: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"^{former} is {present} now"):
        assert import_module(former) is import_module(present)


def test_what_is_below_is_no_copy() -> None:
    sys.modules.pop("npuc.backends.hardware.schema", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        former = import_module("npuc.backends.hardware.schema")
    assert former is import_module("npuc.hardware.schema")


def test_other_names_are_as_they_are() -> None:
    assert present_name("npuc.compiler.errors_of_others") is None
    assert present_name("npuc.hardware") is None
    with pytest.raises(ModuleNotFoundError, match=r"npuc\.hardware\.nothing"):
        import_module("npuc.backends.hardware.nothing")


def test_nobody_here_uses_one() -> None:
    """In a process of its own: the command line starts without a warning."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::DeprecationWarning",
            "-c",
            "import npuc.compiler.cli.compile, npuc.backends.cycle",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_little_is_loaded_before_signals_are_taken_over() -> None:
    """A signal while modules load ends in a traceback as long as nobody has taken it over."""
    code = "import sys; old = set(sys.modules); import npuc.compiler.core.interrupts; print(*set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "npuc.compiler.core.interrupts" in loaded
    assert not {"importlib.abc", "importlib.resources", "tempfile", "shutil", "lzma"}.intersection(loaded)
