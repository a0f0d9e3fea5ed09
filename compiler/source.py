"""Where programs come from: files by suffix, networks that ship with npuc (`samples:NAME`), text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from npuc.compiler.errors import Location, SourceError, UsageError, did_you_mean

FORMATS = ("dsl", "mlir")
SAMPLES = "samples:"


@dataclass(frozen=True)
class Source:
    """A program's text, its format, the name that places in it carry, and the name that reports carry."""

    text: str
    format: str
    filename: str
    shown: str

    def report_location(self, loc: str | None) -> str | None:
        """A place as reports show it: without the folder of the source, when that is an absolute one."""
        folder = os.path.dirname(self.filename)
        if loc is None or not os.path.isabs(self.filename):
            return loc
        return loc.removeprefix(folder.rstrip(os.sep) + os.sep)


def text_source(text: str, format: str, filename: str) -> Source:
    """A source that is a text. Raises `UsageError` for an unknown format."""
    if format not in FORMATS:
        raise UsageError(f"unknown source format '{format}'", hint=did_you_mean(format, FORMATS))
    return Source(text, format, filename, os.path.basename(filename) if os.path.isabs(filename) else filename)


def open_source(path: str | os.PathLike[str]) -> Source:
    """
    The source at a path; `samples:NAME` is a network that ships with npuc, `-` the language from standard input.

    Raises `UsageError` for a suffix nobody reads and a file that cannot be read, `SourceError` for text that is not
    UTF-8.
    """
    name = os.fspath(path)
    if name == "-":
        import sys

        return Source(decode(sys.stdin.buffer.read(), "<stdin>"), "dsl", "<stdin>", "<stdin>")
    file = _sample(name.removeprefix(SAMPLES)) if name.startswith(SAMPLES) else Path(name)
    suffix = file.suffix.removeprefix(".")
    if suffix not in FORMATS:
        hint = f"sources end in {' or '.join(f'.{f}' for f in FORMATS)}, or are called {SAMPLES}NAME"
        raise UsageError(f"cannot tell what '{name}' is by its suffix", hint=hint)
    shown = file.name if file.is_absolute() and not name.startswith(SAMPLES) else name
    return Source(_read(file, name), suffix, str(file), shown)


def sample_names() -> list[str]:
    """The networks that ship with npuc, sorted; a file whose name begins with an underscore is a part of others."""
    return sorted(path.stem for path in samples_folder().glob("*.dsl") if not path.stem.startswith("_"))


def samples_folder() -> Path:
    """Where the samples are."""
    import npuc.samples

    return Path(next(iter(npuc.samples.__path__)))


def _sample(name: str) -> Path:
    if name not in sample_names():
        raise UsageError(f"unknown sample '{name}'", hint=did_you_mean(name, sample_names()))
    return samples_folder() / f"{name}.dsl"


def _read(file: Path, name: str) -> str:
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise UsageError(f"cannot read '{name}': {reason}") from e
    return decode(data, name)


def decode(data: bytes, name: str) -> str:
    """Source bytes as text. Raises `SourceError` at the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        before = data[: e.start]
        line = before.count(b"\n") + 1
        col = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise SourceError(f"not UTF-8: byte 0x{data[e.start]:02x}", location=Location(name, line, col)) from e
