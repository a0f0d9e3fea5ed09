"""
The step as primitives: what emitters take that write a program for another compiler.

It is the program before the pass `lower-to-npu`, which plans matrix work for a machine, after the pass `decompose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.core.verify import SourceTexts, location_of, verify_module
from npuc.compiler.driver.levels.preset import LOWER
from npuc.compiler.driver.passes import own_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.watch.watcher import Watcher
from npuc.dialects.copies import copied

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.compiler.core.options import Options
    from npuc.frontends.source import Source

DECOMPOSE = "decompose"
_HOW = "npuc compile SOURCE --emit linalg"


class AboveNpu(Watcher):
    """Keeps the program as it is before `lower-to-npu` runs."""

    def __init__(self) -> None:
        self.module: ModuleOp | None = None
        self._changed: tuple[str, str] | None = None

    def plan(self, passes: list[ModulePass]) -> None:
        """See `Watcher`."""
        names = [step.name for step in passes]
        below = passes[names.index(LOWER) :] if LOWER in names else []
        for step in below:
            why: str | None = getattr(step, "CHANGES_NUMBERS", None)
            if why is not None:
                self._changed = step.name, why

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        if step.name == LOWER:
            self.module = copied(module)

    def primitives(self, source: Source) -> ModuleOp:
        """
        The program that was kept, as primitives.

        Raises `UsageError` where there was none, or a pass below changes numbers that the program would not have.
        """
        if self._changed is not None:
            name, why = self._changed
            raise UsageError(
                f"the program before {LOWER} lacks what the pass '{name}' does: {why}",
                hint=f"leave out {name}, which works on matrix work that is planned for a machine",
            )
        if self.module is None:
            raise UsageError(
                f"the pass {LOWER} does not run, and the program before it is what is written",
                hint=f"{_HOW} with a network, and a backend that plans matrix work, as 'cycle' does",
            )
        return as_primitives(self.module, texts_of(source))


def check_above(options: Options) -> None:
    """Raise `UsageError` for options that act below the pass `lower-to-npu`, where they would have no effect."""
    given = {
        "quantize": options.quantize,
        "density": options.density,
        "fuse-layers": options.fuse_layers,
        "opt-level": options.opt_level,
    }
    for name, value in given.items():
        if value is not None:
            spelt = "-O" if name == "opt-level" else f"--{name}"
            raise UsageError(
                f"{spelt} does not apply: it is about matrix work below {LOWER}, and the program above it is taken",
                hint=f"leave out {spelt}",
            )


def as_primitives(module: ModuleOp, sources: SourceTexts) -> ModuleOp:
    """A program in primitives, in place. Raises `SourceError` for one of several devices, or of a lower level."""
    from npuc.frontends.mlir import make_context

    _check(module)
    run_pipeline(module, read_pipeline(DECOMPOSE, own_passes()), make_context(), sources, tell_unchanged=False)
    verify_module(module, sources, after=DECOMPOSE)
    return module


def _check(module: ModuleOp) -> None:
    for op in module.walk():
        if op.name.startswith("dist."):
            raise SourceError(
                f"the program is one of several devices ({op.name}), and what is written is one function of one device",
                location=location_of(op),
                hint="leave out --devices and --parallel",
            )
