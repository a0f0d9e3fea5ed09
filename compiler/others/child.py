"""
The process in which another compiler runs: `python -m npuc.compiler.others.child NAME FOLDER FUNCTION`.

It reads the program and the values of its arguments in the folder, and leaves the results there.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np

from npuc.compiler.others.base import PROGRAM, RESULTS, VALUES, Other


def main(name: str, folder: str, function: str) -> None:
    """Run a function. What the compiler raises is said on standard error, and the status is 1."""
    other = cast(Other, import_module(f"npuc.compiler.others.{name}").OTHER)
    with np.load(f"{folder}/{VALUES}") as found:
        values = [found[key] for key in found.files]
    try:
        results = other.compute(Path(folder, PROGRAM).read_text(encoding="utf-8"), function, values)
    except Exception as error:  # of another's code, which may raise anything
        print(error, file=sys.stderr)
        sys.exit(1)
    np.savez(f"{folder}/{RESULTS}", *results)


if __name__ == "__main__":
    main(*sys.argv[1:])
