"""Changes of a machine, or of the passes, that a backend says may help: `npuc explain NET` tries them."""

from __future__ import annotations

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.causes import Cause


@frozen
class Knob:
    """
    A change that may shorten the time spent on some causes.

    The hardware `keys` are doubled, or the first of them takes each of `values` in turn; `passes` are run as
    `--after` takes them (`schedule=fuse-vector`). `what` says it in words. More of a memory that holds
    `blocks` alone saves no more of the traffic than is above the least that a schedule of each operation moves.
    """

    what: str
    shortens: tuple[Cause, ...]
    keys: tuple[str, ...] = ()
    values: tuple[object, ...] = ()
    passes: str | None = None
    blocks: bool = False
