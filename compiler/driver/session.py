"""One compilation under way: what was asked for, of what, for which backend on which machine, and who is told."""

from __future__ import annotations

import sys
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import CHUNK_POLICIES, Options, Say
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.compiler.core.verify import SourceTexts
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.frontends.base import Source


def on_standard_error(text: str) -> None:
    """Tells whoever reads standard error."""
    print(text, file=sys.stderr)


@frozen
class Session:
    """
    A source on its way to a report of one backend on one machine.

    `sources` has the texts that errors quote, `say` gets the lines that are for people and no result (None: nobody
    does, as in Python), `warnings` collects those of the report. `watchers` look at the program around each pass.
    """

    source: Source
    options: Options
    model: Backend
    machine: Hardware
    sources: SourceTexts
    say: Say | None = None
    warnings: list[str] = field(default_factory=list[str])
    watchers: tuple[Watcher, ...] = ()

    @property
    def wants_schedules(self) -> bool:
        """Whether the backend scores contractions by their schedules on this machine."""
        return self.model.level == "npu" and self.model.needs_schedules(self.machine)

    def note(self, text: str) -> None:
        """Say something that is no result, where somebody is told."""
        if self.say is not None:
            self.say(text)

    def costing(self, pipeline: str, machine: Hardware | None = None, **others: Any) -> Session:
        """
        The same, silently, for a program of one device that the passes of a text lower to be costed; `others` are
        further options.
        """
        options = replace(
            self.options,
            pipeline=pipeline,
            before=(),
            after=(),
            opt_level=None,
            devices=1,
            mesh=None,
            parallel=None,
            plan_objective="bytes",
            zero=0,
            collectives=CHUNK_POLICIES[0],
            chunks=None,
            bucket_mib=None,
            recompute=None,
            quantize=None,
            density=None,
            fuse_layers=None,
            method=None,
            exact_plan=False,
            only=None,
            print_after=None,
            print_changed=None,
            time_passes=False,
            verify_each=False,
            **others,
        )
        return self.aside(options, machine or self.machine)

    def aside(self, options: Options, machine: Hardware) -> Session:
        """The same for a program that is only costed: of other options, for another machine, silently."""
        return replace(self, options=options, machine=machine, say=None, warnings=[], watchers=())
