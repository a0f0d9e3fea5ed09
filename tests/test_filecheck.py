"""Runs the filecheck tests of `tests/filecheck` through lit, so that one command runs all tests."""

import subprocess
import sys
from pathlib import Path


def test_filecheck() -> None:
    folder = Path(__file__).parent / "filecheck"
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "--verbose", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
