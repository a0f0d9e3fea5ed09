"""`--statistics`, `--statistics-json` and `--debug-only`: what passes and their patterns did."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from npuc.compiler.cli.options import Optimisation
from npuc.compiler.cli.shared import check_target, write_result

if TYPE_CHECKING:
    from npuc.compiler.driver.watch.watcher import Watcher


@contextmanager
def watching(asked: Optimisation) -> Generator[tuple[Watcher, ...]]:
    """The watchers of passes that are asked for; what they have to say is told at the end, or as it comes."""
    if not (asked.statistics or asked.statistics_json is not None or asked.debug_only is not None):
        yield ()
        return
    check_target(asked.statistics_json)
    from npuc.compiler.driver.watch.rewrite_trace import RewriteTrace
    from npuc.compiler.driver.watch.statistics import Statistics
    from npuc.compiler.transforms.rewrites import observed

    counts = Statistics()
    traces = () if asked.debug_only is None else (RewriteTrace(asked.debug_only, _tell),)
    with ExitStack() as stack:
        for observer in (counts, *traces):
            stack.enter_context(observed(observer))
        yield (counts, *traces)
    if asked.statistics:
        _tell(counts.text())
    if asked.statistics_json is not None:
        write_result(asked.statistics_json, counts.to_json())


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
