"""The examples of a page, executed."""

import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

from npuc.compiler.layers import forget_outside
from tests.docs.pages import blocks_of, executed, give_files, read_page
from tests.docs.shell import Shell

NEEDING = {
    "study-digamma": ("cmaes",),
    "mlir": ("iree.compiler", "iree.runtime", "jax"),
    "jax": ("jaxlib",),
    "notebooks": ("pandas",),
}
"""Pages whose examples need modules of optional groups."""


def run_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, with_long: bool = True) -> None:
    """The blocks in order, in one folder, which is on the import path as an installed project is."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("COLUMNS", "120")
    invalidate_caches()
    shell = Shell(tmp_path)
    give_files(page, tmp_path)
    try:
        for block in executed(blocks_of(read_page(page)), with_long=with_long):
            shell.run(block)
    finally:
        monkeypatch.undo()
        forget_outside()
    for name in [n for n, m in sys.modules.items() if str(getattr(m, "__file__", "")).startswith(str(tmp_path))]:
        del sys.modules[name]
