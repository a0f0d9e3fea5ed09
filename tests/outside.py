"""Installed distributions for the time of a test: a module, and what it publishes."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path


@contextmanager
def installed(folder: Path, module: str, code: str, entry_points: str) -> Generator[Path]:
    """A distribution in `folder` with one module and the entry points of an `entry_points.txt`."""
    home = folder / f"installed_{module}"
    info = home / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (home / f"{module}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    sys.path.insert(0, str(home))
    invalidate_caches()
    try:
        yield home
    finally:
        sys.path.remove(str(home))
        sys.modules.pop(module, None)
        invalidate_caches()
