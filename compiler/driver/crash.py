"""
The reproducer of a defect: one file with the program before the pass that failed, and the command that runs it.

    npuc-crash-1f0c5a2e.mlir
    // npuc 0.1.0: ZeroDivisionError: division by zero, in the pass schedule
    // run again: npuc compile npuc-crash-1f0c5a2e.mlir -b cycle --hw igo-large -p 'schedule'
    // …
    builtin.module { … }

The compilation runs once more for it, so that one without a defect pays nothing.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import traceback
from dataclasses import dataclass, field, fields

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.core.selection import patterns_of
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.passes import write_pipeline
from npuc.compiler.driver.score import version
from npuc.compiler.driver.watch.watcher import Watcher, ir_text
from npuc.frontends.source import Source

MOST_SOURCE_LINES = 2_000
NAMES = {"mapping": "--mapping", "objective": "--objective", "precision": "--precision"}
"""Options that the command says again, besides the machine, what is loaded and the passes."""


@dataclass
class _Keeper(Watcher):
    """Keeps the program before the pass that runs, and which passes have run."""

    before_text: str = ""
    running: ModulePass | None = None
    done: list[str] = field(default_factory=list[str])

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        self.before_text, self.running = ir_text(module), step

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        self.before_text, self.running = ir_text(module), None
        self.done.append(str(step))


@dataclass(frozen=True)
class Reproducer:
    """A file that shows a defect again: its name, and its text."""

    name: str
    text: str


def reproducer(source: Source, backend: str, keywords: CompileKeywords, error: BaseException) -> Reproducer | None:
    """
    The file for a defect that compiling a source for a backend has shown; None where it does not show again.

    The name says what is in it: the same defect has the same name.
    """
    keeper = _Keeper()
    passes: list[str] = []
    try:
        again: CompileKeywords = {**keywords, "print_after": None, "print_changed": None, "time_passes": False}
        compile_program(source, [backend], again, watchers=(keeper, _Planned(passes)))
    except Exception as found:  # a defect may be of any kind; the first one is raised by whoever asks
        if type(found) is not type(error) or not keeper.before_text:
            return None
    else:
        return None
    rest = passes[len(keeper.done) :] if keeper.running is not None else []
    place = f"in the pass {keeper.running}" if keeper.running is not None else "after the last pass"
    head = f"npuc {version()}: {type(error).__name__}: {' '.join(str(error).split())[:200]}, {place}"
    body = "\n".join([*_comments(source, keywords, error), keeper.before_text, ""])
    digest = hashlib.sha256(f"{head}\n{rest}\n{keeper.before_text}".encode()).hexdigest()[:8]
    name = f"npuc-crash-{digest}.mlir"
    command = _command(name, backend, keywords, rest)
    return Reproducer(name, f"// {head}\n// run again: {command}\n{body}")


@dataclass
class _Planned(Watcher):
    """Takes the names of the passes that are to run."""

    names: list[str]

    def plan(self, passes: list[ModulePass]) -> None:
        """See `Watcher`."""
        self.names[:] = [write_pipeline([one]) for one in passes]


def _command(name: str, backend: str, keywords: CompileKeywords, rest: list[str]) -> str:
    """The command that compiles the file from there on."""
    words: list[str] = ["npuc", "compile", name, "-b", backend]
    options = options_of(keywords)
    hardware = options.hardware
    if isinstance(hardware, str):
        words += ["--hw", hardware]
    for key, value in options.overrides.items():
        words += ["--set", f"{key}={value}"]
    for option, flag in NAMES.items():
        if option in keywords and getattr(options, option) is not None:
            words += [flag, str(getattr(options, option))]
    for pattern in patterns_of(options.only):
        words += ["--only", pattern]
    words += ["--inference"] if options.inference else []
    for path in options.load:
        words += ["--load", path]
    words += ["-p", ",".join(rest)]
    return shlex.join(words)


def _comments(source: Source, keywords: CompileKeywords, error: BaseException) -> list[str]:
    """What a person who looks at the file wants to know: versions, options, the source, where it failed."""
    import xdsl

    options = options_of(keywords)
    said = {f.name: getattr(options, f.name) for f in fields(options) if f.name in keywords}
    lines = [
        f"python {sys.version.split()[0]}, xdsl {xdsl.__version__}",
        f"options: {said!r}",
        f"source {source.shown}:",
    ]
    lines += [f"  | {line}" for line in source.text.splitlines()[:MOST_SOURCE_LINES]]
    lines += [
        "traceback:",
        *(f"  | {line}" for text in traceback.format_exception(error) for line in text.splitlines()),
    ]
    return [f"// {line}".rstrip() for line in lines]
