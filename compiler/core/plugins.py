"""
Passes from outside: installed distributions (entry point group `npuc.passes`), and files named with `--load`.

A file lists its passes in `PASSES`, a dictionary from names to classes or a list of classes:

    PASSES = {"my-pass": MyPass}
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import cast
from zlib import crc32

from xdsl.passes import ModulePass

from npuc.compiler.core.cache import reads
from npuc.compiler.core.errors import Location, UsageError
from npuc.compiler.core.foreign import Foreign, summary

ENTRY_POINTS = "npuc.passes"
PassFactory = Callable[[], type[ModulePass]]


def installed_passes() -> dict[str, PassFactory]:
    """Passes that installed distributions publish, by name, sorted."""
    from importlib.metadata import entry_points

    points = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    return {name: _installed(name, path) for name, path in sorted(points.items())}


def _installed(name: str, path: str) -> PassFactory:
    def load() -> type[ModulePass]:
        module, _, attribute = path.partition(":")
        reads.refuse("code of users ran")
        with Foreign(lambda e: UsageError(f"pass '{name}' cannot be loaded from {path}: {summary(e)}")):
            found: object = getattr(import_module(module), attribute)
        return _checked(name, found, path)

    return load


def _checked(name: str, found: object, where: str) -> type[ModulePass]:
    """`found` if it is a pass of that name. Raises `UsageError`."""
    if not isinstance(found, type) or not issubclass(found, ModulePass):
        raise UsageError(f"{where}: '{name}' is not a pass", hint="a pass is a subclass of xdsl.passes.ModulePass")
    own = getattr(found, "name", None)
    if own != name:
        raise UsageError(f"{where}: the pass '{name}' calls itself {own!r}", hint=f'write name = "{name}" in the class')
    return found


def load_passes(path: str) -> dict[str, PassFactory]:
    """The passes of a Python file. Raises `UsageError` for a file that cannot be read, run, or lists none."""
    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        raise UsageError(f"--load {path}: expected a Python file (.py) that exists")
    module = _execute(file, path)
    listed: object = getattr(module, "PASSES", None)
    if isinstance(listed, Mapping):
        entries = list(cast("Mapping[object, object]", listed).items())
    elif isinstance(listed, Sequence) and not isinstance(listed, str):
        entries = [(getattr(item, "name", item), item) for item in cast("Sequence[object]", listed)]
    else:
        raise UsageError(f"--load {path}: the file has no PASSES", hint='for example PASSES = {"my-pass": MyPass}')
    return {str(name): _constant(_checked(str(name), found, path)) for name, found in entries}


def _constant(found: type[ModulePass]) -> PassFactory:
    return lambda: found


def _execute(file: Path, path: str) -> ModuleType:
    """Run a file as a module of its own. What it raises becomes an error at the line of the file that raised it."""
    name = f"npuc_loaded.{file.stem}_{crc32(bytes(file.resolve())):08x}"
    spec = util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"--load {path}: cannot be imported")
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    with Foreign(lambda error: _located(error, file, path)):
        spec.loader.exec_module(module)
    return module


def _located(error: BaseException, file: Path, path: str) -> UsageError:
    """An error of a loaded file, at its own line."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        location = Location(path, error.lineno, error.offset or 1)
        return UsageError(error.msg, location=location, source_line=(error.text or "").rstrip("\n"))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if not frames or frames[-1].lineno is None:
        return UsageError(f"--load {path}: {summary(error)}")
    return UsageError(
        summary(error),
        location=Location(path, frames[-1].lineno, (frames[-1].colno or 0) + 1),
        source_line=linecache_line(frames[-1].filename, frames[-1].lineno),
    )


def linecache_line(file: str, line: int) -> str:
    """A line of a file without its line feed; empty when it cannot be read."""
    import linecache

    return linecache.getline(file, line).rstrip("\n")
