"""What `npuc sweep` does with each point: its row is written, what is to be told goes to standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.shared import aside

if TYPE_CHECKING:
    from npuc.compiler.explore.sweep.point import SweepPoint
    from npuc.compiler.explore.sweep.sweep import Sweep

MESSAGES_SHOWN = 20
"""Messages and failed points that are told one by one."""
MESSAGES_KEPT = 10_000
"""The most messages that are told apart."""


def score_points(
    sweep: Sweep,
    known: int,
    each: Callable[[SweepPoint], object],
    *,
    jobs: int | None,
    dask: str | None,
    quiet: bool,
    bar: bool,
) -> None:
    """Score the points behind the first `known` ones; `each` gets them in order."""
    from npuc.compiler.driver.unread import Unread, warnings_of

    unread, told = Unread(), PointMessages(quiet)
    with progress("sweep", sweep.grid.count, known, bar=bar and not quiet) as (advance, _):
        for point in sweep.points(known, jobs=jobs, dask=dask):
            each(point)
            if point.unread is not None:
                unread.add(point.unread)
            for message in told.new(point):
                aside(message)
            advance(1)
        for warning in () if quiet else warnings_of(unread.at_all()):
            aside(f"warning: {warning}")
    if rest := told.rest():
        aside(rest)


@dataclass
class PointMessages:
    """Which messages were told: each once, and a limited number of them."""

    quiet: bool
    _seen: set[str] = field(default_factory=set[str])
    _failed: int = 0
    _more: int = 0

    def new(self, point: SweepPoint) -> Iterator[str]:
        """What is to be told of a point, that was not told before."""
        from npuc.compiler.explore.sweep.messages import point_text

        messages = list(point.messages)
        if point.error is not None:
            self._failed += 1
            messages.append(f"warning: {point_text(point.values)}: {point.error}")
        for message in () if self.quiet else messages:
            if message in self._seen:
                continue
            if len(self._seen) < MESSAGES_KEPT:
                self._seen.add(message)
            else:
                self._more += 1
            if len(self._seen) <= MESSAGES_SHOWN:
                yield message

    def rest(self) -> str | None:
        """How much was not told."""
        more = len(self._seen) - MESSAGES_SHOWN + self._more
        return f"{more:,} more messages; {self._failed:,} points failed" if more > 0 else None
